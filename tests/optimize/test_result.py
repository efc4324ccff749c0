"""Fields and text of results."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from derand.optimize import IterationRecord, SOSPResult, SOSPStatus, minimize_sosp
from tests.optimize import hostile


@pytest.fixture(scope="module")
def result():
    return minimize_sosp(hostile.coupled, np.zeros(5), hessp=hostile.coupled_hessp, curv_tol=1e-3)


def test_fields_have_the_names_of_scipy(result):
    names = {field.name for field in dataclasses.fields(SOSPResult)}
    assert {"x", "fun", "jac", "success", "status", "message", "nit", "nfev", "nhev"} <= names
    assert not isinstance(result, OptimizeResult)
    value, gradient = hostile.coupled(result.x)
    assert result.fun == value
    np.testing.assert_array_equal(result.jac, gradient)


def test_is_frozen(result):
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.success = True


def test_text(result):
    text = repr(result)
    assert "Certified" in text
    assert f"{result.nfev} evaluations" in text
    assert f"{result.nhev} Hessian products" in text
    assert "<SOSPCertificate certified" in text
    failed = repr(minimize_sosp(hostile.coupled, np.zeros(5), max_evals=3))
    assert "limit on evaluations" in failed
    assert "certificate: None" in failed


def test_history_is_made_of_records(result):
    assert all(isinstance(record, IterationRecord) for record in result.history)
    assert IterationRecord._fields == ("nit", "nfev", "nhev", "fun", "gradient_norm", "event")
    assert result.history[-1].nit == result.nit


def test_success_is_the_status_certified(result):
    assert result.success is True
    assert result.status is SOSPStatus.CERTIFIED
    assert result.certificate.is_certified
    assert result.certificate.gradient_norm == np.linalg.norm(result.jac)


def test_html_for_notebooks(result):
    table = result._repr_html_()
    assert f"<td>{result.nfev}</td>" in table
    assert "CERTIFIED" in table
    assert "is_certified" not in table
    assert "<th" in result.certificate._repr_html_()
    assert result.certificate._repr_html_().count("SOSPCertificate certified: |grad| =") == 1
