"""Coefficients of quadratic forms in any of their usual containers, as exact whole numbers of one power of two."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from derand._utils.labels import sorted_labels
from derand.exceptions import InputError, InputTypeError
from derand.io.edge_list import EdgeList
from derand.maxcut.problem import IndexArray
from derand.maxcut.weights import convert_weights

__all__ = ["Terms", "check_offset", "linear_terms", "quadratic_terms"]

# Beyond this, neither the weights of the cut problem nor an energy would fit double precision.
_MAX_BITS = 900


@dataclass(frozen=True, eq=False)
class Terms:
    """Terms q_k v_i v_j over labelled variables: with i = j for a diagonal one, in any order, pairs repeated at will.

    Attributes
    ----------
    variables : tuple of hashable
        The labels, each once.
    rows, cols : ndarray of int64, shape (m,)
        Positions in `variables`.
    values : ndarray of object, shape (m,)
        Python ints: the coefficients times 2^exponent.
    exponent : int
        0 where all coefficients are whole numbers.
    """

    variables: tuple[Hashable, ...]
    rows: IndexArray
    cols: IndexArray
    values: NDArray[Any]
    exponent: int

    def joined(self, other: Terms) -> Terms:
        """Return the sum of two forms over the union of their variables."""
        ordered = self.variables == other.variables
        variables = self.variables if ordered else sorted_labels({*self.variables, *other.variables})
        place = {label: k for k, label in enumerate(variables)}
        top = max(self.exponent, other.exponent)
        moved = []
        for terms in (self, other):
            where = np.array([place[label] for label in terms.variables], dtype=np.int64)
            moved.append((where[terms.rows], where[terms.cols], terms.values * 2 ** (top - terms.exponent)))
        rows, cols, values = (np.concatenate(pair) for pair in zip(*moved, strict=True))
        return Terms(variables, rows, cols, values, top)


def check_offset(offset: Any) -> Fraction:
    """Return the constant term as a fraction; it must be a finite real number."""
    if isinstance(offset, Fraction):
        return offset
    if isinstance(offset, (Integral, np.bool_)):
        return Fraction(int(offset))
    if not isinstance(offset, Real):
        raise InputTypeError(f"offset must be a real number, got {type(offset).__name__}")
    if not math.isfinite(float(offset)):
        raise InputError(f"offset must be finite, got {offset!r}")
    return Fraction(float(offset))


def quadratic_terms(Q: Any, name: str = "Q", *, symmetric: bool | None = None) -> Terms:
    """Return the terms of a quadratic form.

    Parameters
    ----------
    Q : mapping, array_like, scipy sparse array or EdgeList
        {(i, j): q} with any hashable labels, or a square matrix, each entry counting once; or the entries of a file.
    name : str, default "Q"
        Name of the argument in messages.
    symmetric : bool, optional
        Whether an entry off the diagonal stands for its mirror image too, so that it counts twice.  By default it does
        in an undirected edge list and nowhere else.

    Returns
    -------
    Terms
        The form; variables are 0..n-1 for a matrix.

    Raises
    ------
    InputError
        If a matrix isn't square, a key is no pair, or a coefficient is NaN, infinite or too large.
    InputTypeError
        If a coefficient is no real number, or ``symmetric`` is true for a matrix.
    """
    if isinstance(Q, Mapping):
        variables, rows, cols, values = _of_mapping(Q, name)
    elif isinstance(Q, EdgeList):
        variables, rows, cols, values = tuple(Q.node_labels), Q.heads, Q.tails, Q.weights
        symmetric = not Q.directed if symmetric is None else symmetric
    else:
        if symmetric:
            raise InputTypeError(f"symmetric=True is for entry lists; the matrix {name} already says what it holds")
        variables, rows, cols, values = _of_matrix(Q, name)
    terms = _exact(variables, rows, cols, values)
    if symmetric:
        off = np.flatnonzero(terms.rows != terms.cols)
        terms.values[off] *= 2
    return terms


def linear_terms(h: Any, name: str = "h") -> Terms:
    """Return the terms of a linear form as diagonal entries.

    Parameters
    ----------
    h : mapping or array_like of shape (n,)
        Coefficients by label, or for the variables 0..n-1.
    name : str, default "h"
        Name of the argument in messages.

    Returns
    -------
    Terms
        The form.

    Raises
    ------
    InputError
        If an array isn't one-dimensional or a coefficient is NaN, infinite or too large.
    """
    if isinstance(h, Mapping):
        variables = sorted_labels(h)
        index = np.arange(len(variables), dtype=np.int64)
        return _exact(variables, index, index, [h[label] for label in variables])
    values = h if isinstance(h, np.ndarray) else np.array(list(h), dtype=object)
    if values.ndim != 1:
        raise InputError(f"{name} must have one dimension, got shape {values.shape}")
    index = np.arange(values.size, dtype=np.int64)
    return _exact(tuple(range(values.size)), index, index, values)


def _of_mapping(Q: Mapping[Any, Any], name: str) -> tuple[tuple[Hashable, ...], IndexArray, IndexArray, Any]:
    """Return variables, rows, columns and values of {(i, j): q}."""
    for key in Q:
        if not isinstance(key, tuple) or len(key) != 2:
            raise InputError(f"the keys of {name} must be pairs (i, j), got {key!r}")
    variables = sorted_labels({label for key in Q for label in key})
    place = {label: k for k, label in enumerate(variables)}
    rows = np.array([place[i] for i, _ in Q], dtype=np.int64)
    cols = np.array([place[j] for _, j in Q], dtype=np.int64)
    return variables, rows, cols, list(Q.values())


def _of_matrix(Q: Any, name: str) -> tuple[tuple[Hashable, ...], IndexArray, IndexArray, Any]:
    """Return variables, rows, columns and values of a matrix."""
    entries: Any = Q
    matrix: Any = entries.tocoo() if sp.issparse(Q) else np.asarray(Q)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        if matrix.ndim == 0:
            raise InputTypeError(f"{name} must be a dictionary, a square matrix or a BinaryQuadraticModel of dimod")
        raise InputError(f"{name} must be a square matrix, got shape {matrix.shape}")
    variables = tuple(range(matrix.shape[0]))
    if sp.issparse(Q):
        return variables, matrix.row.astype(np.int64), matrix.col.astype(np.int64), matrix.data
    rows, cols = np.nonzero(matrix != 0)
    return variables, rows, cols, matrix[rows, cols]


def _exact(variables: tuple[Hashable, ...], rows: IndexArray, cols: IndexArray, values: Any) -> Terms:
    """Return terms with whole-number values; errors name the pair of labels."""
    # An array of objects from any labels, tuples included: `np.array` would make tuples a further dimension.
    labels = np.fromiter(variables, dtype=object, count=len(variables))
    converted = convert_weights(values, labels[rows], labels[cols])
    whole, exponent = _whole_numbers(converted)
    if sum(map(abs, whole.tolist())).bit_length() > _MAX_BITS:
        raise InputError(f"coefficients must lie within {_MAX_BITS} binary orders of magnitude")
    return Terms(variables, rows, cols, whole, exponent)


def _whole_numbers(values: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Return Python ints, equal to the values times 2^exponent, and the exponent."""
    if values.dtype != np.float64:
        return values.astype(object), 0
    ratios = [value.as_integer_ratio() for value in values.tolist()]
    bottom = max((q for _, q in ratios), default=1)
    whole = np.empty(values.size, dtype=object)
    whole[:] = [p * (bottom // q) for p, q in ratios]
    return whole, bottom.bit_length() - 1
