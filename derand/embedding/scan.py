"""The blocked scan of all pairs: squared distances before and after a linear map, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from derand._utils.threads import blas_threads
from derand._utils.validation import FloatArray
from derand.embedding.points import IndexArray, PointSet

__all__ = ["NEAR", "BlockMap", "PairScan", "Tile", "pair_ratios", "scan_pairs", "tile_distances", "tiles"]

_SIDE = 768  # rows of a tile: its temporary arrays stay near the cache and below 20 MB together
_GROUP = 16  # tiles between two updates of the pruning threshold; fixed, so that n_jobs can't change the outcome
#: Below this share of |x|^2 + |y|^2 a squared distance from inner products has lost too many digits.
NEAR = 1e-4


class Tile(NamedTuple):
    """Pairs (i, j) with rows first <= i < last and columns left <= j < right; on the diagonal only those with i < j."""

    first: int
    last: int
    left: int
    right: int


class BlockMap(Protocol):
    """A stand-in for the built-in map, such as one that runs in parallel; results in the order of the arguments."""

    def __call__(self, function: Callable[[Any], Any], items: Sequence[Any], /) -> Iterable[Any]:
        """Apply the function to all items."""
        ...


@dataclass(frozen=True)
class PairScan:
    """What one pass over all pairs has seen.

    Parameters
    ----------
    first, second : ndarray of int64, shape (m,)
        The worst pairs, by falling |ratio - 1|; equal ones by index.
    ratios : ndarray, shape (m,)
        Squared distance after the map over squared distance before it, by explicit differences.
    n_pairs : int
        Pairs of distinct points.
    n_zero_pairs : int
        Pairs of equal points, left out.
    total : float
        Sum of |ratio - 1| over all pairs of distinct points.
    low, high : tuple (ratio, i, j)
        Smallest and largest ratio.
    unchecked : float
        Bound on |ratio - 1| of the pairs that were not recomputed by explicit differences, rounding included.
    """

    first: IndexArray
    second: IndexArray
    ratios: FloatArray
    n_pairs: int
    n_zero_pairs: int
    total: float
    low: tuple[float, int, int]
    high: tuple[float, int, int]
    unchecked: float


@dataclass(frozen=True)
class _Setting:
    """What every tile needs: points, matrix (k, d), image (n, k), squared norms before and after."""

    points: PointSet
    M: FloatArray
    image: FloatArray
    norms: FloatArray
    image_norms: FloatArray
    is_square: bool


class _TileResult(NamedTuple):
    """The worst pairs of a tile as (deviation, i, j, is explicit), its extremes, sums and the largest pruned value."""

    deviation: FloatArray
    first: IndexArray
    second: IndexArray
    low: tuple[float, int, int]
    high: tuple[float, int, int]
    n_pairs: int
    n_zero: int
    total: float
    pruned: float


def tiles(n: int, m: int | None = None, side: int = _SIDE) -> list[Tile]:
    """Return tiles that cover all pairs i < j < n or, with m, all pairs of rows below n and columns n <= j < n + m."""
    if m is not None:
        columns = range(n, n + m, side)
        return [Tile(r, min(r + side, n), c, min(c + side, n + m)) for r in range(0, n, side) for c in columns]
    return [Tile(r, min(r + side, n), c, min(c + side, n)) for r in range(0, n, side) for c in range(r, n, side)]


def pair_ratios(points: PointSet, M: FloatArray, first: IndexArray, second: IndexArray) -> FloatArray:
    """Return |M(x_i - x_j)|^2 / |x_i - x_j|^2 by explicit differences, shape (m,); nan where the points are equal."""
    ratios = np.empty(first.size)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        for chunk in points.chunks(first.size):
            Z = points.differences(first[chunk], second[chunk])
            # Scaling each difference by itself keeps squares of tiny ones from vanishing.
            top = np.abs(Z).max(axis=1, keepdims=True)
            Z /= np.where(top > 0.0, top, 1.0)
            ratios[chunk] = np.square(Z @ M.T).sum(axis=1) / np.square(Z).sum(axis=1)
    return ratios


def scan_pairs(
    points: PointSet,
    M: FloatArray,
    *,
    keep: int = 256,
    cover: Sequence[Tile] | None = None,
    block_map: BlockMap = map,
) -> PairScan:
    """Measure all pairs of points under a linear map.

    Parameters
    ----------
    points : PointSet
        The points.
    M : ndarray, shape (k, d)
        The map.
    keep : int, default 256
        How many of the worst pairs to return, recomputed by explicit differences.
    cover : sequence of Tile, optional
        Which pairs; all by default.
    block_map : callable, default map
        What runs the tiles; the outcome doesn't depend on it.

    Returns
    -------
    PairScan
        Worst pairs, extremes and sums.

    Notes
    -----
    n^2 (d + k) operations in one or many threads, memory O(n (d + k)) and some tiles.  Squared distances come from
    inner products; where those lose more than four digits, and for the worst pairs, from differences.  Deterministic,
    also in the number of BLAS threads, which is held at one.
    """
    with blas_threads(1):
        image = points.image(M)
        setting = _Setting(points, M, image, points.squares(), _squares(image), cover is None)
        todo = tiles(points.n, side=points.side) if cover is None else list(cover)
        found: list[_TileResult] = []
        floor = -1.0
        for start in range(0, len(todo), _GROUP):
            found += block_map(partial(_scan_tile, setting, keep, floor), todo[start : start + _GROUP])
            floor = _kth_largest([part.deviation for part in found], keep, floor)
        return _merge(setting, found, keep)


def _squares(A: FloatArray) -> FloatArray:
    """Return the squared norms of the rows."""
    squares: FloatArray = np.einsum("ij,ij->i", A, A)
    return squares


def _kth_largest(parts: list[FloatArray], keep: int, floor: float) -> float:
    """Return the keep-th largest deviation so far, or the floor while there are fewer."""
    values = np.concatenate(parts)
    return max(floor, float(np.partition(values, -keep)[-keep])) if values.size >= keep else floor


def tile_distances(P: Any, norms: FloatArray, tile: Tile) -> FloatArray:
    """Return the squared distances between the rows and the columns of a tile, from inner products."""
    rows, columns = slice(tile.first, tile.last), slice(tile.left, tile.right)
    gram = P[rows] @ P[columns].T
    distances: FloatArray = gram if isinstance(gram, np.ndarray) else gram.toarray()
    distances *= -2.0
    distances += norms[rows, None]
    distances += norms[columns]
    return distances


def _scan_tile(setting: _Setting, keep: int, floor: float, tile: Tile) -> _TileResult:
    """Measure the pairs of one tile; a deviation up to ``floor`` need not be returned."""
    with blas_threads(1), np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        distances = tile_distances(setting.points.centred, setting.norms, tile)
        ratios = tile_distances(setting.image, setting.image_norms, tile)
        rows, columns = slice(tile.first, tile.last), slice(tile.left, tile.right)
        near = distances <= NEAR * (setting.norms[rows, None] + setting.norms[columns])
        ratios /= distances
    skipped = _skipped(setting, tile)
    near &= ~skipped
    n_zero = _correct_near(setting, tile, near, ratios, skipped) if near.any() else 0
    n_hidden = int(skipped.sum())
    low, high = (_extreme(ratios, tile, skipped if n_hidden else None, sign) for sign in (1.0, -1.0))
    ratios -= 1.0
    deviation = np.abs(ratios, out=ratios)
    deviation[skipped] = 0.0
    total = float(deviation.sum())
    deviation[skipped] = -1.0
    return _collect(deviation, tile, (keep, floor), (low, high), (ratios.size - n_hidden, n_zero, total))


def _skipped(setting: _Setting, tile: Tile) -> NDArray[np.bool_]:
    """Return where a tile has no pair: i >= j on the diagonal of the square of all pairs."""
    if not setting.is_square or tile.first != tile.left:
        return np.zeros((tile.last - tile.first, tile.right - tile.left), dtype=np.bool_)
    return np.arange(tile.last - tile.first)[:, None] >= np.arange(tile.right - tile.left)


def _correct_near(
    setting: _Setting, tile: Tile, near: NDArray[np.bool_], ratios: FloatArray, skipped: NDArray[np.bool_]
) -> int:
    """Put ratios from explicit differences where points lie near each other, mark equal points, return their number."""
    i, j = np.nonzero(near)
    exact = pair_ratios(setting.points, setting.M, i + tile.first, j + tile.left)
    equal = np.isnan(exact)
    ratios[i, j] = exact
    skipped[i[equal], j[equal]] = True
    return int(equal.sum())


def _extreme(ratios: FloatArray, tile: Tile, skipped: NDArray[np.bool_] | None, sign: float) -> tuple[float, int, int]:
    """Return the smallest (sign 1) or largest (sign -1) ratio of a tile with its pair, (nan, -1, -1) without pairs."""
    shown = ratios if skipped is None else np.where(skipped, sign * np.inf, ratios)
    i, j = divmod(int(np.argmin(shown) if sign > 0 else np.argmax(shown)), ratios.shape[1])
    if skipped is not None and skipped[i, j]:
        return float("nan"), -1, -1
    return float(ratios[i, j]), i + tile.first, j + tile.left


def _collect(
    deviation: FloatArray,
    tile: Tile,
    limits: tuple[int, float],
    extremes: tuple[tuple[float, int, int], tuple[float, int, int]],
    sums: tuple[int, int, float],
) -> _TileResult:
    """Return the result of a tile with at most ``keep`` pairs above the floor."""
    keep, floor = limits
    flat = deviation.ravel()
    picked = np.flatnonzero(flat > floor) if floor >= 0.0 else np.flatnonzero(flat >= 0.0)
    pruned = floor
    if picked.size > keep:
        order = np.argpartition(flat[picked], picked.size - keep)
        pruned = max(pruned, float(flat[picked[order[: picked.size - keep]]].max()))
        picked = np.sort(picked[order[picked.size - keep :]])
    i, j = np.divmod(picked, deviation.shape[1])
    (low, high), (n_pairs, n_zero, total) = extremes, sums
    first, second = i + tile.first, j + tile.left
    return _TileResult(flat[picked], first, second, low, high, n_pairs, n_zero, total, pruned)


def _merge(setting: _Setting, found: list[_TileResult], keep: int) -> PairScan:
    """Return the worst pairs of all tiles, recomputed, and the sums."""
    deviation = np.concatenate([part.deviation for part in found])
    first, second = (np.concatenate([getattr(part, name) for part in found]) for name in ("first", "second"))
    order = np.lexsort((second, first, -deviation))
    rest = max(part.pruned for part in found)
    if order.size > keep:
        rest = max(rest, float(deviation[order[keep]]))
    order = order[:keep]
    n_pairs, n_zero = sum(part.n_pairs for part in found), sum(part.n_zero for part in found)
    total = float(np.sum([part.total for part in found]))
    first, second = first[order], second[order]
    if n_pairs == 0:
        none = (float("nan"), -1, -1)
        return PairScan(first, second, np.empty(0), 0, n_zero, 0.0, none, none, -1.0)
    ends = [part.low for part in found if part.low[1] >= 0], [part.high for part in found if part.low[1] >= 0]
    low, high = min(ends[0]), max(ends[1], key=lambda end: (end[0], -end[1], -end[2]))
    extra = np.array([low[1:], high[1:]], dtype=np.int64)
    exact = pair_ratios(setting.points, setting.M, np.append(first, extra[:, 0]), np.append(second, extra[:, 1]))
    ratios = exact[:-2]
    again = np.lexsort((second, first, -np.abs(ratios - 1.0)))
    return PairScan(
        first[again],
        second[again],
        ratios[again],
        n_pairs,
        n_zero,
        total,
        (float(exact[-2]), *low[1:]),
        (float(exact[-1]), *high[1:]),
        rest + _rounding(setting) if rest >= 0.0 else -1.0,
    )


def _rounding(setting: _Setting) -> float:
    """Return a bound on the error of a ratio from inner products, for pairs that aren't near each other."""
    # A squared distance has an error of at most (d + 4) u (|x|^2 + |y|^2) and is at least NEAR times that sum; the
    # image has the map's norm and the rounding of its own product besides.
    d, k = setting.points.d, setting.M.shape[0]
    u = float(np.finfo(np.float64).eps)
    return float(4.0 * (d + k + 8) * u / NEAR * (1.0 + np.square(setting.M).sum()))
