import json
import math
from fractions import Fraction

import numpy as np
import pytest

from derand.exceptions import CertificateError, InputError
from derand.maxcut.certificate import Certificate, KernelBound, bound_kernel, combine_bounds, prove_upper_bound
from derand.maxcut.exhaustive import best_cut_exhaustive
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.reductions import reduce_problem
from tests.maxcut.graphs import complete, cycle, karloff, petersen, random_graph

WEIGHTS = ["int", "float", "unit", "negative", "large", "huge", "wide"]


@pytest.mark.parametrize("weights", WEIGHTS)
def test_certificates_hold_and_bound_the_optimum(weights):
    rng = np.random.default_rng(WEIGHTS.index(weights))
    for _ in range(12):
        problem = random_graph(rng, int(rng.integers(1, 17)), int(rng.integers(0, 50)), weights)
        value, side = best_cut_exhaustive(problem)
        bound = prove_upper_bound(problem)
        certificate = Certificate.of(problem, side, bound)
        cut, proved = Certificate.from_dict(json.loads(json.dumps(certificate.to_dict()))).verify(problem)
        assert cut == value if problem.is_integer else float(cut) == value
        assert cut <= proved == certificate.upper_bound
        assert bound.upper_bound >= value
        assert type(bound.upper_bound) is (int if problem.is_integer else float)


@pytest.mark.parametrize(
    ("problem", "optimum"),
    [(cycle(5), 4), (cycle(101), 100), (petersen(), 12), (complete(13), 42), (karloff(6, 3, 1), 60)],
)
def test_known_optima(problem, optimum):
    bound = prove_upper_bound(problem)
    assert bound.upper_bound == optimum
    assert bound.relaxation_value >= optimum - 1e-6


def test_large_parts_are_checked_in_floating_point():
    problem = random_graph(np.random.default_rng(3), 140, 700, "int")
    certificate = Certificate.of(problem, np.ones(140), prove_upper_bound(problem))
    assert max(len(part["vertices"]) for part in certificate.parts) > 100
    assert certificate.verify(problem)[1] == certificate.upper_bound


def test_a_certificate_belongs_to_its_graph():
    certificate = Certificate.of(petersen(), best_cut_exhaustive(petersen())[1], prove_upper_bound(petersen()))
    for other in (cycle(10), cycle(5), MaxCutProblem.from_edges(petersen().heads, petersen().tails, np.full(15, 2))):
        with pytest.raises(CertificateError):
            certificate.verify(other)


@pytest.mark.medium
def test_without_memory_for_the_factorisation_odd_cycles_prove_a_weaker_bound():
    problem = random_graph(np.random.default_rng(4), 1500, 9000, "unit")
    bound = prove_upper_bound(problem, max_memory=10**5, max_products=5)
    assert bound.is_proved
    assert bound.proof == "odd cycles"
    assert "bytes" in bound.reason
    assert bound.relaxation_value < bound.upper_bound < problem.total_weight
    certificate = Certificate.of(problem, np.ones(1500), bound)
    assert certificate.verify(problem) == (0, bound.upper_bound)
    assert certificate.to_dict()["proof"] == "odd cycles"
    full = prove_upper_bound(problem)
    assert full.proof == "semidefinite"
    assert full.reason == ""
    assert full.upper_bound < bound.upper_bound


def test_no_proof_no_certificate():
    problem = random_graph(np.random.default_rng(4), 40, 200, "unit")
    reduction = reduce_problem(problem)
    bound = combine_bounds(reduction, [KernelBound(None, None, None, None)] * len(reduction.kernels))
    assert not bound.is_proved
    assert bound.upper_bound is None
    assert bound.parts == ()
    assert math.isfinite(bound.relaxation_value)
    with pytest.raises(CertificateError, match="no proof to certify"):
        Certificate.of(problem, np.ones(40), bound)


def test_kernel_bounds_reuse_a_relaxation_and_must_fit():
    problem = random_graph(np.random.default_rng(5), 40, 200, "int")
    reduction = reduce_problem(problem)
    first = bound_kernel(reduction.kernels[0].problem)
    again = bound_kernel(reduction.kernels[0].problem, relaxation=first.relaxation)
    assert again.upper_bound == first.upper_bound
    assert combine_bounds(reduction, [first]).upper_bound == prove_upper_bound(problem).upper_bound
    with pytest.raises(InputError, match="entries"):
        combine_bounds(reduction, [])


@pytest.mark.parametrize(
    "data", [None, [], {}, {"format": "derand-maxcut-certificate", "version": 2}, {"format": "other"}, "text"]
)
def test_other_data_is_no_certificate(data):
    with pytest.raises(CertificateError):
        Certificate.from_dict(data)


def test_values_are_exact():
    problem = MaxCutProblem.from_edges([0, 1, 2], [1, 2, 0], [0.1, 0.2, 0.3])
    certificate = Certificate.of(problem, [1, 1, -1], prove_upper_bound(problem))
    assert certificate.cut_value == Fraction(0.2) + Fraction(0.3)
    assert certificate.is_optimal
