import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.spectral import TwoLayerGD

SETTING = {"d": 40, "delta": 5.0, "eta": 0.1}


def test_a_step_is_the_gradient_of_the_risk():
    """Finite differences of the risk in the weights: step = -eta m grad."""
    model = TwoLayerGD("gelu", "pseudo-huber", "z**2", 2, **SETTING, a=[1.0, -0.5])
    rng = np.random.default_rng(0)
    X = rng.standard_normal((model.n, model.d))
    y, W = X[:, 0] ** 2, model.initial_weights(1)
    step = -(model.eta / model.n) * model.network.force(W @ X.T, y) @ X
    for j, i in ((0, 0), (1, 7)):
        bump = np.zeros_like(W)
        bump[j, i] = 1e-5
        change = (model.network.risk((W + bump) @ X.T, y) - model.network.risk((W - bump) @ X.T, y)) / 2e-5
        assert abs(step[j, i] + model.eta * 2 * change) < 1e-9


def test_hessian_operator_is_m_times_the_hessian():
    model = TwoLayerGD("tanh", "pseudo-huber", "z**2", 2, **SETTING)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((model.n, model.d))
    y, W = X[:, 0] ** 2, model.initial_weights(1)
    H = model.hessian_operator(X, W @ X.T, y)
    v = rng.standard_normal(2 * model.d)

    def gradient(W):
        return (model.network.force(W @ X.T, y) @ X / model.n).reshape(-1)

    V = 1e-6 * v.reshape(2, -1)
    assert np.max(np.abs((gradient(W + V) - gradient(W - V)) / 2e-6 - H @ v)) < 1e-7


def test_snapshots_agree_between_dense_and_lanczos():
    model = TwoLayerGD("half-quad", "pseudo-huber", "z**2", 2, **SETTING)
    run = model.run(3, hessian=[0, 3], rng=0)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((model.n, model.d))
    rng.standard_normal((model.n, model.d))
    W = model.initial_weights(rng)
    dense = np.linalg.eigvalsh(model.hessian_operator(X, W @ X.T, X[:, 0] ** 2).dense())
    assert np.allclose(run.snapshots[0].values, dense[:3], atol=1e-10)
    assert [s.t for s in run.snapshots] == [0, 3]
    assert np.all((run.snapshots[1].hard_overlaps >= 0) & (run.snapshots[1].hard_overlaps <= 1))


def test_a_snapshot_knows_the_law_of_its_own_blocks():
    """The bulk's extreme eigenvalues follow Tracy and Widom's law at the edges of the runs' own weights."""
    model = TwoLayerGD("half-quad", "pseudo-huber", "z**2", d=300, delta=4.0, eta=0.2, init="orthogonal")
    shots = [model.run(2, record=[2], hessian=[2], n_eigenvalues=2, rng=s).snapshots[0] for s in range(8)]
    # beside the outlier, the next eigenvalue is the bulk's
    predicted = np.array([shot.law().extreme_eigenvalue(4.0, 300) for shot in shots])
    scores = (np.array([shot.values[1] for shot in shots]) - predicted[:, 0]) / predicted[:, 1]
    assert np.all(np.abs(scores) < 4.0)
    assert abs(np.mean(scores)) < 4.0 / 8**0.5
    assert 0.3 < np.std(scores, ddof=1) < 2.0


def test_a_snapshot_of_two_neurons_has_a_matrix_law():
    model = TwoLayerGD("half-quad", "pseudo-huber", "z**2", 2, d=150, delta=4.0, eta=0.2, init="orthogonal")
    shot = model.run(0, hessian=[0], n_eigenvalues=3, rng=0).snapshots[0]
    law = shot.law()
    assert law.m == 2
    mean, deviation = law.extreme_eigenvalue(4.0, 150)
    assert abs(shot.values[2] - mean) < 4.0 * deviation


def test_records_and_starts():
    model = TwoLayerGD("quad", "huber", "z**2", 4, init="zero_output", **SETTING)
    run = model.run(4, record=[0, 4], rng=1)
    assert run.times.tolist() == [0.0, 4.0]
    assert run.overlaps.shape == (2, 4, 1)
    assert np.allclose(run.norms[0], 1.0)
    W = model.initial_weights(2)
    assert np.array_equal(W[0], W[1])
    assert np.all(TwoLayerGD("quad", "huber", "z**2", init="orthogonal", **SETTING).initial_weights(0)[:, 0] == 0.0)
    assert 0.0 <= run.correlation[0] <= 1.0


def test_learning_phase_retrieval_with_many_samples():
    run = TwoLayerGD("half-quad", "pseudo-huber", "z**2", d=30, delta=30.0, eta=0.5).run(150, record=[0, 150], rng=0)
    assert run.correlation[-1] > 0.95
    assert run.test_risk[-1] < 0.5 * run.test_risk[0]


def test_divergence_is_reported():
    run = TwoLayerGD("quad", "square", "z**2", d=20, delta=3.0, eta=50.0).run(60, rng=0)
    assert run.diverged_at is not None
    assert len(run.times) == run.diverged_at


def test_bad_arguments():
    with pytest.raises(InputError, match="even"):
        TwoLayerGD("quad", "square", "z**2", 3, init="zero_output", **SETTING)
    with pytest.raises(InputError, match="record"):
        TwoLayerGD("quad", "square", "z**2", **SETTING).run(2, record=[5])
    with pytest.raises(InputTypeError, match="link"):
        TwoLayerGD("quad", "square", None, **SETTING)
