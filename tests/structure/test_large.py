"""Inputs read in blocks give the same risks and checks as the array in memory."""

import numpy as np
import pytest

import derand.structure.large as large
from derand.structure import Network, NetworkObjective, Sample
from derand.structure.inputs import check_inputs
from derand.structure.large import LargeRows, row_blocks


@pytest.fixture
def white():
    rng = np.random.default_rng(0)
    source, mean, matrix = rng.standard_normal((300, 5)), rng.standard_normal(5), rng.standard_normal((5, 3))
    return LargeRows(source, mean, matrix), (source - mean) @ matrix


def test_rows_are_centred_and_transformed(white):
    lazy, plain = white
    assert (lazy.shape, lazy.ndim, lazy.dtype) == ((300, 3), 2, np.float64)
    np.testing.assert_allclose(lazy[10:20, :], plain[10:20], rtol=1e-14)
    np.testing.assert_allclose(lazy[10:20], plain[10:20], rtol=1e-14)


def test_blocks_cover_all_rows_once(white, monkeypatch):
    monkeypatch.setattr(large, "_BLOCK", 5 * 7)
    lazy, plain = white
    parts = list(row_blocks(lazy))
    assert [rows.stop - rows.start for rows, _ in parts] == [7] * 42 + [6]
    np.testing.assert_allclose(np.concatenate([block for _, block in parts]), plain, rtol=1e-14)
    whole = list(row_blocks(plain))
    assert len(whole) == 1
    assert whole[0][1] is plain


def test_objective_and_input_check_are_those_of_memory(white, monkeypatch):
    monkeypatch.setattr(large, "_BLOCK", 5 * 7)
    lazy, plain = white
    y = np.tanh(plain[:, 0])
    network = Network(3, 4)
    x = network.random_parameters(rng=1)
    far, near = (NetworkObjective(network, Sample(X, y), lam=1e-2) for X in (lazy, plain))
    far._chunk = 11
    v = np.random.default_rng(2).standard_normal(x.size)
    assert far.value(x) == pytest.approx(near.value(x), rel=1e-13)
    np.testing.assert_allclose(far.value_and_grad(x)[1], near.value_and_grad(x)[1], rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(far.hessp(x, v), near.hessp(x, v), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(far.first_layer(x).bias_hessian, near.first_layer(x).bias_hessian, atol=1e-13)
    one, other = check_inputs(lazy), check_inputs(plain)
    assert one.worst_score == pytest.approx(other.worst_score, rel=1e-11)
    assert one.is_gaussian == other.is_gaussian
