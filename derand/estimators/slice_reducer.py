"""Inverse regression as a scikit-learn transformer: SIR, SAVE, pHd, directional regression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from derand._utils.validation import check_int, check_option
from derand.exceptions import InputError
from derand.structure.estimation.distinct import distinct_samples
from derand.structure.estimation.estimate import check_weight
from derand.structure.estimation.slicing import METHODS, slice_labels, sliced_matrix
from derand.structure.estimation.whitening import whiten
from derand.structure.subspace import orthonormal_rows

__all__ = ["SliceReducer"]


class SliceReducer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Directions that a response depends on, from the distribution of X within slices of the response.

    Parameters
    ----------
    n_components : int or "auto", default 2
        Number of directions; "auto" takes the largest drop between consecutive eigenvalues.
    method : {"sir", "save", "phd", "dr"}, default "dr"
        See ``derand.structure.estimation.slicing.sliced_matrix``.
    n_slices : int, default 10
        Slices of a continuous response; classes are slices as they are.
    shrinkage : float in [0, 1], optional
        Shrinkage of the correlation matrix; chosen from the data by default.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features_in_)
        Orthonormal rows.
    n_components_ : int
        Number of directions, at most the rank of X.
    projection_ : ndarray of shape (n_features_in_, n_features_in_)
        Orthogonal projector on their span.
    singular_values_ : ndarray of shape (rank,)
        All eigenvalues of the method's matrix, falling.
    n_slices_ : int
        Slices used.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Their names, where X has them.

    Notes
    -----
    Consistent for inputs whose conditional mean given the directions is linear, such as Gaussian ones.  SIR misses
    symmetric links, pHd odd ones.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((500, 4))
    >>> reducer = SliceReducer(1, method="sir").fit(X, X[:, 0] ** 3)
    >>> np.abs(reducer.components_).round(1).tolist()
    [[1.0, 0.0, 0.0, 0.0]]
    """

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        method: str = "dr",
        n_slices: int = 10,
        shrinkage: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.n_slices = n_slices
        self.shrinkage = shrinkage

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the directions.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Samples, dense; at least two.
        y : array_like of shape (n_samples,)
            Response or classes.
        sample_weight : array_like of shape (n_samples,), optional
            Nonnegative weights.

        Returns
        -------
        SliceReducer
            The fitted transformer.

        Raises
        ------
        InputError
            If a parameter is out of range, or every column is constant.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        y = column_or_1d(y, warn=True)
        check_option(self.method, "method", METHODS)
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, X)
        labels, numbers, X, weight = self._prepared(X, y, check_weight(weight, X.shape[0]))
        white = whiten(X, weight, self.shrinkage)
        r = white.matrix.shape[1]
        if r == 0:
            raise InputError("X must have a column that isn't constant")
        Z = white.transform(X)
        M = sliced_matrix(Z, labels, self.method, numbers[:, None], weight)
        values, axes = np.linalg.eigh(M)
        self.singular_values_ = np.maximum(values[::-1], 0.0)
        self.n_slices_ = int(labels.max()) + 1
        k = self._rank(r)
        self.components_ = orthonormal_rows(axes[:, ::-1][:, :k].T @ white.matrix.T)
        self.n_components_ = self._n_features_out = k
        self.projection_ = self.components_.T @ self.components_
        return self

    def transform(self, X: Any) -> Any:
        """Return the coordinates ``X @ components_.T``; nothing is centred.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
            Coordinates.
        """
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=np.float64) @ self.components_.T

    def _prepared(self, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any, Any]:
        """Return slices, responses as numbers, and weights of the distinct samples."""
        check_int(self.n_slices, "n_slices", low=1)
        values, codes = np.unique(y, return_inverse=True)
        is_class = y.dtype.kind not in "fiu" or (
            type_of_target(y) in {"binary", "multiclass"} and values.size <= self.n_slices
        )
        column = (codes if is_class else y).astype(np.float64)[:, None]
        X, column, weight = distinct_samples(X, column, weight)
        numbers = column[:, 0]
        if is_class:
            return np.unique(numbers, return_inverse=True)[1], numbers, X, weight
        return slice_labels(numbers, self.n_slices, weight), numbers, X, weight

    def _rank(self, r: int) -> int:
        """Return the number of directions."""
        if isinstance(self.n_components, str):
            check_option(self.n_components, "n_components", ("auto",))
            if r == 1:
                return 1
            return int(np.argmax(-np.diff(self.singular_values_))) + 1
        return min(check_int(self.n_components, "n_components", low=1), r)

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that a response is needed."""
        tags: Tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
