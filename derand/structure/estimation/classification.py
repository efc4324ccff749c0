"""Directions that separate classes: multinomial models from several starts, chosen on held-out samples."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.special
from numpy.typing import NDArray

from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_array, check_int, check_option
from derand.exceptions import InputError
from derand.structure.estimation.distinct import distinct_samples
from derand.structure.estimation.estimate import check_weight, deadline_of
from derand.structure.estimation.logistic import LogisticFit, fit_network, kernel_coordinates, ridge_logistic
from derand.structure.estimation.slicing import sliced_matrix
from derand.structure.estimation.whitening import whiten
from derand.structure.subspace import orthonormal_rows

__all__ = ["ClassEstimate", "ClassStep", "estimate_class_structure"]

_SHARE = 0.25
_LINEAR = ("linear", "discriminant")
_RIDGES = (0.3, 3.0, 30.0)
_CENTRES = 80
#: Ridges and landmarks of kernels on directions that stay where they are.
_FIXED_RIDGES = (0.1, 0.3, 1.0)
_FIXED_CENTRES = 250
_SAMPLES = 4000
#: Up to as many samples three quarters are held out in turn, one by one.
_FEW = 1200


@dataclass(frozen=True)
class ClassStep:
    """One model tried on the held-out samples.

    Parameters
    ----------
    k : int
        Directions.
    model : str
        "linear", "discriminant" or "fixed", or the start of a kernel model whose directions are trained.
    ridge : float
        Penalty.
    loss : float
        Mean negative log-likelihood of the held-out samples.
    stderr : float
        Its standard error.
    """

    k: int
    model: str
    ridge: float
    loss: float
    stderr: float


@dataclass(frozen=True)
class ClassEstimate:
    """Directions and a multinomial model on them.

    Parameters
    ----------
    components : ndarray of shape (k, d)
        Orthonormal rows in the columns of the data, by falling singular value.
    singular_values : ndarray of shape (k,)
        Root mean square of the logits' gradients along each component.
    stderr : ndarray of shape (k, d)
        Standard errors of the components' entries, from the Fisher information with the link taken as known: a lower
        limit.
    path : tuple of ClassStep
        The models tried.
    fit : LogisticFit
        The model, in standardised columns.
    mean, scale : ndarray of shape (d,)
        The standardisation.
    is_complete : bool, default True
        Whether all models were tried that would be without a time limit or Ctrl-C.
    """

    components: FloatArray
    singular_values: FloatArray
    stderr: FloatArray
    path: tuple[ClassStep, ...]
    fit: LogisticFit
    mean: FloatArray
    scale: FloatArray
    is_complete: bool = True

    def log_proba(self, X: FloatArray) -> FloatArray:
        """Return the logarithms of the class probabilities, of shape (n, C)."""
        return np.asarray(scipy.special.log_softmax(self.fit.scores((X - self.mean) / self.scale), axis=1))


def estimate_class_structure(
    X: Any,
    labels: Any,
    n_components: int | str = "auto",
    *,
    max_components: int | None = None,
    sample_weight: Any = None,
    max_iter: int = 150,
    time_limit: float | None = None,
    callback: Callable[[ClassStep], object] | None = None,
    rng: RNGLike = 0,
) -> ClassEstimate:
    """Return the directions that the class depends on, with a multinomial model on them.

    Candidates are the ridge-penalised multinomial logistic regression, cut to its leading directions, kernels on these
    directions as they are, and kernel models whose directions are trained jointly with the link by the multinomial
    loss, from that regression, the discriminant directions, SAVE and DR.  A quarter of the samples is held out, of up
    to 1,200 samples three quarters in turn, to choose model, ridge and, for "auto", the number of directions; the path
    over numbers ends where two in a row are no better.  A kernel model is taken where its loss is lower than the best
    linear one's by more than one standard error of the difference.  The chosen model is fitted again to all samples.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Samples.
    labels : array_like of int, shape (n,)
        Classes 0 to C - 1, each present.
    n_components : int or "auto", default "auto"
        Directions.
    max_components : int, optional
        The most for "auto"; by default the larger of 4 and C - 1, at most 9.
    sample_weight : array_like of shape (n,), optional
        Nonnegative weights.
    max_iter : int, default 150
        Most iterations of L-BFGS for each fit.
    time_limit : float, optional
        Seconds after which no further model is tried; the best so far is fitted to all samples.
    callback : callable, optional
        Called with a `ClassStep` after each model that was tried.
    rng : int, Generator or None, default 0
        Held-out samples and landmarks.

    Returns
    -------
    ClassEstimate
        Directions and model.

    Raises
    ------
    InputError
        If shapes don't fit, there's one class only or a parameter is out of range.
    InputTypeError
        If an argument has the wrong type.
    KeyboardInterrupt
        On Ctrl-C; its ``partial`` is the best model so far, fitted to all samples, and is missing before the first.

    Notes
    -----
    A hold-out instead of BIC: the models are penalised, so that BIC's count of parameters is off.  Deterministic for a
    seed, unless the time limit ends it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 4))
    >>> found = estimate_class_structure(X, (X[:, 0] + X[:, 1] > 0).astype(int))
    >>> np.abs(found.components).round(0).tolist()
    [[1.0, 1.0, 0.0, 0.0]]
    """
    deadline = deadline_of(time_limit)
    X, labels = check_array(X, "X", ndim=2), check_array(labels, "labels", ndim=1).astype(np.int64)
    n, d = X.shape
    if labels.shape[0] != n or n < 2:
        raise InputError(f"X and labels must have the same number of rows, at least 2, got {n} and {labels.shape[0]}")
    C = int(labels.max(initial=0)) + 1
    if C < 2 or labels.min() < 0:
        raise InputError(f"labels must hold at least two classes, got {C}")
    X, column, weight = distinct_samples(X, labels[:, None].astype(np.float64), check_weight(sample_weight, n))
    labels, n = column[:, 0].astype(np.int64), X.shape[0]
    w = np.ones(n) if weight is None else weight
    if isinstance(n_components, str):
        check_option(n_components, "n_components", ("auto",))
        top = max(4, min(C - 1, 9)) if max_components is None else check_int(max_components, "max_components", low=1)
        ranks = list(range(1, min(d, top) + 1))
    else:
        ranks = [check_int(n_components, "n_components", low=1, high=d)]
    mean = w @ X / n
    scale = np.sqrt(w @ np.square(X - mean) / n)
    scale = np.where(scale > 1e-13 * np.maximum(np.abs(mean), 1e-300), scale, np.inf)
    data = _Data((X - mean) / scale, np.eye(C)[labels], w, check_rng(rng).permutation(n), max_iter)
    path: list[ClassStep] = []
    try:
        is_complete = _choose(data, ranks, deadline, path, callback)
        return replace(_fitted(data, path, mean, scale), is_complete=is_complete)
    except KeyboardInterrupt as interrupt:
        if path:
            found = replace(_fitted(data, path, mean, scale), is_complete=False)
            interrupt.partial = found  # type: ignore[attr-defined]
        raise


def _fitted(data: _Data, path: list[ClassStep], mean: FloatArray, scale: FloatArray) -> ClassEstimate:
    """Return the estimate by the model that is chosen, fitted to all samples."""
    step = _chosen(path, data.held_out)
    return _finished(data, data.fit(step.k, step.model, step.ridge), tuple(path), mean, scale)


def _chosen(path: list[ClassStep], losses: list[FloatArray]) -> ClassStep:
    """Return the linear model of least loss, or that of least loss of all where it's better by one standard error."""
    best = min(path, key=lambda step: step.loss)
    linear = min((step for step in path if step.model in _LINEAR), key=lambda step: step.loss, default=best)
    if linear is best or not losses:
        return best
    gain = losses[path.index(linear)] - losses[path.index(best)]
    return best if gain.mean() > gain.std() / math.sqrt(gain.size) else linear


