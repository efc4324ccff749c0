"""Tables of the documentation from the rows of ``derand bench``.

Run: derand bench --output bench.json && python -m tests.benchmarks.bench_tables bench.json

It writes docs/_bench_SUITE.rst, one for each suite, and prints the lines of the README's table.
"""

import json
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
SUITES = {
    "sosp": "second-order stationary point",
    "maxcut": "maximum cut",
    "embedding": "linear map",
    "structure": "direction of",
}
TITLES = {
    "runs": "runs",
    "reached": "reached one",
    "claimed": "called it a success",
    "proved": "proved it",
    "calls": "calls in all",
    "cut": "cut",
    "proved_upper_bound": "proved upper bound",
    "cpu_ratio": "CPU time",
    "distortion": "distortion",
    "lower_bound_of_any_map": "lower bound of any map",
    "subspace_error": "sine of the angle",
    "efficiency_bound": "limit of efficient estimators",
}


def cell(key, value):
    """Return a figure as readers want it."""
    if value is None:
        return "none"
    if key == "cpu_ratio":
        return f"{value:.2g} x"
    return f"{value:.3g}" if isinstance(value, float) and not value.is_integer() else f"{value:.0f}"


def table(rows):
    """Return a table in reStructuredText, one row for each method."""
    tasks = {row["task"] for row in rows}
    keys = [key for key in rows[0] if key in TITLES]
    head = [*(["task"] if len(tasks) > 1 else []), "method", *(TITLES[key] for key in keys)]
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for cells in [
        head,
        *(
            [*([row["task"]] if len(tasks) > 1 else []), row["method"], *(cell(key, row[key]) for key in keys)]
            for row in rows
        ),
    ]:
        lines += [f"   {'* -' if k == 0 else '  -'} {text}" for k, text in enumerate(cells)]
    return "\n".join(lines) + "\n"


def readme_lines(rows):
    """Yield the lines of the README's table: the methods that say most, one outcome and one proof each."""
    yield "| problem | method | result | proof | cost |"
    yield "| --- | --- | --- | --- | --- |"
    for row in rows:
        task, method, cost = row["task"], row["method"], ""
        if method in {"scipy BFGS", "scipy trust-ncg", "derand, gradients only", "principal axes"}:
            continue
        if task.startswith(("direction of a square", "direction of a cosine")):
            continue  # derand is further ahead there; the page on the comparison has them
        if "reached" in row:
            task = f"{row['runs']} starts at and beside saddles"
            result = (
                f"{row['reached']} of {row['runs']} reached a second-order point, {row['claimed']} called a success"
            )
            proof, cost = f"{row['proved']} proved", f"{row['calls']} calls"
        elif "cut" in row:
            bound = row["proved_upper_bound"]
            result, cost = f"cut {row['cut']:g}", f"{cell('cpu_ratio', row['cpu_ratio'])} CPU"
            proof = "none" if bound is None else f"no cut above {bound:g}"
        elif "subspace_error" in row:
            bound = row["efficiency_bound"]
            result = f"error {row['subspace_error']:.3g}"
            proof = "none" if bound is None else f"efficient estimators: {bound:.3g}"
        else:
            bound = row["lower_bound_of_any_map"]
            result = f"distortion {row['distortion']:.3g}"
            proof = "none" if bound is None else f"no map below {bound:.3g}"
        yield f"| {task} | {method} | {result} | {proof} | {cost} |"


def main(path):
    """Write the parts of the page, and print the table of the README."""
    rows = json.loads(Path(path).read_text(encoding="utf-8"))["rows"]
    for suite, task in SUITES.items():
        chosen = [row for row in rows if row["task"].startswith(task)]
        if chosen:
            (DOCS / f"_bench_{suite}.rst").write_text(table(chosen), encoding="utf-8")
    print("\n".join(readme_lines(rows)))


if __name__ == "__main__":
    main(*sys.argv[1:])
