import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.objectives import Cosine, FunctionIntegrand, IntegrandSum, RidgeSum
from derand.objectives.sampling import build_nodes, choose_expectation, default_size

CLOSED = RidgeSum(Cosine(), 2)
OPAQUE = FunctionIntegrand(2, lambda z: z[:, 0], np.ones_like)


def test_order_of_preference():
    assert choose_expectation(CLOSED, 50, "auto") == "exact"
    assert choose_expectation(OPAQUE, 3, "auto") == "quadrature"
    assert choose_expectation(IntegrandSum([CLOSED, OPAQUE]), 4, "auto") == "qmc"
    assert choose_expectation(OPAQUE, 30_000, "auto") == "mc"
    assert [choose_expectation(CLOSED, 2, wish) for wish in ("quadrature", "qmc", "mc")] == ["quadrature", "qmc", "mc"]


@pytest.mark.parametrize(
    ("integrand", "rank", "wish", "error"),
    [
        (CLOSED, 2, "sobol", InputError),
        (OPAQUE, 2, "exact", InputTypeError),
        (CLOSED, 4, "quadrature", InputError),
        (CLOSED, 30_000, "qmc", InputError),
    ],
)
def test_impossible_wishes(integrand, rank, wish, error):
    with pytest.raises(error, match="expectation"):
        choose_expectation(integrand, rank, wish)


def test_default_sizes():
    assert [default_size("quadrature", r) for r in (1, 2, 3)] == [128, 64, 40]
    assert (default_size("qmc", 4), default_size("mc", 4)) == (2048, 256)
    assert default_size("qmc", 100) == 4096 >= 40 * 100
    assert default_size("mc", 10) == 512 >= 40 * 10


@pytest.mark.parametrize("expectation", ["quadrature", "qmc", "mc"])
def test_nodes_stand_for_the_normal_distribution(expectation):
    nodes = build_nodes(expectation, 24 if expectation == "quadrature" else 4096, 2, 1)
    again = build_nodes(expectation, 24 if expectation == "quadrature" else 4096, 2, 1)
    np.testing.assert_array_equal(nodes.points, again.points)
    assert nodes.weights.sum() == pytest.approx(1.0, rel=1e-13)
    covariance = (nodes.points * nodes.weights[:, None]).T @ nodes.points
    # Entries of a sample covariance of 4096 draws deviate by sqrt(2/4096) = 0.022; five such.
    np.testing.assert_allclose(covariance, np.eye(2), atol=1e-12 if expectation == "quadrature" else 0.11)
    if expectation != "quadrature":
        assert not np.array_equal(nodes.points, build_nodes(expectation, 4096, 2, 2).points)
