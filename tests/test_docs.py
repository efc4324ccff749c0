"""The documentation: every snippet runs, every page is reachable, every public name is in the reference."""

import ast
import doctest
import importlib
import inspect
import json
import os
import pkgutil
import re
import shlex
import textwrap
from pathlib import Path

import numpy as np
import pytest

import derand
from derand.cli import main
from derand.commands import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
BUILT = {"_build", "_templates", "generated", "gallery"}
#: Files that begin with an underscore are parts that pages include.
PAGES = [
    path
    for path in sorted(DOCS.rglob("*.rst"))
    if not BUILT & set(path.relative_to(DOCS).parts) and not path.name.startswith("_")
]
TEXT = {path: path.read_text(encoding="utf-8") for path in PAGES}
#: Functions that need a library which the tests don't require; their examples can't run everywhere.
NEEDS_MORE = {"from_bqm", "to_bqm", "from_jax", "from_torch", "goemans_williamson"}
#: Pages whose snippets take more than a second.
LONG = {
    "command_line.rst",
    "embeddings.rst",
    "howto/choose_a_dimension.rst",
    "howto/find_directions.rst",
    "howto/predict_a_threshold.rst",
    "spectral.rst",
    "structure.rst",
    "teacher_student.rst",
    "tutorial.rst",
}
#: The papers that derand implements.
PAPERS = ("2510.19382", "2604.03068", "2602.01434", "2605.17767")


def _name(page):
    return page.relative_to(DOCS).as_posix()


def _marked(pages):
    """Return the pages as parameters; those whose snippets take more than a second carry a mark."""
    return [pytest.param(page, marks=[pytest.mark.medium] if _name(page) in LONG else []) for page in pages]


def _blocks(text, language):
    """Return (caption, code) of the code blocks of a language."""
    found = re.findall(
        rf"^\.\. code-block:: {language}\n(?:   :caption: (.+)\n)?\n((?:(?:   .*)?\n)+)", text, flags=re.MULTILINE
    )
    return [(caption, textwrap.dedent(code)) for caption, code in found]


def _write_files(text, folder):
    """Write the blocks whose caption is the name of a file, and data.csv, the reader's own table with a column y."""
    x = np.random.default_rng(0).standard_normal((80, 3)).round(6).tolist()
    rows = [f"{a},{b},{c},{a * a + b}" for a, b, c in x]
    (folder / "data.csv").write_text("\n".join(["a,b,c,y", *rows]), encoding="utf-8")
    for caption, code in _blocks(text, "text") + _blocks(text, "python"):
        if re.fullmatch(r"[\w-]+\.(csv|txt|py)", caption):
            (folder / caption).write_text(code.rstrip() + "\n", encoding="utf-8")


