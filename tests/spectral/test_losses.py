import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.spectral.losses import LOSSES, as_loss

F = np.linspace(-3.05, 3.0, 31)


@pytest.mark.parametrize("name", list(LOSSES))
@pytest.mark.parametrize("scale", [0.4, 1.0])
def test_derivatives(name, scale):
    loss, h, y = as_loss(name, scale), 1e-5, 0.2 * np.ones_like(F)
    assert np.max(np.abs((loss.l(F + h, y) - loss.l(F - h, y)) / (2 * h) - loss.dl(F, y))) < 1e-8
    assert np.max(np.abs((loss.dl(F + h, y) - loss.dl(F - h, y)) / (2 * h) - loss.ddl(F, y))) < 1e-6
    assert np.all(loss.l(F, y) >= 0.0)
    if loss.is_lipschitz:
        assert np.max(np.abs(loss.dl(1e6 * F, y))) <= scale


def test_names_and_scales():
    assert as_loss("Pseudo_Huber").scale == 1.0
    assert as_loss(as_loss("huber"), 0.605).scale == 0.605
    with pytest.raises(InputError, match="loss must be one of"):
        as_loss("hinge")
    with pytest.raises(InputError, match="scale"):
        as_loss("huber", 0.0)
    with pytest.raises(InputTypeError, match="loss"):
        as_loss(np.square)
