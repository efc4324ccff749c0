"""Directions of a multi-index model from the leading eigenvectors of a weighted sample covariance."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from derand._utils.rng import RNGLike
from derand._utils.validation import FloatArray, check_int, check_option, check_scalar
from derand._utils.words import counted
from derand.exceptions import InputError
from derand.spectral.law import SpectralLaw
from derand.spectral.link import MultiIndexLink
from derand.spectral.matrix_law import MatrixSpectralLaw
from derand.spectral.preprocessing import Preprocessing
from derand.spectral.spectral_matrix import ExtremeVectors, WeightedGram, extreme_vectors

__all__ = ["SpectralIndexEstimator"]

_SINGLE = 200_000
_LAW_SAMPLES = 2048
_EDGE_NODES = 500  # fewer than a law estimates its errors from


class SpectralIndexEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Hidden directions of a response :math:`y = h(\Theta_*^\top x)`, from one eigenvalue problem.

    They are the leading eigenvectors of :math:`\frac1n\sum_i T(y_i)\, x_i x_i^\top`.  The samples are taken to be
    N(0, I) (centre and whiten them otherwise).  With the link known, T is the optimal preprocessing, and the theory
    predicts the outlier, its overlap with the directions, and whether there are enough samples for one at all.  With
    the link unknown, T is estimated from the data in rounds, without predictions; below the threshold the directions
    found are noise.

    Parameters
    ----------
    n_components : int, default 1
        Number of directions.
    link : MultiIndexLink or str, optional
        The link; its `k` must be `n_components`.  None: estimated.
    preprocessing : "optimal", "estimated" or callable, default "optimal"
        "optimal": for the given link (without a link the same as "estimated").  A callable T(y) is used as it is, and
        predictions are made where a link is given.
    floor : float, default -10.0
        Lower bound on the optimal T, which is unbounded otherwise; costs a little overlap and saves products.
    tol : float, default 0.1
        Largest angle between the computed eigenvectors and the exact ones: residual divided by the distance to the edge
        of the bulk.  The true angle is about a third of it, and the squared overlap is off by its square, 0.001, which
        is far less than its statistical error.
    max_iter : int, default 500
        Most products of Lanczos.
    n_rounds : int, default 3
        Rounds of the estimate of T.
    random_state : int, Generator or None
        Random stream; None means 0, the same result on every run.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal directions.
    eigenvalues_ : ndarray
        Eigenvalues they belong to.
    delta_ : float
        Samples divided by features.
    threshold_ : float or None
        Smallest delta with an outlier, for the T used; None without a link.
    is_above_threshold_ : bool or None
        Whether delta_ exceeds it.
    predicted_overlap_ : float or None
        Squared length of the projection of a fitted direction on the true ones, in the limit; 0.0 below threshold.
    predicted_outlier_ : float or None
        Predicted eigenvalue.
    residuals_ : ndarray
        Residuals of the eigenpairs.
    n_iter_ : int
        Products with the matrix.
    is_converged_ : bool
        Whether `tol` was reached.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, where X has them.

    Notes
    -----
    A product reads X once, 4 n d operations; the d x d matrix is never formed.  Samples of many entries are rounded to
    single precision, whose error is far below the statistical one, and the start vector comes from an eighth of them
    (see `extreme_vectors`).  The edge of the bulk that bounds the angle is the one predicted for the weights at hand.

    References
    ----------
    W. Luo, W. Alghamdi, Y. M. Lu, Optimal spectral initialization for signal recovery with applications to phase
    retrieval, IEEE Trans. Signal Processing 67 (2019) 2347-2356.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((2000, 100))
    >>> found = SpectralIndexEstimator(link="z**2").fit(X, X[:, 0] ** 2)
    >>> bool(abs(found.components_[0, 0]) > 0.95), found.is_above_threshold_
    (True, True)
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        link: Any = None,
        preprocessing: Any = "optimal",
        floor: float = -10.0,
        tol: float = 0.1,
        max_iter: int = 500,
        n_rounds: int = 3,
        random_state: RNGLike = None,
    ) -> None:
        self.n_components = n_components
        self.link = link
        self.preprocessing = preprocessing
        self.floor = floor
        self.tol = tol
        self.max_iter = max_iter
        self.n_rounds = n_rounds
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Find the directions.

        Parameters
        ----------
        X : array_like, shape (n_samples, n_features)
            Samples, close to N(0, I).
        y : array_like, shape (n_samples,)
            Responses.

        Returns
        -------
        SpectralIndexEstimator
            The fitted estimator.

        Raises
        ------
        InputError
            If a parameter is out of range, or the link has another number of directions.

        Notes
        -----
        scikit-learn's own validation raises ValueError for NaN, infinity, fewer than two samples or no features.
        """
        X, y = validate_data(
            self, X, y, dtype=(np.float64, np.float32), y_numeric=True, ensure_min_samples=2, multi_output=False
        )
        y = np.asarray(y, dtype=np.float64)
        k = check_int(self.n_components, "n_components", low=1)
        if k > X.shape[1]:
            raise InputError(f"n_components={k} exceeds the number {X.shape[1]} of features")
        check_scalar(self.tol, "tol", low=0.0, high=1.0, low_open=True)
        check_int(self.max_iter, "max_iter", low=1)
        link = self._link(k)
        samples = X.astype(np.float32, copy=False) if X.size >= _SINGLE else X
        T = self._weights(samples, y, link, k)
        found = self._eigenvectors(samples, T, k)
        self.components_ = _directions(found, k, X.shape[1]).astype(X.dtype)
        self._n_features_out = k
        self.eigenvalues_, self.residuals_ = found.values, found.residuals
        self.n_iter_, self.is_converged_ = found.n_products, found.is_converged
        self.delta_ = X.shape[0] / X.shape[1]
        self._law_cache: Any = None
        return self

    def transform(self, X: Any) -> Any:
        """Return the coordinates along the directions found, ``X @ components_.T``.

        Parameters
        ----------
        X : array_like, shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray, shape (n_samples, n_components)
            Coordinates.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=(np.float64, np.float32))
        return X @ self.components_.T.astype(X.dtype, copy=False)

    def _link(self, k: int) -> MultiIndexLink | None:
        """Return the checked link."""
        if self.link is None:
            return None
        link = MultiIndexLink.from_expression(self.link, None) if isinstance(self.link, str) else self.link
        if not isinstance(link, MultiIndexLink):
            raise InputError(f"link must be a MultiIndexLink or an expression, got {type(link).__name__}")
        if link.k != k:
            raise InputError(f"the link has {counted(link.k, 'direction')}, but n_components is {k}")
        return link

    def _chosen(self, link: MultiIndexLink | None) -> Preprocessing | None:
        """Return T as a function of the response where a link is given, else None."""
        if link is None:
            return None
        if callable(self.preprocessing):
            return Preprocessing(self.preprocessing, link._function, link.k, link.noise, link.breakpoints)
        check_option(self.preprocessing, "preprocessing", ("optimal", "estimated"))
        return link.optimal_preprocessing(floor=self.floor) if self.preprocessing == "optimal" else None

    def _weights(self, X: FloatArray, y: FloatArray, link: MultiIndexLink | None, k: int) -> FloatArray:
        """Return T(y)."""
        if callable(self.preprocessing):
            return np.asarray(self.preprocessing(y), dtype=np.float64)
        check_option(self.preprocessing, "preprocessing", ("optimal", "estimated"))
        chosen = self._chosen(link)
        if chosen is not None:
            return chosen(y)
        T = _rank_weights(y)
        for _ in range(check_int(self.n_rounds, "n_rounds", low=0)):
            directions = _directions(self._eigenvectors(X, T, k), k, X.shape[1])
            T = _estimated_weights(np.asarray(X @ directions.T.astype(X.dtype), dtype=np.float64), y, self.floor)
        return T

    def _eigenvectors(self, X: FloatArray, T: FloatArray, k: int) -> ExtremeVectors:
        """Return the eigenvectors that belong to T: the largest, or for scalar T and k > 1 the k most extreme."""
        gram = WeightedGram(X, T)
        options: dict[str, Any] = {
            "tol": self.tol,
            "max_products": self.max_iter,
            "rng": 0 if self.random_state is None else self.random_state,
        }
        count = min(k, gram.size)
        return extreme_vectors(gram, count, edge=_bulk_end(T, X.shape), **options)

    @property
    def _law(self) -> Any:
        """The law of the matrix, computed when it is first asked for; None without a link."""
        check_is_fitted(self)
        if self._law_cache is None:
            chosen = self._chosen(self._link(len(self.components_)))
            self._law_cache = None if chosen is None else _law(chosen)
        return self._law_cache

    @property
    def threshold_(self) -> float | None:
        """Smallest delta with an outlier; None without a link."""
        if self._law is None:
            return None
        link = self._link(len(self.components_))
        if link is not None and isinstance(self._law, MatrixSpectralLaw):
            return link.delta_alg().value  # what the optimal blocks reach
        return float(self._law.threshold("right").value)

    @property
    def is_above_threshold_(self) -> bool | None:
        """Whether there are more samples than the threshold."""
        threshold = self.threshold_
        return None if threshold is None else bool(self.delta_ > threshold)

    @property
    def predicted_overlap_(self) -> float | None:
        """Predicted squared overlap; 0.0 below the threshold, None without a link."""
        if self._law is None:
            return None
        outliers = self._law.outliers(self.delta_, "right")
        return outliers[0].overlap if outliers else 0.0

    @property
    def predicted_outlier_(self) -> float | None:
        """Predicted eigenvalue; NaN below the threshold, None without a link."""
        if self._law is None:
            return None
        outliers = self._law.outliers(self.delta_, "right")
        return outliers[0].value if outliers else math.nan

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that y is needed and single precision kept."""
        tags: Tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _law(chosen: Preprocessing) -> Any:
    """Return the law of a scalar or matrix preprocessing."""
    if chosen.k == 1:
        return chosen.law()
    z = np.random.default_rng(0).standard_normal((_LAW_SAMPLES, chosen.k + 1))
    T = chosen(chosen._h(z[:, : chosen.k]) + chosen.noise * z[:, chosen.k])
    if T.ndim == 1:
        return chosen.law()
    return MatrixSpectralLaw(T, z[:, : chosen.k])