@pytest.mark.parametrize("page", _marked(page for page in PAGES if ">>>" in TEXT[page]), ids=_name)
def test_python_snippets(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _write_files(TEXT[page], tmp_path)
    test = doctest.DocTestParser().get_doctest(TEXT[page], {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert test.examples
    assert runner.run(test).failed == 0


@pytest.mark.parametrize("page", _marked(page for page in PAGES if _blocks(TEXT[page], "bash")), ids=_name)
def test_shell_snippets(page, tmp_path, monkeypatch, capsys):
    """Lines that call derand end with exit code 0 and write JSON; a page's captioned blocks are the files they read."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    _write_files(TEXT[page], tmp_path)
    code = "".join(code for _, code in _blocks(TEXT[page], "bash")).replace("\\\n", " ")
    lines = [line for line in code.splitlines() if line.startswith("derand ")]
    for line in lines:
        words = shlex.split(line, comments=True)
        target = words.index(">") if ">" in words else len(words)
        assert main(words[1:target]) == 0, (line, capsys.readouterr().err)
        out = capsys.readouterr().out
        if target < len(words):
            Path(words[target + 1]).write_text(out, encoding="utf-8")
        is_text = "--help" in words or "--version" in words or {"--output", "--json"} & set(words)
        assert is_text or json.loads(out)


def _pieces(text):
    """Return the text cut at its blocks of Python without a caption, as (text before, block) in order."""
    pattern = r"^\.\. code-block:: python\n\n((?:(?:   .*)?\n)+)"
    pieces, start = [], 0
    for match in re.finditer(pattern, text, flags=re.MULTILINE):
        pieces.append((text[start : match.start()], textwrap.dedent(match[1]).strip() + "\n"))
        start = match.end()
    return pieces


def _libraries(block):
    """Return the libraries that a block imports, and those that its imports need without saying so."""
    nodes = [node for node in ast.walk(ast.parse(block)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = [node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in nodes]
    return {"rich" if name == "sklearn.callback" else name.split(".")[0] for name in names} - {"derand"}


BLOCKS = [(page, k, block) for page in PAGES for k, (_, block) in enumerate(_pieces(TEXT[page]))]


@pytest.mark.parametrize(
    ("page", "index"),
    [
        pytest.param(
            page,
            k,
            id=f"{_name(page)} {'-'.join(sorted(_libraries(block)))}",
            # A cluster takes longer than five seconds to start.
            marks=[pytest.mark.slow] if "distributed" in _libraries(block) else [],
        )
        for page, k, block in BLOCKS
    ],
)
def test_blocks_that_need_another_library(page, index, tmp_path, monkeypatch, request):
    """They run where the library is installed, after the lines above them; ``code  # value`` has that value."""
    before, block = "".join(before for before, _ in _pieces(TEXT[page])[: index + 1]), _pieces(TEXT[page])[index][1]
    for library in sorted(_libraries(block)):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    _write_files(TEXT[page], tmp_path)
    test = doctest.DocTestParser().get_doctest(before, {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert runner.run(test, clear_globs=False).failed == 0
    if "scheduler.example" in block:
        from distributed import LocalCluster

        cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
        request.addfinalizer(cluster.close)
        block = re.sub(r"tcp://scheduler\.example:\d+", cluster.scheduler_address, block)
    test.globs["__name__"] = "__main__"
    exec(block, test.globs)
    for line in block.splitlines():
        code, mark, value = line.partition("  # ")
        if mark:
            assert repr(eval(code, test.globs)) == value.strip()
    if "client" in test.globs:
        assert test.globs["losses"] == test.globs["sweep"](test.globs["plateau_loss"], test.globs["settings"])
        test.globs["client"].close()


def test_blocks_that_need_another_library_are_found():
    libraries = set().union(*(_libraries(block) for _, _, block in BLOCKS))
    assert libraries >= {"pandas", "jax", "torch", "distributed", "rich"}


def test_shell_snippets_are_found():
    assert sum(len(_blocks(text, "bash")) for text in TEXT.values()) > 5


def _toctree_entries(page):
    """Yield the pages that the toctrees of a page name, without suffix and relative to docs."""
    for body in re.findall(r"^\.\. toctree::\n((?:   .*\n|\n)*)", TEXT[page], flags=re.MULTILINE):
        for line in body.splitlines():
            entry = line.strip()
            if entry and not entry.startswith(":"):
                yield os.path.normpath(page.parent.relative_to(DOCS) / entry)


def test_every_page_is_in_a_table_of_contents_and_every_entry_exists():
    named = {entry for page in PAGES for entry in _toctree_entries(page)}
    pages = {_name(page).removesuffix(".rst") for page in PAGES} - {"index"}
    assert pages - named == set()
    assert {entry for entry in named - pages if not entry.startswith(("generated", "gallery"))} == set()


def _public_modules():
    """Yield the modules of derand that have a list of public names, and the documentation a section."""
    for info in pkgutil.iter_modules(derand.__path__):
        if not info.name.startswith("_") and info.name not in {"cli", "commands"}:
            module = importlib.import_module(f"derand.{info.name}")
            if getattr(module, "__all__", None):
                yield info.name, module


def test_every_public_name_is_in_the_reference(tmp_path):
    """The page that conf.py writes lists every public name below its module."""
    source = (DOCS / "conf.py").read_text(encoding="utf-8")
    function = source[source.index("def write_api_page") : source.index("\nwrite_api_page()")]
    namespace = {"pkgutil": pkgutil, "import_module": importlib.import_module, "derand": derand, "HERE": tmp_path}
    exec(function + "\nwrite_api_page()", namespace)
    sections = (tmp_path / "generated" / "api.rst").read_text(encoding="utf-8").split(".. module:: derand.")[1:]
    listed = {
        section.splitlines()[0]: set(re.findall(r"^   (\w+)$", section, flags=re.MULTILINE)) for section in sections
    }
    assert len(listed) >= 10
    for name, module in _public_modules():
        assert listed[name] == set(module.__all__)
    for name in set(derand.__all__) - {"__version__"}:
        assert any(name in names for names in listed.values())


def test_every_public_name_has_a_docstring_and_functions_an_example():
    bare = []
    for name, module in _public_modules():
        for export in module.__all__:
            thing = getattr(module, export)
            if not (inspect.isclass(thing) or inspect.isfunction(thing)):
                continue
            text = inspect.getdoc(thing) or ""
            is_function = inspect.isfunction(thing) and export not in NEEDS_MORE
            if not text or (is_function and ">>>" not in text):
                bare.append(f"derand.{name}.{export}")
    assert bare == []


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_has_its_page_with_the_reference(paper):
    pages = [_name(page) for page in PAGES if f"arXiv:{paper}" in TEXT[page] and page.name != "papers.rst"]
    assert pages
    assert paper in TEXT[DOCS / "papers.rst"]


def test_every_subcommand_is_on_the_page_of_the_command_line():
    text = TEXT[DOCS / "command_line.rst"]
    assert [name for name in COMMANDS if not re.search(rf"^{name} ", text, flags=re.MULTILINE)] == []


def test_names_of_code_exist():
    """What a page calls :class:`derand...`, :func:`derand...` or :meth:`derand...` can be imported."""
    missing = set()
    for page, text in TEXT.items():
        for target in re.findall(r":(?:class|func|meth|mod|attr|data|exc):`~?(derand[\w.]*)`", text):
            parts = target.split(".")
            thing = derand
            for part in parts[1:]:
                try:
                    thing = getattr(thing, part)
                except AttributeError:
                    missing.add(f"{_name(page)}: {target}")
                    break
    assert missing == set()
