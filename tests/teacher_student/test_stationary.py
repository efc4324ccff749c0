import math

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.teacher_student import TeacherStudent
from derand.teacher_student.stationary import find_numerical_plateau


@pytest.mark.parametrize("k", [2, 3])
def test_symmetric_plateau_of_saad_and_solla(k):
    """Gradient flow's approach q - C ~ 1/alpha is marginal, hence 1e-7 on the overlaps; the loss is flat there."""
    layer = np.full(k, float(k))
    model = TeacherStudent(k, k, "erf", second_layer=layer, teacher_second_layer=layer)
    spot = model.plateau(second_order=False)
    assert math.isclose(spot.q, 1 / (2 * k - 1), rel_tol=1e-6)
    assert np.allclose(spot.rho, 1 / math.sqrt(k * (2 * k - 1)), rtol=1e-7)
    assert math.isclose(spot.loss, k / math.pi * (math.pi / 6 - k * math.asin(1 / (2 * k))), rel_tol=1e-12)
    assert spot.residual < 1e-12
    assert spot.escape_rates[0] > 1e3 * spot.rate_error


def test_quadratic_closed_form():
    model = TeacherStudent(4, 2, lr=0.1)
    found, exact = find_numerical_plateau(model.parameters, second_order=True, q0=1.0), model.plateau()
    assert math.isclose(found.q, exact.q, rel_tol=1e-12)
    assert np.allclose(found.escape_rates[:8], exact.escape_rates[0], rtol=1e-10)


def test_what_has_no_plateau():
    with pytest.raises(InputError, match="lr is too large"):
        TeacherStudent(4, 2, lr=0.5, second_layer=np.full(4, 2.0)).plateau()
    with pytest.raises(InputError, match="trained"):
        TeacherStudent(2, 2, second_layer_lr=0.1).plateau()
    with pytest.raises(InputError, match="q0"):
        TeacherStudent(2, 2, "erf").plateau(q0=-1.0)
