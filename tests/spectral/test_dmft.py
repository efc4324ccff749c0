import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.spectral import DMFT, MatrixSpectralLaw, MultiIndexLink, SpectralLaw, TwoLayerGD


@pytest.mark.parametrize("m", [1, 2])
def test_linear_network_has_marchenko_pastur_integrals(m):
    """theta(t) = (I - eta A)^t theta(0) + (I - (I - eta A)^t) theta*, with A of the Marchenko-Pastur law (m = 1)."""
    delta, eta, T = 2.0, 0.3, 12
    x, w = SpectralLaw([1.0], weights=[1.0]).integration_rule(delta)
    run = DMFT("linear", "square", "z", m, delta=delta, eta=eta, n_samples=1024).run(T)
    if m == 1:
        powers = (1.0 - eta * x) ** np.arange(T + 1)[:, None]
        assert np.max(np.abs(run.overlaps[:, 0, 0] - (1 - powers @ w))) < 1e-8
        exact = (powers * w) @ powers.T + ((1 - powers) * w) @ (1 - powers).T
        assert np.max(np.abs(run.covariances[:, :, 0, 0] - exact)) < 1e-8
    else:  # f is the mean of two fields: their sum moves, with twice the variance, and their difference stays
        difference = run.covariances[:, :, 0, 0] - run.covariances[:, :, 0, 1]
        assert np.max(np.abs(difference - 1.0)) < 1e-8


def test_covariances_follow_the_recursion_with_responses():
    """C(t+1, s) = C(t, s) - eta sum Rl C + eta^2/delta sum Cl Rw', with Cl from the samples.

    The run itself has projections in the place of responses, which are the same by Stein's lemma: what is left is the
    sampling error, about 1/sqrt(N) for the tangents.  It was 1.8e-3, 6e-4 and 1.1e-4 at N = 2^11, 2^13 and 2^15.
    """
    delta, eta, errors = 3.0, 0.2, []
    for N in (1 << 11, 1 << 15):
        run = DMFT("half-quad", "pseudo-huber", "z**2", 2, delta=delta, eta=eta, n_samples=N).run(5)
        L = np.stack([run.network.force(u, run.y) for u in run.fields])
        C, worst = run.covariances, 0.0
        for t in range(5):
            for s in range(t + 1):
                pull = sum(run.loss_response[t, r] @ C[r, s] for r in range(t + 1))
                noise = sum((L[t] @ L[r].T / N) @ run.weight_response[s, r].T for r in range(s))
                expected = C[t, s] - eta * pull + eta**2 / delta * (0 if s == 0 else noise)
                worst = max(worst, float(np.max(np.abs(C[t + 1, s] - expected))))
        errors.append(worst)
    assert errors[1] < 4e-4
    assert errors[1] < errors[0] / 4.0


def test_late_covariances_hardly_depend_on_the_sample():
    """Scramblings of 8192 points, 50 steps: deviations of 0.004 with the noise in the order of time, 0.001 as it is."""
    kwargs = {"delta": 4.0, "eta": 0.2, "n_samples": 1 << 13}
    runs = [DMFT("tanh", "pseudo-huber", "z**2", rng=seed, **kwargs).run(50) for seed in range(4)]
    assert np.max(np.std([run.covariances for run in runs], axis=0)) < 2.5e-3
    assert np.max(np.std([run.test_risk for run in runs], axis=0)) < 5e-4


def test_noise_of_the_responses_is_sampled():
    """One step of a linear neuron: theta(1) = theta(0) - eta E[L u], and L = u - y has the variance 2 + noise^2."""
    link = MultiIndexLink("z", noise=0.5)
    run = DMFT("linear", "square", link, delta=2.0, eta=0.3, n_samples=1024).run(1)
    assert abs(run.train_risk[0] - 0.5 * 2.25) < 1e-12
    assert abs(run.covariances[1, 1, 0, 0] - (0.7**2 + 0.3**2 + 0.3**2 * 2.25 / 2.0)) < 1e-12


