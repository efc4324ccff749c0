"""Phase diagrams over the exponents of the two step sizes: predicted against counted."""

from __future__ import annotations

import hashlib
import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.shipped import Shipped
from derand._utils.validation import FloatArray, check_array, check_int, check_scalar
from derand.exceptions import InputError, InputTypeError
from derand.two_step.activations import TwoStepActivation, as_activation
from derand.two_step.assumptions import AssumptionWarning, check_first_coefficient, warn_about_labels, warn_about_step
from derand.two_step.count import as_exponent, predicted_count
from derand.two_step.directions import assemble, default_orders, learned_directions
from derand.two_step.dynamics import Batch, TwoStepResult, split_batches, step_sizes
from derand.two_step.gradient import correlation_gradient
from derand.two_step.measurement import fitted_outliers
from derand.two_step.outliers import normalised_roots
from derand.two_step.response import known_overlaps, response_weights

__all__ = ["PhaseDiagram", "phase_diagram"]

IntArray = np.ndarray[Any, np.dtype[np.int64]]

_SHARED_BYTES = 1e9
_FIELDS = ("predicted", "counted", "own", "theta")
_ORDERS = 7


@dataclass(frozen=True, eq=False, repr=False)
class PhaseDiagram(ResultRepr):
    """Numbers of outliers over a grid of exponents.

    Attributes
    ----------
    alphas1, alphas2 : tuple of float
        The exponents.
    asymptotic : ndarray of int of shape (A1, A2)
        `predicted_count`, for N to infinity.
    predicted : ndarray of int of shape (A1, A2)
        Count predicted at this size, as in `predict_outliers`.
    counted : ndarray of int of shape (A1, A2)
        Count in W2, as in `count_outliers`.
    own : ndarray of int of shape (A1, A2)
        How many of the predicted ones the full-rank part has by itself.
    theta : ndarray of shape (A1, A2, 7)
        Singular values of the low-rank part, filled up with zeros.
    n_neurons : int
        N.
    is_complete : bool
        Whether all exponents of the first step that were asked for are there, or a time limit came before the last.
    """

    alphas1: tuple[float, ...]
    alphas2: tuple[float, ...]
    asymptotic: IntArray
    predicted: IntArray
    counted: IntArray
    own: IntArray
    theta: FloatArray
    n_neurons: int
    is_complete: bool = True

    @property
    def agreement(self) -> float:
        """Share of the cells in which as many outliers are counted as predicted at this size."""
        return float(np.mean(self.predicted == self.counted))


class _Shared(NamedTuple):
    """What all rows of the grid have in common."""

    first: Batch
    second: Batch
    W0: FloatArray
    a0: FloatArray
    activation: TwoStepActivation
    G1: FloatArray
    fields: tuple[FloatArray, FloatArray] | None
    batch: str
    level: float
    directions: dict[int, FloatArray]
    weights: list[FloatArray]


def phase_diagram(
    alphas1: Sequence[Any],
    alphas2: Sequence[Any],
    X: Any,
    y: Any,
    W0: Any,
    a0: Any,
    *,
    activation: Any,
    kappas: tuple[float, float] = (0.5, 0.5),
    batch: str = "reuse",
    level: float = 0.999,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    time_limit: float | None = None,
    callback: Callable[[int, int], object] | None = None,
) -> PhaseDiagram:
    r"""Return predicted and counted numbers of outliers of W2 over a grid of step size exponents.

    Step sizes are those of `step_sizes`.  The gradient at W1 depends on :math:`\alpha_1` only, and the
    pre-activations are :math:`X W_1^\top = X W_0^\top + \eta_1 X G_1^\top`: a row of the grid costs one matrix
    product, and a cell the eigenvalues of two matrices.

    Parameters
    ----------
    alphas1, alphas2 : sequence of numbers in [0, 1/2)
        Exponents.
    X, y, W0, a0 : array_like
        Data and weights, as from `random_problem`.
    activation : activation
        See `as_activation`.
    kappas : tuple of float, default (0.5, 0.5)
        Factors of the step sizes.
    batch : {"reuse", "fresh"}, default "reuse"
        As in `two_step_update`.
    level : float, default 0.999
        As in `count_outliers`.
    n_jobs : int, optional
        Rows of the grid at the same time, by joblib in whatever back end is active; 1 by default, without joblib.
    checkpoint : path, optional
        File (.npz) to which finished rows are written; a run that finds rows of the same problem there doesn't repeat
        them.
    time_limit : float, optional
        Seconds after which no further row is started; at least one row is computed, and the finished ones come
        back.
    callback : callable, optional
        Called with the numbers of finished rows and of all rows.

    Returns
    -------
    PhaseDiagram
        The counts.

    Raises
    ------
    InputError
        If shapes don't fit together, an exponent is out of range, c_1 = 0, there are fewer than 100 neurons or
        inputs, or the checkpoint belongs to another problem or lies in no folder.
    InputTypeError
        If the exponents are no sequence.
    KeyboardInterrupt
        On Ctrl-C; its ``partial`` is the diagram of the rows finished before, and is missing if there are none.

    Warns
    -----
    AssumptionWarning
        If the labels have a mean or heavy tails, or the largest second step is too large for a small full-rank part.

    Notes
    -----
    One gradient and two products X W^T, then for every alpha1 half a gradient, and for every cell a product and the
    eigenvalues of two matrices of size min(N, d), one of them in single precision.  Deterministic, for any ``n_jobs``.

    Examples
    --------
    >>> from derand.two_step import random_problem
    >>> problem = random_problem(200, 200, 200, [lambda z: np.sin(1.5 * z)], rng=0)
    >>> found = phase_diagram([0.1, 0.3], [0.3], *problem[:4], activation=[0.0, 1.0, 0.5])
    >>> found.asymptotic.tolist(), found.counted.shape
    ([[1], [2]], (2, 1))
    """
    limit = math.inf if time_limit is None else check_scalar(time_limit, "time_limit", low=0.0)
    end = time.monotonic() + limit
    _check_outside(alphas1, alphas2, n_jobs, checkpoint)
    shared, etas = _prepare(X, y, W0, a0, as_activation(activation), (alphas1, alphas2), kappas, batch, level)
    rows: dict[int, dict[str, Any]] = {}
    key = _fingerprint(shared, etas)
    if checkpoint is not None:
        rows = _load(Path(checkpoint), key)
    missing = [i for i in range(len(etas[0])) if i not in rows]
    try:
        for i, row in _map_rows(shared, etas, missing, n_jobs):
            rows[i] = row
            if checkpoint is not None:
                _save(Path(checkpoint), key, rows)
            if callback is not None:
                callback(len(rows), len(etas[0]))
            if time.monotonic() >= end:
                break
    except KeyboardInterrupt as interrupt:
        if rows:
            interrupt.partial = _collect(shared, (alphas1, alphas2), rows)  # type: ignore[attr-defined]
        raise
    return _collect(shared, (alphas1, alphas2), rows)


