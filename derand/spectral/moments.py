"""Averages over the weights that all scalar laws are made of, seen from one side of the bulk."""

from __future__ import annotations

import math

import numpy as np

from derand._utils.validation import FloatArray

__all__ = ["SideMoments"]

_BLOCK = 4_000_000


class SideMoments:
    r"""Averages of :math:`T = G\tau/(1 + G\tau)` for tau > 0 on the left side of the bulk.

    The right side of the weights G is the left side of -G, so everything is written for the left one: tau runs from 0
    (z = -infinity) to ``tau_max`` = 1/|inf G|, or to infinity when no weight is negative.

    Parameters
    ----------
    G : ndarray of shape (n,)
        Weights, negated for the right side.
    probabilities : ndarray of shape (n,)
        Their probabilities.
    V : ndarray of shape (n, k)
        Coordinates along the planted directions.
    lowest : float
        Essential infimum of G, at most min(G).
    """

    def __init__(self, G: FloatArray, probabilities: FloatArray, V: FloatArray, lowest: float) -> None:
        self.G, self.p, self.V = G, probabilities, V
        self.k = V.shape[1]
        self.lowest = lowest
        self.tau_max = math.inf if lowest >= 0.0 else (0.0 if lowest == -math.inf else -1.0 / lowest)
        self._pairs = probabilities[:, None] * (V[:, :, None] * V[:, None, :]).reshape(len(G), self.k**2)
        self.size = float(probabilities @ np.abs(G))

    def t(self, tau: float) -> FloatArray:
        """Return T at every node."""
        x = self.G * tau
        return np.asarray(x / (1.0 + x))

    def first_two(self, tau: float) -> tuple[float, float]:
        """Return E[T] and E[T^2]."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            t = self.t(tau)
            return float(self.p @ t), float(self.p @ (t * t))

    def planted(self, tau: float) -> FloatArray:
        """Return E[T v v^T], shape (k, k)."""
        return np.asarray((self.t(tau) @ self._pairs).reshape(self.k, self.k))

    def squared(self, tau: float) -> FloatArray:
        """Return E[(G / (1 + G tau))^2 v v^T], shape (k, k)."""
        ratio = self.G / (1.0 + self.G * tau)
        return np.asarray(((ratio * ratio) @ self._pairs).reshape(self.k, self.k))

    def table(self, taus: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return E[T], E[T^2] and E[T v v^T] for many tau, shapes (q,), (q,) and (q, k, k)."""
        first, second, planted = [], [], []
        rows = max(1, _BLOCK // len(self.G))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for start in range(0, len(taus), rows):
                x = taus[start : start + rows, None] * self.G
                t = x / (1.0 + x)
                first.append(t @ self.p)
                planted.append(t @ self._pairs)
                np.multiply(t, t, out=t)
                second.append(t @ self.p)
        return (
            np.concatenate(first),
            np.concatenate(second),
            np.concatenate(planted).reshape(len(taus), self.k, self.k),
        )

    def level(self, tau: float, delta: float) -> float:
        """Return z(tau) = (delta E[T] - 1) / (delta tau)."""
        return (self.first_two(tau)[0] - 1.0 / delta) / tau

    def dominance(self, tau: float) -> float:
        """Return the share of the largest single node in E[T^2]."""
        t = self.t(tau)
        shares = self.p * t * t
        total = float(np.sum(shares))
        return float(np.max(shares)) / total if total > 0.0 else 0.0

    def tau_of(self, position: float) -> float:
        """Return tau at a position on the whole real line: logit of tau / tau_max, or log tau times its scale."""
        if math.isinf(self.tau_max):
            return math.exp(position) / (self.size or 1.0)
        return self.tau_max / (1.0 + math.exp(-position))
