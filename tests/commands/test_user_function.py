import json
import sys

import numpy as np
import pytest

from derand.cli import main
from derand.commands.user_function import load_function, read_start
from derand.exceptions import InputError

SOURCE = """
import numpy as np
print("loading")

def fun(x):
    print("called")
    return x[0] ** 4 / 4 - x[0] ** 2 / 2 + x[1] ** 2 / 2, np.array([x[0] ** 3 - x[0], x[1]])

def hessp(x, v):
    return np.array([(3 * x[0] ** 2 - 1) * v[0], v[1]])

def wrong(x):
    return fun(x)[0], -fun(x)[1]

def typo(x):
    return np.no_such_function(x)

number = 3
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return an empty folder with the user's files, as the present one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DERAND_DEBUG", raising=False)
    (tmp_path / "wells_of_mine.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "open.py").write_text("def f(x", encoding="utf-8")
    yield tmp_path
    sys.modules.pop("wells_of_mine", None)


@pytest.mark.parametrize("source", ["wells_of_mine.py", "wells_of_mine"])
@pytest.mark.parametrize("with_hessp", [False, True])
def test_a_function_of_the_users_is_minimised(source, with_hessp, folder, capsys):
    """The minima are (1, 0) and (-1, 0), with the Hessian diag(2, 1); what the function prints isn't in the JSON."""
    options = ["--hessp", f"{source}:hessp"] if with_hessp else []
    assert main(["sosp", f"{source}:fun", "--x0", "0,0", "-q", *options]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert "called" in err
    assert document["fun"] == pytest.approx(-0.25, abs=1e-9)
    assert np.abs(document["x"]) == pytest.approx([1.0, 0.0], abs=1e-5)
    assert 0.99 < document["certificate"]["min_eigenvalue_lower"] <= 1.0
    assert (document["problem"], document["known_minimum"]) == (f"{source}:fun", None)
    assert (document["nhev"] > 0) == with_hessp


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["wells_of_mine.py:fun"], "--x0"),
        (["wells_of_mine.py:fun", "--x0", "zero"], "--x0 must be numbers"),
        (["wells_of_mine.py:fun", "--x0", "no.npy"], "no.npy"),
        (["wells_of_mine.py:fun", "--x0", "0,nan"], "finite"),
        (["wells_of_mine.py:fun", "--x0", "0"], "IndexError"),
        (["wells_of_mine.py:typo", "--x0", "0"], "in line 16 of wells_of_mine.py"),
        (["wells_of_mine.py:number", "--x0", "0"], "FUNCTION must name a function"),
        (["wells_of_mine.py:absent", "--x0", "0"], "holds none called absent"),
        (["wells_of_mine.py", "--x0", "0"], "FILE.py:NAME"),
        (["no_file.py:fun", "--x0", "0"], "no file no_file.py"),
        (["no_module:fun", "--x0", "0"], "No module named"),
        (["open.py:f", "--x0", "0"], "SyntaxError"),
        (["wells_of_mine.py:fun", "--x0", "0,0", "--hessp", "hessp"], "--hessp must be FILE.py:NAME"),
        (["--problem", "wells", "--x0", "0,0"], "--x0 belongs to"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_wrong_is_named_in_one_line(words, named, folder, capsys):
    assert main(["sosp", *words, "-q"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith("derand: ")
    assert named in err.splitlines()[-1]


def test_a_wrong_gradient_is_found(folder, capsys):
    assert main(["sosp", "wells_of_mine.py:wrong", "--x0", "0.5,1", "-q"]) == 1
    assert json.loads(capsys.readouterr().out)["status"] == "bad_gradient"


def test_the_traceback_is_shown_on_demand(folder, monkeypatch):
    monkeypatch.setenv("DERAND_DEBUG", "1")
    with pytest.raises(AttributeError, match="no_such_function"):
        load_function("wells_of_mine.py:typo", "FUNCTION")([0.0])


def test_starts(folder):
    np.save("row.npy", np.arange(3))
    np.save("square.npy", np.eye(2))
    np.save("objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    (folder / "column.csv").write_text("x\n0.5\n-1e3\n", encoding="utf-8")
    assert read_start("row.npy").tolist() == [0.0, 1.0, 2.0]
    assert read_start("column.csv").tolist() == [0.5, -1000.0]
    assert read_start("7").tolist() == [7.0]
    for text in ("square.npy", "objects.npy", "", "1,,2"):
        with pytest.raises(InputError):
            read_start(text)


@pytest.mark.parametrize("start", ["1,2", "1e308,1e308"])
def test_a_function_that_is_not_finite_is_one_line_even_in_quiet(start, tmp_path, capfd):
    path = tmp_path / "own.py"
    path.write_text("def fun(x):\n    return float(x @ x * 1e308), 2e308 * x\n", encoding="utf-8")
    assert main(["sosp", f"{path}:fun", "--x0", start, "-q"]) == 1
    captured = capfd.readouterr()
    assert captured.err.startswith(f"derand: {path}:fun: ")
    assert captured.err.count("\n") == 1
    assert json.loads(captured.out)["success"] is False
