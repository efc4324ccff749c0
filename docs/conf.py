"""Configuration of the documentation: `python -m sphinx -W docs docs/_build/html`; it needs no network."""

import pkgutil
import re
import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import derand  # noqa: E402

project = "derand"
author = "The derand developers"
copyright = author
version = release = derand.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_*.rst"]
templates_path = ["_templates"]
default_role = "autolink"
nitpicky = True
nitpick_ignore_regex = [
    # Fields, which the table of their class describes; what isn't there at all becomes no link in the first place.
    ("py:obj", r"[a-z_]+"),
    (r"py:\w+", r"(numpy|scipy|sklearn|networkx|matplotlib|joblib|dask|torch)\..*"),
]

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_theme_options = {"navigation_with_keys": False, "show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}
html_show_sourcelink = False


def write_api_page():
    """List what every public package exports, so that the reference is complete whatever is added."""
    packages = [info.name for info in pkgutil.iter_modules(derand.__path__) if not info.name.startswith("_")]
    lines = ["API reference", "=============", "", "The names that ``derand`` itself exports load on first use.", ""]
    for name in packages:
        module = import_module(f"derand.{name}")
        if name in {"cli", "commands"} or not getattr(module, "__all__", None):
            continue
        title = f"``derand.{name}``"
        lines += [title, "-" * len(title), "", module.__doc__.strip().splitlines()[0], ""]
        lines += [f".. module:: derand.{name}", "   :no-index-entry:", ""]
        lines += [".. autosummary::", "   :toctree: api", ""]
        lines += [*(f"   {export}" for export in sorted(module.__all__)), ""]
    (HERE / "generated").mkdir(exist_ok=True)
    (HERE / "generated" / "api.rst").write_text("\n".join(lines), encoding="utf-8")


write_api_page()


def escape_bars(app, what, name, obj, options, lines):
    """Let |x| in a docstring mean an absolute value, where reStructuredText would look for a substitution.

    Likewise n_components_ inside a shape is no link, and scikit-learn's references lead outside.
    """
    skip_from = None
    for number, line in enumerate(lines):
        if what in {"class", "method"}:
            line = re.sub(r"(?<=[(\s])(n_\w+|classes)_(?=[,)])", r"\1\\_", line)
            lines[number] = line = re.sub(r":ref:`([^`<]+?) <\w+_score>`", r"\1", line)
        indent = len(line) - len(line.lstrip())
        if skip_from is not None and (not line.strip() or indent > skip_from):
            continue
        skip_from = indent if line.rstrip().endswith("::") else None
        if "|" in line and not line.lstrip().startswith((">>>", "...", "..")):
            pieces = re.split(r"(``.*?``|`[^`]*`)", line)
            pieces[::2] = [re.sub(r"(?<!\\)\|", r"\\|", piece) for piece in pieces[::2]]
            lines[number] = "".join(pieces)


def keep_own_members(app, what, name, obj, skip, options):
    """Leave out what a class has from other packages, the fields of named tuples, and anything undocumented."""
    function = getattr(obj, "fget", None) or getattr(obj, "func", None) or getattr(obj, "__func__", obj)
    is_own = str(getattr(function, "__module__", "")).startswith("derand")
    return None if is_own and getattr(function, "__doc__", None) else True


def setup(app):
    """Run before numpydoc reads the docstrings."""
    app.connect("autodoc-process-docstring", escape_bars, priority=100)
    app.connect("autodoc-skip-member", keep_own_members)
