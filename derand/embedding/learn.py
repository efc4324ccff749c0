"""The public fit: a near-isometric linear map of given points, its exact distortion, and what was proved on the way."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.rng import RNGLike, check_rng
from derand._utils.threads import blas_threads
from derand._utils.validation import FloatArray, check_array, check_int, check_option, check_scalar
from derand.embedding.derandomize import DerandomizationCertificate, derandomize_map
from derand.embedding.distortion import DistortionReport, report_of
from derand.embedding.lower_bound import lower_bound_of
from derand.embedding.many_points import MANY, anneal_distortion
from derand.embedding.minimax import MinimaxOptions, MinimaxResult, MinimaxRound, minimise_distortion, scaled_to_middle
from derand.embedding.points import PointSet, RowSpace
from derand.embedding.scan import BlockMap, scan_pairs
from derand.exceptions import InputError

__all__ = ["METHODS", "EmbeddingResult", "learn_embedding"]

METHODS = ("minimax", "derand", "union")
_NOISE = 0.05  # relative; the principal axes by themselves may be a saddle point


@dataclass(frozen=True, repr=False)
class EmbeddingResult(ResultRepr):
    """A linear map with the exact distortion of the points that it was fitted to.

    Parameters
    ----------
    components : ndarray, shape (k, d)
        The map; the image of X is ``X @ components.T``.
    report : DistortionReport
        Its distortion on all pairs, see `distortion_report`.
    certificate : DerandomizationCertificate or None
        The path from the random map, for method="derand" or "union"; None where no path was needed: the points' rank is
        at most k.
    history : tuple of MinimaxRound
        Scans of the minimax run that found the map.
    n_iter : int
        Iterations of L-BFGS in that run.
    status : str
        "finished", or what ended the run early: "max_iter", "time_limit", "callback", "interrupted"; "target" for a
        dimension that was found by its distortion.
    rank : int
        Rank of the centred points.
    """

    components: FloatArray
    report: DistortionReport
    certificate: DerandomizationCertificate | None
    history: tuple[MinimaxRound, ...]
    n_iter: int
    status: str
    rank: int


def learn_embedding(
    X: Any,
    n_components: int | str = "auto",
    *,
    eps: float = 0.1,
    method: str = "minimax",
    init: str | FloatArray = "pca",
    n_init: int = 1,
    active_size: int = 10_000,
    temperature: float | None = None,
    max_iter: int = 3000,
    tol: float = 1e-3,
    time_limit: float | None = None,
    callback: Callable[[MinimaxRound], Any] | None = None,
    block_map: BlockMap = map,
    rng: RNGLike = 0,
) -> EmbeddingResult:
    r"""Return a linear map to few dimensions that nearly preserves all distances between the points.

    It minimises :math:`\max_{i<j} \left| \|M(x_i - x_j)\|^2/\|x_i - x_j\|^2 - 1 \right|` and reports that maximum
    exactly.  The map found is a local minimum, not proved to be the best; `embedding_lower_bound` tells how far from
    it any map must be.  The distortion holds for the pairs of X: new points can fare worse.

    Parameters
    ----------
    X : array_like or sparse, shape (n, d)
        Points; n >= 2.  A memory-mapped file or a dask array is read in blocks where it is large; the coordinates of
        the points in the space that they span are kept in memory.
    n_components : int or "auto"
        Dimensions k; "auto" for the least at which bisection finds a map of distortion at most `eps`.
    eps : float in (0, 1), default 0.1
        Distortion aimed at by "auto".
    method : {"minimax", "derand", "union"}
        "minimax" starts from principal axes; "derand" from the random Gaussian map, along bounds on its expected
        distortion that never rise (`derandomize_map`), and goes on as "minimax".  "union" does the same with the exact
        union bound on the probability that the random map fails; up to 200,000 pairs.
    init : {"pca", "random"} or ndarray of shape (k, d)
        Start of "minimax"; for an array k is its length.
    n_init : int, default 1
        Starts with different noise; the best counts.
    active_size : int, default 10_000
        Worst pairs taken from each scan.
    temperature : float, optional
        The smoothing 1/beta is not sharpened below this.  A larger one gives a larger distortion on X, and often a
        smaller one on new points.
    max_iter : int, default 3000
        Most iterations of L-BFGS for a start.
    tol : float, default 1e-3
        Relative improvement below which a run ends.
    time_limit : float, optional
        Seconds after which the best map so far is returned, with its exact distortion.
    callback : callable, optional
        Called with a `MinimaxRound` after each scan; True ends the run.
    block_map : callable, default map
        Runs the tiles of each scan, in parallel if it likes.
    rng : int, Generator or None, default 0
        Noise of the start and background pairs; the same seed gives the same bits.

    Returns
    -------
    EmbeddingResult
        Map and report.

    Raises
    ------
    InputError
        If X isn't finite or has the wrong shape, or a parameter is out of range.
    InputTypeError
        If X doesn't hold real numbers, or a parameter has the wrong type.

    Notes
    -----
    With k >= rank(X - mean) the principal axes are an isometry, returned at once.  For d > n all work is done in the
    row space.  Time: about 20 scans of all pairs and 1,000 iterations on some 40,000 pairs; memory O(n d) besides.
    Ctrl-C returns the best map so far; during the path of "derand" and "union" it ends the path, and the search
    goes on from there.

    Examples
    --------
    Points on a plane in five dimensions need two.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((20, 2)) @ np.random.default_rng(1).standard_normal((2, 5))
    >>> result = learn_embedding(X)
    >>> result.components.shape, result.report.distortion < 1e-14
    ((2, 5), True)
    """
    started = time.monotonic()
    check_option(method, "method", METHODS)
    options = MinimaxOptions(
        active_size=check_int(active_size, "active_size", low=1),
        max_iter=check_int(max_iter, "max_iter", low=1),
        tol=check_scalar(tol, "tol", low=0.0),
        temperature=None if temperature is None else check_scalar(temperature, "temperature", low=0.0, low_open=True),
        deadline=math.inf if time_limit is None else started + check_scalar(time_limit, "time_limit", low=0.0),
        block_map=block_map,
        callback=callback,
    )
    check_scalar(eps, "eps", low=0.0, high=1.0, low_open=True, high_open=True)
    if isinstance(n_components, str):
        check_option(n_components, "n_components", ("auto",))
    else:
        n_components = check_int(n_components, "n_components", low=1)
    # More threads would add up in another order.
    with blas_threads(1):
        fit = _Fit(PointSet(X), method, init, check_int(n_init, "n_init", low=1), options, check_rng(rng))
        found = fit.least_dimension(eps) if isinstance(n_components, str) else fit.at(n_components)
        return fit.result(*found)


class _Fit:
    """Points in their row space and how to fit maps to them."""

    def __init__(
        self,
        points: PointSet,
        method: str,
        init: str | FloatArray,
        n_init: int,
        options: MinimaxOptions,
        rng: np.random.Generator,
    ) -> None:
        self.points, self.method, self.n_init, self.options, self.rng = points, method, n_init, options, rng
        self.space = RowSpace.of(points)
        self.init = init
        if isinstance(init, str):
            check_option(init, "init", ("pca", "random"))
        else:
            self.init = np.ascontiguousarray(check_array(init, "init", shape=(None, points.d)))

    def at(self, k: int, target: float = 0.0) -> tuple[FloatArray, MinimaxResult, DerandomizationCertificate | None]:
        """Return the map of shape (k, r), the run and the path's certificate for one dimension."""
        rank = self.space.rank
        if k >= rank:
            return np.eye(k, rank), MinimaxResult(np.eye(k, rank), 0.0), None
        options = replace(self.options, target=target)
        best: MinimaxResult | None = None
        certificate = None
        for _ in range(self.n_init):
            start, path = self._start(k)
            is_interrupted = path is not None and path.is_interrupted
            if is_interrupted:
                options = replace(options, deadline=-math.inf)  # one scan, for the distortion of what there is
            search = anneal_distortion if self.points.n > MANY else minimise_distortion
            run = search(self.space.coords, start, options, self.rng)
            if best is None or run.distortion < best.distortion:
                best, certificate = run, path
            if is_interrupted or run.status not in {"finished", "max_iter"}:
                best.status = "interrupted" if is_interrupted else run.status
                break
        assert best is not None
        return best.M, best, certificate

    def least_dimension(self, eps: float) -> tuple[FloatArray, MinimaxResult, DerandomizationCertificate | None]:
        """Return what `at` does for the least dimension at which bisection finds a distortion of at most eps."""
        low, high = 0, max(self.space.rank, 1)
        # Dimensions that the lower bound excludes need no fit.
        while low + 1 < high and lower_bound_of(self.space.coords, low + 1, max_iter=0).value > eps:
            low += 1
        found = self.at(high)
        while high - low > 1 and time.monotonic() < self.options.deadline:
            middle = (low + high) // 2
            candidate = self.at(middle, eps)
            status = candidate[1].status
            if candidate[1].distortion <= eps:
                high, found = middle, candidate
            else:
                low = middle
            if status in {"interrupted", "callback", "time_limit"}:
                found[1].status = status
                break
        else:
            if high - low > 1:
                found[1].status = "time_limit"
        return found

    def _start(self, k: int) -> tuple[FloatArray, DerandomizationCertificate | None]:
        """Return the map to start from, and how it was reached."""
        rank = self.space.rank
        if self.method != "minimax":
            kind = "soft" if self.method == "derand" else "union"
            M, path = derandomize_map(self.space.coords, k, self.rng, kind=kind, deadline=self.options.deadline)
            # Where randomness is left the bound speaks of a draw; the mean by itself may be the saddle M = 0.
            return M + path.sigma * self.rng.standard_normal(M.shape) if path.sigma > 0.0 else M, path
        noise = self.rng.standard_normal((k, rank))
        if isinstance(self.init, str) and self.init == "random":
            return noise / math.sqrt(k), None
        if isinstance(self.init, str):
            scan = scan_pairs(PointSet(self.space.coords), np.eye(k, rank), keep=1, block_map=self.options.block_map)
            M = scaled_to_middle(np.eye(k, rank), scan.low[0], scan.high[0])
            return M + _NOISE * noise * np.linalg.norm(M) / math.sqrt(M.size), None
        if self.init.shape[0] != k:
            raise InputError(f"init must have n_components = {k} rows, got shape {self.init.shape}")
        return self.init @ self.space.basis.T, None

    def result(
        self, M: FloatArray, run: MinimaxResult, certificate: DerandomizationCertificate | None
    ) -> EmbeddingResult:
        """Return the map in the columns of X with its exact distortion."""
        components = M @ self.space.basis
        if components.shape[0] >= self.points.d:  # an isometry of the whole space, not only of the points' span
            components = np.eye(components.shape[0], self.points.d)
        report = report_of(scan_pairs(self.points, components, block_map=self.options.block_map))
        return EmbeddingResult(
            components, report, certificate, tuple(run.history), run.n_iter, run.status, self.space.rank
        )
