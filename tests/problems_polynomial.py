"""Test problems that are polynomials or powers of norms, with saddles and minima in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from derand._utils.validation import FloatArray
from tests.problems_base import AnyArray, Objective, Problem, make, polish, random_orthogonal


class Rosenbrock(Objective):
    """sum_i 100 (x_{i+1} - x_i^2)^2 + (1 - x_i)^2."""

    def __init__(self, n: int) -> None:
        self.n = n

    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        a, valley, lead = x[:-1], x[1:] - x[:-1] ** 2, 1.0 - x[:-1]
        gradient = np.zeros_like(x)
        gradient[:-1] = -400.0 * a * valley - 2.0 * lead
        gradient[1:] += 200.0 * valley
        return np.sum(100.0 * valley * valley + lead * lead), gradient

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        a = x[:-1]
        out = np.zeros_like(x + v)
        out[:-1] = (1200.0 * a * a - 400.0 * x[1:] + 2.0) * v[:-1] - 400.0 * a * v[1:]
        out[1:] += 200.0 * v[1:] - 400.0 * a * v[:-1]
        return out


class Himmelblau(Objective):
    """((x^2 + y - 11)^2 + (x + y^2 - 7)^2) / 100."""

    n = 2

    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        p, q = x[0] * x[0] + x[1] - 11.0, x[0] + x[1] * x[1] - 7.0
        return 0.01 * (p * p + q * q), 0.02 * np.stack([2.0 * x[0] * p + q, p + 2.0 * x[1] * q])

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        p, q = x[0] * x[0] + x[1] - 11.0, x[0] + x[1] * x[1] - 7.0
        dp, dq = 2.0 * x[0] * v[0] + v[1], v[0] + 2.0 * x[1] * v[1]
        return 0.02 * np.stack([2.0 * (v[0] * p + x[0] * dp) + dq, dp + 2.0 * (v[1] * q + x[1] * dq)])


class SixHumpCamel(Objective):
    """(4 - 2.1 x^2 + x^4/3) x^2 + x y + (4 y^2 - 4) y^2."""

    n = 2

    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        a, b = x
        value = 4.0 * a**2 - 2.1 * a**4 + a**6 / 3.0 + a * b - 4.0 * b**2 + 4.0 * b**4
        return value, np.stack([8.0 * a - 8.4 * a**3 + 2.0 * a**5 + b, a - 8.0 * b + 16.0 * b**3])

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        a, b = x
        return np.stack([(8.0 - 25.2 * a**2 + 10.0 * a**4) * v[0] + v[1], v[0] + (48.0 * b**2 - 8.0) * v[1]])


class RotatedQuartic(Objective):
    """sum_i d_i y_i^2 / 2 + y_i^4 / 4 for y = Q' x: saddles wherever a negative d_i has y_i = 0."""

    def __init__(self, d: FloatArray, Q: FloatArray) -> None:
        self.d, self.Q, self.n = d, Q, len(d)

    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        y = self.Q.T @ x
        return np.sum(0.5 * self.d * y * y + 0.25 * y**4), self.Q @ (self.d * y + y**3)

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        y = self.Q.T @ x
        return self.Q @ ((self.d + 3.0 * y * y) * (self.Q.T @ v))


class OrthogonalTensor(Objective):
    """-1/4 sum_i (q_i . x)^4 + c/4 (|x|^2 - 1)^2: one component of an orthogonal tensor of order four.

    With m equal components the critical value is -c / (4 (c m - 1)), so m > 1 are strict saddles.
    """

    def __init__(self, Q: FloatArray, c: float) -> None:
        self.Q, self.c, self.n = Q, c, len(Q)

    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        y, excess = self.Q.T @ x, x @ x - 1.0
        return 0.25 * (self.c * excess * excess - np.sum(y**4)), self.c * excess * x - self.Q @ y**3

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        y = self.Q.T @ x
        return self.c * ((x @ x - 1.0) * v + 2.0 * (x @ v) * x) - self.Q @ (3.0 * y * y * (self.Q.T @ v))


