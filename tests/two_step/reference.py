"""Independent references for two gradient steps: brute force, exact rational moments, many digits."""

import math
from fractions import Fraction

import mpmath
import numpy as np
from scipy.special import erf, ndtr

from derand.two_step import hermite_coefficients

_SECOND = math.exp(1.5) / 2.0
#: Variance of sin z - (exp(3/2)/2) sin 2z, by E sin az sin bz = (exp(-(a-b)^2/2) - exp(-(a+b)^2/2))/2.
_VARIANCE = (
    (1 - math.exp(-2.0)) / 2 + _SECOND**2 * (1 - math.exp(-8.0)) / 2 - _SECOND * (math.exp(-0.5) - math.exp(-4.5))
)


def ie3(z):
    """Bounded link of unit variance without a linear part: information exponent 3."""
    return (np.sin(z) - _SECOND * np.sin(2 * z)) / math.sqrt(_VARIANCE)


def he23(z):
    """Sum of the orthonormal second and third Hermite polynomials, of unit variance."""
    return (z**2 - 1) / 2.0 + (z**3 - 3 * z) / math.sqrt(12.0)


def plain_directions(X, y, orders, batch):
    """Return X^T (y o (X b)^k)/n for k = 0..orders, written out."""
    n = len(y) // 2
    (X1, y1), (X2, y2) = ((X, y), (X, y)) if batch == "reuse" else ((X[:n], y[:n]), (X[n:], y[n:]))
    s = X2 @ (X1.T @ y1 / len(y1))
    return np.stack([X2.T @ (y2 * s**k) / len(y2) for k in range(orders + 1)])


def averaged_direction(run, order):
    """Return the Taylor coefficient of order k of the second gradient, averaged over all neurons by brute force."""
    X, y = run.second.X, run.second.y
    fields, moves = X @ run.W0.T, X @ (run.G1 / run.a0[:, None]).T
    terms = run.activation.derivative(fields, order + 1) * moves**order / math.factorial(order)
    return X.T @ (y * terms.mean(axis=1)) / len(y)


def exact_he23_cosine(gamma):
    """Return the cosine of direction 1 for y = He_2 + He_3, from rational Gaussian moments.

    s = gamma y + tau g: m = gamma E[y^2 z], A = E[y] = 0, |b|^2 = m^2 + gamma (gamma^2 E[y^4] + tau^2 E[y^2]), with
    tau^2 = gamma E[y^2].
    """
    y = {0: -1, 1: -3, 2: 1, 3: 1}

    def product(p, q):
        result = {}
        for i, a in p.items():
            for j, b in q.items():
                result[i + j] = result.get(i + j, 0) + a * b
        return result

    def mean(p):
        return sum(Fraction(a * math.prod(range(k - 1, 0, -2))) for k, a in p.items() if k % 2 == 0)

    square = product(y, y)
    m = gamma * mean(product(square, {1: 1}))
    second, fourth = mean(square), mean(product(square, square))
    norm2 = m**2 + gamma * (gamma**2 * fourth + gamma * second * second)
    return float(m) / math.sqrt(norm2)


def worst_hermite_error(degree=12, digits=40, names=("relu", "abs", "tanh", "erf", "gelu")):
    """Return the largest error of c_0..c_degree of five activations against many digits."""
    functions = {
        "relu": (lambda z: np.maximum(z, 0.0), lambda z: z if z > 0 else mpmath.mpf(0)),
        "abs": (np.abs, abs),
        "tanh": (np.tanh, mpmath.tanh),
        "erf": (erf, mpmath.erf),
        "gelu": (lambda z: z * ndtr(z), lambda z: z * mpmath.ncdf(z)),
    }
    worst = 0.0
    with mpmath.workdps(digits):
        for name in names:
            given, precise = functions[name]
            truth = [
                mpmath.quad(
                    lambda z, k=k, precise=precise: (
                        precise(z)
                        * mpmath.hermite(k, z / mpmath.sqrt(2))
                        * mpmath.power(2, -mpmath.mpf(k) / 2)
                        * mpmath.npdf(z)
                        / mpmath.factorial(k)
                    ),
                    [-16, -8, -4, -2, -1, 0, 1, 2, 4, 8, 16],
                )
                for k in range(degree + 1)
            ]
            for found in (hermite_coefficients(name, degree), hermite_coefficients(given, degree, kinks=[0.0])):
                worst = max(worst, *(abs(float(value - t)) for value, t in zip(found, truth, strict=True)))
    return worst
