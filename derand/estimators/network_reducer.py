"""The directions that a network with a decaying first layer finds, as a transformer."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs  # type: ignore[import-untyped]
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import Tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_int, check_option, check_scalar
from derand.embedding.blocks import BlockedRows, is_lazy
from derand.estimators.callbacks import FitTasks
from derand.exceptions import InputError, InputTypeError, NonConvergenceWarning
from derand.optimize.status import SOSPStatus
from derand.structure.activations import ThreeDerivatives
from derand.structure.certificate import structure_certificate
from derand.structure.large import LargeRows, row_blocks
from derand.structure.losses import LOSSES, Loss
from derand.structure.network import Network
from derand.structure.samples import Sample
from derand.structure.subspace import orthonormal_rows
from derand.structure.train import TrainedNetwork, train_network

__all__ = ["NetworkReducer"]

_MAX_CLASSES = 20
_RANK_TOLERANCE = 1e-10
_CONSTANT = 1e-13
#: Memory-mapped arrays of more numbers stay in their file.
_LARGE = 1 << 24


class NetworkReducer(
    CallbackSupportMixin,  # type: ignore[misc]
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Supervised linear dimension reduction by a network whose first layer decays, as in arXiv:2510.19382.

    A fully connected network is trained on whitened inputs to a certified second-order stationary point of its risk +
    alpha ||W_1||^2; the leading right singular vectors of W_1 are the directions.  For Gaussian inputs, labels that
    depend on k directions, infinitely many samples and trained biases, W_1 has rank k up to the certificate's bound,
    for every alpha > 0.  With a finite sample alpha has to be about as large as the sampling error (0.01 at 20 samples
    a feature) and is best chosen by cross-validation; `certificate_` says whether the theorem has anything to say.
    `StructureRegressor` reaches smaller errors with fewer samples; this class is the paper.

    Parameters
    ----------
    n_components : int or float in (0, 1), default 0.9
        Number of directions, or the share of ||W_1||^2 that they must hold at least.
    hidden : int or sequence of int, default 24
        Widths of the hidden layers.
    activation : str or object, default "softplus"
        See `derand.structure.make_activation`.
    iota : float, default 4.0
        Sharpness of "softplus".
    loss : {"auto", "squared", "logistic", "multinomial", "huber"} or Loss, default "auto"
        "auto" takes y as classes if it isn't continuous and has at most 20 values, and else the squared loss.
    alpha : float, default 1e-2
        Decay of the first layer, for standardised y.
    rest_alpha : float, optional
        Decay of the later weights; None means `alpha`.  With 0.0, as in the paper, the risk may have no minimum.
    train_biases : bool, default True
        Whether hidden biases are trained; without, nothing is guaranteed.
    solver : str, default "lbfgs-lanczos"
        Method of `derand.optimize.minimize_sosp`.
    whiten : bool, default True
        Whether to transform X to covariance I; otherwise columns are only scaled to variance 1.
    tol, curv_tol : float
        Tolerances on gradient and negative curvature.
    max_iter : int, default 2000
        Most evaluations and Hessian products for each start.
    n_init : int, default 1
        Number of random starts; the one with the lowest objective counts.
    n_jobs : int, optional
        Starts trained at the same time, in threads; None for one unless in a joblib context, -1 for all cores.  The
        result is the same for any number.
    random_state : int, Generator or None
        Random stream; None means 0, the same result on every run.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal rows that span the directions in the space of X.
    n_components_ : int
        Number of directions.
    projection_ : ndarray of shape (n_features, n_features)
        Orthogonal projector on their span.
    singular_values_ : ndarray
        Of the first layer on whitened inputs, largest first.
    mean_ : ndarray of shape (n_features,)
        Means of the columns, taken off by `transform`.
    certificate_ : StructureCertificate
        Bound on the first-layer weights across the directions, and the certificate of second order.
    trained_ : TrainedNetwork
        The network, its parameters and its path, on whitened inputs and standardised y.
    classes_ : ndarray
        Classes, where y was taken as such.
    n_iter_ : int
        Iterations, at least 1.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, where X has them.

    References
    ----------
    arXiv:2510.19382, theorems 4.1 and 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((300, 4))
    >>> reducer = NetworkReducer(1, hidden=8).fit(X, np.tanh(X[:, 1]))
    >>> bool(abs(reducer.components_[0, 1]) > 0.99), reducer.transform(X).shape
    (True, (300, 1))
    """

    def __init__(
        self,
        n_components: int | float = 0.9,
        *,
        hidden: int | Sequence[int] = 24,
        activation: str | ThreeDerivatives = "softplus",
        iota: float = 4.0,
        loss: str | Loss = "auto",
        alpha: float = 1e-2,
        rest_alpha: float | None = None,
        train_biases: bool = True,
        solver: str = "lbfgs-lanczos",
        whiten: bool = True,
        tol: float = 1e-4,
        curv_tol: float = 1e-2,
        max_iter: int = 2000,
        n_init: int = 1,
        n_jobs: int | None = None,
        random_state: RNGLike = None,
    ) -> None:
        self.n_components = n_components
        self.hidden = hidden
        self.activation = activation
        self.iota = iota
        self.loss = loss
        self.alpha = alpha
        self.rest_alpha = rest_alpha
        self.train_biases = train_biases
        self.solver = solver
        self.whiten = whiten
        self.tol = tol
        self.curv_tol = curv_tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.random_state = random_state

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the network and take the directions from its first layer.

        Callbacks of scikit-learn are told of every iteration, where starts aren't trained in parallel.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Samples, at least two; sparse input is refused.  A memory-mapped array of more than 2^24 numbers and a dask
            array are read in blocks, once and more for each evaluation of the risk; they should be stored by rows.
        y : array_like of shape (n_samples,) or (n_samples, n_outputs)
            Numbers, or classes.
        sample_weight : array_like of shape (n_samples,), optional
            Nonnegative weights; samples of weight 0 don't count.

        Returns
        -------
        NetworkReducer
            The fitted transformer.

        Raises
        ------
        InputError
            If a parameter is out of range, X is constant or there is only one class.
        InputTypeError
            If n_components is neither an integer nor a share.

        Warns
        -----
        NonConvergenceWarning
            If the tolerances weren't reached within max_iter: the directions are those of the best point.

        Notes
        -----
        scikit-learn's own validation raises ValueError for NaN, infinity, fewer than two samples or no features.
        """
        tasks = FitTasks(self, X, y, name="iteration")
        X, y, weights = self._validated(X, y, sample_weight)
        self.mean_ = np.asarray(sum(weights[rows] @ block for rows, block in row_blocks(X)))
        transform = self._whitening(X, weights)
        targets, loss = self._targets(y, weights)
        white = LargeRows(X.source, self.mean_, transform) if isinstance(X, LargeRows) else (X - self.mean_) @ transform
        self.trained_ = self._train(Sample(white, targets, weights), loss, tasks)
        self.singular_values_ = self.trained_.leading_directions(1)[1]
        self.n_components_ = self._choose(self.singular_values_)
        directions = self.trained_.leading_directions(self.n_components_)[0]
        result = self.trained_.result
        self.certificate_ = structure_certificate(
            self.trained_.objective,
            self.trained_.objective.restrict(self.trained_.parameters),
            directions=directions,
            sosp=result.certificate if result.success else None,
        )
        self.components_ = orthonormal_rows(directions @ transform.T)
        self.projection_ = self.components_.T @ self.components_
        self.n_iter_ = max(1, result.nit)
        self._n_features_out = self.n_components_
        tasks.end()
        return self

    def transform(self, X: Any) -> Any:
        """Return the coordinates of samples along the directions, ``(X - mean_) @ components_.T``.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
            Coordinates; of a dask array a dask array, computed when it is asked for.
        """
        check_is_fitted(self)
        if _is_large(X):
            validate_data(self, X, reset=False, skip_check_array=True)
            if is_lazy(X):
                return (X - self.mean_) @ self.components_.T
            return np.asarray(BlockedRows(X, "X", mean=self.mean_) @ self.components_.T)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        coordinates: FloatArray = (X - self.mean_) @ self.components_.T
        return coordinates

    def _validated(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, FloatArray]:
        """Return samples of positive weight, or all of a large array, with targets and weights that add up to 1."""
        if _is_large(X):
            validate_data(self, X, skip_check_array=True)
            rows = BlockedRows(X, "X")
            rows.checked_top()
            y = _check_y(y, multi_output=True, estimator=self)
            check_consistent_length(rows, y)
            weights = _check_sample_weight(sample_weight, np.empty((rows.shape[0], 0)), ensure_non_negative=True)
            X = LargeRows(rows)
        else:
            X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, ensure_min_samples=2)
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            X, y, weights = X[weights > 0.0], np.asarray(y)[weights > 0.0], weights[weights > 0.0]
        if np.count_nonzero(weights) < 2:
            raise InputError("sample_weight must be positive for at least two samples")
        return X, y, weights / np.sum(weights)

    def _train(self, sample: Sample, loss: str | Loss, tasks: FitTasks) -> TrainedNetwork:
        """Return the best of the trained networks."""
        generator = check_rng(0 if self.random_state is None else self.random_state)
        network = Network(sample.X.shape[1], self.hidden, sample.y.shape[1], activation=self.activation, iota=self.iota)
        alpha = check_scalar(self.alpha, "alpha", low=0.0, high=math.inf, high_open=True)
        n_init = check_int(self.n_init, "n_init", low=1)
        options: dict[str, Any] = {
            "loss": loss,
            "lam": alpha,
            "rest_decay": alpha if self.rest_alpha is None else self.rest_alpha,
            "frozen": () if self.train_biases else ("biases",),
            "gtol": self.tol,
            "curv_tol": self.curv_tol,
            "method": self.solver,
            "max_evals": self.max_iter,
        }
        streams = [generator] if n_init == 1 else generator.spawn(n_init)
        if effective_n_jobs(self.n_jobs) == 1 or n_init == 1:
            runs = []
            for stream in streams:
                runs.append(train_network(network, sample, rng=stream, callback=tasks.step, **options))
                if runs[-1].result.status is SOSPStatus.INTERRUPTED:  # Ctrl-C ends the whole fit with the best so far
                    break
        else:
            jobs = (delayed(train_network)(network, sample, rng=stream, **options) for stream in streams)
            runs = Parallel(n_jobs=self.n_jobs, prefer="threads")(jobs)
        best = min(runs, key=lambda run: run.result.fun)
        if not best.result.success:
            warnings.warn(best.result.message, NonConvergenceWarning, stacklevel=3)
        return best

    def _whitening(self, X: Any, weights: FloatArray) -> FloatArray:
        """Return the matrix (n_features, r) that makes centred samples white, or only scales their columns."""
        variance = sum(weights[rows] @ (block - self.mean_) ** 2 for rows, block in row_blocks(X))
        scale = np.asarray(np.sqrt(variance))
        # The mean of a constant column is off by its rounding, and what is left isn't information.
        scale[scale <= _CONSTANT * np.abs(self.mean_)] = 0.0
        if not np.any(scale > 0.0):
            raise InputError("X must have at least one column that isn't constant")
        # Scaled first: columns in units as different as 1e-100 and 1e100 would drown each other in the decomposition.
        units = np.where(scale > 0.0, 1.0 / np.where(scale > 0.0, scale, 1.0), 0.0)
        if not self.whiten:
            columns: FloatArray = np.diag(units)[:, scale > 0.0]
            return columns
        triangle: Any = np.empty((0, self.mean_.size))
        for part, block in row_blocks(X):
            scaled = np.sqrt(weights[part])[:, None] * (block - self.mean_) * units
            triangle = (
                np.linalg.qr(np.concatenate([triangle, scaled]), mode="r") if isinstance(X, LargeRows) else scaled
            )
        _, sizes, rows = np.linalg.svd(triangle, full_matrices=False)
        kept = sizes > _RANK_TOLERANCE * sizes[0]
        # The symmetric root: unlike principal axes it depends continuously on the samples, and so does the start.
        white: FloatArray = units[:, None] * ((rows[kept].T / sizes[kept]) @ rows[kept])
        return white

    def _targets(self, y: Any, weights: FloatArray) -> tuple[FloatArray, str | Loss]:
        """Return targets (n, c) and the loss for them."""
        loss = self.loss
        if isinstance(loss, str):
            check_option(loss, "loss", ("auto", *LOSSES))
        values = np.asarray(y)
        if loss == "auto":
            is_flat = values.ndim == 1 or values.shape[1] == 1
            is_class = type_of_target(values) in {"binary", "multiclass"} and is_flat
            n_values = len(np.unique(values)) if is_class else 0
            is_class = is_class and (n_values <= _MAX_CLASSES or values.dtype.kind not in "fiu")
            loss = "squared" if not is_class else "logistic" if n_values == 2 else "multinomial"
        if loss in {"logistic", "multinomial"}:
            return self._class_targets(values.reshape(len(values)), str(loss))
        numbers = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
        centred = numbers - weights @ numbers
        spread = np.sqrt(weights @ centred**2)
        return centred / np.where(spread > 0.0, spread, 1.0), loss

    def _class_targets(self, labels: Any, loss: str) -> tuple[FloatArray, str]:
        """Return one-hot rows, or one column for two classes and the logistic loss."""
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError("y must have at least two classes, got 1 class")
        if loss == "logistic":
            if len(self.classes_) > 2:
                raise InputError(f"loss='logistic' needs two classes, got {len(self.classes_)}")
            return codes.astype(np.float64)[:, None], loss
        return np.eye(len(self.classes_))[codes], loss

    def _choose(self, sizes: FloatArray) -> int:
        """Return the number of directions."""
        wanted = self.n_components
        if isinstance(wanted, (bool, np.bool_)) or not isinstance(wanted, (int, float, np.integer, np.floating)):
            raise InputTypeError(f"n_components must be an integer or a share, got {type(wanted).__name__}")
        if isinstance(wanted, (int, np.integer)):
            return check_int(wanted, "n_components", low=1, high=len(sizes))
        share = check_scalar(wanted, "n_components", low=0.0, high=1.0, low_open=True, high_open=True)
        held = np.cumsum(sizes**2)
        return int(np.searchsorted(held, share * held[-1])) + 1 if held[-1] > 0.0 else 1

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that y is needed."""
        tags: Tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _is_large(X: Any) -> bool:
    """Return whether X is read in blocks."""
    return is_lazy(X) or (isinstance(X, np.memmap) and X.ndim == 2 and X.size > _LARGE)
