"""One-pass SGD exactly in law for few replicas: many steps at a time, by sweeps over a block of samples."""

from __future__ import annotations

from functools import cache

import numpy as np

from derand._utils.rng import RNGLike, check_rng
from derand._utils.validation import FloatArray
from derand.exceptions import InputError
from derand.teacher_student.parameters import Parameters
from derand.teacher_student.runs import Recorder, Simulation, coordinates, own_layers

__all__ = ["advance", "draw_samples", "simulate_blocks"]

_LONGEST = 64
_SHORTEST = 4
_FEW_SWEEPS = 9
_MANY_SWEEPS = 18
_CLOSE = 1e-14
_BOUND = 1e60  # of intermediate sweeps; what goes beyond has diverged


@cache
def below_diagonal(size: int) -> FloatArray:
    """Return the matrix of ones below the diagonal."""
    return np.tri(size, k=-1)


def draw_samples(n_steps: int, base: int, n_inputs: int, members: int, generator: np.random.Generator) -> FloatArray:
    """Return the coordinates of samples in an orthonormal basis that they extend one by one.

    The first `base` coordinates are standard normal; the rest is the Bartlett factor of the Gram matrix of the parts
    outside: normal numbers below the diagonal and roots of chi-square variables on it.

    Returns
    -------
    ndarray of shape (members, n_steps, base + n_steps)
        The samples; zero to the right of the diagonal.
    """
    samples = generator.standard_normal((members, n_steps, base + n_steps))
    samples[:, :, base:] *= below_diagonal(n_steps)
    steps = np.arange(n_steps)
    samples[:, steps, base + steps] = np.sqrt(generator.chisquare(n_inputs - base - steps, (members, n_steps)))
    return samples


class _Sweeper:
    """Steps of SGD as a triangular system, solved by sweeps over all steps at once.

    The fields of step t are those of the block's first weights plus sum_(s<t) f_s x_s.x_t / N with the factors f_s of
    the earlier steps.  Inserting factors of approximate fields makes one more step exact with every sweep, and all
    steps more accurate by a factor of about sqrt(K / N).

    Parameters
    ----------
    parameters : Parameters
        The setting.
    n_inputs : int
        Input dimension.
    """

    def __init__(self, parameters: Parameters, n_inputs: int) -> None:
        self.parameters, self.n_inputs = parameters, n_inputs
        self.patience = 2

    def solve(
        self, base: FloatArray, target: FloatArray, lower: FloatArray, layer: FloatArray
    ) -> tuple[FloatArray, FloatArray, int]:
        """Return factors (members, K, p), the second layers at the end (members, p), and the number of sweeps."""
        found = self._sweep(base, target, lower, layer, is_bounded=False)
        # A sweep may overflow at steps that aren't exact yet: bounds on the factors keep that from spreading.
        return found if np.all(np.isfinite(found[0])) else self._sweep(base, target, lower, layer, is_bounded=True)

    def _sweep(
        self, base: FloatArray, target: FloatArray, lower: FloatArray, layer: FloatArray, *, is_bounded: bool
    ) -> tuple[FloatArray, FloatArray, int]:
        """Sweep until the fields stand still, or all steps are exact."""
        p, step = self.parameters.p, self.parameters.step
        activation, rate = self.parameters.activation, self.parameters.readout_rate / self.n_inputs
        n_steps = base.shape[1]
        first = layer[:, None, :] / p
        fields, layers, total = base, first, first
        for sweep in range(1, n_steps + 2):
            values = activation.value(fields)
            error = (layers @ np.swapaxes(values, 1, 2))[:, 0] if rate == 0.0 else np.sum(layers * values, axis=2)
            error -= target
            factors = activation.derivative(fields) * (-step * layers) * error[..., None]
            if is_bounded:
                np.clip(factors, -_BOUND, _BOUND, out=factors)
            if rate > 0.0:
                total = first - (rate / p) * np.cumsum(error[..., None] * values, axis=1)
                layers = np.concatenate([first, total[:, :-1]], axis=1)
            before, fields = fields, lower @ factors
            fields += base
            if sweep > n_steps or (sweep >= self.patience and _is_close(before, fields)):
                break
        self.patience = max(2, sweep - 1)
        return factors, total[:, -1] * p, sweep


