"""Success of gradient descent against the number of samples, over many seeds, resumable."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.validation import FloatArray, check_array, check_int, check_scalar
from derand.exceptions import InputError
from derand.spectral.descent import TwoLayerGD
from derand.spectral.link import MultiIndexLink

__all__ = ["SuccessCurve", "success_curve"]


@dataclass(frozen=True, repr=False)
class SuccessCurve(ResultRepr):
    """Final correlations of gradient descent with the hard directions.

    Parameters
    ----------
    deltas : ndarray of shape (q,)
        Ratios of samples to dimensions.
    correlations : ndarray of shape (q, n_seeds)
        Largest singular value of the normalised overlaps with the hard directions; NaN for runs that diverged or
        weren't done yet.
    train_risk, test_risk : ndarray of shape (q, n_seeds)
        Risks at the end.
    level : float
        A run succeeds when its correlation exceeds this.
    """

    deltas: FloatArray
    correlations: FloatArray
    train_risk: FloatArray
    test_risk: FloatArray
    level: float = 0.5

    @property
    def success(self) -> FloatArray:
        """Share of successful runs at each delta, shape (q,); a run that diverged has failed."""
        return np.asarray(np.mean(np.nan_to_num(self.correlations, nan=0.0) > self.level, axis=1))

    def interval(self, confidence: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return the Wilson interval of the probability of success at each delta.

        Parameters
        ----------
        confidence : float, default 0.95
            Of each interval.

        Returns
        -------
        low, high : ndarray of shape (q,)
            Ends.

        Raises
        ------
        InputError
            If confidence lies outside (0, 1).
        """
        from scipy.special import ndtri

        share = check_scalar(confidence, "confidence", low=0.0, high=1.0, low_open=True, high_open=True)
        z, n, p = float(ndtri(0.5 + 0.5 * share)), self.correlations.shape[1], self.success
        centre = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def success_curve(
    activation: Any,
    loss: Any,
    link: MultiIndexLink | str,
    m: int = 1,
    *,
    d: int,
    deltas: Sequence[float],
    eta: float,
    n_steps: int,
    n_seeds: int = 10,
    init: str = "random",
    level: float = 0.5,
    seed: int = 0,
    n_jobs: int | None = None,
    checkpoint: str | Path | None = None,
    callback: Callable[[int, int], None] | None = None,
) -> SuccessCurve:
    """Return how often gradient descent finds the hard directions, for several ratios of samples to dimensions.

    Each run has a random stream of its own, made from the seed, its delta and its number, and runs with one BLAS
    thread: the result has the same bits for any number of jobs and whatever was resumed.

    Parameters
    ----------
    activation, loss, link, m
        As for `TwoLayerGD`.
    d : int
        Dimension.
    deltas : sequence of float
        Ratios of samples to dimensions.
    eta : float
        Step size.
    n_steps : int
        Steps of each run.
    n_seeds : int, default 10
        Runs at each delta.
    init : str
        Start, as for `TwoLayerGD`.
    level : float, default 0.5
        Correlation above which a run counts as a success.
    seed : int, default 0
        Seed of the whole experiment.
    n_jobs : int, optional
        Processes, as in joblib.
    checkpoint : str or Path, optional
        File to which every finished run is appended as a line of JSON, and from which they are taken when the same
        experiment is started again.
    callback : callable, optional
        ``callback(done, total)`` after each batch of runs.

    Returns
    -------
    SuccessCurve
        All correlations and risks.

    Raises
    ------
    InputError
        If a number is out of range, the link has no hard direction, or the checkpoint belongs to another experiment.

    Notes
    -----
    A run costs 4 n d m n_steps operations.  The correlation of a random start is about sqrt(m k / d), so at small d a
    part of the successes is luck.

    Examples
    --------
    >>> options = {"d": 20, "deltas": [1.0, 8.0], "eta": 0.2, "n_steps": 5, "n_seeds": 2}
    >>> curve = success_curve("half-quad", "pseudo-huber", "z**2", **options)
    >>> curve.correlations.shape
    (2, 2)
    """
    ratios = check_array(list(deltas), "deltas", ndim=1)
    n_seeds = check_int(n_seeds, "n_seeds", low=1)
    seed = check_int(seed, "seed", low=0)
    link = MultiIndexLink.from_expression(link) if isinstance(link, str) else link
    models = [TwoLayerGD(activation, loss, link, m, d=d, delta=float(delta), eta=eta, init=init) for delta in ratios]
    if link.easy_hard().hard.shape[1] == 0:
        raise InputError("the link has no hard direction")
    tasks = [(i, j) for i in range(len(ratios)) for j in range(n_seeds)]
    key = _fingerprint(models, n_steps, seed)
    done = _read(checkpoint, key)
    missing = [task for task in tasks if _name(ratios[task[0]], task[1]) not in done]
    for batch in _batches(missing, n_jobs):
        rows = _run_all([(models[i], n_steps, seed, float(ratios[i]), j) for i, j in batch], n_jobs)
        for (i, j), row in zip(batch, rows, strict=True):
            done[_name(ratios[i], j)] = row
            _append(checkpoint, key, _name(ratios[i], j), row)
        if callback is not None:
            callback(len(done), len(tasks))
    table = np.array([[done[_name(delta, j)] for j in range(n_seeds)] for delta in ratios], dtype=np.float64)
    return SuccessCurve(ratios, table[..., 0], table[..., 1], table[..., 2], level)


