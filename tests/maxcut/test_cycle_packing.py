import hashlib
import json
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from derand.exceptions import CertificateError, InputError
from derand.maxcut.bound import unproved_bound
from derand.maxcut.certificate import Certificate, KernelBound, combine_bounds, packed_bound
from derand.maxcut.checker import check
from derand.maxcut.cycle_packing import pack_cycles
from derand.maxcut.exhaustive import best_cut_exhaustive
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.reductions import reduce_problem
from derand.maxcut.relaxation import solve_relaxation
from tests.maxcut.graphs import complete, cycle, petersen, random_graph, torus

WEIGHTS = ["int", "unit", "negative", "large", "huge", "wide"]


def edges_of(problem):
    return zip(problem.heads.tolist(), problem.tails.tolist(), problem.exact_weights.tolist(), strict=True)


def cycles_of(packing):
    """Vertices, signs and amount of every cycle."""
    ends = np.cumsum(packing.lengths)
    for end, length, amount in zip(ends, packing.lengths, packing.amounts, strict=True):
        yield packing.vertices[end - length : end].tolist(), packing.signs[end - length : end].tolist(), amount


def check_packing(problem, packing):
    """Every cycle is a simple frustrated cycle of the graph, and no edge gives more than its weight."""
    left = {(i, j): packing.fraction * w for i, j, w in edges_of(problem)}
    for ring, signs, amount in cycles_of(packing):
        assert len(set(ring)) == len(ring) >= 3
        assert signs.count(1) % 2 == 1
        assert amount > 0
        for i, j, sign in zip(ring, [*ring[1:], ring[0]], signs, strict=True):
            key = (min(i, j), max(i, j))
            assert left[key] * sign >= amount
            left[key] -= sign * amount


def document(problem, packing):
    """A certificate of nothing but the packing, with the cut that cuts nothing."""
    names = np.arange(problem.n)
    parts = [
        {"vertices": list(vertices), "proof": "all cuts", "edges": [[i, j, str(w)] for i, j, w in edges]}
        for vertices, edges in packing.parts(names, Fraction(1))
    ]
    return {
        "format": "derand-maxcut-certificate",
        "version": 1,
        "n_vertices": problem.n,
        "side": "+" * problem.n,
        "cut_value": "0",
        "upper_bound": str(packing.upper_bound),
        "parts": parts,
    }


@pytest.mark.parametrize("weights", WEIGHTS)
def test_bounds_of_small_graphs_against_all_cuts(weights):
    rng = np.random.default_rng(WEIGHTS.index(weights))
    for _ in range(170):
        problem = random_graph(rng, int(rng.integers(1, 12)), int(rng.integers(0, 40)), weights)
        packing = pack_cycles(problem)
        check_packing(problem, packing)
        best, _ = best_cut_exhaustive(problem)
        assert packing.is_complete
        assert best <= packing.upper_bound <= packing.positive_weight
        value, bound = check(problem.n, edges_of(problem), document(problem, packing))
        assert value == 0
        assert best <= bound <= packing.upper_bound


def test_claims_below_what_the_cycles_prove_are_refused():
    rng = np.random.default_rng(11)
    for _ in range(100):
        problem = random_graph(rng, int(rng.integers(3, 12)), int(rng.integers(6, 40)))
        data = document(problem, pack_cycles(problem))
        _, bound = check(problem.n, edges_of(problem), data)
        with pytest.raises(ValueError, match="the parts prove only"):
            check(problem.n, edges_of(problem), {**data, "upper_bound": str(bound - 1)})


def test_cycles_that_are_no_part_of_the_graph_prove_nothing_new():
    """More than the weights of an edge can't be spent: what a part takes too much comes back with the other sign."""
    problem = cycle(5)
    data = document(problem, pack_cycles(problem))
    twice = {**data, "parts": data["parts"] * 2, "upper_bound": "3"}
    with pytest.raises(ValueError, match="the parts prove only"):
        check(5, edges_of(problem), twice)


@pytest.mark.parametrize("length", [*range(3, 14), 101])
@pytest.mark.parametrize("sign", [1, -1])
def test_one_cycle_of_any_length(length, sign):
    problem = cycle(length, 7 * sign)
    packing = pack_cycles(problem)
    is_frustrated = sign == 1 and length % 2 == 1
    assert packing.n_cycles == (1 if is_frustrated else 0) * (packing.fraction or 1)
    best = 7 * (length - length % 2) if sign == 1 else 0
    assert packing.upper_bound == best
    assert check(length, edges_of(problem), document(problem, packing))[1] == best
    assert all(len(vertices) <= 6 for vertices, _ in packing.parts(np.arange(length), Fraction(1)))


@pytest.mark.parametrize("size", [(5, 7), (6, 6), (9, 4)])
def test_signed_tori_of_which_every_face_may_be_frustrated(size):
    problem = torus(*size, np.random.default_rng(size[0]))
    packing = pack_cycles(problem)
    check_packing(problem, packing)
    assert packing.is_complete
    assert check(problem.n, edges_of(problem), document(problem, packing))[1] <= packing.upper_bound


