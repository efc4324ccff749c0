import numpy as np
import pytest

from derand.exceptions import InputError
from derand.spectral import MultiIndexLink, Preprocessing


def test_optimal_for_phase_retrieval():
    T = MultiIndexLink("z**2").optimal_preprocessing()
    y = np.array([0.25, 1.0, 9.0])
    assert np.allclose(T(y), 1.0 - 1.0 / y, rtol=1e-12)
    assert abs(T.threshold().value - 0.5) < 1e-9
    assert T.predict(0.4) is None


def test_nothing_beats_the_optimum():
    """At equal delta the overlap of other preprocessings, among them y itself trimmed, is smaller."""
    link = MultiIndexLink("z**2")
    best = link.optimal_preprocessing().predict(2.0).overlap
    for function, kinks in (
        (lambda y: np.minimum(y, 3.0), [-(3**0.5), 0.0, 3**0.5]),
        (lambda y: (y - 1) / (y + 1), [0.0]),
        (lambda y: np.tanh(y - 1), [0.0]),
        (lambda y: (y - 1) / (y + 2.0 - 1.0), [0.0]),  # the one that is best for weak recovery at delta = 2
    ):
        other = Preprocessing(function, lambda z: z[:, 0] ** 2, breakpoints=kinks).predict(2.0)
        assert 0.0 < other.overlap < best


def test_floor_costs_little():
    link = MultiIndexLink("z**2")
    floored = link.optimal_preprocessing(floor=-10.0)
    assert floored(np.array([1e-9]))[0] == -10.0
    assert link.optimal_preprocessing().predict(2.0).overlap - floored.predict(2.0).overlap < 0.01
    assert 0.5 < floored.threshold().value < 0.501
    with pytest.raises(InputError, match="floor"):
        link.optimal_preprocessing(floor=2.0)


@pytest.mark.medium
def test_threshold_of_the_optimum_is_delta_alg():
    for text, noise in (("cos(z)", 0.0), ("z**2", 0.5), ("z**4 - 6*z**2", 0.0)):
        link = MultiIndexLink(text, noise=noise)
        T = link.optimal_preprocessing()
        exact = link.delta_alg().value
        assert abs(T.threshold().value / exact - 1.0) < 1e-5


def test_matrices_for_two_coordinates():
    T = MultiIndexLink("sign(z1*z2)", 2).optimal_preprocessing()
    blocks = T(np.array([1.0, -1.0]))
    c = 2 / np.pi
    exact = np.eye(2) - np.linalg.inv(np.array([[1.0, c], [c, 1.0]]))
    assert np.allclose(blocks[0], exact, atol=1e-12)
    assert np.allclose(blocks[1], np.eye(2) - np.linalg.inv(np.array([[1.0, -c], [-c, 1.0]])), atol=1e-12)
    with pytest.raises(InputError, match="matrix"):
        T.law()


def test_impossible_responses_carry_no_weight():
    assert MultiIndexLink("z**2").optimal_preprocessing()(np.array([-1.0])).tolist() == [0.0]
    with pytest.raises(InputError, match="one or two"):
        MultiIndexLink("sign(z1*z2*z3)", 3).optimal_preprocessing()
