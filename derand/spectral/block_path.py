"""The curve K(z) of a matrix law, followed in the parameter tr K from z = -infinity to the edge of the bulk."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from derand._utils.validation import FloatArray
from derand.exceptions import NonConvergenceError

__all__ = ["BlockPath", "Point"]

_TOL = 1e-11
_EDGE_TOL = 1e-5
_MAX_STEPS = 400
# Up to this size a factorisation of all blocks at once, entry by entry, beats one call of LAPACK for each block.
_SMALL = 8


@dataclass(frozen=True, eq=False)
class Point:
    """A point of the curve.

    Parameters
    ----------
    t : float
        The parameter tr K / m.
    z : float
        Spectral parameter.
    K : ndarray of shape (m, m)
        Symmetric and positive definite.
    slope : float
        dz/dt: positive before the edge, zero there.
    tangent : ndarray of shape (m, m)
        dK/dt.
    radius : float
        Spectral radius of the positive map D -> K E[P D P] K / delta: below 1 before the edge, one there. Other sheets
        of the equation, which Newton's method may fall on, have it above 1 beside a positive slope.
    """

    t: float
    z: float
    K: FloatArray
    slope: float
    tangent: FloatArray
    radius: float

    @property
    def physical(self) -> bool:
        """Whether slope and radius agree on the side of the edge, as they do on the physical sheet."""
        return (self.slope > 0.0) == (self.radius < 1.0) or abs(self.radius - 1.0) <= _EDGE_TOL


class BlockPath:
    r"""Solutions of :math:`K^{-1} + zI = E[S(I + KS/\delta)^{-1}]` left of the bulk.

    Parameters
    ----------
    S : ndarray of shape (n, m, m)
        Blocks, negated for the right side.
    p : ndarray of shape (n,)
        Probabilities.
    V : ndarray of shape (n, k)
        Coordinates along the planted directions.
    delta : float
        Ratio of samples to dimensions.

    Notes
    -----
    For given t = tr K / m, Newton's method finds (K, z); its bordered system stays regular through the edge, where z as
    a function of t is largest.
    """

    def __init__(self, S: FloatArray, p: FloatArray, V: FloatArray, delta: float) -> None:
        self.S, self.p, self.V, self.delta = S, p, V, delta
        self.m, self.k = S.shape[1], V.shape[1]
        self._eye = np.eye(self.m)
        self._entries = np.ascontiguousarray(S.transpose(1, 2, 0)) if self.m <= _SMALL else None
        self.scale = float(np.sqrt(p @ np.sum(S * S, axis=(1, 2)) / self.m))
        self._edge: Point | None = None
        self._visited: list[Point] = []
        self._outliers: list[Point] | None = None
        self._values: dict[Point, FloatArray] = {}

    def resolvent(self, K: FloatArray) -> FloatArray | None:
        """Return P = S (I + K S / delta)^(-1) or None beyond the first pole.

        With K = L L', P = S - S L (delta + L' S L)^(-1) L' S; the middle matrix is positive definite before the pole.

        Parameters
        ----------
        K : ndarray of shape (m, m)
            Symmetric.

        Returns
        -------
        ndarray of shape (n, m, m) or None
            P for each block.
        """
        try:
            L = np.linalg.cholesky(K)
        except np.linalg.LinAlgError:
            return None
        if self._entries is not None:
            return _small_resolvent(self._entries, np.asarray(L, dtype=np.float64), self.delta)
        middle = L.T @ self.S @ L + self.delta * self._eye
        try:
            factor = np.linalg.cholesky(middle)
        except np.linalg.LinAlgError:
            return None
        half = np.linalg.solve(factor, L.T @ self.S)
        return np.asarray(self.S - half.transpose(0, 2, 1) @ half)

    def solve(self, t: float, z: float, K: FloatArray) -> Point | None:
        """Return the point at parameter t by Newton's method from a guess, or None.

        Parameters
        ----------
        t : float
            Parameter.
        z : float
            Guess.
        K : ndarray of shape (m, m)
            Guess.

        Returns
        -------
        Point or None
            None where Newton's method left the domain or didn't converge.
        """
        m = self.m
        K = K + (t - float(np.trace(K)) / m) * self._eye
        for _ in range(25):
            P = self.resolvent(K)
            if P is None:
                return None
            inverse = np.asarray(np.linalg.inv(K), dtype=np.float64)
            flat = P.reshape(len(P), -1)
            residual = inverse + z * self._eye - (self.p @ flat).reshape(m, m)
            second = self._second(flat)
            jacobian = second - np.kron(inverse, inverse.T)
            border = np.zeros((m * m + 1, m * m + 1))
            border[:-1, :-1] = jacobian
            border[:-1, -1] = self._eye.reshape(-1)
            border[-1, :-1] = self._eye.reshape(-1) / m
            right = np.zeros((m * m + 1, 2))
            right[:-1, 0] = -residual.reshape(-1)
            right[-1, 1] = 1.0
            try:
                step = np.linalg.solve(border, right)
            except np.linalg.LinAlgError:
                return None
            change = step[:-1, 0].reshape(m, m)
            tangent = step[:-1, 1].reshape(m, m)
            K = K + 0.5 * (change + change.T)
            z += float(step[-1, 0])
            if float(np.max(np.abs(change))) <= _TOL * float(np.max(np.abs(K))):
                radius = float(np.max(np.abs(np.linalg.eigvals(np.kron(K, K) @ second))))
                return Point(t, z, K, float(step[-1, 1]), 0.5 * (tangent + tangent.T), radius)
        return None

    def _second(self, flat: FloatArray) -> FloatArray:
        """Return D -> E[P D P] / delta, minus the derivative of E[P] in K, as an (m^2, m^2) matrix."""
        m = self.m
        pairs = ((flat * self.p[:, None]).T @ flat).reshape(m, m, m, m)
        return np.asarray(pairs.transpose(0, 3, 1, 2).reshape(m * m, m * m) / self.delta)

    def edge(self) -> Point:
        """Return the edge of the bulk, the first point with dz/dt = 0.

        Returns
        -------
        Point
            With a slope below 1e-6 of the typical one.

        Raises
        ------
        NonConvergenceError
            If the curve could not be followed.
        """
        if self._edge is not None:
            return self._edge
        t = 0.02 * min(1.0, math.sqrt(self.delta)) * math.sqrt(self.delta) / max(self.scale, 1e-300)
        current = self._first(t)
        self._visited = [current]
        growth = 2.0
        for _ in range(_MAX_STEPS):
            step = (growth - 1.0) * current.t
            found = self._extrapolated(current, step)
            if found is not None and found.slope <= 0.0:
                found = self._refine_edge(current, found)
                if abs(found.radius - 1.0) <= _EDGE_TOL:
                    self._edge = found
                    return found
                found = None  # that was another sheet
            if found is None:
                growth = 1.0 + 0.4 * (growth - 1.0)
                if growth < 1.0 + 1e-9:
                    break
                continue
            current = found
            self._visited.append(current)
            growth = min(2.0, 1.0 + 1.3 * (growth - 1.0))
            if current.t > 1e12 / max(self.scale, 1e-300):
                break
        self._edge = current  # no maximum: the hard edge, approached for t to infinity or the last pole
        return current

    def _first(self, t: float) -> Point:
        """Return a point close to z = -infinity, where K = -1/z."""
        for _ in range(60):
            found = self.solve(t, -1.0 / t, t * self._eye)
            if found is not None and found.slope > 0.0 and found.physical:
                return found
            t *= 0.5
        raise NonConvergenceError("the matrix law has no solution far to the left; are the blocks finite?")

    def _extrapolated(self, start: Point, step: float) -> Point | None:
        """Return the point a step further along the curve, or None where Newton's method failed or left the sheet."""
        found = self.solve(start.t + step, start.z + start.slope * step, start.K + step * start.tangent)
        return found if found is not None and found.physical else None

    def _reach(self, start: Point, t: float) -> Point | None:
        """Return the point at a parameter, by as many steps along the curve as it takes."""
        share = 1.0
        for _ in range(_MAX_STEPS):
            found = self._extrapolated(start, share * (t - start.t))
            if found is None:
                share *= 0.5
            elif share == 1.0:
                return found
            else:
                start, share = found, min(1.0, 2.0 * share)
        return None

    def _refine_edge(self, low: Point, high: Point) -> Point:
        """Return the zero of the slope between two points, by the Illinois variant of false position."""
        a, b, fa, fb = low, high, low.slope, high.slope
        best = low if abs(fa) < abs(fb) else high
        for _ in range(40):
            t = (a.t * fb - b.t * fa) / (fb - fa)
            near = a if abs(t - a.t) < abs(t - b.t) else b
            found = self._extrapolated(near, t - near.t)
            if found is None:
                found = self._extrapolated(a, 0.5 * (a.t + b.t) - a.t)
                if found is None:
                    return best
            if abs(found.slope) < abs(best.slope):
                best = found
            # z is flat here, so its error is the square of that of t
            if abs(found.slope) <= 1e-7 * abs(low.slope) or abs(b.t - a.t) <= 1e-12 * b.t:
                break
            if found.slope > 0.0:
                a, fa, fb = found, found.slope, 0.5 * fb
            else:
                b, fb, fa = found, found.slope, 0.5 * fa
        return best

    def edge_statistics(self, point: Point) -> tuple[float, float]:
        """Return d2z/dt2 at the edge, and n times the variance of the edge of n drawn blocks.

        At the edge dK/dt spans the kernel of the linearised equation, which is symmetric: by first order perturbation
        a change of E[P] moves z by its product with dK/dt, divided by tr dK/dt.

        Parameters
        ----------
        point : Point
            The edge.

        Returns
        -------
        curvature, variance : float
            Negative at a soft edge; NaN where the curve ends; and nonnegative.
        """
        step = 1e-3 * point.t
        before, after = self._reach(point, point.t - step), self._extrapolated(point, step)
        P = self.resolvent(point.K)
        if before is None or after is None or P is None:
            return math.nan, math.nan
        pull = np.einsum("nij,ij->n", P, point.tangent) / float(np.trace(point.tangent))
        return (after.slope - before.slope) / (2.0 * step), float(self.p @ pull**2 - (self.p @ pull) ** 2)

    def at_level(self, z: float) -> Point:
        """Return the point before the edge at a given z.

        Parameters
        ----------
        z : float
            Level below the edge.

        Returns
        -------
        Point
            On the curve.
        """
        return self._between(lambda point: point.z - z)

    def planted_values(self, point: Point) -> FloatArray:
        """Return the ascending eigenvalues of E[P (x) v v'] - z."""
        if point not in self._values:  # each outlier's search begins at the same points
            self._values[point] = np.asarray(np.linalg.eigvalsh(self.planted_matrix(point)), dtype=np.float64)
        return self._values[point]

    def planted_directions(self, point: Point) -> FloatArray:
        """Return the eigenvectors of E[P (x) v v'] - z that belong to `planted_values`, shape (m k, m, k)."""
        return np.asarray(np.linalg.eigh(self.planted_matrix(point))[1].T.reshape(-1, self.m, self.k), dtype=np.float64)

    def planted_matrix(self, point: Point) -> FloatArray:
        """Return E[P (x) v v'] - z, shape (m k, m k)."""
        P = self.resolvent(point.K)
        assert P is not None
        return self._with_planted(P) - point.z * np.eye(self.m * self.k)

    def planted_squares(self, point: Point) -> FloatArray:
        """Return E[P W P (x) v v'] with W = (dK/dt) / tr(dK/dt), shape (m k, m k)."""
        # W is the covariance of a unit eigenvector's fields at a sample that it doesn't know
        P = self.resolvent(point.K)
        assert P is not None
        return self._with_planted(P @ (point.tangent / float(np.trace(point.tangent))) @ P)

    def _with_planted(self, blocks: FloatArray) -> FloatArray:
        """Return E[B (x) v v'] of blocks B, shape (m k, m k)."""
        pairs = (self.V[:, :, None] * self.V[:, None, :]).reshape(len(blocks), -1) * self.p[:, None]
        moved = (blocks.reshape(len(blocks), -1).T @ pairs).reshape(self.m, self.m, self.k, self.k)
        size = self.m * self.k
        return np.asarray(moved.transpose(0, 2, 1, 3).reshape(size, size), dtype=np.float64)

    def outliers(self) -> list[Point]:
        """Return the points where an eigenvalue of the planted matrix vanishes, most extreme first.

        Returns
        -------
        list of Point
            One for each negative eigenvalue at the edge: along the curve they decrease.
        """
        if self._outliers is None:
            count = int(np.sum(self.planted_values(self.edge()) < 0.0))
            self._outliers = [self._outlier(rank) for rank in range(count)]
        return list(self._outliers)

    def _outlier(self, rank: int) -> Point:
        """Return the point where one eigenvalue of the planted matrix vanishes."""
        return self._between(lambda point: -float(self.planted_values(point)[rank]))

    def _between(self, function: Callable[[Point], float]) -> Point:
        """Return the point before the edge where an increasing function of the point vanishes."""
        edge = self.edge()
        points = [*self._visited, edge]
        while function(points[0]) > 0.0:
            points.insert(0, self._first(0.25 * points[0].t))
        index = next((i for i, point in enumerate(points) if function(point) > 0.0), len(points) - 1)
        low, high = points[index - 1], points[index]
        memory = {low.t: low, high.t: high}

        def value(t: float) -> float:
            """Return the function at a parameter."""
            if t not in memory:
                near = min(memory.values(), key=lambda point: abs(point.t - t))
                found = self._reach(near, t)
                if found is None:
                    raise NonConvergenceError(f"Newton's method failed on the curve of the matrix law at t = {t:.6g}")
                memory[t] = found
            return float(function(memory[t]))

        if value(high.t) <= 0.0:
            return high
        t = float(brentq(value, low.t, high.t, xtol=1e-9 * high.t, rtol=1e-9))
        value(t)
        return memory[t]

    def overlap(self, point: Point, rank: int) -> tuple[float, FloatArray]:
        """Return the squared overlap and the direction, shape (m, k), of the outlier of a rank at its point.

        Parameters
        ----------
        point : Point
            From `outliers`.
        rank : int
            Which of them.

        Returns
        -------
        overlap : float
            Squared length of the projection of the unit eigenvector on the planted directions.
        direction : ndarray of shape (m, k)
            Unit vector along it.
        """
        _, vectors = np.linalg.eigh(self.planted_matrix(point))
        direction = vectors[:, rank].reshape(self.m, self.k)
        P = self.resolvent(point.K)
        assert P is not None
        # w_i = P_i direction v_i; minus d/dz of the planted eigenvalue is 1 + E[w' (dK/dz) w] / delta
        w = np.einsum("nij,nj->ni", P, self.V @ direction.T)
        rate = point.tangent / point.slope
        growth = float(self.p @ np.einsum("ni,ij,nj->n", w, rate, w)) / self.delta
        return 1.0 / (1.0 + max(growth, 0.0)), direction

    def dominance(self, point: Point) -> float:
        """Return the share of the largest single block in E[tr (K P K P)]."""
        P = self.resolvent(point.K)
        if P is None:
            return 1.0
        product = point.K @ P
        shares = self.p * np.sum(product * product.transpose(0, 2, 1), axis=(1, 2))
        return float(np.max(shares) / np.sum(shares))


def _small_resolvent(S: FloatArray, L: FloatArray, delta: float) -> FloatArray | None:
    """Return S - S L (delta + L' S L)^(-1) L' S, shape (n, m, m), of blocks of shape (m, m, n), or None."""
    m = len(L)
    half = np.tensordot(L.T, S, axes=1)
    middle = np.stack([L.T @ row for row in half])
    factor = np.empty_like(middle)
    for j in range(m):
        pivot = middle[j, j] + delta - sum(factor[j, k] ** 2 for k in range(j))
        if not np.min(pivot) > 0.0:
            return None
        factor[j, j] = np.sqrt(pivot)
        for i in range(j + 1, m):
            factor[i, j] = (middle[i, j] - sum(factor[i, k] * factor[j, k] for k in range(j))) / factor[j, j]
    for i in range(m):  # forward substitution in place
        for k in range(i):
            half[i] -= factor[i, k] * half[k]
        half[i] /= factor[i, i]
    return np.ascontiguousarray((S - np.einsum("ian,ibn->abn", half, half)).transpose(2, 0, 1))
