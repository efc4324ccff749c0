import gzip

import numpy as np
import pytest

from derand.commands.table_input import read_table, suspected_index
from derand.exceptions import InputError

NUMBERS = [[1.0, 0.9], [2.0, 2.1], [3.0, 1e-300]]


@pytest.fixture
def write(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "data.csv"
        path.write_bytes(text.encode(encoding))
        return str(path)

    return write


@pytest.mark.parametrize(
    "text",
    [
        "height,width\n1.0,0.9\n2.0,2.1\n3.0,1e-300\n",
        "1.0,0.9\n2.0,2.1\n3.0,1e-300\n",
        "height;width\n1.0;0.9\n2.0;2.1\n3.0;1e-300\n",
        "height\twidth\r\n1.0\t0.9\r\n2.0\t2.1\r\n3.0\t1e-300\r\n",
        '"height","width"\n"1.0","0.9"\n"2.0","2.1"\n"3.0","1e-300"\n',
        "\ufeffheight , width\n 1.0, 0.9\n\n2.0,2.1\n3.0,1e-300",
        "#a,width\n1.0,0.9\n2.0,2.1\n3.0,1e-300\n",
        "# made by me, today, at noon\nheight,width\n1.0,0.9\n2.0,2.1\n3.0,1e-300\n",
        "# by me\n# height,width\n1.0,0.9\n2.0,2.1\n3.0,1e-300\n",
        " 1.0  0.9\n2.0 2.1\n3.0 1e-300\n",
    ],
    ids=[
        "names",
        "no names",
        "semicolons",
        "tabs and CR",
        "quotes",
        "BOM, blanks",
        "hash",
        "comment",
        "savetxt",
        "blanks",
    ],
)
def test_ways_to_write_a_table(text, write):
    table = read_table(write(text))
    assert table.values.tolist() == NUMBERS
    assert table.target is None
    assert len(table.names) == 2
    assert table.names[1] in {"width", "2"}


def test_every_bit_of_every_number(write):
    X = np.random.default_rng(0).standard_normal((200, 5)) * 10.0 ** np.arange(-100, 100).reshape(200, 1)
    path = write("\n".join(",".join(map(repr, row)) for row in X.tolist()))
    np.testing.assert_array_equal(read_table(path).values, X)
    np.testing.assert_array_equal(read_table(path, "3").values, np.delete(X, 2, axis=1))
    np.testing.assert_array_equal(read_table(path, "3").target, X[:, 2])


def test_a_target_may_hold_texts_or_numbers(write):
    path = write("x,kind,y\n1,cat,0\n2,dog,1\n")
    with pytest.raises(InputError, match="column 'kind' holds text"):
        read_table(path, "y")
    table = read_table(path, "kind")
    assert (table.names, table.target.tolist(), table.values.tolist()) == (("x", "y"), ["cat", "dog"], [[1, 0], [2, 1]])
    assert read_table(write("x,y\n1,-1\n2,.5\n"), "y").target.tolist() == [-1.0, 0.5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,height\nann,1\nbob,2\n", "column 'name' holds text, 'ann' in line 2: leave the column out"),
        ("a,b\n1,2\n3,\n", "a value is missing in column 'b', the first in line 3: fill it in .*SimpleImputer"),
        ("a,b\n1,NA\n3,nan\n", "2 values are missing in column 'b', the first in line 2"),
        ("1,,3\n1,2,3\n", "a value is missing in column '2', the first in line 1"),
        ("a,b\n1,2\n3,inf\n", "column 'b' must be finite, see line 3"),
        ("a,b\n1,2\n3\n", "line 3 has 1 field, the first line has 2"),
        ("a,b\n1,2,3\n4,5,6\n", "line 2 has 3 fields, the first line has 2"),
        ("a;b\n1;2\n3;4\n1,5;6\n", "'1,5' in line 4: write decimals with a point"),
        ("a,b\n", "holds no rows"),
        ("", "file is empty"),
        ("\n\n", "file is empty"),
    ],
)
def test_mistakes_are_named_with_line_and_remedy(text, message, write):
    with pytest.raises(InputError, match=rf"data\.csv: .*{message}"):
        read_table(write(text))


def test_a_missing_target(write):
    with pytest.raises(InputError, match="no column 'z'; the columns are 'x', 'y'"):
        read_table(write("x,y\n1,2\n"), "z")
    with pytest.raises(InputError, match="the target 'y' has no value in line 3"):
        read_table(write("x,y\n1,cat\n2,\n"), "y")
    with pytest.raises(InputError, match="no columns besides the target"):
        read_table(write("x\n1\n"), "x")


def test_other_files(write, tmp_path):
    with pytest.raises(InputError, match="no table of text"):
        read_table(write("a,b\n1,2\n", encoding="utf-16"))
    with pytest.raises(FileNotFoundError):
        read_table(str(tmp_path / "none.csv"))


@pytest.mark.parametrize(
    ("content", "target", "match"),
    [
        (b"", None, "data.csv: the file is empty"),
        (b"\n \n", "a", "data.csv: the file is empty"),
        ("größe,b\n1,2\n".encode("latin-1"), "b", "data.csv: the file is no table of text in UTF-8 .*: save"),
        (b"a,a,b\n1,2,3\n", "a", "2 columns are called 'a': give the number"),
    ],
    ids=["empty", "blank", "Latin-1", "twice"],
)
def test_files_that_need_a_hand(content, target, match, tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=match):
        read_table(str(path), target)


def test_a_gzipped_table_is_the_same_table(tmp_path):
    path = tmp_path / "data.csv.gz"
    path.write_bytes(gzip.compress(b"height,width\n1.0,0.9\n2.0,2.1\n3.0,1e-300\n"))
    assert read_table(str(path)).values.tolist() == NUMBERS
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(InputError, match=r"data\.csv\.gz: .*gzip"):
        read_table(str(path))


def test_a_first_column_without_a_name_that_counts_is_noted(write):
    assert "counts the lines" in suspected_index(read_table(write(",x\n0,5\n1,7\n2,9\n")))
    for text in ("i,x\n0,5\n1,7\n", ",x\n3,5\n4,7\n", "0,5\n1,7\n", ",x\n0,5\n2,7\n"):
        assert suspected_index(read_table(write(text))) == ""


def test_a_target_without_a_line_of_names_is_a_number(write):
    with pytest.raises(InputError, match="the first line has no names, give a number from 1 to 2"):
        read_table(write("1,2\n3,4\n"), "y")
