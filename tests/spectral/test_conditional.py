import numpy as np

from derand.spectral.conditional import ConditionalMoments, join, perron_value


def test_perron_value_is_the_best_quotient():
    """Power iteration on positive semidefinite matrices converges to it."""
    rng = np.random.default_rng(0)
    M = rng.standard_normal((40, 3, 3))
    M = M + M.transpose(0, 2, 1)
    p = rng.uniform(0.0, 1.0, 40)
    Phi = np.eye(3)
    for _ in range(500):
        Phi = np.einsum("q,qij,jk,qkl->il", p, M, Phi, M)
        size = np.linalg.norm(Phi)
        Phi = Phi / size
    assert abs(size / perron_value(M, p) - 1.0) < 1e-9


def part(y, first, second):
    first, second = np.array([[first]]), np.array([[[second]]])
    return ConditionalMoments(np.array([y]), np.ones(1), first, second, np.array([second[0, 0, 0] + 2.0]))


def test_joined_moments():
    joined = join([part(1.0, 0.5, 0.2), part(-1.0, -0.5, -0.2)], np.array([0.25, 0.75]))
    assert joined.mass.tolist() == [0.25, 0.75]
    assert joined.first_covariance().tolist() == [[0.25]]
    assert abs(joined.information() - 0.04) < 1e-15
    assert (joined.dim, joined.method) == (1, "exact")


def test_rounding_is_no_information():
    assert part(0.0, 0.0, 1e-8).information() == 0.0
