"""Two clusters by a maximum cut of the dissimilarities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from derand._utils.rng import RNGLike
from derand._utils.validation import check_option
from derand.estimators.callbacks import FitTasks
from derand.exceptions import InputTypeError
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.solve import solve_maxcut

__all__ = ["MaxCutClusterer"]

_AFFINITIES = ("euclidean", "precomputed")
_ASYMMETRY = 1e-9


class MaxCutClusterer(CallbackSupportMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Split samples in two so that the dissimilarities between the clusters add up to as much as possible.

    The complete graph on the samples, with the dissimilarities d as weights, is cut: maximising the sum of d_ij over
    separated pairs minimises the sum within clusters, since both add up to a constant.  With bound=True, a proved upper
    bound tells how far the split can be from the best one.

    Parameters
    ----------
    affinity : {"euclidean", "precomputed"} or callable, default "euclidean"
        Dissimilarities: Euclidean distances of the rows of X; X itself, symmetric (n_samples, n_samples), dense or
        sparse, where negative entries attract; or a function that returns such a matrix for X.  Where rounding made a
        matrix asymmetric, by up to 1e-9 of its largest entry, the mean of its halves counts.
    method : {"sosp", "perturbed_gradient", "conditional", "hyperplane"}
        How the relaxation is rounded, see `derand.maxcut.derandomize`.
    effort : {"derandomize", "quick", "default", "thorough"}
        How long to search after the rounding.
    bound : bool, default True
        Whether to prove an upper bound.
    time_limit : float, optional
        Seconds after which the best split so far is returned; labels then depend on the machine.
    random_state : int, Generator or None
        Random stream of the search.  None means 0: the labels are the same on every run.
    n_starts : int, default 1
        Independent searches, each with the effort's whole work; what they found is recombined.
    n_jobs : int or None
        Searches at the same time, as in joblib: -1 for all cores, None for what ``joblib.parallel_config`` says, else
        one.  The labels don't depend on it.

    Attributes
    ----------
    labels_ : ndarray of int64, shape (n_samples,)
        0 and 1; the first sample has label 0.  All 0 where no cut has a positive value, as for constant data.
    value_ : int or float
        Sum of the dissimilarities between the clusters.
    upper_bound_ : int, float or None
        Proved upper bound on the value of any split; None where nothing was proved.
    result_ : MaxCutSolution
        The cut with its bound, guarantee and certificate.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, where X has them.

    Notes
    -----
    Time and memory grow with the number of nonzero dissimilarities, n_samples^2/2 unless X is precomputed and sparse: a
    second or so for 200 samples, and meant for some thousands.  Unlike k-means, a cut favours clusters of equal size.

    Examples
    --------
    >>> clusterer = MaxCutClusterer().fit([[0.0], [1.0], [10.0], [11.0]])
    >>> clusterer.labels_.tolist(), clusterer.value_, clusterer.upper_bound_
    ([0, 0, 1, 1], 40, 40)
    """

    def __init__(
        self,
        affinity: str | Callable[[Any], Any] = "euclidean",
        *,
        method: str = "sosp",
        effort: str = "quick",
        bound: bool = True,
        time_limit: float | None = None,
        random_state: RNGLike = None,
        n_starts: int = 1,
        n_jobs: int | None = None,
    ) -> None:
        self.affinity = affinity
        self.method = method
        self.effort = effort
        self.bound = bound
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_starts = n_starts
        self.n_jobs = n_jobs

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Split the samples; callbacks of scikit-learn are told of every stage.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features), or sparse of shape (n_samples, n_samples)
            Samples or, for affinity="precomputed", dissimilarities; at least two samples.
        y : ignored
            Present by convention.

        Returns
        -------
        MaxCutClusterer
            The fitted estimator.

        Raises
        ------
        InputError
            If a parameter is out of range, or the dissimilarities aren't symmetric and finite.
        InputTypeError
            If affinity is neither a name nor callable.

        Notes
        -----
        scikit-learn's own validation raises ValueError for NaN, infinity, fewer than two samples or no features.
        """
        X = validate_data(
            self, X, accept_sparse="csr" if self._is_precomputed else False, dtype=np.float64, ensure_min_samples=2
        )
        tasks = FitTasks(self, X, y, name="stage")
        self.result_ = solve_maxcut(
            self._problem(X),
            method=self.method,
            effort=self.effort,
            bound=self.bound,
            time_limit=self.time_limit,
            callback=tasks.step,
            rng=0 if self.random_state is None else self.random_state,
            n_starts=self.n_starts,
            n_jobs=self.n_jobs,
        )
        side = self.result_.side
        self.labels_ = (side != side[0]).astype(np.int64)
        self.value_ = self.result_.value
        self.upper_bound_ = self.result_.upper_bound
        tasks.end()
        return self

    @property
    def _is_precomputed(self) -> bool:
        """Whether X holds dissimilarities; a comparison with an array given by mistake isn't a bool."""
        return isinstance(self.affinity, str) and self.affinity == "precomputed"

    def _problem(self, X: Any) -> MaxCutProblem:
        """Return the graph of the dissimilarities."""
        if self._is_precomputed:
            return MaxCutProblem.from_matrix(_symmetric(X))
        if callable(self.affinity):
            return MaxCutProblem.from_matrix(_symmetric(self.affinity(X)))
        if not isinstance(self.affinity, str):
            raise InputTypeError(f"affinity must be a string or callable, got {type(self.affinity).__name__}")
        check_option(self.affinity, "affinity", _AFFINITIES)
        heads, tails = np.triu_indices(X.shape[0], 1)
        # Differences, not inner products: equal samples have distance zero exactly, on any number of BLAS threads.
        return MaxCutProblem.from_edges(heads, tails, pdist(X), n=X.shape[0])

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that precomputed dissimilarities are square and may be sparse."""
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.sparse = self._is_precomputed
        return tags


def _symmetric(D: Any) -> Any:
    """Return the mean of a square matrix and its transpose where they differ by rounding only, else the matrix."""
    matrix: Any = D if sp.issparse(D) else np.asarray(D)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind != "f":
        return matrix
    # NaN compares false: such a matrix goes on as it is, to be refused.
    difference = abs(matrix - matrix.T).max()
    return (matrix + matrix.T) / 2 if 0 < difference <= _ASYMMETRY * abs(matrix).max() else matrix