def test_fresh_fields_have_the_covariances():
    """theta(s) . theta(r) = O(s) O(r)' + Q(s) Q(r)': against weights that are moved by hand, in one step."""
    delta, eta = 2.0, 0.3
    kwargs = {"delta": delta, "eta": eta, "covariance": 2.0, "overlaps": [[0.5]], "n_samples": 1 << 14}
    run = DMFT("tanh", "square", "z", **kwargs).run(1)
    L = run.network.force(run.fields[0], run.y)[0]
    # theta(1) = theta(0) - eta X' L / n: mean products with theta(0), theta*, and the noise E[L^2] / delta
    pull, star = np.mean(L * run.fields[0, 0]), np.mean(L * run.z[:, 0])
    assert abs(run.covariances[1, 0, 0, 0] - (2.0 - eta * pull)) < 1e-12
    assert abs(run.overlaps[1, 0, 0] - (0.5 - eta * star)) < 1e-12
    rest = (pull - 0.5 * star) / np.sqrt(1.75)  # along the part of theta(0) across theta*
    square = 2.0 - 2.0 * eta * pull + eta**2 * (star**2 + rest**2 + np.mean(L * L) / delta)
    assert abs(run.covariances[1, 1, 0, 0] - square) < 1e-12


@pytest.mark.parametrize("link", ["z", "z**2"])
def test_against_gradient_descent(link):
    """d = 600, 6 runs, 8 steps: within four standard errors and the shift of order 1/d (0.01)."""
    kwargs = {"delta": 3.0, "eta": 0.4}
    limit = DMFT("tanh", "pseudo-huber", link, n_samples=8192, **kwargs).run(8)
    init = "random" if link == "z" else "orthogonal"
    runs = [TwoLayerGD("tanh", "pseudo-huber", link, d=600, init=init, **kwargs).run(8, rng=s) for s in range(6)]
    for value, samples in (
        (limit.train_risk[8], [r.train_risk[8] for r in runs]),
        (limit.test_risk[8], [r.test_risk[8] for r in runs]),
        (limit.covariances[8, 8, 0, 0], [r.norms[8, 0] ** 2 for r in runs]),
        (limit.overlaps[8, 0, 0], [r.overlaps[8, 0, 0] for r in runs]),
    ):
        assert abs(np.mean(samples) - value) < 4 * np.std(samples, ddof=1) / 6**0.5 + 0.01


def test_hard_overlaps_stay_zero_and_easy_ones_grow():
    hard = DMFT("half-quad", "pseudo-huber", "z**2", delta=4.0, eta=0.2, n_samples=512).run(4)
    assert np.all(hard.overlaps == 0.0)
    easy = DMFT("tanh", "square", "z", delta=4.0, eta=0.2, n_samples=512).run(4)
    assert np.all(np.diff(easy.overlaps[:, 0, 0]) > 0.0)


def test_laws_of_the_hessian():
    one = DMFT("half-quad", "pseudo-huber", "z**2", delta=4.0, eta=0.2, n_samples=1024).run(2)
    assert isinstance(one.hessian_law(), SpectralLaw)
    two = DMFT("half-quad", "pseudo-huber", "z**2", 2, delta=4.0, eta=0.2, n_samples=1024).run(1)
    assert isinstance(two.hessian_law(0), MatrixSpectralLaw)
    with pytest.raises(InputError, match="t must"):
        one.hessian_law(3)


def test_same_seed_same_bits():
    runs = [DMFT("gelu", "huber", "z**2", 2, delta=4.0, eta=0.2, n_samples=512, rng=3).run(3) for _ in range(2)]
    assert np.array_equal(runs[0].fields, runs[1].fields)
    seen = []
    DMFT("gelu", "huber", "z**2", delta=4.0, eta=0.2, n_samples=512).run(2, callback=seen.append)
    assert seen == [1, 2]


def test_bad_arguments():
    good = {"delta": 2.0, "eta": 0.1, "n_samples": 512}
    for bad, message in (
        ({"delta": 0.0}, "delta"),
        ({"n_samples": 100}, "power of two"),
        ({"covariance": [[1.0, 2.0]]}, "covariance"),
        ({"overlaps": [[2.0]]}, "positive semidefinite"),
    ):
        with pytest.raises(InputError, match=message):
            DMFT("quad", "square", "z**2", **{**good, **bad})
    with pytest.raises(InputTypeError, match="link"):
        DMFT("quad", "square", np.square, **good)
    with pytest.raises(InputError, match="too few"):
        DMFT("quad", "square", "z**2", **good).run(600)
    with pytest.raises(InputError, match="diverges"):
        DMFT("quad", "square", "z**2", delta=2.0, eta=50.0, n_samples=512).run(12)
