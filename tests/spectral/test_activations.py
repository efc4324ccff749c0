import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.spectral.activations import ACTIVATIONS, SmoothFunction, as_activation

U = np.linspace(-4.0, 4.0, 33)


@pytest.mark.parametrize("name", list(ACTIVATIONS))
def test_derivatives(name):
    """Central differences with h = 1e-5: error h^2/6 times the third derivative, and rounding 1e-11."""
    s, h = ACTIVATIONS[name], 1e-5
    assert np.max(np.abs((s.value(U + h) - s.value(U - h)) / (2 * h) - s.first(U))) < 1e-8
    assert np.max(np.abs((s.first(U + h) - s.first(U - h)) / (2 * h) - s.second(U))) < 1e-8
    assert s.value(U).shape == U.shape


def test_names_and_objects():
    assert as_activation("Half_Quad") is ACTIVATIONS["half-quad"]
    own = SmoothFunction(np.sin, np.cos, lambda u: -np.sin(u))
    assert as_activation(own) is own
    with pytest.raises(InputError, match="ReLU has no second derivative"):
        as_activation("relu")
    with pytest.raises(InputTypeError, match="activation"):
        as_activation(3)
