"""Test problems built of wells: smoothed wells, lattices, octopus chains, polynomials with known saddles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from derand._utils.validation import FloatArray
from tests.problems_base import AnyArray, Objective, Problem, make, polish


class SmoothedRows(Objective):
    """E[g(W x + b)] + lam ||W||^2 for g(z) = sum_i u(z_i) + z' J z / 2, in closed form.

    ``well(b, s)`` returns E[u(b + sqrt(s) normal)] and its derivatives by b, s, bb, bs, ss; x is W (k, d), b (k,).
    """

    def __init__(
        self, well: Callable[..., tuple[AnyArray, ...]], shape: tuple[int, int], lam: float, J: FloatArray
    ) -> None:
        self.well, self.shape, self.lam, self.J = well, shape, lam, J
        self.n = shape[0] * (shape[1] + 1)

    def _split(self, x: AnyArray) -> tuple[AnyArray, AnyArray]:
        cut = self.shape[0] * self.shape[1]
        return x[:cut].reshape(self.shape), x[cut:]

    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        W, b = self._split(x)
        s = np.sum(W * W, axis=1)
        value, by_b, by_s, *_ = self.well(b, s)
        pulled, pulled_b = self.J @ W, self.J @ b
        total = np.sum(value) + self.lam * np.sum(s) + 0.5 * (b @ pulled_b + np.sum(W * pulled))
        return total, np.concatenate([(2.0 * (by_s + self.lam)[:, None] * W + pulled).ravel(), by_b + pulled_b])

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        (W, b), (dW, db) = self._split(x), self._split(v)
        _, _, by_s, by_bb, by_bs, by_ss = self.well(b, np.sum(W * W, axis=1))
        ds = 2.0 * np.sum(W * dW, axis=1)
        out_w = 2.0 * (by_bs * db + by_ss * ds)[:, None] * W + 2.0 * (by_s + self.lam)[:, None] * dW + self.J @ dW
        return np.concatenate([out_w.ravel(), by_bb * db + by_bs * ds + self.J @ db])


def quartic_well(b: AnyArray, s: AnyArray) -> tuple[AnyArray, ...]:
    """Return E[(z^2 - 1)^2] / 4 for z ~ N(b, s) with its derivatives."""
    value = 0.25 * (b**4 + 6.0 * b * b * s + 3.0 * s * s - 2.0 * b * b - 2.0 * s + 1.0)
    return (
        value,
        b**3 + 3.0 * b * s - b,
        0.5 * (3.0 * b * b + 3.0 * s - 1.0),
        3.0 * (b * b + s) - 1.0,
        3.0 * b,
        np.full(b.shape, 1.5),
    )


def cosine_well(b: AnyArray, s: AnyArray) -> tuple[AnyArray, ...]:
    """Return E[-cos z] for z ~ N(b, s) with its derivatives."""
    damp = np.exp(-0.5 * s)
    c, d = np.cos(b) * damp, np.sin(b) * damp
    return -c, d, 0.5 * c, c, -0.5 * d, -0.25 * c


class Lattice(Objective):
    """stiffness/2 tr(u' L u) + 1/4 sum_i (|u_i|^2 - 1)^2 for a field u (p, components) and a graph Laplacian L."""

    def __init__(self, laplacian: FloatArray, stiffness: float, components: int = 1) -> None:
        self.laplacian, self.components = stiffness * laplacian, components
        self.n = laplacian.shape[0] * components

    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        u = x.reshape(-1, self.components)
        pulled, excess = self.laplacian @ u, np.sum(u * u, axis=1, keepdims=True) - 1.0
        return 0.5 * np.sum(u * pulled) + 0.25 * np.sum(excess * excess), (pulled + excess * u).ravel()

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        u, du = x.reshape(-1, self.components), v.reshape(-1, self.components)
        excess = np.sum(u * u, axis=1, keepdims=True) - 1.0
        return (self.laplacian @ du + excess * du + 2.0 * np.sum(u * du, axis=1, keepdims=True) * u).ravel()


def ring_laplacian(p: int) -> FloatArray:
    """Return the Laplacian of the cycle with p nodes."""
    eye = np.eye(p)
    return 2.0 * eye - np.roll(eye, 1, axis=1) - np.roll(eye, -1, axis=1)


def clamped_laplacian(p: int) -> FloatArray:
    """Return the second-difference matrix of p nodes with zero values beyond both ends."""
    return 2.0 * np.eye(p) - np.eye(p, k=1) - np.eye(p, k=-1)


class Octopus(Objective):
    """The chain of saddles of Du et al. 2017 (arXiv 1705.10412, section 4), defined on all of R^d.

    Coordinate j feels L x^2 while its predecessor is below tau and the tentacle p once it is above 2 tau; p is
    -gamma x^2 up to tau, L (x - 4 tau)^2 - nu from 2 tau on, and between them a quartic that matches value, slope and
    curvature.  On the paths of the paper the quintic step between L x^2 and p is its g_2.  Even in every coordinate.
    """

    def __init__(self, d: int, L: float, gamma: float, tau: float) -> None:
        self.n, self.L, self.gamma, self.tau = d, L, gamma, tau
        # The slope of the joint is the cubic in t = (x - tau)/tau through both end slopes and end curvatures.
        a, m, b, q = -2.0 * gamma * tau, -2.0 * gamma * tau, -4.0 * L * tau, 2.0 * L * tau
        self.slope = np.array([2 * a + m - 2 * b + q, -3 * a - 2 * m + 3 * b - q, m, a])
        self.joint = np.polyint(self.slope) * tau
        self.joint[-1] = -gamma * tau**2
        self.nu = 4.0 * L * tau**2 - float(np.polyval(self.joint, 1.0))

    def _tentacle(self, x: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        near, far = np.real(x) <= self.tau, np.real(x) >= 2.0 * self.tau
        t, shift = x / self.tau - 1.0, x - 4.0 * self.tau
        value = np.polyval(self.joint, t), -self.gamma * x * x, self.L * shift * shift - self.nu
        first = np.polyval(self.slope, t), -2.0 * self.gamma * x, 2.0 * self.L * shift
        second = (
            np.polyval(np.polyder(self.slope), t) / self.tau,
            np.full(x.shape, -2.0 * self.gamma),
            np.full(x.shape, 2.0 * self.L),
        )
        value, first, second = (np.where(near, p[1], np.where(far, p[2], p[0])) for p in (value, first, second))
        return value, first, second

    def _step(self, x: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        t = x / self.tau - 1.0
        t = np.where(np.real(t) <= 0.0, 0.0, np.where(np.real(t) >= 1.0, 1.0, t))
        first, second = 30.0 * t * t * (t - 1.0) ** 2 / self.tau, 60.0 * t * (2.0 * t - 1.0) * (t - 1.0) / self.tau**2
        return t**3 * (10.0 - 15.0 * t + 6.0 * t * t), first, second

    def _parts(self, x: AnyArray) -> tuple[AnyArray, ...]:
        sign = np.where(np.real(x) < 0.0, -1.0, 1.0)
        size = sign * x
        p, s = (
            self._tentacle(size),
            [np.concatenate([[end], f[:-1]]) for end, f in zip((1.0, 0.0, 0.0), self._step(size), strict=True)],
        )
        gap = (p[0] - self.L * size * size, p[1] - 2.0 * self.L * size, p[2] - 2.0 * self.L)
        return sign, size, gap, s

    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        sign, size, gap, s = self._parts(x)
        gradient = 2.0 * self.L * size + s[0] * gap[1]
        gradient[:-1] += s[1][1:] * gap[0][1:]
        return np.sum(self.L * size * size + s[0] * gap[0]), sign * gradient

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        sign, _, gap, s = self._parts(x)
        w = sign * v
        diagonal = 2.0 * self.L + s[0] * gap[2]
        diagonal[:-1] += s[2][1:] * gap[0][1:]
        beside = s[1][1:] * gap[1][1:]
        out = diagonal * w
        out[:-1] += beside * w[1:]
        out[1:] += beside * w[:-1]
        return sign * out


class MonkeySaddles(Objective):
    """sum over pairs (x, y) of (x^3 - 3 x y^2)/3 + (x^2 + y^2)^2/4: r^3 cos(3 angle)/3 + r^4/4 in polar coordinates."""

    def __init__(self, n_pairs: int) -> None:
        self.n = 2 * n_pairs

    def value_and_grad(self, x: AnyArray) -> tuple[Any, AnyArray]:
        a, b = x[::2], x[1::2]
        square = a * a + b * b
        gradient = np.stack([a * a - b * b + square * a, -2.0 * a * b + square * b], axis=1)
        return np.sum(a**3 / 3.0 - a * b * b + 0.25 * square * square), gradient.ravel()

    def hessp(self, x: AnyArray, v: AnyArray) -> AnyArray:
        a, b, da, db = x[::2], x[1::2], v[::2], v[1::2]
        square, change = a * a + b * b, 2.0 * (a * da + b * db)
        first = 2.0 * (a * da - b * db) + change * a + square * da
        second = -2.0 * (da * b + a * db) + change * b + square * db
        return np.stack([first, second], axis=1).ravel()


def double_wells() -> Problem:
    rng = np.random.default_rng(11)
    objective = SmoothedRows(quartic_well, (10, 10), 0.1, np.zeros((10, 10)))
    saddle, minimizer = np.zeros((2, 110))
    saddle[100:] = rng.choice([-1.0, 0.0, 1.0], size=10)
    minimizer[100:] = 1.0
    return make("double_wells", objective, saddle, minimum=0.0, minimizer=minimizer, spread=0.5, tuned=True)


def smoothed_cosines() -> Problem:
    objective = SmoothedRows(cosine_well, (12, 6), 0.1, np.zeros((12, 12)))
    saddle = np.zeros(84)
    saddle[72:] = np.pi * (np.arange(12) % 3)
    return make("smoothed_cosines", objective, saddle, minimum=-12.0, minimizer=np.zeros(84), tuned=True)


def coupled_wells() -> Problem:
    objective = SmoothedRows(quartic_well, (12, 15), 0.05, 0.2 * ring_laplacian(12))
    minimizer = np.concatenate([np.zeros(180), np.ones(12)])
    return make("coupled_wells", objective, np.zeros(192), minimum=0.0, minimizer=minimizer, spread=0.5)


def phi4_chain() -> Problem:
    objective = Lattice(ring_laplacian(100), 0.5)
    return make("phi4_chain", objective, np.zeros(100), minimum=0.0, minimizer=np.ones(100))


def allen_cahn() -> Problem:
    laplacian = np.kron(clamped_laplacian(20), np.eye(20)) + np.kron(np.eye(20), clamped_laplacian(20))
    objective = Lattice(laplacian, 4.0)
    grid = np.pi * np.arange(1, 21) / 21.0
    return make("allen_cahn", objective, polish(objective, np.outer(np.sin(2.0 * grid), np.sin(grid))), spread=0.5)


def ginzburg_landau() -> Problem:
    """A plane wave of wave number pi/2 on a 12 x 12 torus: square modulus 1 - 2 stiffness, Eckhaus unstable."""
    laplacian = np.kron(ring_laplacian(12), np.eye(12)) + np.kron(np.eye(12), ring_laplacian(12))
    objective = Lattice(laplacian, 0.3, components=2)
    angle = 0.5 * np.pi * np.repeat(np.arange(12), 12)
    saddle = np.sqrt(0.4) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return make("ginzburg_landau", objective, saddle, minimum=0.0, minimizer=np.tile([0.6, 0.8], 144), tuned=True)


def _octopus(name: str, objective: Octopus, **fields: Any) -> Problem:
    d = objective.n
    minimizer = np.full(d, 4.0 * objective.tau)
    return make(name, objective, np.zeros(d), minimum=-d * objective.nu, minimizer=minimizer, spread=0.3, **fields)


def octopus_100() -> Problem:
    return _octopus("octopus_100", Octopus(100, 1.0, 1.0, 1.0), tuned=True)


def octopus_10() -> Problem:
    return _octopus("octopus_10", Octopus(10, 1.5, 0.5, 0.7))


def monkey_saddles() -> Problem:
    """The Hessian at the origin vanishes: a second-order stationary point that is no local minimum."""
    minimizer = np.tile([-1.0, 0.0], 10)
    return make(
        "monkey_saddles",
        MonkeySaddles(10),
        np.zeros(20),
        minimum=-10.0 / 12.0,
        minimizer=minimizer,
        strict=False,
        tuned=True,
    )
