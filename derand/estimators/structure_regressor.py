"""Supervised linear dimension reduction with a nonlinear link, for regression."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from derand._utils.rng import RNGLike
from derand.estimators.callbacks import FitTasks
from derand.structure.estimation.estimate import estimate_structure

__all__ = ["StructureRegressor"]


class StructureRegressor(
    CallbackSupportMixin,  # type: ignore[misc]
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    MultiOutputMixin,  # type: ignore[misc]
    RegressorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Directions that a response depends on, their number, error bars, and the regression on them.

    For :math:`y = f(Bx) + \text{noise}` with a smooth f it finds the rows of B; see
    `derand.structure.estimate_structure` for the method and its limits.

    Parameters
    ----------
    n_components : int or "auto", default "auto"
        Number of directions; "auto" for the one of least BIC.
    max_components : int, default 6
        The most that "auto" tries.
    shrinkage : float in [0, 1] or "auto", default "auto"
        Shrinkage of the correlation matrix before whitening; "auto" shrinks nearly collinear columns and few samples.
    n_landmarks : int, default 300
        The most landmarks of the kernel.
    max_iter : int, default 8
        Gauss-Newton rounds of the last polishing.
    tol : float, default 1e-5
        Relative improvement that ends it.
    random_state : int, Generator or None
        Landmarks and held-out samples; None means 0, the same result on every run.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features_in_)
        Orthonormal rows, principal gradient directions of f.
    n_components_ : int
        Number of directions; fewer than asked for where X has fewer independent columns.
    projection_ : ndarray of shape (n_features_in_, n_features_in_)
        Orthogonal projector on their span.
    singular_values_ : ndarray of shape (n_components_,)
        Root mean square of the gradient of f along each.
    rank_path_ : tuple of RankStep
        BIC, residual and degrees of freedom for every number of directions tried; only fits of about the least BIC are
        refined to the end.
    stderr_ : ndarray of shape (n_components_, n_features_in_)
        Standard errors of the entries of `components_`, from the information matrix.
    certificate_ : ConfidenceCone
        Estimated law of the error; ``certificate_.angle(0.95)`` bounds the norm of the sines
        with 95 per cent probability.
    start_ : str
        Start that was polished.
    n_iter_ : int
        Rounds, at least 1.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Their names, where X has them.

    See Also
    --------
    StructureClassifier : The same for classes.
    SliceReducer : Inverse regression only.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((400, 5))
    >>> model = StructureRegressor().fit(X, (X[:, 0] + X[:, 1]) ** 2 + 0.1 * rng.standard_normal(400))
    >>> model.n_components_, np.abs(model.components_).round(1).tolist()
    (1, [[0.7, 0.7, 0.0, 0.0, 0.0]])
    """

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        max_components: int = 6,
        shrinkage: float | str = "auto",
        n_landmarks: int = 300,
        max_iter: int = 8,
        tol: float = 1e-5,
        random_state: RNGLike = None,
    ) -> None:
        self.n_components = n_components
        self.max_components = max_components
        self.shrinkage = shrinkage
        self.n_landmarks = n_landmarks
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the directions and the link; callbacks of scikit-learn are told of every number that is tried.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Samples, dense; at least two.
        y : array_like of shape (n_samples,) or (n_samples, n_outputs)
            Responses; several share the directions.
        sample_weight : array_like of shape (n_samples,), optional
            Nonnegative weights.

        Returns
        -------
        StructureRegressor
            The fitted estimator.

        Raises
        ------
        InputError
            If a parameter is out of range or every column of X is constant.

        Warns
        -----
        DataConversionWarning
            If y is a column where a vector would do.

        Notes
        -----
        scikit-learn's own validation raises ValueError for NaN, infinity and too few samples, TypeError for sparse X.
        """
        X, y = validate_data(
            self, X, y, dtype=np.float64, ensure_min_samples=2, multi_output=True, y_numeric=True, estimator=self
        )
        if y.ndim == 2 and y.shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
                "(n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=2,
            )
            y = y.ravel()
        tasks = FitTasks(self, X, y, name="number of directions")
        found = estimate_structure(
            X,
            y,
            self.n_components,
            max_components=self.max_components,
            sample_weight=None if sample_weight is None else _check_sample_weight(sample_weight, X),
            shrinkage=self.shrinkage,
            n_landmarks=self.n_landmarks,
            max_iter=self.max_iter,
            tol=self.tol,
            callback=tasks.step,
            rng=0 if self.random_state is None else self.random_state,
        )
        self.estimate_ = found
        self._is_vector = y.ndim == 1
        self.components_, self.singular_values_ = found.components, found.singular_values
        self.n_components_ = self._n_features_out = int(found.components.shape[0])
        self.projection_ = found.components.T @ found.components
        self.rank_path_, self.certificate_, self.stderr_ = found.path, found.cone, found.cone.stderr
        self.start_, self.n_iter_ = found.candidate.name, found.n_iter
        tasks.end()
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

    def predict(self, X: Any) -> Any:
        """Return the fitted responses.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions.
        """
        check_is_fitted(self)
        values = self.estimate_.predict(validate_data(self, X, reset=False, dtype=np.float64))
        return values.ravel() if self._is_vector else values
