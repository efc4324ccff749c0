import numpy as np
import pytest

from derand.exceptions import InputError
from derand.spectral import SpectralLaw
from derand.spectral.bulk import check_delta


def test_atom_bulk_and_rule_fit_together():
    law = SpectralLaw([0.0, 1.0, -1.0], weights=[0.2, 0.4, 0.4])
    for delta in (0.5, 1.25, 3.0):
        x, w = law.integration_rule(delta)
        assert abs(np.sum(w) + law.atom(delta) - 1.0) < 1e-6
        low, high = law.bulk(delta)[0][0], law.bulk(delta)[-1][1]
        assert low <= x.min()
        assert x.max() <= high
    assert law.atom(0.5) == pytest.approx(0.6)


def test_stieltjes_is_far_out_minus_one_over_z():
    law = SpectralLaw([1.0, -0.5], weights=[0.5, 0.5])
    assert abs(law.stieltjes(1e6 + 0j, 2.0) + 1e-6) < 1e-11
    with pytest.raises(InputError, match="Im z"):
        law.stieltjes(1.0 - 1j, 2.0)


def test_delta_is_checked():
    assert check_delta(2) == 2.0
    for bad in (0.0, -1.0, float("inf")):
        with pytest.raises(InputError, match="delta"):
            check_delta(bad)