class CubicModel(Objective):
    """b . x + x' A x / 2 + sigma |x|^3 / 3 for a symmetric, indefinite A."""

    def __init__(self, A: FloatArray, b: FloatArray, sigma: float) -> None:
        self.A, self.b, self.sigma, self.n = A, b, sigma, len(b)

    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        Ax, length = self.A @ x, np.sqrt(x @ x)
        return self.b @ x + 0.5 * (x @ Ax) + self.sigma * length**3 / 3.0, self.b + Ax + self.sigma * length * x

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        length = np.sqrt(x @ x)
        bend = (x @ v) / length * x if np.real(length) > 0.0 else 0.0 * x
        return self.A @ v + self.sigma * (length * v + bend)


def rosenbrock() -> Problem:
    """The saddle separates a first entry below from one above it; its tail decays to the fixed point near 0.01."""
    objective = Rosenbrock(100)
    guess = np.full(100, 0.0101)
    guess[:4] = [-0.5554, 0.3224, 0.1152, 0.0235]
    classic = np.tile([-1.2, 1.0], 50)
    problem = make(
        "rosenbrock", objective, polish(objective, guess, index=1), minimum=0.0, minimizer=np.ones(100), tuned=True
    )
    return Problem(**{**vars(problem), "starts": {**problem.starts, "classic": classic}})


def himmelblau() -> Problem:
    objective = Himmelblau()
    saddle = polish(objective, np.array([0.0867, 2.8843]))
    return make(
        "himmelblau",
        objective,
        saddle,
        minimum=0.0,
        minimizer=np.array([3.0, 2.0]),
        benign=True,
        spread=3.0,
        tuned=True,
    )


def six_hump_camel() -> Problem:
    objective = SixHumpCamel()
    minimizer = polish(objective, np.array([0.0898, -0.7126]))
    return make("six_hump_camel", objective, np.zeros(2), minimum=-1.031628453489877, minimizer=minimizer)


def quartic_saddle() -> Problem:
    rng = np.random.default_rng(21)
    d, Q = np.concatenate([np.geomspace(0.01, 10.0, 35), -np.geomspace(0.01, 1.0, 15)]), random_orthogonal(50, rng)
    minimizer = Q @ np.sqrt(np.maximum(-d, 0.0))
    minimum = -0.25 * float(np.sum(np.minimum(d, 0.0) ** 2))
    return make("quartic_saddle", RotatedQuartic(d, Q), np.zeros(50), minimum=minimum, minimizer=minimizer, benign=True)


def tensor_decomposition() -> Problem:
    rng = np.random.default_rng(22)
    Q, c, m = random_orthogonal(30, rng), 2.0, 7
    saddle = np.sqrt(c / (c * m - 1.0)) * Q[:, :m] @ rng.choice([-1.0, 1.0], size=m)
    minimizer, minimum = np.sqrt(c / (c - 1.0)) * Q[:, 0], -0.25 * c / (c - 1.0)
    objective = OrthogonalTensor(Q, c)
    return make(
        "tensor_decomposition",
        objective,
        saddle,
        minimum=minimum,
        minimizer=minimizer,
        benign=True,
        spread=0.3,
        tuned=True,
    )


def cubic_model() -> Problem:
    """The minimizer solves (A + sigma r) x = -b with r = |x| beyond the last pole; the saddle sits near -A^{-1} b."""
    rng = np.random.default_rng(23)
    n, sigma = 200, 0.5
    eigenvalues, Q = (
        np.concatenate([np.linspace(-1.0, -0.1, 40), np.linspace(0.1, 2.0, n - 40)]),
        random_orthogonal(n, rng),
    )
    c = 1e-3 * rng.standard_normal(n)
    objective = CubicModel(Q * eigenvalues @ Q.T, Q @ c, sigma)

    def excess(r: float) -> float:
        return float(np.linalg.norm(c / (eigenvalues + sigma * r))) - r

    pole = -eigenvalues[0] / sigma
    radius = float(optimize.brentq(excess, pole + 1e-9, pole + 10.0, xtol=1e-15, rtol=1e-15))
    minimizer = -Q @ (c / (eigenvalues + sigma * radius))
    saddle = polish(objective, -Q @ (c / eigenvalues))
    minimum = float(objective.value_and_grad(minimizer)[0])
    # |x| I + x x'/|x|, the Hessian of |x|^3/3, has Lipschitz constant 2.
    return make(
        "cubic_model", objective, saddle, minimum=minimum, minimizer=minimizer, spread=0.1, hess_lip=2.0 * sigma
    )