def _check_outside(alphas1: Any, alphas2: Any, n_jobs: Any, checkpoint: Any) -> None:
    """Raise where an argument can't be right that isn't looked at before the first row is finished."""
    for name, alphas in (("alphas1", alphas1), ("alphas2", alphas2)):
        if isinstance(alphas, str) or not hasattr(alphas, "__len__"):
            raise InputTypeError(f"{name} must be a sequence of exponents, got {type(alphas).__name__}")
    if n_jobs is not None and check_int(n_jobs, "n_jobs") == 0:
        raise InputError("n_jobs must not be 0: pass -1 for all cores")
    if checkpoint is not None and not Path(checkpoint).absolute().parent.is_dir():
        raise InputError(f"checkpoint must name a file in an existing folder, got {checkpoint}")


def _collect(
    shared: _Shared, alphas: tuple[Sequence[Any], Sequence[Any]], rows: dict[int, dict[str, Any]]
) -> PhaseDiagram:
    """Return the diagram of the rows that are there."""
    done = sorted(rows)
    first, second = [alphas[0][i] for i in done], alphas[1]
    tables = {name: np.array([rows[i][name] for i in done]) for name in _FIELDS}
    asymptotic = np.array(
        [[predicted_count(a, b, coefficients=shared.activation) for b in second] for a in first], dtype=np.int64
    )
    floats = [tuple(float(as_exponent(alpha)) for alpha in part) for part in (first, second)]
    complete = len(done) == len(alphas[0])
    return PhaseDiagram(floats[0], floats[1], asymptotic, **tables, n_neurons=shared.a0.size, is_complete=complete)


def _prepare(
    X: Any,
    y: Any,
    W0: Any,
    a0: Any,
    activation: TwoStepActivation,
    alphas: tuple[Sequence[Any], Sequence[Any]],
    *rest: Any,
) -> tuple[_Shared, tuple[list[float], list[float]]]:
    """Return what the rows share, and the step sizes."""
    kappas, batch, level = rest
    X, y = check_array(X, "X", ndim=2), check_array(y, "y", ndim=1)
    first, second = split_batches(X, y, 2, batch)
    G1 = correlation_gradient(first.X, first.y, W0, a0, activation)
    W0, a0 = check_array(W0, "W0", ndim=2), check_array(a0, "a0", ndim=1)
    if min(W0.shape) < 100:
        raise InputError(f"W0 must have at least 100 rows and columns to see a bulk, got {W0.shape}")
    if not (len(alphas[0]) and len(alphas[1])):
        raise InputError("alphas1 and alphas2 must hold at least one exponent each")
    check_first_coefficient(activation.coefficients(8))
    units = step_sizes(X, y, a0.size, activation, alphas=(0, 0), kappas=kappas, batch=batch)
    etas = (
        [units[0] * a0.size ** float(as_exponent(alpha, "alphas1")) for alpha in alphas[0]],
        [units[1] * a0.size ** float(as_exponent(alpha, "alphas2")) for alpha in alphas[1]],
    )
    warn_about_labels(y, stacklevel=4)
    scale = abs(float(activation.coefficients(1)[1])) * math.sqrt(float(np.mean(second.y**2)))
    warn_about_step(max(map(abs, etas[1])) * scale, a0.size, name="the largest eta2", stacklevel=4)
    fields = None
    if 16.0 * second.y.size * a0.size <= _SHARED_BYTES:
        fields = (second.X @ W0.T, second.X @ G1.T)
    start = TwoStepResult(W0, W0, W0, G1, G1, first, second, a0, units[0], units[1], activation, batch)
    return _Shared(first, second, W0, a0, activation, G1, fields, batch, level, *_directions(start)), etas


