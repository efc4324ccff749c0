"""Population annealing: many cuts cooled together, the worse ones replaced by copies of the better.

The vertices of a colour class share no edge, so a heat bath may update all of them at once, and for all replicas at
once: one sparse product with a block of small integers, one addition of prepared noise, one look at the sign.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_int, check_scalar
from derand.exceptions import InputError
from derand.maxcut.colouring import greedy_colouring
from derand.maxcut.problem import IndexArray, MaxCutProblem, SideArray

__all__ = ["PopulationAnnealer", "replica_cut_values"]

# Largest sums of absolute weights at a vertex that leave room for noise in 8 and in 16 bits.
_BYTE_LIMIT, _SHORT_LIMIT = 90, 25_000
# Share of the vertices whose weights have to fit; the others (hubs) are updated in floating point.
_FITTING_SHARE = 0.98
_NOISE_POOL = 1 << 17
# Field plus noise must fit the arithmetic.
_NOISE_LIMITS: dict[type, int | None] = {
    np.int8: 126 - _BYTE_LIMIT,
    np.int16: 32_700 - _SHORT_LIMIT,
    np.float32: None,
}
_MAX_STEPS = 200
_MAX_SETTLING_SWEEPS = 30


def replica_cut_values(problem: MaxCutProblem, sides: NDArray[Any]) -> FloatArray:
    """Return the cut value of every column, rounded to double precision.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.
    sides : ndarray of shape (n, R)
        +1 or -1.

    Returns
    -------
    ndarray of shape (R,)
        Values; exact for whole-number weights whose absolute values sum to less than 2^52.

    Examples
    --------
    >>> edge = MaxCutProblem.from_edges([0], [1], [3])
    >>> replica_cut_values(edge, np.array([[1, 1], [1, -1]])).tolist()
    [0.0, 3.0]
    """
    values = sides.astype(np.float64)
    agreement: FloatArray = np.einsum("ij,ij->j", values, problem.adjacency @ values)
    result: FloatArray = (2.0 * float(problem.weights.sum()) - agreement) / 4.0
    return result


@dataclass(frozen=True, eq=False)
class _Block:
    """Rows start..stop of the negated matrix; ``neighbors`` picks its columns where the rows are hubs."""

    start: int
    stop: int
    rows: sp.csr_array
    neighbors: IndexArray | None

    def fields(self, state: NDArray[Any]) -> NDArray[Any]:
        """Return minus the weighted sum of the neighbours' sides, shape (stop - start, R)."""
        if self.neighbors is None:
            product: NDArray[Any] = self.rows @ state
        else:
            product = self.rows @ state[self.neighbors].astype(np.float32)
        return product


