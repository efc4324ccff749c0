import numpy as np
import pytest

from derand.exceptions import InputError
from derand.objectives.variables import Variables


def test_round_trip():
    rng = np.random.default_rng(0)
    layout = Variables(3, 4, 4, 2)
    W, b, theta = rng.standard_normal((3, 4)), rng.standard_normal(3), rng.standard_normal(2)
    x = layout.pack(W, b, theta)
    assert x.size == layout.size == 17
    factor, point = layout.split(x)
    np.testing.assert_array_equal(factor, W)
    np.testing.assert_array_equal(point, np.concatenate([b, theta]))


def test_reduction_keeps_the_law():
    rng = np.random.default_rng(1)
    layout = Variables(3, 7, 3, 0)
    W = rng.standard_normal((3, 7))
    L = layout.factor(W)
    assert L.shape == (3, 3)
    np.testing.assert_allclose(L @ L.T, W @ W.T, atol=1e-13)
    wide = layout.expand(L)
    assert wide.shape == (3, 7)
    np.testing.assert_allclose(wide @ wide.T, W @ W.T, atol=1e-13)
    np.testing.assert_array_equal(layout.factor(L), L)
    np.testing.assert_array_equal(layout.factor(np.zeros((3, 7))), np.zeros((3, 3)))


def test_parameters_have_no_variance():
    layout = Variables(2, 2, 2, 1)
    np.testing.assert_array_equal(layout.pad(np.eye(2)), [[1, 0], [0, 1], [0, 0]])


@pytest.mark.parametrize(
    ("W", "b", "theta", "name"),
    [
        (np.ones((3, 7)), np.ones(2), None, "W"),
        (np.ones(14), np.ones(2), None, "W"),
        (np.full((2, 7), np.nan), np.ones(2), None, "W"),
        (np.ones((2, 7)), np.ones(3), None, "b"),
        (np.ones((2, 7)), [0.0, np.inf], None, "b"),
        (np.ones((2, 7)), np.ones(2), np.ones(1), "theta"),
    ],
)
def test_bad_input_is_named(W, b, theta, name):
    with pytest.raises(InputError, match=rf"^{name} must"):
        Variables(2, 7, 2, 0).pack(W, b, theta)


def test_missing_theta_and_wrong_length():
    layout = Variables(2, 7, 2, 3)
    with pytest.raises(InputError, match="theta"):
        layout.pack(np.ones((2, 7)), np.ones(2), None)
    with pytest.raises(InputError, match="x must have shape"):
        layout.split(np.ones(5))
    with pytest.raises(InputError, match="v must"):
        layout.split(np.full(9, np.nan), "v")
