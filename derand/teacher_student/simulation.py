"""One-pass SGD itself: in the weights, or exactly in law through the order parameters at a cost that ignores N."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_int
from derand.exceptions import BudgetExceededError, InputError
from derand.teacher_student.parameters import Parameters, assemble
from derand.teacher_student.trajectory import FlowStatus

__all__ = ["Simulation", "run_simulation", "simulate_exact", "simulate_weights"]

_FRESH = 6
_MAX_BYTES = 4e9
_DIVERGED = 1e6


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(ResultRepr):
    """Order parameters of independent runs of one-pass SGD.

    Attributes
    ----------
    alphas : ndarray of shape (n_times,)
        Times reported: numbers of samples, rounded, divided by N.
    rho : ndarray of shape (n_replicas, n_times, p, p_star)
        Overlaps; NaN after a divergence.
    Q : ndarray of shape (n_replicas, n_times, p, p)
        Own overlaps; NaN likewise.
    loss : ndarray of shape (n_replicas, n_times)
        Population loss without the label noise's D/2; NaN likewise.
    status : ndarray of FlowStatus of shape (n_replicas,)
        COMPLETED or DIVERGED.
    n_steps : int
        Samples used by each run.
    second_layer : ndarray of shape (n_replicas, n_times, p) or None
        The students' second layers s where they are trained; NaN after a divergence.
    """

    alphas: FloatArray
    rho: FloatArray
    Q: FloatArray
    loss: FloatArray
    status: np.ndarray[Any, np.dtype[np.object_]]
    n_steps: int
    second_layer: FloatArray | None = None

    @property
    def success(self) -> bool:
        """Whether no run diverged and all numbers are finite."""
        return all(state is FlowStatus.COMPLETED for state in self.status) and bool(np.all(np.isfinite(self.loss)))


class _Recorder:
    """Collects order parameters at the requested steps and watches the norms."""

    def __init__(self, parameters: Parameters, Q0: FloatArray, n_inputs: int, alphas: FloatArray) -> None:
        self.parameters = parameters
        self.steps = np.rint(alphas * n_inputs).astype(np.int64)
        self.alphas = self.steps / n_inputs
        p, p_star, members = parameters.p, parameters.p_star, Q0.shape[0]
        self.rho = np.full((members, alphas.size, p, p_star), np.nan)
        self.Q = np.full((members, alphas.size, p, p), np.nan)
        self.layer = np.full((members, alphas.size, p), np.nan)
        self.limit = _DIVERGED * (1.0 + np.trace(Q0, axis1=-2, axis2=-1) + p * float(np.trace(parameters.gram)))
        self.offset = _DIVERGED * float(np.sum(_initial_layer(parameters) ** 2))
        self.alive = np.ones(members, dtype=bool)

    def add(self, index: int, rho: FloatArray, Q: FloatArray, layer: FloatArray) -> None:
        """Store the order parameters of all runs at one time; the second layer has shape (p, members) or (p, 1)."""
        self.watch(np.trace(Q, axis1=-2, axis2=-1), layer)
        layers = np.broadcast_to(layer.T, (self.alive.size, layer.shape[0]))
        self.rho[self.alive, index], self.Q[self.alive, index] = rho[self.alive], Q[self.alive]
        self.layer[self.alive, index] = layers[self.alive]

    def watch(self, traces: FloatArray, layer: FloatArray) -> None:
        """Mark the runs whose norms are beyond the limit, or no numbers any more."""
        with np.errstate(invalid="ignore", over="ignore"):
            self.alive &= traces + np.sum(layer**2, axis=0) < self.limit + self.offset

    def result(self) -> Simulation:
        """Return what was collected."""
        loss = np.full(self.rho.shape[:2], np.nan)
        there = np.isfinite(self.rho[:, :, 0, 0])
        sigma = assemble(self.parameters, self.rho[there], self.Q[there])
        loss[there] = 0.5 * self.parameters.activation.squared_error(sigma, self.parameters.outputs(self.layer[there]))
        status = np.full(self.alive.size, FlowStatus.COMPLETED, dtype=object)
        status[~self.alive] = FlowStatus.DIVERGED
        layer = self.layer if self.parameters.is_trained else None
        return Simulation(self.alphas, self.rho, self.Q, loss, status, int(self.steps[-1]), layer)


def _initial_layer(parameters: Parameters) -> FloatArray:
    """Return the second layer of the model as a column, shape (p, 1)."""
    return (parameters.output[: parameters.p] * parameters.p)[:, None]


def _own_layers(parameters: Parameters, members: int) -> FloatArray:
    """Return the second layers that the runs begin with: one column for all, or one for each where they are trained."""
    return np.repeat(_initial_layer(parameters), members if parameters.is_trained else 1, axis=1)


def _coordinates(parameters: Parameters, rho: FloatArray, Q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return students (..., p, p_star + p) and teachers (p_star, p_star) in one orthonormal basis, over sqrt(N)."""
    values, vectors = np.linalg.eigh(parameters.gram)
    kept = values > 1e-13 * max(float(values[-1]), 0.0)
    roots = np.where(kept, np.sqrt(np.where(kept, values, 1.0)), 0.0)
    teacher = vectors * roots
    along = (rho @ vectors) * np.where(kept, 1.0 / np.where(kept, roots, 1.0), 0.0)
    rest, basis = np.linalg.eigh(Q - along @ np.swapaxes(along, -1, -2))
    own = basis * np.sqrt(np.maximum(rest, 0.0))[..., None, :]
    return np.concatenate([along, own], axis=-1), teacher