def _bulk_end(T: FloatArray, shape: tuple[int, ...]) -> float | None:
    """Return the upper end of the bulk that scalar weights predict, None for blocks."""
    if T.ndim > 1 or not np.any(T):
        return None
    quantiles = np.sort(T)[len(T) % _EDGE_NODES // 2 :: max(1, len(T) // _EDGE_NODES)]
    law = SpectralLaw(quantiles, support=(float(quantiles[0]), float(quantiles[-1])))
    edge = law.edges(shape[0] / shape[1]).right.value
    return edge if math.isfinite(edge) else None


def _directions(found: ExtremeVectors, k: int, d: int) -> FloatArray:
    """Return orthonormal directions, shape (k, d): the leading right singular vectors of the eigenvectors' rows."""
    rows = found.vectors.reshape(-1, d)
    _, _, right = np.linalg.svd(rows, full_matrices=False)
    vectors = right[:k]
    if len(vectors) < k:  # an invariant Krylov space of fewer dimensions
        basis = np.linalg.qr(np.concatenate([vectors, np.eye(d)]).T)[0].T
        vectors = basis[:k]
    # the sign of an eigenvector is arbitrary: the largest entry is made positive
    signs = np.sign(vectors[np.arange(k), np.argmax(np.abs(vectors), axis=1)])
    return np.asarray(vectors * np.where(signs == 0.0, 1.0, signs)[:, None])


def _rank_weights(y: FloatArray) -> FloatArray:
    """Return a first guess of T that needs no link: centred ranks of |y - median|, trimmed by construction."""
    size = np.abs(y - np.median(y))
    ranks = (np.argsort(np.argsort(size, kind="stable"), kind="stable") + 0.5) / len(y)
    return np.asarray(2.0 * ranks - 1.0)


def _estimated_weights(fields: FloatArray, y: FloatArray, floor: float) -> FloatArray:
    """Return 1 - 1/E[z^2|y] with the conditional mean over neighbours in y, damped by what noise explains."""
    n = len(y)
    square = np.mean(fields**2, axis=1)
    square = square / max(float(np.mean(square)), 1e-300)
    width = max(2, n // 50)
    order = np.argsort(y, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(square[order])])
    low = np.clip(np.arange(n) - width // 2, 0, n)
    high = np.clip(np.arange(n) + width // 2 + 1, 0, n)
    mean = np.empty(n)
    mean[order] = (sums[high] - sums[low]) / (high - low)
    # the square of a normal variable has variance 2: that much of the variation is noise
    damping = 1.0 / (1.0 + 2.0 / (width * max(float(np.var(mean)), 1e-12)))
    return np.asarray(np.maximum(1.0 - 1.0 / np.maximum(1.0 + damping * (mean - 1.0), 1e-12), floor))