def _is_close(before: FloatArray, after: FloatArray) -> bool:
    """Return whether two sweeps agree to rounding."""
    return bool(np.max(np.abs(after - before)) <= _CLOSE * np.max(np.abs(after)))


def advance(
    sweeper: _Sweeper,
    student: tuple[FloatArray, FloatArray],
    teacher: FloatArray,
    samples: FloatArray,
    noise: FloatArray | None,
) -> tuple[FloatArray, FloatArray, int]:
    """Do one step of SGD for each of the samples.

    Returns
    -------
    tuple
        Coordinates (members, p, p_star + p) in a new basis of as many directions, second layers, and sweeps needed.
    """
    (state, layer), parameters = student, sweeper.parameters
    p_star, base, n_steps = teacher.shape[0], state.shape[2], samples.shape[1]
    lower = samples @ np.swapaxes(samples, 1, 2)
    lower *= below_diagonal(n_steps) / sweeper.n_inputs
    known = samples[:, :, :base] @ np.swapaxes(state, 1, 2)
    target = parameters.activation.value(samples[:, :, :p_star] @ teacher.T) @ -parameters.output[parameters.p :]
    if noise is not None:
        target += np.sqrt(parameters.noise) * noise
    factors, layer, sweeps = sweeper.solve(known, target, lower, layer)
    moved = np.swapaxes(factors, 1, 2) @ samples
    moved /= sweeper.n_inputs
    moved[:, :, :base] += state
    if not np.all(np.isfinite(moved)):
        moved = np.where(np.isfinite(moved), moved, _BOUND)
    # Only the lengths and angles of what lies outside the teacher's span matter from here on.
    rest = np.linalg.qr(np.swapaxes(moved[:, :, p_star:], 1, 2), mode="r")
    return np.concatenate([moved[:, :, :p_star], np.swapaxes(rest, 1, 2)], axis=2), layer, sweeps


def simulate_blocks(
    parameters: Parameters, sigma: FloatArray, n_inputs: int, alphas: FloatArray, rng: RNGLike
) -> Simulation:
    """Return runs that have exactly the law of SGD in N dimensions; see `TeacherStudent.simulate`.

    The work of up to 64 steps is a few products of matrices, so that what Python spends on a single step is shared by
    all of them.  Steps in a block are as many as sweeps converge for quickly; their number is chosen before the
    samples are drawn.

    Returns
    -------
    Simulation
        The runs.

    Raises
    ------
    InputError
        If N < p + p_star + 64, or the norms are constrained.
    """
    generator = check_rng(rng)
    p, p_star, members = parameters.p, parameters.p_star, sigma.shape[0]
    rho, Q = sigma[:, :p, p:], sigma[:, :p, :p]
    base = p + p_star
    if n_inputs < base + _LONGEST or parameters.constraint is not None:
        raise InputError(f"N must be at least p + p_star + {_LONGEST} = {base + _LONGEST}, without a constraint")
    state, teacher = coordinates(parameters, rho, Q)
    recorder = Recorder(parameters, Q, n_inputs, alphas)
    layer = np.broadcast_to(own_layers(parameters, members).T, (members, p))
    sweeper, length, done = _Sweeper(parameters, n_inputs), _SHORTEST, 0
    with np.errstate(over="ignore", invalid="ignore"):
        for index, stop in enumerate(recorder.steps.tolist()):
            while done < stop and recorder.alive.any():
                n_steps = min(length, stop - done)
                samples = draw_samples(n_steps, base, n_inputs, members, generator)
                noise = generator.standard_normal((members, n_steps)) if parameters.noise > 0.0 else None
                state, layer, sweeps = advance(sweeper, (state, layer), teacher, samples, noise)
                done += n_steps
                if sweeps > _MANY_SWEEPS:
                    length = max(_SHORTEST, length // 2)
                elif sweeps < _FEW_SWEEPS and n_steps == length:
                    length = min(_LONGEST, 2 * length)
                recorder.watch(np.sum(state**2, axis=(1, 2)), layer.T)
                if not recorder.alive.all():
                    state[~recorder.alive] = 0.0
            done = stop
            recorder.add(index, state[:, :, :p_star] @ teacher.T, state @ np.swapaxes(state, 1, 2), layer.T)
    return recorder.result()