class _Data:
    """Standardised samples and the models that can be fitted to them."""

    def __init__(
        self, X: FloatArray, targets: FloatArray, weight: FloatArray, order: NDArray[np.int64], max_iter: int
    ) -> None:
        self.X, self.targets, self.weight, self.order, self.max_iter = X, targets, weight, order, max_iter
        self.linear: dict[float, LogisticFit] = {}
        self.matrices: dict[str, FloatArray] = {}
        self.held_out: list[FloatArray] = []

    def part(self, rows: NDArray[np.int64]) -> _Data:
        """Return some of the samples."""
        return _Data(self.X[rows], self.targets[rows], self.weight[rows], np.arange(rows.size), self.max_iter)

    def regression(self, ridge: float) -> LogisticFit:
        """Return the logistic regression, fitted once for each ridge."""
        if ridge not in self.linear:
            self.linear[ridge] = ridge_logistic(self.X, self.targets, self.weight, ridge, max(self.max_iter, 100))
        return self.linear[ridge]

    def start(self, k: int, name: str) -> FloatArray:
        """Return k directions in standardised columns."""
        if name == "regression":
            return self._filled(self.regression(3.0).B[:k], k)
        white = whiten(self.X, self.weight)
        if name not in self.matrices:
            Z = white.transform(self.X)
            self.matrices[name] = sliced_matrix(Z, np.argmax(self.targets, axis=1), name, weight=self.weight)
        axes = np.linalg.eigh(self.matrices[name])[1][:, ::-1][:, :k].T
        return self._filled(axes @ white.matrix.T, k)

    def _filled(self, B: FloatArray, k: int) -> FloatArray:
        """Return B with principal axes across it up to k rows."""
        if B.shape[0] >= k:
            return B
        basis = np.linalg.qr(B.T)[0]
        rest = self.X - (self.X @ basis) @ basis.T
        more = np.linalg.eigh(rest.T @ rest)[1][:, ::-1][:, : k - B.shape[0]]
        return np.vstack([B, more.T])

    def fit(self, k: int, model: str, ridge: float) -> LogisticFit:
        """Return a model of k directions."""
        if model == "discriminant":
            return fit_network(
                self.X, self.targets, self.weight, self.start(k, "sir"), self.order[:0], ridge=0.1 * ridge, fixed=True,
                max_iter=self.max_iter,
            )  # fmt: skip
        if model == "linear":
            full = self.regression(ridge)
            if k == full.B.shape[0]:
                return full
            return fit_network(
                self.X, self.targets, self.weight, self._filled(full.B[:k], k), self.order[:0], ridge=ridge,
                fixed=True, max_iter=self.max_iter,
            )  # fmt: skip
        if model == "fixed":
            B = kernel_coordinates(self.X, self._filled(self.regression(1.0).B[:k], k))
            return fit_network(
                self.X, self.targets, self.weight, B, self.order[:_FIXED_CENTRES], ridge=ridge, fixed=True,
                is_scaled=True, max_iter=self.max_iter,
            )  # fmt: skip
        rows = self.order[: min(_CENTRES, self.X.shape[0])]
        return fit_network(
            self.X, self.targets, self.weight, self.start(k, model), rows, ridge=ridge, max_iter=self.max_iter
        )