class PopulationAnnealer:
    """Annealing of R replicas of a cut at once.

    At temperature T vertex i takes side +1 with probability 1/(1 + exp(-2 h_i/T)), h_i = -sum_j w_ij s_j (heat bath
    of the Ising energy sum w_ij s_i s_j).  Between temperatures replica r is replaced by a number of copies of itself
    whose expectation is proportional to exp(-(1/T' - 1/T) E_r): a population that stays near equilibrium and ends
    with the best families.

    Parameters
    ----------
    problem : MaxCutProblem
        The graph.  Whole-number weights with small sums run in 8 or 16 bits, others in single precision; the returned
        cuts are settled in that arithmetic, so that for extreme weights a last exact `one_flip` can still gain.

    Notes
    -----
    The random numbers are one pool of logistic variates read at random offsets: cheap, repeatable bit for bit, and no
    random stream of research quality.  Cost of a sweep: about R (2 m + 8 n) byte operations and 8 microseconds for
    each class.

    References
    ----------
    Hukushima and Iba (2003), Population annealing and its application to a spin glass, AIP Conf. Proc. 690.
    Wang, Machta and Katzgraber (2015), Comparing Monte Carlo methods for finding ground states of Ising spin glasses,
    arXiv:1412.2104.

    Examples
    --------
    >>> ring = MaxCutProblem.from_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 0])
    >>> sides = PopulationAnnealer(ring).anneal(n_sweeps=20, n_replicas=4, rng=0)
    >>> ring.cut_value(sides[:, 0])
    4
    """

    def __init__(self, problem: MaxCutProblem) -> None:
        self.problem = problem
        colours = greedy_colouring(problem)
        self.n_classes = int(colours.max(initial=-1)) + 1
        strength: FloatArray = np.asarray(abs(problem.adjacency).sum(axis=1), dtype=np.float64).ravel()
        self._dtype, limit, unit = _arithmetic(problem, strength)
        self._unit = unit
        hub = strength / unit > limit
        key = 2 * colours + hub
        self._order: IndexArray = np.argsort(key, kind="stable")
        matrix = sp.csr_array(problem.adjacency[self._order][:, self._order])
        matrix.sort_indices()
        matrix.data = -matrix.data / unit
        self._matrix = matrix.astype(np.float32)
        self._blocks = self._split(matrix, key[self._order])
        self._noise_limit = _NOISE_LIMITS[self._dtype]
        squares = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
        present = squares[squares > 0.0]
        self._hot_unit = float(np.sqrt(np.mean(present**2))) if present.size else 1.0
        self._cold_unit = float(np.quantile(present, 0.1)) if present.size else 1.0

    def _split(self, matrix: sp.csr_array, key: IndexArray) -> list[_Block]:
        """Return the blocks of rows with equal keys (2 colour + hub)."""
        ends = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1], [True]])).tolist() if key.size else []
        blocks = []
        for low, high in pairwise(ends):
            rows = matrix[low:high]
            if key[low] % 2:
                neighbors = np.unique(rows.indices).astype(np.int64)
                blocks.append(_Block(low, high, sp.csr_array(rows[:, neighbors].astype(np.float32)), neighbors))
            else:
                blocks.append(_Block(low, high, sp.csr_array(rows.astype(self._dtype)), None))
        return blocks

    def anneal(
        self,
        *,
        n_sweeps: int,
        n_replicas: int,
        rng: RNGLike = 0,
        start: NDArray[Any] | None = None,
        hot: float = 0.6,
        cold: float = 0.1,
        resampling: float = 1.0,
        should_stop: Callable[[], bool] | None = None,
    ) -> SideArray:
        """Return the replicas after cooling and settling, best first.

        Parameters
        ----------
        n_sweeps, n_replicas : int
            At least 1.
        rng : int, Generator, SeedSequence or None, default 0
            The random stream; None draws a fresh one.
        start : ndarray of shape (n, R), optional
            Sides to start from; random without it.
        hot, cold : float
            First and last temperature relative to the typical length of a row of the weight matrix.
        resampling : float, default 1.0
            Exponent of the replacement; 0 keeps the replicas independent.
        should_stop : callable, optional
            Asked before every temperature; a true answer ends the cooling at once.

        Returns
        -------
        ndarray of int8, shape (n, R)
            Sides, by descending cut value.

        Raises
        ------
        InputError
            If a number is out of range or ``start`` has the wrong shape.
        InputTypeError
            If a number has the wrong type.
        """
        n_sweeps, n_replicas = check_int(n_sweeps, "n_sweeps", low=1), check_int(n_replicas, "n_replicas", low=1)
        check_scalar(hot, "hot", low=0.0, low_open=True)
        check_scalar(cold, "cold", low=0.0, low_open=True)
        check_scalar(resampling, "resampling", low=0.0)
        stream = check_rng(rng)
        state = self._start(start, n_replicas, stream)
        pool = _logistic_pool(
            stream, _NOISE_POOL + n_replicas * max((b.stop - b.start for b in self._blocks), default=0)
        )
        steps = min(_MAX_STEPS, max(1, n_sweeps // 5))
        temperatures = self._temperatures(hot, cold, steps)
        for step, temperature in enumerate(temperatures):
            if should_stop is not None and should_stop():
                break
            if step and resampling > 0.0:
                gap = resampling * (1.0 / temperature - 1.0 / temperatures[step - 1])
                state = self._resample(state, gap, stream)
            noise = self._noise(pool, temperature)
            for _ in range(n_sweeps * (step + 1) // steps - n_sweeps * step // steps):
                self._sweep(state, pool, noise, temperature, stream)
        self._settle(state)
        return self._collect(state)

    def _temperatures(self, hot: float, cold: float, steps: int) -> list[float]:
        """Return falling temperatures in internal units: linear, geometric where the weights span many scales."""
        first = hot * self._hot_unit
        last = min(cold * max(self._cold_unit, 1e-6 * self._hot_unit), first)
        if first < 30.0 * last:
            return [float(t) for t in np.linspace(first, last, steps)]
        return [float(t) for t in np.geomspace(first, last, steps)]

    def _start(self, start: NDArray[Any] | None, n_replicas: int, stream: np.random.Generator) -> NDArray[Any]:
        """Return the first state in internal order."""
        shape = (self.problem.n, n_replicas)
        if start is None:
            return (2 * stream.integers(0, 2, shape, dtype=np.int8) - 1).astype(self._dtype)
        if start.shape != shape:
            raise InputError(f"start must have shape {shape}, got {start.shape}")
        return np.ascontiguousarray(start[self._order]).astype(self._dtype)

    def _noise(self, pool: NDArray[np.float32], temperature: float) -> NDArray[Any]:
        """Return the pool scaled to the temperature, rounded down to the arithmetic of the state."""
        noise = pool * np.float32(temperature)
        if self._noise_limit is None:
            return noise
        np.floor(noise, out=noise)
        np.clip(noise, -self._noise_limit, self._noise_limit, out=noise)
        return noise.astype(self._dtype)

    def _sweep(
        self,
        state: NDArray[Any],
        pool: NDArray[np.float32],
        noise: NDArray[Any],
        temperature: float,
        stream: np.random.Generator,
    ) -> None:
        """Update every class once, in place."""
        offsets = stream.integers(0, _NOISE_POOL, len(self._blocks)).tolist()
        sign_shift = 8 * state.itemsize - 1
        for block, offset in zip(self._blocks, offsets, strict=True):
            fields = block.fields(state).reshape(-1)
            out = state[block.start : block.stop].reshape(-1)
            if block.neighbors is not None:
                fields += np.float32(temperature) * pool[offset : offset + fields.size]
                out[...] = np.where(fields >= 0.0, 1, -1)
                continue
            fields += noise[offset : offset + fields.size]
            if self._noise_limit is None:
                np.copysign(np.float32(1.0), fields, out=out)
            else:
                # The arithmetic shift leaves -1 or 0, and -1 | 1 = -1, 0 | 1 = 1: the sign with sign(0) = 1.
                np.right_shift(fields, sign_shift, out=fields)
                np.bitwise_or(fields, 1, out=out)

    def _resample(self, state: NDArray[Any], gap: float, stream: np.random.Generator) -> NDArray[Any]:
        """Return the population after systematic resampling with weights exp(-gap * energy)."""
        sides = state.astype(np.float32)
        energy = np.einsum("ij,ij->j", self._matrix @ sides, sides).astype(np.float64) / -2.0
        weights = np.exp(-gap * (energy - energy.min()))
        count = state.shape[1]
        ends = np.floor(np.cumsum(weights) * (count / weights.sum()) + stream.random())
        copies = np.diff(ends, prepend=0.0).astype(np.int64)
        chosen = np.repeat(np.arange(count), copies)[:count]
        missing = count - chosen.size
        chosen = np.concatenate([chosen, np.full(missing, int(energy.argmin()), dtype=np.int64)])
        if np.array_equal(chosen, np.arange(count)):
            return state
        return np.ascontiguousarray(state[:, chosen])

    def _settle(self, state: NDArray[Any]) -> None:
        """Move classes to their best sides until nothing changes, in place; ties stay."""
        for _ in range(_MAX_SETTLING_SWEEPS):
            has_changed = False
            for block in self._blocks:
                fields, old = block.fields(state), state[block.start : block.stop]
                flip = fields * old < 0
                if flip.any():
                    has_changed = True
                    state[block.start : block.stop] = np.where(flip, -old, old)
            if not has_changed:
                return

    def _collect(self, state: NDArray[Any]) -> SideArray:
        """Return the sides in the problem's vertex order, best replica first."""
        sides = np.empty(state.shape, dtype=np.int8)
        sides[self._order] = state
        ranking = np.argsort(-replica_cut_values(self.problem, sides), kind="stable")
        return np.ascontiguousarray(sides[:, ranking])


def _arithmetic(problem: MaxCutProblem, strength: FloatArray) -> tuple[type, float, float]:
    """Return the number type of the state, the largest vertex strength it can hold, and the unit of the weights."""
    if problem.is_integer and problem.n_edges:
        unit = float(np.gcd.reduce(np.abs(problem.weights).astype(np.int64))) if problem.scale < 2.0**52 else 1.0
        typical = float(np.quantile(strength, _FITTING_SHARE)) / unit
        if typical <= _BYTE_LIMIT:
            return np.int8, float(_BYTE_LIMIT), unit
        if typical <= _SHORT_LIMIT:
            return np.int16, float(_SHORT_LIMIT), unit
    return np.float32, np.inf, problem.scale


def _logistic_pool(stream: np.random.Generator, size: int) -> NDArray[np.float32]:
    """Return logistic variates of scale 1/2, so that P(L >= -h/T) = 1/(1 + exp(-2 h/T))."""
    uniform = np.clip(stream.random(size, dtype=np.float32), 1e-7, 1.0 - 1e-7)
    result: NDArray[np.float32] = (0.5 * np.log(uniform / (1.0 - uniform))).astype(np.float32)
    return result