def _changes(
    parameters: Parameters, layer: FloatArray, fields: FloatArray, noise: FloatArray | None
) -> tuple[FloatArray, FloatArray | None]:
    """Return N times the factors of the sample in dw, shape (p, members), and N ds of a trained second layer.

    The fields have shape (p + p_star, members); ``layer`` holds s, shape (p, members) or (p, 1).

    Returns
    -------
    tuple
        Factors, and the change or None for a fixed second layer.
    """
    p = parameters.p
    values = parameters.activation.value(fields)
    if parameters.is_trained:
        error = np.sum(layer * values[:p], axis=0) / p + parameters.output[p:] @ values[p:]
    else:
        error = parameters.output @ values
    if noise is not None:
        error -= np.sqrt(parameters.noise) * noise
    factors = (-parameters.step / p) * layer * error * parameters.activation.derivative(fields[:p])
    change = -parameters.readout_rate * error * values[:p] if parameters.is_trained else None
    return np.asarray(factors), change


def _label_noise(parameters: Parameters, members: int, generator: np.random.Generator) -> FloatArray | None:
    """Return standard normal numbers, or None where there is no label noise."""
    return generator.standard_normal(size=members) if parameters.noise > 0.0 else None


def simulate_exact(
    parameters: Parameters, sigma: FloatArray, n_inputs: int, alphas: FloatArray, rng: RNGLike
) -> Simulation:
    """Return runs that have exactly the law of SGD in N dimensions; see `TeacherStudent.simulate`.

    Weights are kept in an orthonormal basis of the span of teacher and students: a sample is standard normal there, and
    its part outside enters only by its length, the root of a chi-square variable.  Each step adds that direction to
    the basis; every six steps reflections bring the basis back to p_star + p directions.

    Returns
    -------
    Simulation
        The runs.

    Raises
    ------
    InputError
        If N < p + p_star.
    """
    generator = check_rng(rng)
    p, p_star, members = parameters.p, parameters.p_star, sigma.shape[0]
    rho, Q = sigma[:, :p, p:], sigma[:, :p, :p]
    base = p + p_star
    if n_inputs < base:
        raise InputError(f"N must be at least p + p_star = {base}, got {n_inputs}")
    fresh = min(_FRESH, n_inputs - base)
    start, teacher = _coordinates(parameters, rho, Q)
    # Runs on the last axis: all operations go along contiguous memory.
    state = np.zeros((p, base + fresh, members))
    state[:, :base] = np.moveaxis(start, 0, -1)
    # Memory for the samples, kept: fresh pages for every step would cost more than the numbers.
    sample, scratch = np.empty((2, base + fresh, members))
    recorder, layer = _Recorder(parameters, Q, n_inputs, alphas), _own_layers(parameters, members)
    used, done = base, 0
    sizes = np.diagonal(Q, axis1=1, axis2=2).T if parameters.constraint is not None else None
    with np.errstate(over="ignore", invalid="ignore"):
        for index, stop in enumerate(recorder.steps.tolist()):
            for _ in range(stop - done):
                if used == base + fresh and fresh:
                    _shorten(state, p_star, layer, recorder)
                    used = base
                generator.standard_normal(out=sample[:used])
                _exact_step(parameters, (state, layer), teacher, (sample[:used], scratch[:used]), n_inputs, generator)
                used = min(used + 1, base + fresh)
                if sizes is not None:
                    state *= np.sqrt(sizes / np.sum(state**2, axis=1))[:, None]
            done = stop
            recorder.add(
                index,
                np.einsum("kdr,ld->rkl", state[:, :p_star], teacher),
                np.einsum("kdr,jdr->rkj", state[:, :used], state[:, :used]),
                layer,
            )
    return recorder.result()


