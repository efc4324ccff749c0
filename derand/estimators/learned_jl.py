"""A learned near-isometric linear map as a scikit-learn transformer."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs  # type: ignore[import-untyped]
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from derand._utils.rng import RNGLike, check_rng
from derand._utils.threads import blas_threads
from derand._utils.validation import FloatArray, check_scalar
from derand.embedding.blocks import is_lazy
from derand.embedding.distortion import DistortionReport, report_of
from derand.embedding.learn import EmbeddingResult, learn_embedding
from derand.embedding.linear_bound import linear_lower_bound
from derand.embedding.points import PointSet
from derand.embedding.scan import BlockMap, scan_pairs, tiles
from derand.estimators.callbacks import FitTasks
from derand.exceptions import InputError

__all__ = ["LearnedJL"]

#: Smoothing tried on held-out points, as in 1/beta; None sharpens without limit.
_TEMPERATURES = (0.2, 0.07, 0.02, None)


class LearnedJL(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Linear map to few dimensions that nearly preserves the distances between the samples, with its exact distortion.

    The distortion of a map M is :math:`\max_{i<j} \left| \|M(x_i-x_j)\|^2/\|x_i-x_j\|^2 - 1 \right|`.  A random
    projection has one that depends on the number of samples only; this one is fitted to X, and reports what it reaches.
    The fitted maximum is no promise for new points: their largest distortion is often several times larger.  A
    `validation_fraction` chooses how closely to fit and reports the distortion of points that took no part.

    Parameters
    ----------
    n_components : int or "auto", default "auto"
        Dimensions of the image; "auto" for the fewest at which a map of distortion at most `eps` was found.
    eps : float in (0, 1), default 0.1
        Distortion aimed at by "auto".
    method : {"minimax", "derand", "union"}, default "minimax"
        See `derand.embedding.learn_embedding`.
    init : {"pca", "random"} or ndarray of shape (n_components, n_features)
        Start of the minimax search.
    temperature : float, optional
        Smoothing of the maximum that is not undercut; larger values fit X less closely.
    validation_fraction : float in (0, 1), optional
        Share of the samples that is held out; the temperature with the smallest largest distortion of pairs with a
        held-out sample is used.  The map is the one fitted to the other samples.
    active_size : int, default 10_000
        Worst pairs taken from each scan of all pairs.
    max_iter : int, default 3000
        Most iterations of L-BFGS.
    tol : float, default 1e-3
        Relative improvement of the distortion below which the search ends.
    time_limit : float, optional
        Seconds after which the best map so far is returned; the result then depends on the machine.
    n_init : int, default 1
        Number of starts.
    compute_lower_bound : bool, default False
        Whether to prove lower bounds on the distortion of any map to as many dimensions.
    compute_inverse_components : bool, default False
        Whether to compute the pseudo-inverse while fitting; otherwise at the first `inverse_transform`.
    n_jobs : int, optional
        Jobs for the scans of pairs, as in joblib: threads, unless ``joblib.parallel_config`` says otherwise; None for
        one, or what that context says.  The result is the same for any number.
    random_state : int, Generator or None
        Random stream; None means 0, the same result on every run.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map, in the precision of X.
    n_components_ : int
        Number of dimensions.
    distortion_ : float
        Exact largest distortion of `components_` on all pairs of X.
    mean_distortion_ : float
        Mean over pairs.
    ratio_range_ : tuple of two floats
        Smallest and largest ratio.
    worst_pair_ : tuple of two ints or None
        The pair with the largest distortion.
    n_zero_pairs_ : int
        Pairs of equal samples, left out.
    certificate_ : DerandomizationCertificate or None
        The path from the random map, for method="derand" or "union".
    lower_bound_ : float or None
        Proved lower bound on the distortion of any linear map of X to as many dimensions, where asked for; see
        `derand.embedding.linear_lower_bound`.
    any_map_lower_bound_ : float or None
        The same for any map whatever, linear or not; see `derand.embedding.embedding_lower_bound`.
    sigma_ : float
        Standard deviation of the random part that is left in the map: 0.0, the map is fixed.
    validation_distortion_ : float or None
        Largest distortion of pairs with a held-out sample.
    history_ : tuple of MinimaxRound
        The scans.
    n_iter_ : int
        Iterations, at least 1.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, where X has them.

    See Also
    --------
    derand.embedding.learn_embedding : The same without scikit-learn.
    derand.embedding.jl_min_dim : Dimensions that a random map needs.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((30, 8))
    >>> learned = LearnedJL(4).fit(X)
    >>> learned.transform(X).shape, learned.distortion_ < 0.75
    ((30, 4), True)
    """

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        eps: float = 0.1,
        method: str = "minimax",
        init: str | FloatArray = "pca",
        temperature: float | None = None,
        validation_fraction: float | None = None,
        active_size: int = 10_000,
        max_iter: int = 3000,
        tol: float = 1e-3,
        time_limit: float | None = None,
        n_init: int = 1,
        compute_lower_bound: bool = False,
        compute_inverse_components: bool = False,
        n_jobs: int | None = None,
        random_state: RNGLike = None,
    ) -> None:
        self.n_components = n_components
        self.eps = eps
        self.method = method
        self.init = init
        self.temperature = temperature
        self.validation_fraction = validation_fraction
        self.active_size = active_size
        self.max_iter = max_iter
        self.tol = tol
        self.time_limit = time_limit
        self.n_init = n_init
        self.compute_lower_bound = compute_lower_bound
        self.compute_inverse_components = compute_inverse_components
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the map; callbacks of scikit-learn are told of every scan.

        Parameters
        ----------
        X : array_like or sparse, shape (n_samples, n_features)
            Samples, at least two.
        y : ignored
            Present by convention.

        Returns
        -------
        LearnedJL
            The fitted transformer.

        Raises
        ------
        InputError
            If a parameter is out of range.

        Notes
        -----
        scikit-learn's own validation raises ValueError for NaN, infinity, fewer than two samples or no features.

        A memory-mapped file (``numpy.load(path, mmap_mode="r")``) in single or double precision is not copied, nor is a
        dask array; both are read in blocks.  Kept in memory are the coordinates of the samples in the space that they
        span and, with a `validation_fraction`, the samples.
        """
        X = self._validated(X, reset=True, ensure_min_samples=2)
        tasks = FitTasks(self, X, y, name="scan")
        found, self.validation_distortion_ = self._learn(X, tasks)
        self.components_ = found.components.astype(X.dtype if X.dtype.kind == "f" else np.float64)
        self.n_components_ = int(self.components_.shape[0])
        self._n_features_out = self.n_components_
        # The report is of the map as it is stored and on all of X, also the samples held out.
        report = self._report(X)
        self.distortion_, self.mean_distortion_ = report.distortion, report.mean_distortion
        self.ratio_range_, self.worst_pair_ = report.ratio_range, report.worst_pair
        self.n_zero_pairs_ = report.n_zero_pairs
        self.certificate_, self.history_, self.sigma_ = found.certificate, found.history, 0.0
        self.n_iter_ = max(1, found.n_iter)
        self.lower_bound_ = self.any_map_lower_bound_ = None
        if self.compute_lower_bound:
            bound = linear_lower_bound(X, self.n_components_, M=found.components, block_map=_block_map(self.n_jobs))
            self.lower_bound_, self.any_map_lower_bound_ = bound.value, bound.any_map
        self._inverse: Any = self._pseudo_inverse() if self.compute_inverse_components else None
        tasks.end()
        return self

    def transform(self, X: Any) -> Any:
        """Return the images of samples, ``X @ components_.T``; nothing is centred.

        Parameters
        ----------
        X : array_like or sparse, shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray, shape (n_samples, n_components_)
            Images, dense, in the precision of X; of a dask array a dask array, computed when it is asked for.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        return X @ self.components_.T.astype(X.dtype if X.dtype.kind == "f" else np.float64, copy=False)

    def inverse_transform(self, X: Any) -> Any:
        """Return the shortest samples that have the given images.

        Parameters
        ----------
        X : array_like, shape (n_samples, n_components_)
            Images.

        Returns
        -------
        ndarray, shape (n_samples, n_features)
            Samples in the row space of `components_`.

        Raises
        ------
        InputError
            If X has the wrong number of columns.
        """
        check_is_fitted(self)
        images = np.asarray(X)
        if images.ndim != 2 or images.shape[1] != self.n_components_:
            raise InputError(f"X must have shape (n_samples, {self.n_components_}), got {images.shape}")
        if self._inverse is None:
            self._inverse = self._pseudo_inverse()
        return images @ self._inverse.T

    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the largest distortion of the pairs of X: larger is better.

        Parameters
        ----------
        X : array_like or sparse, shape (n_samples, n_features)
            Samples.
        y : ignored
            Present by convention.

        Returns
        -------
        float
            The score.
        """
        return -self.distortion(X)

    def distortion(self, X: Any, Y: Any = None, quantile: float | None = None) -> float:
        """Return the distortion of the pairs of X, or of the pairs of a row of X with a row of Y.

        Parameters
        ----------
        X : array_like or sparse, shape (n_samples, n_features)
            Samples.
        Y : array_like or sparse, optional
            Further samples.
        quantile : float in [0, 1], optional
            Quantile of the distortions instead of their maximum; takes memory for one number a pair.

        Returns
        -------
        float
            Maximum or quantile; 0.0 where no two samples differ.

        Raises
        ------
        InputError
            If quantile lies outside [0, 1].
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        Y = None if Y is None else self._validated(Y, reset=False)
        if quantile is None:
            return self._report(X, Y).distortion
        check_scalar(quantile, "quantile", low=0.0, high=1.0)
        m = X.shape[0] * (X.shape[0] - 1) // 2 if Y is None else X.shape[0] * Y.shape[0]
        ratios = self._scan(X, Y, max(m, 1)).ratios
        return float(np.quantile(np.abs(ratios[np.isfinite(ratios)] - 1.0), quantile)) if ratios.size else 0.0

    def pair_report(self, X: Any) -> DistortionReport:
        """Return the full report on the pairs of X, with the worst of them.

        Parameters
        ----------
        X : array_like or sparse, shape (n_samples, n_features)
            Samples.

        Returns
        -------
        DistortionReport
            See `derand.embedding.distortion_report`.
        """
        check_is_fitted(self)
        return self._report(self._validated(X, reset=False))

    def _pseudo_inverse(self) -> Any:
        """Return the pseudo-inverse of the components, the same digits for any number of BLAS threads."""
        with blas_threads(1):
            return scipy.linalg.pinv(self.components_)

    def _validated(self, X: Any, *, reset: bool, ensure_min_samples: int = 1) -> Any:
        """Return X as scikit-learn validates it, in single or double precision; a dask array stays one."""
        if is_lazy(X):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=("csr", "csc"),
            dtype=(np.float64, np.float32),
            order="C",  # the layout of memory would change the last bits of sums
            ensure_min_samples=ensure_min_samples,
        )

    def _scan(self, X: Any, Y: Any = None, keep: int = 256) -> Any:
        """Return the scan of the pairs of X, or of X with Y."""
        stacked = X
        if Y is not None and (is_lazy(X) or is_lazy(Y)):
            stacked = np.concatenate([np.asarray(X), np.asarray(Y)])
        elif Y is not None:
            stacked = sp.vstack([X, Y]).tocsr() if sp.issparse(X) or sp.issparse(Y) else np.concatenate([X, Y])
        cover = None if Y is None else tiles(X.shape[0], Y.shape[0])
        M = self.components_.astype(np.float64)
        points = PointSet(stacked, min_points=1)
        return scan_pairs(points, M, keep=keep, cover=cover, block_map=_block_map(self.n_jobs))

    def _report(self, X: Any, Y: Any = None) -> DistortionReport:
        """Return the report on the pairs of X, or of X with Y."""
        return report_of(self._scan(X, Y))

    def _learn(self, X: Any, tasks: FitTasks) -> tuple[EmbeddingResult, float | None]:
        """Return the fit and, with held-out samples, their largest distortion."""
        if self.validation_fraction is None:
            return self._fit_once(X, self.temperature, tasks), None
        share = check_scalar(
            self.validation_fraction, "validation_fraction", low=0.0, high=1.0, low_open=True, high_open=True
        )
        n = X.shape[0]
        n_held = max(1, round(share * n))
        if n - n_held < 2:
            raise InputError(f"validation_fraction={share} leaves {n - n_held} of {n} samples to fit; 2 are needed")
        order = check_rng(0 if self.random_state is None else self.random_state).permutation(n)
        held, kept = np.sort(order[:n_held]), np.sort(order[n_held:])
        best: EmbeddingResult | None = None
        best_distortion = math.inf
        for temperature in _TEMPERATURES if self.temperature is None else (self.temperature,):
            found = self._fit_once(X[kept], temperature, tasks)
            self.components_ = found.components
            worst = self._report(X[held], X[kept]).distortion
            worst = max(worst, self._report(X[held]).distortion) if n_held > 1 else worst
            if best is None or worst < best_distortion:
                best, best_distortion = found, worst
        assert best is not None
        return best, best_distortion

    def _fit_once(self, X: Any, temperature: float | None, tasks: FitTasks) -> EmbeddingResult:
        """Return the fit to X at one temperature."""
        return learn_embedding(
            X,
            self.n_components,
            eps=self.eps,
            method=self.method,
            init=self.init,
            n_init=self.n_init,
            active_size=self.active_size,
            temperature=temperature,
            max_iter=self.max_iter,
            tol=self.tol,
            time_limit=self.time_limit,
            callback=tasks.step,
            block_map=_block_map(self.n_jobs),
            rng=0 if self.random_state is None else self.random_state,
        )

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that sparse input is taken and single precision kept."""
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _block_map(n_jobs: int | None) -> BlockMap:
    """Return a map that runs through joblib, in its context if there is one; a single job needs none."""
    if effective_n_jobs(n_jobs) == 1:
        return map

    def run(function: Any, items: Any) -> Any:
        """Return the results of the items in their order."""
        return Parallel(n_jobs=n_jobs, prefer="threads")(delayed(function)(item) for item in items)

    return run
