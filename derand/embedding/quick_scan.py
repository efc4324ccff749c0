"""The worst pairs of many points under one map after another: in single precision, with the distances kept."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from derand._utils.threads import blas_threads
from derand._utils.validation import FloatArray
from derand.embedding.points import IndexArray, PointSet
from derand.embedding.scan import NEAR, BlockMap, Tile, pair_ratios, tile_distances, tiles

__all__ = ["QuickScan", "WorstPairs"]

_SIDE = 512  # rows of a tile: what it holds in single precision stays in the cache of one core
_GROUP = 32  # tiles between two updates of the pruning threshold; fixed, so that n_jobs can't change the outcome
_KEPT = 1 << 28  # numbers of single precision in the distances that are kept: 1 GiB
_ROUNDING = 2e-3  # relative; what a threshold is lowered by
_MOST_NEAR = 0.02  # share of pairs near each other, which are measured one by one, up to which this is quick

SingleArray = NDArray[np.float32]


class WorstPairs(NamedTuple):
    """The worst pairs of a map, by falling |ratio - 1|, with their ratios from explicit differences."""

    first: IndexArray
    second: IndexArray
    ratios: FloatArray


class _Distances(NamedTuple):
    """Inverse squared distances of a tile, nan where there is no pair; those of pairs too near for inner products."""

    inverse: SingleArray
    near: tuple[IndexArray, IndexArray, FloatArray]


class QuickScan:
    """Finds the worst pairs of given points under any map, much faster than `scan_pairs` and nearly as well.

    The squared distances before the map are computed once and kept, in single precision.  A scan then takes one product
    of thin matrices and four passes over a tile in the cache.  Ratios near the threshold may fall on its wrong side by
    their rounding, about 1e-3 at worst; those returned are from explicit differences in double precision.

    Parameters
    ----------
    points : PointSet
        Dense points.

    Attributes
    ----------
    is_apt : bool
        Whether this is the quicker way; a scan that meets many pairs near each other makes it False.
    """

    def __init__(self, points: PointSet) -> None:
        self.points = points
        self.norms: FloatArray = np.einsum("ij,ij->i", points.centred, points.centred)
        self.tiles = tiles(points.n, side=_SIDE)
        n_numbers = sum((tile.last - tile.first) * (tile.right - tile.left) for tile in self.tiles)
        self.is_apt = True
        self._kept: dict[Tile, _Distances] | None = {} if n_numbers <= _KEPT else None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the distances behind: another process computes those it needs faster than it would receive them."""
        return {**self.__dict__, "_kept": None}

    def worst(self, M: FloatArray, keep: int, floor: float = -1.0, *, block_map: BlockMap = map) -> WorstPairs:
        """Return the worst pairs under a map.

        Parameters
        ----------
        M : ndarray, shape (k, d)
            The map.
        keep : int
            How many.
        floor : float, default -1.0
            A value of |ratio - 1| that so many pairs are known to reach; without it the first tiles take longer.
        block_map : callable, default map
            Runs the tiles; the outcome doesn't depend on it.

        Returns
        -------
        WorstPairs
            At most ``keep`` pairs.
        """
        with blas_threads(1):
            image = self.points.image(M)
            floor -= _ROUNDING * abs(floor)
            squares = np.einsum("ij,ij->i", image, image)
            ones = np.ones(len(image))
            # One product gives |y_i|^2 + |y_j|^2 - 2 y_i' y_j.
            left = np.column_stack([image, squares, ones]).astype(np.float32)
            right = np.column_stack([-2.0 * image, ones, squares]).astype(np.float32)
            values, codes, n_near = np.empty(0, dtype=np.float32), np.empty(0, dtype=np.int64), 0
            for start in range(0, len(self.tiles), _GROUP):
                group = self.tiles[start : start + _GROUP]
                found = list(block_map(partial(self._scan_tile, image, left, right, keep, floor), group))
                n_near += sum(part[2] for part in found)
                values = np.concatenate([values, *(part[0] for part in found)])
                codes = np.concatenate([codes, *(part[1] for part in found)])
                if values.size > keep:
                    top = np.argpartition(-values, keep - 1)[:keep]
                    values, codes = values[top], codes[top]
                    floor = max(floor, float(values.min()))
            self.is_apt = n_near <= _MOST_NEAR * self.points.n * (self.points.n - 1) / 2
            first, second = np.divmod(codes, self.points.n)
            ratios = pair_ratios(self.points, M, first, second)
        order = np.lexsort((codes, -np.abs(ratios - 1.0)))
        return WorstPairs(first[order], second[order], ratios[order])

    def _scan_tile(
        self, image: FloatArray, left: SingleArray, right: SingleArray, keep: int, floor: float, tile: Tile
    ) -> tuple[SingleArray, IndexArray, int]:
        """Return |ratio - 1| and codes i n + j of a tile's worst pairs above the floor, and how many pairs are near."""
        with blas_threads(1), np.errstate(invalid="ignore", over="ignore"):
            inverse, near = self._distances(tile)
            deviation = left[tile.first : tile.last] @ right[tile.left : tile.right].T
            deviation *= inverse
            deviation -= 1.0
            np.abs(deviation, out=deviation)
            flat = deviation.ravel()
            picked = np.flatnonzero(flat > floor)
            if picked.size > keep:
                picked = picked[np.argpartition(-flat[picked], keep - 1)[:keep]]
            i, j = np.divmod(picked, deviation.shape[1])
            first, second = np.append(i, near[0]) + tile.first, np.append(j, near[1]) + tile.left
            apart = image[near[0] + tile.first] - image[near[1] + tile.left]
            exact = np.abs(np.einsum("ij,ij->i", apart, apart) * near[2] - 1.0)
            values = np.append(flat[picked], exact.astype(np.float32))
            return values, first * self.points.n + second, int(exact.size)

    def _distances(self, tile: Tile) -> _Distances:
        """Return what is known of a tile whatever the map."""
        if self._kept is not None and tile in self._kept:
            return self._kept[tile]
        rows, columns = slice(tile.first, tile.last), slice(tile.left, tile.right)
        distances = tile_distances(self.points.centred, self.norms, tile)
        near = distances <= NEAR * (self.norms[rows, None] + self.norms[columns])
        if tile.first == tile.left:
            skipped = np.arange(near.shape[0])[:, None] >= np.arange(near.shape[1])
            near &= ~skipped
            distances[skipped] = np.nan
        i, j = np.nonzero(near)
        distances[i, j] = np.nan
        apart = self.points.centred[i + tile.first] - self.points.centred[j + tile.left]
        explicit = np.einsum("ij,ij->i", apart, apart)
        distinct = explicit > 0.0
        near_pairs = i[distinct], j[distinct], 1.0 / explicit[distinct]
        found = _Distances((1.0 / distances).astype(np.float32), near_pairs)
        if self._kept is not None:
            self._kept[tile] = found
        return found
