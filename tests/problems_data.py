"""Test problems that fit a model to data: two-layer nets, mixtures, dictionaries, associative memories, angles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from derand._utils.validation import FloatArray
from tests.problems_base import AnyArray, Objective, Problem, make, polish, random_orthogonal
from tests.problems_low_rank import NormalisedRows


def tanh_unit(u: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return tanh with its two derivatives."""
    t = np.tanh(u)
    return t, 1.0 - t * t, -2.0 * t * (1.0 - t * t)


def softplus_unit(u: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return log(1 + exp(u)) with its two derivatives."""
    sign = np.where(np.real(u) < 0.0, -1.0, 1.0)
    small = np.exp(-sign * u)
    positive = np.real(u) > 0.0
    gate = np.where(positive, 1.0, small) / (1.0 + small)
    return np.where(positive, u, 0.0) + np.log1p(small), gate, gate * (1.0 - gate)


class TwoLayerNet(Objective):
    """1/2 mean(r_i^2) + decay/2 |x|^2 with r = unit(X W') a - y; the variable is W (width, d), then a (width,)."""

    def __init__(
        self, X: FloatArray, y: FloatArray, width: int, unit: Callable[..., tuple[AnyArray, ...]], decay: float
    ) -> None:
        self.X, self.y, self.width, self.unit, self.decay = X, y, width, unit, decay
        self.n = width * (X.shape[1] + 1)

    def _split(self, x: AnyArray) -> tuple[AnyArray, AnyArray]:
        cut = self.n - self.width
        return x[:cut].reshape(self.width, -1), x[cut:]

    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        W, a = self._split(x)
        s, s1, _ = self.unit(self.X @ W.T)
        r = (s @ a - self.y) / len(self.y)
        gradient = np.concatenate([((r[:, None] * s1 * a).T @ self.X).ravel(), s.T @ r])
        return 0.5 * len(self.y) * (r @ r) + 0.5 * self.decay * (x @ x), gradient + self.decay * x

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        (W, a), (dW, da) = self._split(x), self._split(v)
        s, s1, s2 = self.unit(self.X @ W.T)
        dU = self.X @ dW.T
        ds = s1 * dU
        r, dr = (s @ a - self.y) / len(self.y), (ds @ a + s @ da) / len(self.y)
        inner = (dr[:, None] * a + r[:, None] * da) * s1 + r[:, None] * a * s2 * dU
        return np.concatenate([(inner.T @ self.X).ravel(), ds.T @ r + s.T @ dr]) + self.decay * v


class MixtureMeans(Objective):
    """Minus the mean log likelihood of k equal unit Gaussians, up to a constant; the variable is the means (k, d)."""

    def __init__(self, X: FloatArray, k: int) -> None:
        self.X, self.k, self.n = X, k, k * X.shape[1]

    def _responsibilities(self, x: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        away = self.X[:, None, :] - x.reshape(self.k, -1)
        logits = -0.5 * np.sum(away * away, axis=2)
        top = np.max(np.real(logits), axis=1, keepdims=True)
        weights = np.exp(logits - top)
        total = np.sum(weights, axis=1, keepdims=True)
        return away, weights / total, np.log(total / self.k) + top

    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        away, shares, log_density = self._responsibilities(x)
        return -np.mean(log_density), -np.mean(shares[:, :, None] * away, axis=0).ravel()

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        away, shares, _ = self._responsibilities(x)
        dM = v.reshape(self.k, -1)
        pull = np.sum(away * dM, axis=2)
        change = shares * (pull - np.sum(shares * pull, axis=1, keepdims=True))
        return np.mean(shares[:, :, None] * dM - change[:, :, None] * away, axis=0).ravel()


class LogCosh(Objective):
    """ridge/2 |x|^2 + weight * scale * mean_i log cosh(y_i . x / scale) for the rows y_i of Y (m, n)."""

    def __init__(self, Y: FloatArray, scale: float, weight: float, ridge: float) -> None:
        self.Y, self.scale, self.weight, self.ridge = Y, scale, weight, ridge
        self.n = Y.shape[1]

    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        u = self.Y @ x / self.scale
        size = np.where(np.real(u) < 0.0, -u, u)
        value = np.mean(size + np.log1p(np.exp(-2.0 * size)) - np.log(2.0))
        gradient = self.Y.T @ np.tanh(u) * (self.weight / len(u))
        return 0.5 * self.ridge * (x @ x) + self.weight * self.scale * value, gradient + self.ridge * x

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        gate = 1.0 - np.tanh(self.Y @ x / self.scale) ** 2
        return self.Y.T @ (gate * (self.Y @ v)) * (self.weight / (self.scale * len(self.Y))) + self.ridge * v


class Angles(Objective):
    """1/2 sum_ij C_ij (1 - cos(x_i - x_j - offset_i + offset_j)) for symmetric C; adding a constant changes nothing."""

    def __init__(self, couplings: FloatArray, offset: FloatArray) -> None:
        self.couplings, self.offset, self.n = couplings, offset, len(offset)

    def _parts(self, x: AnyArray) -> tuple[AnyArray, ...]:
        c, s = np.cos(x - self.offset), np.sin(x - self.offset)
        return c, s, self.couplings @ c, self.couplings @ s

    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        c, s, Cc, Cs = self._parts(x)
        return 0.5 * (np.sum(self.couplings) - c @ Cc - s @ Cs), s * Cc - c * Cs

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        c, s, Cc, Cs = self._parts(x)
        return (c * Cc + s * Cs) * v - c * (self.couplings @ (c * v)) - s * (self.couplings @ (s * v))


def tanh_net() -> Problem:
    """At the origin the two layers meet only through -mean(y x), so the Hessian has eigenvalues of both signs."""
    rng = np.random.default_rng(31)
    X, teacher = rng.standard_normal((200, 8)), rng.standard_normal((3, 8)) / np.sqrt(8.0)
    y = np.tanh(2.0 * X @ teacher.T) @ np.array([1.0, -0.7, 0.8]) + 0.05 * rng.standard_normal(200)
    return make("tanh_net", TwoLayerNet(X, y, 6, tanh_unit, 1e-2), np.zeros(54), spread=0.5, tuned=True)


def softplus_net() -> Problem:
    """The saddle is the best net whose units are all equal: a net of one unit up to its decay."""
    rng = np.random.default_rng(32)
    X, teacher, width = rng.standard_normal((200, 7)), rng.standard_normal((3, 7)) / np.sqrt(7.0), 6
    y = softplus_unit(3.0 * X @ teacher.T)[0] @ np.array([1.0, -1.0, 0.8])
    single = TwoLayerNet(X, y, 1, softplus_unit, 1e-2)
    full = TwoLayerNet(X, y, width, softplus_unit, 1e-2)
    x = np.concatenate([teacher.sum(axis=0), [0.2]])
    for _ in range(400):
        x = x - 0.1 * single.value_and_grad(x)[1]
    copies = np.concatenate([np.tile(x[:-1], width), np.full(width, x[-1] / width)])
    return make("softplus_net", full, polish(full, copies), spread=0.5)


def gaussian_mixture() -> Problem:
    rng = np.random.default_rng(33)
    centres = 2.0 * rng.standard_normal((4, 5))
    X = centres[rng.integers(4, size=300)] + rng.standard_normal((300, 5))
    return make("gaussian_mixture", MixtureMeans(X, 4), np.tile(X.mean(axis=0), 4), spread=1.5)


def dictionary() -> Problem:
    """The data have all the symmetries of the cube, so equal entries on any support are a critical point."""
    d, mu = 16, 0.2
    eye = np.eye(d)
    pairs = [eye[i] + sign * 0.6 * eye[j] for i in range(d) for j in range(d) if i != j for sign in (1.0, -1.0)]
    atoms = random_orthogonal(d, np.random.default_rng(34))
    objective = NormalisedRows(LogCosh(np.array(pairs) @ atoms.T, mu, float(d) / 2.0, 0.0), 1)
    minimum = float(objective.value_and_grad(atoms[:, 0])[0])
    saddle = 0.5 * atoms[:, :4].sum(axis=1)
    return make("dictionary", objective, saddle, minimum=minimum, minimizer=atoms[:, 0], tuned=True)


def hopfield() -> Problem:
    """Orthogonal patterns: by concavity of log cosh(sqrt(u)) the free energy is least on single patterns."""
    signs = np.array([[1.0]])
    for _ in range(6):
        signs = np.block([[signs, signs], [signs, -signs]])
    beta, patterns = 2.0, signs[:, 1:25]
    objective = LogCosh(patterns, 1.0 / beta, -1.0, 1.0)
    size = 1.0
    for _ in range(200):
        size = float(np.tanh(beta * size))
    minimizer = np.zeros(24)
    minimizer[0] = size
    minimum = 0.5 * size**2 - float(np.log(np.cosh(beta * size))) / beta
    return make(
        "hopfield",
        objective,
        np.zeros(24),
        minimum=minimum,
        minimizer=minimizer,
        spread=0.2,
        # The mean of the pattern products is the identity; |tanh''| <= 4/27^(1/2), and |pattern . v| <= 24^(1/2) |v|.
        grad_lip=max(1.0, beta - 1.0),
        hess_lip=beta**2 * (4.0 / np.sqrt(27.0)) * np.sqrt(24.0),
    )


def angle_synchronisation() -> Problem:
    rng = np.random.default_rng(35)
    upper = np.triu(rng.random((60, 60)) < 0.2, 1) * (0.5 + rng.random((60, 60)))
    offset, flips = 2.0 * np.pi * rng.random(60), np.pi * (rng.random(60) < 0.5)
    couplings = (upper + upper.T) / 12.0
    # The second derivative along v is sum_ij C_ij cos(.) (v_i - v_j)^2 / 2 and |v_i - v_j| <= 2^(1/2) |v|.
    bound = float(np.linalg.eigvalsh(np.diag(couplings.sum(axis=1)) - couplings)[-1])
    return make(
        "angle_synchronisation",
        Angles(couplings, offset),
        offset + flips,
        minimum=0.0,
        minimizer=offset,
        spread=2.0,
        grad_lip=bound,
        hess_lip=np.sqrt(2.0) * bound,
    )