def _map_rows(
    shared: _Shared, etas: tuple[list[float], list[float]], missing: Iterable[int], n_jobs: int | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows as they are finished."""
    if n_jobs is None or n_jobs == 1:
        for i in missing:
            yield i, _row(shared, etas[0][i], etas[1])
        return
    from joblib import Parallel, delayed, effective_n_jobs  # type: ignore[import-untyped]

    indices, n_together = list(missing), effective_n_jobs(n_jobs)
    row = delayed(Shipped(_row))
    with Parallel(n_jobs=n_jobs) as parallel:
        # As many rows at once as there are jobs: joblib's own generator warns when it is left before its end.
        for first in range(0, len(indices), n_together):
            part = indices[first : first + n_together]
            yield from zip(part, parallel(row(shared, etas[0][i], etas[1]) for i in part), strict=True)


def _row(shared: _Shared, eta1: float, etas2: list[float]) -> dict[str, Any]:
    """Return the counts for one size of the first step."""
    W1 = shared.W0 + eta1 * shared.G1
    X, y = shared.second
    if shared.fields is None:
        G2 = correlation_gradient(X, y, W1, shared.a0, shared.activation)
    else:
        slopes = shared.activation.derivative(shared.fields[0] + eta1 * shared.fields[1])
        slopes *= y[:, None]
        G2 = (shared.a0[:, None] / y.size) * (slopes.T @ X)
        del slopes
    row: dict[str, Any] = {name: [] for name in _FIELDS}
    for eta2 in etas2:
        result = TwoStepResult(
            shared.W0, W1, W1 + eta2 * G2, shared.G1, G2, shared.first, shared.second, shared.a0, eta1, eta2,
            shared.activation, shared.batch,
        )  # fmt: skip
        spikes = assemble(result, shared.directions)
        theta = np.zeros(_ORDERS)
        values = spikes.singular_values()[1]
        theta[: values.size] = values
        row["theta"].append(theta)
        lengths = np.linalg.norm(result.W2, axis=1)[:, None]
        unit = result.W2 / lengths
        gram, known = unit.T @ unit, known_overlaps(result, shared.weights)
        found, own = normalised_roots(unit, gram, lengths, spikes, known, level=shared.level)
        row["predicted"].append(len(found))
        row["own"].append(own)
        row["counted"].append(fitted_outliers(unit, gram=gram, level=shared.level).size)
    return {name: np.array(values) for name, values in row.items()}


def _directions(result: TwoStepResult) -> tuple[dict[int, FloatArray], list[FloatArray]]:
    """Return the directions by order and the weights of the response, the same for all step sizes."""
    memory = result.activation.max_order is None
    orders = default_orders(result.activation, memory=memory, reuse=result.batch == "reuse")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)  # of orders that vanish: they are left out
        found = learned_directions(result, max(orders), memory=memory)
    return {k: found[k] for k in orders}, response_weights(result, memory=memory)


def _fingerprint(shared: _Shared, etas: tuple[list[float], list[float]]) -> str:
    """Return a hash of everything that the counts depend on."""
    digest = hashlib.sha256(f"{shared.batch} {shared.level!r} {etas[1]!r}".encode())
    for array in (shared.first.X, shared.first.y, shared.second.X, shared.second.y, shared.W0, shared.a0, shared.G1):
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(np.array(etas[0]).tobytes())
    return digest.hexdigest()


def _save(path: Path, key: str, rows: dict[int, dict[str, Any]]) -> None:
    """Write the finished rows, the file never being incomplete."""
    indices = sorted(rows)
    tables = {name: np.array([rows[i][name] for i in indices]) for name in _FIELDS}
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as stream:
        np.savez(stream, allow_pickle=False, key=np.array(key), indices=np.array(indices), **tables)
    partial.replace(path)


def _load(path: Path, key: str) -> dict[int, dict[str, Any]]:
    """Return the finished rows of a checkpoint."""
    if not path.exists():
        return {}
    try:
        with np.load(path, allow_pickle=False) as stored:
            found = str(stored["key"])
            indices, tables = stored["indices"], {name: stored[name] for name in _FIELDS}
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"checkpoint {path} can't be read: {error}") from error
    if found != key:
        raise InputError(f"checkpoint {path} belongs to another problem; remove it or give another name")
    return {int(i): {name: tables[name][k] for name in _FIELDS} for k, i in enumerate(indices)}
