import copy
import gzip
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from derand.maxcut import checker
from derand.maxcut.certificate import Certificate, prove_upper_bound
from derand.maxcut.exhaustive import best_cut_exhaustive
from tests.maxcut.graphs import petersen, random_graph

REFUSALS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)


def edges_of(problem):
    return list(zip(problem.heads.tolist(), problem.tails.tolist(), problem.exact_weights.tolist(), strict=True))


def certified(rng, n, m, weights="int"):
    problem = random_graph(rng, n, m, weights)
    _, side = best_cut_exhaustive(problem)
    return problem, Certificate.of(problem, side, prove_upper_bound(problem)).to_dict()


def test_the_checker_is_short_and_imports_the_standard_library_only():
    source = Path(checker.__file__).read_text()
    assert len(source.splitlines()) <= 150
    imported = {line.split()[1].split(".")[0] for line in source.splitlines() if line.startswith(("import ", "from "))}
    assert imported <= sys.stdlib_module_names


@pytest.mark.parametrize("exact", [True, False])
def test_a_bound_below_the_optimum_is_refused_whatever_else_changes(exact, monkeypatch):
    if not exact:
        monkeypatch.setattr(checker, "EXACT_LIMIT", 0)
    rng = np.random.default_rng(1)
    for _ in range(15):
        problem, data = certified(rng, 14, 60)
        lowered = copy.deepcopy(data)
        lowered["upper_bound"] = str(Fraction(data["cut_value"]) - 1)
        for part in lowered["parts"]:
            if "dual" in part:
                factor = rng.uniform(0.5, 0.999)
                part["dual"] = [(float.fromhex(z) * factor).hex() for z in part["dual"]]
        with pytest.raises(REFUSALS):
            checker.check(problem.n, edges_of(problem), lowered)


def mutations(rng, data):
    """One random change somewhere in the certificate."""
    changed = copy.deepcopy(data)
    kind = rng.integers(8)
    parts = changed["parts"]
    part = (
        parts[rng.integers(len(parts))]
        if parts
        else {"vertices": [0], "proof": "dual", "dual": ["0x0p+0"], "order": [0]}
    )
    values = [-1, 0, 2**70, "x", None, 0.5, [], "0x1p+1024", "nan", "-0x1p+3", "1/0"]
    value = values[rng.integers(len(values))]
    if kind == 0:
        part["vertices"] = part["vertices"][:-1]
    elif kind == 1:
        part["vertices"] = [*part["vertices"][:-1], part["vertices"][0]]
    elif kind == 2 and "dual" in part:
        part["dual"][rng.integers(len(part["dual"]))] = value
    elif kind == 3 and "edges" in part:
        part["edges"][rng.integers(len(part["edges"]))][rng.integers(3)] = value
    elif kind == 4:
        part["proof"] = "dual" if part["proof"] == "all cuts" else "all cuts"
    elif kind == 5:
        parts.clear()
    elif kind == 6:
        key = list(changed)[rng.integers(len(changed))]
        changed[key] = value
    else:
        parts.append(part)
    return changed


@pytest.mark.parametrize("exact", [True, False])
def test_what_is_accepted_after_a_mutation_is_still_true(exact, monkeypatch):
    if not exact:
        monkeypatch.setattr(checker, "EXACT_LIMIT", 0)
    rng = np.random.default_rng(2)
    refused = 0
    for _ in range(15):
        problem, data = certified(rng, 14, int(rng.integers(14, 60)))
        optimum = Fraction(data["cut_value"])
        for _ in range(6):
            try:
                value, bound = checker.check(problem.n, edges_of(problem), mutations(rng, data))
            except REFUSALS:
                refused += 1
            else:
                assert value <= optimum <= bound
    assert refused > 20


@pytest.mark.slow
def test_a_thousand_certificates_and_a_thousand_lies():
    rng = np.random.default_rng(4)
    accepted = refused = 0
    for k in range(1000):
        weights = ("int", "float", "unit", "huge", "wide")[k % 5]
        problem, data = certified(rng, int(rng.integers(5, 15)), int(rng.integers(4, 60)), weights)
        value, bound = checker.check(problem.n, edges_of(problem), data)
        accepted += value <= bound == Fraction(data["upper_bound"])
        lie = mutations(rng, data)
        lie["upper_bound"] = str(value - Fraction(int(rng.integers(1, 10**6)), 10**6))
        try:
            checker.check(problem.n, edges_of(problem), lie)
        except REFUSALS:
            refused += 1
    assert (accepted, refused) == (1000, 1000)


@pytest.mark.parametrize("limit", [0, 100])
@pytest.mark.parametrize(
    ("diagonal", "expected"), [([2, 2, 2], True), ([1, 1, 1], False), ([2, 2, -1], False), ([0, 5, 5], False)]
)
def test_semidefiniteness_of_a_triangle(limit, diagonal, expected):
    # K_3 + z has smallest eigenvalue z - 1: z = 1 is singular, which only exact arithmetic can accept.
    weights = {(0, 1): Fraction(1), (0, 2): Fraction(1), (1, 2): Fraction(1)}
    dual = list(map(Fraction, diagonal))
    if limit:
        assert checker.is_semidefinite(weights, dual) is (expected or diagonal == [1, 1, 1])
        return
    try:
        assert checker.is_surely_semidefinite(weights, dual, [2, 0, 1]) is expected
    except ValueError:
        assert not expected


def test_isolated_vertices_need_a_nonnegative_dual_entry():
    with pytest.raises(ValueError, match="too small"):
        checker.is_surely_semidefinite({}, [Fraction(-5)], [0])
    assert checker.is_semidefinite({}, [Fraction(-5)]) is False


def test_floating_point_agrees_with_exact_arithmetic():
    rng = np.random.default_rng(3)
    for _ in range(40):
        problem = random_graph(rng, 12, 30, "float")
        weights = {(i, j): Fraction(w) for i, j, w in edges_of(problem)}
        smallest = np.linalg.eigvalsh(problem.adjacency.toarray())[0]
        for offset in (1e-6, -1e-6):
            dual = [Fraction(offset - smallest)] * 12
            order = rng.permutation(12).tolist()
            assert checker.is_semidefinite(weights, dual) is (offset > 0)
            try:
                accepted = checker.is_surely_semidefinite(weights, dual, order)
            except ValueError:
                accepted = False
            assert accepted is (offset > 0)


@pytest.mark.parametrize("zipped", [False, True])
def test_command_line(tmp_path, zipped):
    problem = petersen()
    _, side = best_cut_exhaustive(problem)
    data = Certificate.of(problem, side, prove_upper_bound(problem)).to_dict()
    lines = [f"{i + 1} {j + 1} {w}" for i, j, w in edges_of(problem)]
    graph, certificate = tmp_path / "graph.txt", tmp_path / "certificate.json"
    pack = gzip.compress if zipped else bytes
    graph.write_bytes(pack("\n".join([f"{problem.n} {problem.n_edges}", *lines]).encode()))
    certificate.write_bytes(pack(json.dumps(data).encode()))
    command = [sys.executable, "-S", checker.__file__, str(graph), str(certificate)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "ACCEPTED: cut 12, upper bound 12, optimal\n")
    certificate.write_text("{}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith("REFUSED")


def test_numbers():
    assert checker.number("0x1.8p+1") == 3
    assert checker.number("3/4") == Fraction(3, 4)
    assert checker.number("0.1") == Fraction(0.1)
    assert checker.number(2**80) == 2**80
    for bad in (None, [1], True, "1/0", "inf", "nan", "1e999"):
        with pytest.raises(REFUSALS):
            checker.number(bad)
