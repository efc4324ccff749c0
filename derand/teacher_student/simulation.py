"""One-pass SGD itself: in the weights, or exactly in law through the order parameters at a cost that ignores N."""

from __future__ import annotations

from typing import Any

import numpy as np

from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray, check_int
from derand.exceptions import BudgetExceededError, InputError
from derand.teacher_student.blocks import simulate_blocks
from derand.teacher_student.parameters import Parameters
from derand.teacher_student.runs import Recorder, Simulation, coordinates, own_layers
from derand.teacher_student.trajectory import check_memory

__all__ = ["Simulation", "run_simulation", "simulate_exact", "simulate_weights"]

_FRESH = 6
_BLOCK_REPLICAS = 48
_BLOCK_ROOM = 64
_MAX_BYTES = 4e9


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
    the basis; every six steps reflections bring the basis back to p_star + p directions.  For few replicas
    `derand.teacher_student.blocks` draws many steps' samples at once.

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
    start, teacher = coordinates(parameters, rho, Q)
    # Runs on the last axis: all operations go along contiguous memory.
    state = np.zeros((p, base + fresh, members))
    state[:, :base] = np.moveaxis(start, 0, -1)
    # Memory for the samples, kept: fresh pages for every step would cost more than the numbers.
    sample, scratch = np.empty((2, base + fresh, members))
    recorder, layer = Recorder(parameters, Q, n_inputs, alphas), own_layers(parameters, members)
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


def _shorten(state: FloatArray, p_star: int, layer: FloatArray, recorder: Recorder) -> None:
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
    start, teacher = coordinates(parameters, rho, Q)
    # By rotational invariance any weights with these order parameters will do.
    weights = np.zeros((members, p, n_inputs))
    weights[:, :, : p + p_star] = start
    recorder, layer = Recorder(parameters, Q, n_inputs, alphas), own_layers(parameters, members)
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
    BudgetExceededError
        If the weights or the records of all runs would take more than 4 GB.
    """
    n_inputs = check_int(n_inputs, "N", low=1, high=10**15)
    members = check_int(n_replicas, "n_replicas", low=1, high=10_000_000)
    if alphas[-1] * n_inputs > 1e15:
        raise InputError("alphas must not ask for more than 1e15 samples")
    check_memory(parameters, members, alphas.size)
    simulator = simulate_weights
    if method == "exact":
        is_small = members <= _BLOCK_REPLICAS and n_inputs >= parameters.p + parameters.p_star + _BLOCK_ROOM
        simulator = simulate_blocks if is_small and parameters.constraint is None else simulate_exact
    if sigma.ndim > 3 or (sigma.ndim == 3 and sigma.shape[0] != members):
        raise InputError(f"rho0 and Q0 must be single matrices or one for each of the {members} replicas")
    starts = np.broadcast_to(sigma, (members, *sigma.shape[-2:]))
    return simulator(parameters, starts, n_inputs, alphas, rng)
