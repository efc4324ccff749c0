import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.spectral.functions import of_points

POINTS = np.array([[1.0, 2.0], [3.0, -4.0]])


def test_every_form_of_a_function():
    for function in (np.multiply, lambda a, b: a * b, lambda z: z[:, 0] * z[:, 1], lambda z, power=1: z.prod(axis=1)):
        assert of_points(function, 2, "h")(POINTS).tolist() == [2.0, -12.0]
    assert of_points(np.abs, 1, "h")(POINTS[:, 1:]).tolist() == [2.0, 4.0]
    assert of_points(lambda a, b: 3.0, 2, "h")(POINTS).tolist() == [3.0, 3.0]


def test_bad_functions():
    with pytest.raises(InputTypeError, match="h must be callable"):
        of_points(3, 1, "h")
    with pytest.raises(InputError, match="shape"):
        of_points(lambda z: z[:1, 0], 2, "h")(POINTS)