def _choose(
    data: _Data,
    ranks: list[int],
    deadline: float,
    path: list[ClassStep],
    callback: Callable[[ClassStep], object] | None,
) -> bool:
    """Append the models that are tried with their held-out losses, and return whether time sufficed for them."""
    rows = data.order[:_SAMPLES]
    folds = _folds(np.argmax(data.targets[rows], axis=1), 1 if rows.size > _FEW else 3)
    if min(held.size for _, held in folds) < 8:
        path.append(ClassStep(ranks[0], "linear", 3.0, math.nan, math.nan))
        return True
    parts = [
        (data.part(rows[train]), rows[held])
        for train, held in folds
    ]  # fmt: skip
    top, worse, best = data.targets.shape[1] - 1, 0, math.inf
    for k in ranks:
        models = [(name, ridge) for name in _LINEAR for ridge in _RIDGES] if k <= top else []
        if rows.size >= 60:
            models += [(name, ridge) for name in ("regression", "dr", "save") for ridge in _RIDGES[1:]]
            models += [("fixed", ridge) for ridge in _FIXED_RIDGES]
        elif not models:
            models = [("linear", 3.0)]
        for model, ridge in models:
            if path and time.monotonic() > deadline:
                return False
            loss = np.concatenate([_held_out_losses(data, part, held, (k, model, ridge)) for part, held in parts])
            data.held_out.append(loss)
            path.append(ClassStep(k, model, ridge, float(loss.mean()), float(loss.std() / math.sqrt(loss.size))))
            if callback is not None:
                callback(path[-1])
        here = min(step.loss for step in path if step.k == k)
        worse = 0 if here < best else worse + 1
        best = min(best, here)
        if worse == 2:
            break
    return True


