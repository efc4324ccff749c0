"""The house rules that no linter checks: sizes, twins, import cycles, documentation, annotations, who imports what."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "derand").rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
#: Libraries that only some layers may import, with the paths that may.
RESERVED = {
    "sklearn": ("derand/estimators/", "derand/commands/comparisons.py"),
    "networkx": ("derand/graphs/", "derand/commands/comparisons.py"),
    "matplotlib": ("derand/plotting/",),
    "cvxpy": ("derand/maxcut/baselines.py",),
    "jax": ("derand/optimize/adapters.py",),
    "torch": ("derand/optimize/adapters.py",),
}


def _docstring_lines(node):
    """Return the number of lines that the docstring of a node takes."""
    if ast.get_docstring(node, clean=False) is None:
        return 0
    return node.body[0].end_lineno - node.body[0].lineno + 1


def _public(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield the public classes, functions and methods of a module with their qualified names."""
    stack = [("", tree)]
    while stack:
        prefix, parent = stack.pop()
        for node in parent.body:
            if isinstance(node, (*FUNCTION, ast.ClassDef)) and not node.name.startswith("_"):
                yield prefix + node.name, node
                if isinstance(node, ast.ClassDef):
                    stack.append((f"{prefix}{node.name}.", node))


def _module(path):
    """Return the dotted name of a file's module."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _imported(nodes, package, known) -> Iterator[str]:
    """Yield the names of the modules imported by statements that run at import."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            stack += node.orelse
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{base}.{a.name}" if f"{base}.{a.name}" in known else base for a in node.names)
        elif not isinstance(node, FUNCTION):
            stack += list(ast.iter_child_nodes(node))


def _functions(tree):
    """Return all function definitions of a module, nested ones and methods included."""
    return [node for node in ast.walk(tree) if isinstance(node, FUNCTION)]


def _offenders(judge) -> list[str]:
    """Return ``file: what`` for everything that ``judge(path, tree)`` yields."""
    return [f"{path.relative_to(ROOT)}: {what}" for path, tree in TREES.items() for what in judge(path, tree)]


def test_files_have_at_most_500_lines():
    def judge(path, _):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        return [f"{lines} lines"] if lines > 500 else []

    assert len(FILES) > 50
    assert _offenders(judge) == []


def test_function_bodies_have_at_most_60_lines():
    def judge(_, tree):
        for function in _functions(tree):
            size = function.end_lineno - function.body[0].lineno + 1 - _docstring_lines(function)
            if size > 60:
                yield f"{function.name} has {size} lines"

    assert _offenders(judge) == []


def test_at_most_six_positional_parameters():
    def judge(_, tree):
        for function in _functions(tree):
            names = [a.arg for a in [*function.args.posonlyargs, *function.args.args]]
            if len([name for name in names if name not in {"self", "cls"}]) > 6:
                yield function.name

    assert _offenders(judge) == []


def test_everything_public_is_documented():
    def judge(_, tree):
        if not ast.get_docstring(tree):
            yield "module"
        yield from (name for name, node in _public(tree) if not ast.get_docstring(node))

    assert _offenders(judge) == []


def test_everything_public_is_annotated():
    def judge(_, tree):
        for name, node in _public(tree):
            if isinstance(node, FUNCTION):
                arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                arguments += [a for a in (node.args.vararg, node.args.kwarg) if a is not None]
                bare = [a.arg for a in arguments if a.annotation is None and a.arg not in {"self", "cls"}]
                yield from (f"{name}, argument {argument}" for argument in bare)
                if node.returns is None:
                    yield f"{name}, return value"

    assert _offenders(judge) == []


def test_no_print():
    def judge(_, tree):
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        return [f"line {c.lineno}" for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]

    assert _offenders(judge) == []


def test_no_module_state_changes():
    """No ``global``, and no table at module level that a statement of its module changes after it is made."""
    changing = {
        "add",
        "append",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "popitem",
        "remove",
        "setdefault",
        "update",
    }

    def judge(_, tree):
        tables = {name.id for node in tree.body for name in ast.walk(node) if _is_bound(name, node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Global):
                yield f"line {node.lineno}: global"
            is_item = isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del))
            is_call = isinstance(node, ast.Attribute) and node.attr in changing
            if (is_item or is_call) and isinstance(node.value, ast.Name) and node.value.id in tables:
                yield f"line {node.lineno}: {node.value.id} is changed"

    assert _offenders(judge) == []


def _is_bound(name, statement):
    """Return whether an assignment at module level binds the name."""
    return (
        isinstance(statement, (ast.Assign, ast.AnnAssign))
        and isinstance(name, ast.Name)
        and isinstance(name.ctx, ast.Store)
    )


def test_reserved_libraries_stay_in_their_places():
    def judge(path, tree):
        found = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add((node.module or "").partition(".")[0])
        where = path.relative_to(ROOT).as_posix()
        return [library for library in found & set(RESERVED) if not where.startswith(RESERVED[library])]

    assert _offenders(judge) == []


def test_every_module_has_its_twin_among_the_tests():
    def judge(path, _):
        twin = ROOT / "tests" / path.relative_to(ROOT / "derand").with_name(f"test_{path.name}")
        return [] if path.name in {"__init__.py", "__main__.py"} or twin.is_file() else [f"no {twin.relative_to(ROOT)}"]

    assert _offenders(judge) == []


def test_no_import_cycles():
    known = {_module(path) for path in FILES}
    graph = {}
    for path in FILES:
        module = _module(path)
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        graph[module] = (set(_imported(TREES[path].body, package, known)) & known) - {module}
    cyclic = []
    for start in graph:
        seen, stack = set(), list(graph[start])
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                stack += graph[node]
        cyclic += [start] if start in seen else []
    assert cyclic == []


def test_no_traces_of_a_machine_or_a_registry():
    """Nothing in the repository depends on where it was written or where packages were downloaded from."""
    folders = r"(?<![\w./])/(?:work|tmp|home|root|Users|opt)/[\w.]|\.\./shared"
    machine = re.compile(rf"{folders}|files\.pythonhosted|index-url")
    suffixes = {".py", ".md", ".rst", ".toml", ".cff", ".txt", ".yml", ".yaml"}
    found = []
    for top in ("*", ".ci/*", "derand/**/*", "tests/**/*", "examples/**/*", "docs/*"):
        for path in ROOT.glob(top):
            is_text = path.is_file() and (path.suffix in suffixes or path.parent.name == ".ci")
            if is_text and path != Path(__file__).resolve() and machine.search(path.read_text(encoding="utf-8")):
                found.append(str(path.relative_to(ROOT)))
    assert found == []
