import numpy as np
import pytest
from scipy.stats import norm as normal

from derand.exceptions import InputError, InputTypeError
from derand.gaussian import stein
from derand.gaussian.quadrature import tensor_gauss_hermite
from derand.gaussian.stein import heat_equation_residual, stein_residual, weight_gradient_residual

DIRECTION = np.array([0.7, -0.4, 0.3])


def cosine(z):
    return np.cos(z @ DIRECTION + 0.4)


def cosine_gradient(z):
    return -np.sin(z @ DIRECTION + 0.4)[:, None] * DIRECTION


def quartic_gradient(y):
    return y**3 - y


def quartic_hessian(y):
    return (3 * y**2 - 1)[:, :, None] * np.eye(y.shape[1])


W = np.array([[0.5, 0.2, -0.1], [0.3, -0.6, 0.4]])
B = np.array([0.3, -0.8])


def test_the_true_gradient_passes_and_matches_the_closed_form():
    result = stein_residual(cosine, cosine_gradient, 3, n_samples=40_000, rng=1)
    exact = -np.sin(0.4) * np.exp(-0.5 * DIRECTION @ DIRECTION) * DIRECTION
    assert result.is_consistent()
    assert np.all(np.abs(result.left - exact) <= 5 / np.sqrt(40_000))
    assert np.all(np.abs(result.right - exact) <= 5 * 0.7 / np.sqrt(40_000))


def test_a_wrong_gradient_is_found():
    result = stein_residual(cosine, lambda z: 1.1 * cosine_gradient(z), 3, n_samples=200_000, rng=1)
    assert not result.is_consistent()
    assert result.absolute > 5 * result.noise


def test_standard_errors_are_honest():
    """Over 400 batches the standardised residual of an entry has variance 1, within 4 sqrt(2/400)."""
    scores = []
    for seed in range(400):
        result = stein_residual(cosine, cosine_gradient, 3, n_samples=400, rng=seed)
        scores.append(result.residual[0] / result.standard_error[0])
    assert abs(np.mean(scores)) <= 4 / np.sqrt(400)
    assert abs(np.var(scores) - 1) <= 4 * np.sqrt(2 / 400)


def test_confidence_is_the_pass_rate():
    rate = np.mean(
        [stein_residual(cosine, cosine_gradient, 3, n_samples=400, rng=s).is_consistent(0.7) for s in range(300)]
    )
    # Bonferroni over three correlated entries passes at least 0.7
    assert rate >= 0.7 - 3 * np.sqrt(0.21 / 300)
    assert rate <= 0.95


def test_weight_gradient_against_quadrature():
    nodes, weights = tensor_gauss_hermite(6, 3)
    points = nodes @ W.T + B
    left = np.einsum("n,ni,nj->ij", weights, quartic_gradient(points), nodes)
    right = np.einsum("n,nij->ij", weights, quartic_hessian(points)) @ W
    assert np.max(np.abs(left - right)) <= 1e-13  # the identity itself, exact for polynomials
    result = weight_gradient_residual(quartic_gradient, quartic_hessian, W, B, n_samples=50_000, rng=3)
    assert result.is_consistent()
    assert result.residual.shape == (2, 3)
    assert np.max(np.abs(result.residual - (result.left - result.right))) <= 1e-15
    assert np.max(np.abs(result.left - left)) <= 0.15
    assert np.max(np.abs(result.right - right)) <= 0.1


def test_a_hidden_kink_is_found():
    """The gradient of |y| is sgn(y); its almost-everywhere Hessian, 0, misses the jump at 0."""
    result = weight_gradient_residual(np.sign, lambda y: np.zeros((*y.shape, 1)), [[1.0]], [0.0], rng=0)
    assert not result.is_consistent()
    assert result.relative == 1.0
    assert abs(result.left[0, 0] - 2 * normal.pdf(0)) < 0.03


def test_heat_equation_against_the_derivative_in_sigma():
    """E cos(a.(m + s z)) = cos(a.m) exp(-s^2 |a|^2/2), differentiated in s by central differences."""
    mean, sigma, length = np.array([0.3, 0.1, -0.2]), 0.8, DIRECTION @ DIRECTION
    gradient = lambda y: -np.sin(y @ DIRECTION)[:, None] * DIRECTION  # noqa: E731
    result = heat_equation_residual(
        gradient, lambda y: -length * np.cos(y @ DIRECTION), mean, sigma, n_samples=100_000, rng=2
    )
    smoothed = lambda s: np.cos(DIRECTION @ mean) * np.exp(-(s**2) * length / 2)  # noqa: E731
    slope = (smoothed(sigma + 1e-5) - smoothed(sigma - 1e-5)) / 2e-5
    assert result.is_consistent()
    assert abs(result.right[0] - slope) <= 0.01
    assert abs(result.left[0] - slope) <= 0.02


def test_batches_change_nothing_but_rounding(monkeypatch):
    whole = weight_gradient_residual(quartic_gradient, quartic_hessian, W, B, n_samples=1000, rng=5)
    monkeypatch.setattr(stein, "_BATCH_NUMBERS", 6 * 70)
    pieces = weight_gradient_residual(quartic_gradient, quartic_hessian, W, B, n_samples=1000, rng=5)
    for name in ("residual", "standard_error", "left", "right"):
        assert np.allclose(getattr(whole, name), getattr(pieces, name), rtol=1e-12, atol=1e-14)


def test_a_constant_without_noise():
    result = heat_equation_residual(np.zeros_like, lambda y: np.zeros(len(y)), [0.0], 0.0, rng=0)
    assert result.is_consistent()
    assert result.relative == 0.0


@pytest.mark.parametrize(
    ("call", "exception", "name"),
    [
        (lambda: stein_residual(cosine, cosine_gradient, 0), InputError, "dim"),
        (lambda: stein_residual(cosine, cosine_gradient, 3, n_samples=1), InputError, "n_samples"),
        (lambda: stein_residual(cosine, cosine, 3, rng=0), InputError, "gradient must return shape"),
        (lambda: stein_residual(lambda z: z[:, 0] / 0.0, cosine_gradient, 3, rng=0), InputError, "function must"),
        (lambda: weight_gradient_residual(quartic_gradient, quartic_hessian, W, [0.0]), InputError, "b must"),
        (lambda: weight_gradient_residual(quartic_gradient, quartic_hessian, [0.0], [0.0]), InputError, "W must"),
        (lambda: weight_gradient_residual(np.cos, np.cos, np.zeros((2, 0)), [0.0, 0.0]), InputError, "W must"),
        (lambda: heat_equation_residual(np.cos, np.cos, [0.0], -1.0), InputError, "sigma"),
        (lambda: heat_equation_residual(np.cos, np.cos, [], 1.0), InputError, "mean"),
        (lambda: heat_equation_residual(np.cos, np.cos, [0.0], "a"), InputTypeError, "sigma"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_bad_input(call, exception, name):
    with pytest.raises(exception, match=name):
        call()


def test_bad_confidence():
    result = stein_residual(cosine, cosine_gradient, 3, n_samples=10, rng=0)
    with pytest.raises(InputError, match="confidence"):
        result.is_consistent(1.0)