def test_fractions_of_the_weights_fit_together_better():
    """Complete graphs: two thirds of the weight is the best bound of their triangles, and whole triangles are fewer."""
    for n in (4, 5, 6, 8):
        packing = pack_cycles(complete(n))
        assert packing.upper_bound >= Fraction(n * (n - 1), 3)
    # K4 has no two triangles without a common edge: whole ones prove 5, its four triangles at half their weight 4.
    assert 4 <= pack_cycles(complete(4)).upper_bound < 5
    assert pack_cycles(complete(4)).fraction > 1


def test_work_limit_and_stopping_leave_a_weaker_bound():
    problem = random_graph(np.random.default_rng(5), 300, 1500, "unit")
    full = pack_cycles(problem)
    none, some = pack_cycles(problem, max_work=0), pack_cycles(problem, max_work=20_000)
    assert none.n_cycles == 0
    assert none.upper_bound == problem.total_weight
    assert not some.is_complete
    assert none.upper_bound > some.upper_bound > full.upper_bound
    check_packing(problem, some)
    asked = []
    stopped = pack_cycles(problem, should_stop=lambda: len(asked) >= 5 or asked.append(0))
    assert not stopped.is_complete
    check_packing(problem, stopped)
    with pytest.raises(InputError, match="max_work"):
        pack_cycles(problem, max_work=-1)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_graphs_without_edges(n):
    packing = pack_cycles(MaxCutProblem.from_edges([], [], n=n))
    assert packing.n_cycles == 0
    assert packing.upper_bound == 0
    assert packing.is_complete


def test_whole_numbers_beyond_double_precision_stay_exact():
    problem = cycle(3, 10**40 + 1)
    assert pack_cycles(problem).upper_bound == 2 * (10**40 + 1)


def packed(problem):
    """The bound of a graph whose kernels' factorisations were all refused."""
    reduction = reduce_problem(problem)
    bounds: list[KernelBound] = []
    for kernel in reduction.kernels:
        relaxation = solve_relaxation(kernel.problem, max_products=2)
        dual = unproved_bound(kernel.problem, relaxation.multipliers, "refused")
        bounds.append(packed_bound(kernel.problem, relaxation, dual, pack_cycles(kernel.problem)))
    return combine_bounds(reduction, bounds)


@pytest.mark.parametrize("weights", ["int", "float", "unit", "huge"])
def test_reduced_graphs_give_certificates_that_hold(weights):
    rng = np.random.default_rng(7)
    for _ in range(20):
        problem = random_graph(rng, int(rng.integers(5, 17)), int(rng.integers(8, 60)), weights)
        value, side = best_cut_exhaustive(problem)
        bound = packed(problem)
        assert bound.is_proved
        assert bound.upper_bound >= value
        certificate = Certificate.from_dict(json.loads(json.dumps(Certificate.of(problem, side, bound).to_dict())))
        cut, proved = certificate.verify(problem)
        assert cut <= proved == certificate.upper_bound
        assert certificate.proof == bound.proof == ("odd cycles" if bound.reason else "all cuts")
        lie = Certificate.from_dict({**certificate.to_dict(), "upper_bound": str(proved - Fraction(1, 10**6))})
        with pytest.raises(CertificateError, match="prove only"):
            lie.verify(problem)


def test_two_kernels_round_down_together():
    """Two K4, glued to nothing: halves of a unit in either bound are kept until the end, as the checker does."""
    heads, tails = np.triu_indices(5, 1)
    problem = MaxCutProblem.from_edges([*heads, *(heads + 5)], [*tails, *(tails + 5)], n=10)
    bound = packed(problem)
    certificate = Certificate.of(problem, np.ones(10), bound)
    assert certificate.verify(problem)[1] == bound.upper_bound
    assert bound.upper_bound >= 12


SCRIPT = """
import hashlib
import numpy as np
from derand.maxcut.cycle_packing import pack_cycles
from derand.maxcut.problem import MaxCutProblem
rng = np.random.default_rng(0)
problem = MaxCutProblem.from_edges(*rng.integers(0, 200, (2, 900)), rng.integers(-3, 4, 900), n=200)
packing = pack_cycles(problem)
data = repr((packing.vertices.tolist(), packing.signs.tolist(), packing.amounts, packing.fraction))
print(hashlib.sha256(data.encode()).hexdigest())
"""


@pytest.mark.medium
def test_the_same_bits_for_any_hash_seed_and_number_of_threads():
    digests = set()
    for seed, threads in (("1", "1"), ("2", "2")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "OPENBLAS_NUM_THREADS": threads}
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True, timeout=60
        )
        digests.add(run.stdout)
    assert len(digests) == 1
    assert len(digests.pop().strip()) == hashlib.sha256().digest_size * 2


def test_petersen_graph():
    """Its 15 edges hold at most two pentagons without a common edge; in fractions, twelve pentagons at a quarter."""
    assert 12 <= pack_cycles(petersen()).upper_bound <= 13