def _single(model: TwoLayerGD, n_steps: int, seed: int, delta: float, number: int) -> list[float]:
    """Return correlation, train and test risk of one run."""
    stream = np.random.SeedSequence([seed, number, int(np.float64(delta).view(np.uint64))])
    run = model.run(n_steps, record=[n_steps], rng=np.random.default_rng(stream))
    if not len(run.correlation):
        return [math.nan] * 3
    return [float(run.correlation[-1]), float(run.train_risk[-1]), float(run.test_risk[-1])]


def _run_all(jobs: list[tuple[Any, ...]], n_jobs: int | None) -> list[list[float]]:
    """Return the rows of some runs, in order."""
    if n_jobs in (None, 1) or len(jobs) == 1:
        return [_single(*job) for job in jobs]
    from joblib import Parallel, delayed  # type: ignore[import-untyped]

    return list(Parallel(n_jobs=n_jobs, prefer="threads")(delayed(_single)(*job) for job in jobs))


def _batches(tasks: list[tuple[int, int]], n_jobs: int | None) -> list[list[tuple[int, int]]]:
    """Return the tasks in batches, after each of which the checkpoint is written."""
    size = 1 if n_jobs in (None, 1) else 8
    return [tasks[i : i + size] for i in range(0, len(tasks), size)]


def _name(delta: float, number: int) -> str:
    """Return the name of a run."""
    return f"{float(delta)!r}/{number}"


def _fingerprint(models: list[TwoLayerGD], n_steps: int, seed: int) -> str:
    """Return what has to agree for runs to be taken from a checkpoint; new deltas and seeds may be added."""
    model = models[0]
    z = np.linspace(-2.0, 2.0, 7)
    net = model.network
    probe = model.link(np.random.default_rng(1).standard_normal((5, model.link.k)))
    return json.dumps(
        [
            model.d,
            model.eta,
            model.init,
            n_steps,
            seed,
            model.n_test if model.n_test != model.n else -1,
            net.a.tolist(),
            net.b.tolist(),
            net.activation.value(z).tolist(),
            net.loss.dl(z, np.zeros_like(z)).tolist(),
            probe.tolist(),
            model.link.noise,
        ]
    )


def _read(path: str | Path | None, key: str) -> dict[str, list[float]]:
    """Return the runs of a checkpoint."""
    if path is None or not Path(path).exists():
        return {}
    done: dict[str, list[float]] = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
            name, row, own = entry["run"], entry["row"], entry["key"]
        except (json.JSONDecodeError, KeyError, TypeError):
            continue  # a line cut off by an interruption: its run is done again
        if own != key:
            raise InputError(f"checkpoint {path} belongs to another experiment")
        done[name] = [math.nan if value is None else float(value) for value in row]
    return done


def _append(path: str | Path | None, key: str, name: str, row: list[float]) -> None:
    """Append a finished run."""
    if path is None:
        return
    values = [value if math.isfinite(value) else None for value in row]
    target = Path(path)
    cut = target.exists() and not target.read_bytes().endswith(b"\n") and target.stat().st_size > 0
    with target.open("a", encoding="utf-8") as file:
        file.write(("\n" if cut else "") + json.dumps({"run": name, "row": values, "key": key}) + "\n")
