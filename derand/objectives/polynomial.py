"""Sparse polynomials in several variables, with their Gaussian mean by Wick's theorem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from derand._utils.arrays import IntArray, array_namespace, as_like, index_like
from derand._utils.validation import FloatArray, check_array, check_int
from derand.exceptions import InputError
from derand.objectives.monomials import MonomialTable, remove

__all__ = ["Polynomial", "PolynomialExpectation"]


class Polynomial:
    """g(z) = sum over terms of coefficient * product of the listed variables.

    Parameters
    ----------
    dim : int
        Number of variables, >= 1.
    terms : mapping from tuple of int to float
        Keys list variables, repeated for powers: ``{(): 1.0, (0, 0, 3): 2.0}`` is 1 + 2 z_0^2 z_3.  Order doesn't
        matter.

    Raises
    ------
    InputError
        If there is no term, a variable is out of range, a coefficient isn't finite or the terms have too many divisors.

    Notes
    -----
    Cost and memory are linear in the number of monomials that divide a term, at most 2^degree each, times the number of
    points.

    Examples
    --------
    The fourth moment of a normal variable of variance 4 is 3 * 16:

    >>> import numpy as np
    >>> from derand.objectives import Polynomial
    >>> Polynomial(1, {(0, 0, 0, 0): 1.0}).expectation(np.zeros(1), np.array([[2.0]])).value
    48.0
    """

    def __init__(self, dim: int, terms: Mapping[tuple[int, ...], float]) -> None:
        self._dim = check_int(dim, "dim", low=1)
        if not terms:
            raise InputError("terms must hold at least one monomial, got none")
        total: dict[tuple[int, ...], float] = {}
        for key, coefficient in terms.items():
            monomial = tuple(sorted(check_int(i, "variable in terms", low=0, high=self._dim - 1) for i in key))
            total[monomial] = total.get(monomial, 0.0) + float(check_array(coefficient, "coefficient in terms", ndim=0))
        self.terms: dict[tuple[int, ...], float] = total
        self._table = MonomialTable(self.terms)
        self._rows = np.array([self._table.row[a] for a in self.terms], dtype=np.int64)
        self._coefficients = np.array(list(self.terms.values()), dtype=np.float64)
        first, second = _derivative_entries(self.terms, self._table)
        self._first_variable, self._first_row, self._first_coefficient = first
        self._second_left, self._second_right, self._second_row, self._second_coefficient = second

    @property
    def dim(self) -> int:
        """Number of variables."""
        return self._dim

    def value(self, z: Any) -> Any:
        """Return g at the rows of ``z``."""
        monomials = self._table.values(z)
        picked = array_namespace(z).take(monomials, index_like(self._rows, z), axis=1)
        return picked @ as_like(self._coefficients, z)

    def gradient(self, z: Any) -> Any:
        """Return the gradient of g at each row of ``z``."""
        picked = array_namespace(z).take(self._table.values(z), index_like(self._first_row, z), axis=1)
        return picked @ as_like(self._scatter(self._first_variable, self._first_coefficient), z)

    def hessian_product(self, z: Any, v: Any) -> Any:
        """Return the Hessian at each row of ``z`` times the same row of ``v``."""
        xp = array_namespace(z)
        picked = xp.take(self._table.values(z), index_like(self._second_row, z), axis=1)
        picked = picked * xp.take(v, index_like(self._second_right, z), axis=1)
        return picked @ as_like(self._scatter(self._second_left, self._second_coefficient), z)

    def _scatter(self, variable: IntArray, coefficient: FloatArray) -> FloatArray:
        """Return the matrix (n_entries, dim) that adds each entry to its variable."""
        matrix = np.zeros((variable.size, self._dim))
        matrix[np.arange(variable.size), variable] = coefficient
        return matrix

    def expectation(self, mean: FloatArray, factor: FloatArray) -> PolynomialExpectation:
        """Return E[g] and its derivatives under N(mean, factor factor'), in closed form."""
        return PolynomialExpectation(self, mean, factor)


class PolynomialExpectation:
    """The closed form of E[g(z)] for a `Polynomial`; see `GaussianExpectation` for the meaning of its members."""

    def __init__(self, polynomial: Polynomial, mean: FloatArray, factor: FloatArray) -> None:
        self._p = polynomial
        self._mean = mean
        self._factor = factor
        self._covariance = polynomial._table.covariances(factor, factor)
        self._moment = polynomial._table.moments(mean, self._covariance)

    @property
    def value(self) -> float:
        """E[g(z)]."""
        return float(np.add.reduce(self._moment[self._p._rows] * self._p._coefficients))

    @property
    def gradient(self) -> FloatArray:
        """E[grad g(z)]."""
        return self._first(self._moment)

    @cached_property
    def factor_gradient(self) -> FloatArray:
        """E[grad g(z) xi']."""
        return self._second(self._moment, self._factor)

    def hessian(self, size: int) -> FloatArray:
        """Return the leading block of E[Hess g]."""
        return self._second(self._moment, np.eye(self._p.dim)[:, :size])[:size]

    def derivative(self, dmean: FloatArray, dfactor: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the directional derivatives of both gradients."""
        table = self._p._table
        dcovariance = table.covariances(dfactor, self._factor) + table.covariances(self._factor, dfactor)
        dmoment = table.moment_derivatives(self._mean, self._covariance, self._moment, dmean, dcovariance)
        return self._first(dmoment), self._second(dmoment, self._factor) + self._second(self._moment, dfactor)

    def _first(self, moment: FloatArray) -> FloatArray:
        """Return the gradient with monomials replaced by ``moment``."""
        out = np.zeros(self._p.dim)
        np.add.at(out, self._p._first_variable, self._p._first_coefficient * moment[self._p._first_row])
        return out

    def _second(self, moment: FloatArray, matrix: FloatArray) -> FloatArray:
        """Return the Hessian with monomials replaced by ``moment``, times ``matrix`` (dim, m)."""
        out = np.zeros((self._p.dim, matrix.shape[1]))
        entries = self._p._second_coefficient * moment[self._p._second_row]
        np.add.at(out, self._p._second_left, entries[:, None] * matrix[self._p._second_right])
        return out


def _derivative_entries(
    terms: Mapping[tuple[int, ...], float], table: MonomialTable
) -> tuple[tuple[IntArray, IntArray, FloatArray], tuple[IntArray, IntArray, IntArray, FloatArray]]:
    """Return tables of all first and second derivatives: variables, row of the remaining monomial, coefficient."""
    first: list[tuple[int, int, float]] = []
    second: list[tuple[int, int, int, float]] = []
    for monomial, coefficient in terms.items():
        for i, count in Counter(monomial).items():
            rest = remove(monomial, i)
            first.append((i, table.row[rest], coefficient * count))
            for j, again in Counter(rest).items():
                second.append((i, j, table.row[remove(rest, j)], coefficient * count * again))
    one, two = np.array(first, dtype=np.float64).reshape(-1, 3), np.array(second, dtype=np.float64).reshape(-1, 4)
    a, b = one[:, :2].astype(np.int64), two[:, :3].astype(np.int64)
    return (a[:, 0], a[:, 1], one[:, 2]), (b[:, 0], b[:, 1], b[:, 2], two[:, 3])
