"""Supervised linear dimension reduction with a nonlinear link, for classes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from derand._utils.rng import RNGLike
from derand._utils.words import counted
from derand.estimators.callbacks import FitTasks
from derand.exceptions import InputError
from derand.structure.estimation.classification import estimate_class_structure

__all__ = ["StructureClassifier"]


class StructureClassifier(
    CallbackSupportMixin,  # type: ignore[misc]
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Directions that classes depend on, and a multinomial model on them.

    Linear logistic models and kernel models trained jointly with their directions compete on held-out samples; see
    ``derand.structure.estimation.estimate_class_structure``.

    Parameters
    ----------
    n_components : int or "auto", default "auto"
        Number of directions; "auto" chooses on held-out samples.
    max_components : int, optional
        The most that "auto" tries; by default the larger of 4 and the number of classes less 1, at most 9.
    max_iter : int, default 150
        Most iterations of L-BFGS for each fit.
    random_state : int, Generator or None
        Held-out samples and landmarks; None means 0, the same result on every run.

    Attributes
    ----------
    classes_ : ndarray
        Labels.
    components_ : ndarray of shape (n_components_, n_features_in_)
        Orthonormal rows, principal gradient directions of the logits.
    n_components_ : int
        Number of directions.
    projection_ : ndarray of shape (n_features_in_, n_features_in_)
        Orthogonal projector on their span.
    singular_values_ : ndarray of shape (n_components_,)
        Root mean square of the logits' gradients along each.
    rank_path_ : tuple of ClassStep
        The models tried, with their held-out losses.
    stderr_ : ndarray of shape (n_components_, n_features_in_)
        Lower limits on the standard errors of the entries of `components_`: the link is taken as known.
    certificate_ : ClassEstimate
        Everything that was fitted.
    n_iter_ : int
        Iterations of L-BFGS in the last fit.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Their names, where X has them.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((300, 4))
    >>> model = StructureClassifier().fit(X, np.where(X[:, 0] + X[:, 1] > 0, "up", "down"))
    >>> model.n_components_, model.predict([[2.0, 2.0, 0.0, 0.0]]).tolist()
    (1, ['up'])
    """

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        max_components: int | None = None,
        max_iter: int = 150,
        random_state: RNGLike = None,
    ) -> None:
        self.n_components = n_components
        self.max_components = max_components
        self.max_iter = max_iter
        self.random_state = random_state

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the directions and the model; callbacks of scikit-learn are told of every model that is tried.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Samples, dense; at least two.
        y : array_like of shape (n_samples,)
            Classes, at least two.
        sample_weight : array_like of shape (n_samples,), optional
            Nonnegative weights.

        Returns
        -------
        StructureClassifier
            The fitted estimator.

        Raises
        ------
        InputError
            If there's one class only, a label is missing or a parameter is out of range.

        Notes
        -----
        scikit-learn's own validation raises ValueError for NaN, infinity and too few samples, TypeError for sparse X.
        """
        _check_labels(y)
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise InputError(f"StructureClassifier needs at least two classes, got 1 class: {self.classes_[0]!r}")
        tasks = FitTasks(self, X, y, name="model")
        found = estimate_class_structure(
            X,
            labels,
            self.n_components,
            max_components=self.max_components,
            sample_weight=None if sample_weight is None else _check_sample_weight(sample_weight, X),
            max_iter=self.max_iter,
            callback=tasks.step,
            rng=0 if self.random_state is None else self.random_state,
        )
        self.certificate_ = found
        self.components_, self.singular_values_, self.stderr_ = found.components, found.singular_values, found.stderr
        self.n_components_ = self._n_features_out = int(found.components.shape[0])
        self.projection_ = found.components.T @ found.components
        self.rank_path_, self.n_iter_ = found.path, max(1, found.fit.n_iter)
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

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithms of the class probabilities.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log-probabilities, in the order of `classes_`.
        """
        check_is_fitted(self)
        return self.certificate_.log_proba(validate_data(self, X, reset=False, dtype=np.float64))

    def predict_proba(self, X: Any) -> Any:
        """Return the class probabilities.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> Any:
        """Return the most probable classes.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        best = np.argmax(self.predict_log_proba(X), axis=1)
        return self.classes_[best]


def _check_labels(y: Any) -> None:
    """Raise where a label is None, NaN or pandas' NA: scikit-learn's message wouldn't say that it is about y."""
    labels = np.asarray(y)
    if labels.dtype != object or labels.ndim != 1:
        return
    absent = [
        k
        for k, label in enumerate(labels)
        if label is None or type(label).__name__ == "NAType" or (isinstance(label, float) and label != label)
    ]
    if absent:
        raise InputError(
            f"y has {counted(len(absent), 'missing label')}, the first in row {absent[0]}: leave out such rows"
        )
