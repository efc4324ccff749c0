"""Monomials of several variables and their Gaussian moments, by Wick's recursion on tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from derand._utils.arrays import IntArray, array_namespace, index_like
from derand._utils.validation import FloatArray
from derand.exceptions import InputError

__all__ = ["MonomialTable"]

_MAX_MONOMIALS = 500_000


@dataclass(frozen=True)
class _Level:
    """The monomials of one degree: z^a = z_first * z^parent, and the pair terms of Wick's recursion."""

    rows: IntArray
    first: IntArray
    parent: IntArray
    pair_row: IntArray
    pair: IntArray
    multiplicity: FloatArray
    grandparent: IntArray


class MonomialTable:
    """All monomials that divide one of the given ones, in order of their degree.

    A monomial is the sorted tuple of its variables: z_0^2 z_3 is (0, 0, 3).  E[z^a] for z ~ N(m, S) follows from
    E[z_i q(z)] = m_i E[q] + sum_j S_ij E[dq/dz_j] (Stein's identity, or Wick's theorem read one factor at a time).

    Parameters
    ----------
    monomials : iterable of tuple of int
        Sorted tuples.

    Raises
    ------
    InputError
        If the divisors are more than 500,000.
    """

    def __init__(self, monomials: Iterable[tuple[int, ...]]) -> None:
        divisors: set[tuple[int, ...]] = {()}
        for monomial in monomials:
            if 2 ** len(set(monomial)) > _MAX_MONOMIALS:
                raise InputError(
                    f"terms holds a monomial of {len(set(monomial))} variables: too many divisors to expand"
                )
            for size in range(1, len(monomial) + 1):
                divisors.update(combinations(monomial, size))
            if len(divisors) > _MAX_MONOMIALS:
                raise InputError(
                    f"terms has more than {_MAX_MONOMIALS} divisors: lower the degree or split the polynomial"
                )
        self.monomials = sorted(divisors, key=lambda a: (len(a), a))
        self.row = {a: i for i, a in enumerate(self.monomials)}
        self._pairs: dict[tuple[int, int], int] = {}
        top = len(self.monomials[-1])
        self._levels = [self._level([a for a in self.monomials if len(a) == degree]) for degree in range(1, top + 1)]
        pairs = np.array(list(self._pairs), dtype=np.int64).reshape(-1, 2)
        self.pair_left, self.pair_right = pairs[:, 0], pairs[:, 1]

    def _level(self, monomials: list[tuple[int, ...]]) -> _Level:
        """Index arrays for the monomials of one degree."""
        pair_rows: list[tuple[int, int, int, int]] = []
        for a in monomials:
            rest = a[1:]
            for j, count in Counter(rest).items():
                pair = self._pairs.setdefault((a[0], j), len(self._pairs))
                pair_rows.append((self.row[a], pair, count, self.row[remove(rest, j)]))
        table = np.array(pair_rows, dtype=np.int64).reshape(-1, 4)
        return _Level(
            rows=np.array([self.row[a] for a in monomials], dtype=np.int64),
            first=np.array([a[0] for a in monomials], dtype=np.int64),
            parent=np.array([self.row[a[1:]] for a in monomials], dtype=np.int64),
            pair_row=table[:, 0],
            pair=table[:, 1],
            multiplicity=table[:, 2].astype(np.float64),
            grandparent=table[:, 3],
        )

    def values(self, z: Any) -> Any:
        """Return all monomials at the rows of ``z`` (n, dim), shape (n, n_monomials); any array library."""
        xp = array_namespace(z)
        blocks = [z[:, :1] * 0.0 + 1.0]
        start = 0
        for level in self._levels:
            parents = xp.take(blocks[-1], index_like(level.parent - start, z), axis=1)
            blocks.append(xp.take(z, index_like(level.first, z), axis=1) * parents)
            start = int(level.rows[0])
        return xp.concat(blocks, axis=1)

    def covariances(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return the entries of left right' that the recursion needs, for factors of shape (dim, r)."""
        return np.asarray(np.sum(left[self.pair_left] * right[self.pair_right], axis=1))

    def moments(self, mean: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return E[z^a] for all monomials; ``covariance`` comes from `covariances`."""
        moment = np.zeros(len(self.monomials))
        moment[0] = 1.0
        for level in self._levels:
            moment[level.rows] = mean[level.first] * moment[level.parent]
            np.add.at(moment, level.pair_row, level.multiplicity * covariance[level.pair] * moment[level.grandparent])
        return moment

    def moment_derivatives(
        self, mean: FloatArray, covariance: FloatArray, moment: FloatArray, dmean: FloatArray, dcovariance: FloatArray
    ) -> FloatArray:
        """Return the derivative of `moments` in the direction (dmean, dcovariance)."""
        dmoment = np.zeros(len(self.monomials))
        for level in self._levels:
            dmoment[level.rows] = dmean[level.first] * moment[level.parent] + mean[level.first] * dmoment[level.parent]
            change = (
                dcovariance[level.pair] * moment[level.grandparent]
                + covariance[level.pair] * dmoment[level.grandparent]
            )
            np.add.at(dmoment, level.pair_row, level.multiplicity * change)
        return dmoment


def remove(monomial: tuple[int, ...], variable: int) -> tuple[int, ...]:
    """Return the monomial divided by one power of ``variable``."""
    i = monomial.index(variable)
    return monomial[:i] + monomial[i + 1 :]