def _held_out_losses(data: _Data, part: _Data, held: NDArray[np.int64], model: tuple[int, str, float]) -> FloatArray:
    """Return the weighted losses of a model on samples that took no part."""
    logp = scipy.special.log_softmax(part.fit(*model).scores(data.X[held]), axis=1)
    return np.asarray(-(data.targets[held] * logp).sum(axis=1) * data.weight[held])


def _folds(labels: NDArray[np.int64], n_folds: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return positions to fit and to hold out, a quarter of each class; every class keeps one sample to fit."""
    out = []
    for fold in range(n_folds):
        held = np.zeros(labels.size, dtype=bool)
        for c in np.unique(labels):
            rows = np.flatnonzero(labels == c)
            size = int(_SHARE * rows.size)
            held[rows[fold * size : (fold + 1) * size]] = True
        out.append((np.flatnonzero(~held), np.flatnonzero(held)))
    return out


def _finished(
    data: _Data, fit: LogisticFit, path: tuple[ClassStep, ...], mean: FloatArray, scale: FloatArray
) -> ClassEstimate:
    """Return the estimate with orthonormal components along the principal gradients."""
    n = data.X.shape[0]
    moved = fit.B / scale
    components = _orthonormal(moved)
    T = moved @ components.T
    gradient = fit.gradient(data.X) @ T
    M = np.einsum("n,cnk,cnl->kl", data.weight / n, gradient, gradient, optimize=True)
    values, axes = np.linalg.eigh(M)
    components = axes[:, ::-1].T @ components
    signs = np.sign(components[np.arange(len(components)), np.argmax(np.abs(components), axis=1)])
    components *= signs[:, None]
    turned = gradient @ (axes[:, ::-1] * signs)
    p = np.exp(scipy.special.log_softmax(fit.scores(data.X), axis=1))
    centred = turned - np.einsum("nc,cnk->nk", p, turned)[None]
    information = np.einsum("n,nc,cnk->nk", data.weight, p, np.square(centred))
    stderr = np.zeros_like(components)
    usable = np.isfinite(scale)
    raw = np.where(usable, data.X * np.where(usable, scale, 0.0), 0.0)
    across = raw - (raw @ components.T) @ components
    for row in range(components.shape[0]):
        H = (across * information[:, row : row + 1]).T @ across
        stderr[row] = np.sqrt(np.maximum(np.diag(np.linalg.pinv(H, rcond=1e-10, hermitian=True)), 0.0))
    return ClassEstimate(components, np.sqrt(np.maximum(values[::-1], 0.0)), stderr, path, fit, mean, scale)


def _orthonormal(A: FloatArray) -> FloatArray:
    """Return orthonormal rows spanning the rows of A, filled up with coordinates where A has fewer."""
    left, sizes, right = np.linalg.svd(A, full_matrices=False)
    if sizes[-1] > 1e-10 * max(float(sizes[0]), 1e-300):
        return orthonormal_rows(left @ right)
    rank = int(np.sum(sizes > 1e-10 * max(float(sizes[0]), 1e-300)))
    basis = np.linalg.qr(np.column_stack([right[:rank].T, np.eye(A.shape[1])]))[0]
    return np.asarray(basis[:, : A.shape[0]].T)