def _exact_step(
    parameters: Parameters,
    student: tuple[FloatArray, FloatArray],
    teacher: FloatArray,
    buffers: tuple[FloatArray, FloatArray],
    n_inputs: int,
    generator: np.random.Generator,
) -> None:
    """Do one step of SGD in place, from a sample and memory of its size; coordinates beyond the sample's are zero."""
    (state, layer), (sample, scratch), p_star = student, buffers, teacher.shape[0]
    used, members = sample.shape
    active = state[:, :used]
    fields = np.concatenate([np.einsum("kdr,dr->kr", active, sample), teacher @ sample[:p_star]])
    factors, change = _changes(parameters, layer, fields, _label_noise(parameters, members, generator))
    factors /= n_inputs
    for row, factor in zip(active, factors, strict=True):
        row += np.multiply(factor, sample, out=scratch)
    if used < state.shape[1]:
        state[:, used] = factors * np.sqrt(generator.chisquare(n_inputs - used, members))
    if change is not None:
        layer += change / n_inputs


def _shorten(state: FloatArray, p_star: int, layer: FloatArray, recorder: _Recorder) -> None:
    """Rotate the directions outside the teacher's span so that p of them suffice; runs that diverged become zero.

    Householder reflections of all runs at once: LAPACK's QR of many small matrices takes ten times as long.
    """
    recorder.watch(np.sum(state**2, axis=(0, 1)), layer)
    state[:, :, ~recorder.alive] = 0.0
    own = state[:, p_star:]
    for k in range(own.shape[0]):
        rest = own[k:, k:]
        mirror = rest[0].copy()
        mirror[0] += np.copysign(np.sqrt(np.sum(mirror**2, axis=0)), mirror[0])
        square = np.sum(mirror**2, axis=0)
        scale = 2.0 / np.where(square > 0.0, square, 1.0)
        for row in rest:
            row -= (scale * np.einsum("dr,dr->r", mirror, row)) * mirror
        own[k, k + 1 :] = 0.0


def simulate_weights(
    parameters: Parameters, sigma: FloatArray, n_inputs: int, alphas: FloatArray, rng: RNGLike
) -> Simulation:
    """Return runs of SGD on all p N weights; see `TeacherStudent.simulate`.

    Returns
    -------
    Simulation
        The runs.

    Raises
    ------
    InputError
        If N < p + p_star.
    BudgetExceededError
        If the weights of all runs would take more than 4 GB.
    """
    generator = check_rng(rng)
    p, p_star, members = parameters.p, parameters.p_star, sigma.shape[0]
    rho, Q = sigma[:, :p, p:], sigma[:, :p, :p]
    if n_inputs < p + p_star:
        raise InputError(f"N must be at least p + p_star = {p + p_star}, got {n_inputs}")
    if 8.0 * members * (2 * p + 1) * n_inputs > _MAX_BYTES:
        raise BudgetExceededError("the weights of all replicas would take more than 4 GB; take method='exact'")
    start, teacher = _coordinates(parameters, rho, Q)
    # By rotational invariance any weights with these order parameters will do.
    weights = np.zeros((members, p, n_inputs))
    weights[:, :, : p + p_star] = start
    recorder, layer = _Recorder(parameters, Q, n_inputs, alphas), _own_layers(parameters, members)
    done = 0
    sizes = np.diagonal(Q, axis1=1, axis2=2) if parameters.constraint is not None else None
    with np.errstate(over="ignore", invalid="ignore"):
        for index, stop in enumerate(recorder.steps.tolist()):
            for _ in range(stop - done):
                sample = generator.standard_normal((members, n_inputs))
                fields = np.concatenate([(weights @ sample[..., None])[..., 0].T, teacher @ sample[:, :p_star].T])
                factors, change = _changes(parameters, layer, fields, _label_noise(parameters, members, generator))
                weights += (factors.T / n_inputs)[..., None] * sample[:, None]
                if change is not None:
                    layer += change / n_inputs
                if sizes is not None:
                    weights *= np.sqrt(sizes / np.sum(weights**2, axis=2))[..., None]
            done = stop
            recorder.add(index, weights[..., :p_star] @ teacher.T, weights @ np.swapaxes(weights, 1, 2), layer)
    return recorder.result()


def run_simulation(
    parameters: Parameters,
    sigma: FloatArray,
    n_inputs: Any,
    alphas: FloatArray,
    *,
    n_replicas: Any,
    method: str,
    rng: RNGLike,
) -> Simulation:
    """Check the sizes and run one of the simulators.

    Returns
    -------
    Simulation
        The runs.

    Raises
    ------
    InputError
        If the starts aren't as many as the replicas, or a number is out of range.
    """
    n_inputs = check_int(n_inputs, "N", low=1, high=10**15)
    members = check_int(n_replicas, "n_replicas", low=1, high=10_000_000)
    if alphas[-1] * n_inputs > 1e15:
        raise InputError("alphas must not ask for more than 1e15 samples")
    simulator = simulate_exact if method == "exact" else simulate_weights
    if sigma.ndim > 3 or (sigma.ndim == 3 and sigma.shape[0] != members):
        raise InputError(f"rho0 and Q0 must be single matrices or one for each of the {members} replicas")
    starts = np.broadcast_to(sigma, (members, *sigma.shape[-2:]))
    return simulator(parameters, starts, n_inputs, alphas, rng)
