"""What all simulators of one-pass SGD share: their result, the record of a run, and coordinates of its start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from derand._utils.html import ResultRepr
from derand._utils.validation import FloatArray
from derand.teacher_student.parameters import Parameters, assemble
from derand.teacher_student.trajectory import FlowStatus

__all__ = ["Recorder", "Simulation", "coordinates", "initial_layer", "own_layers"]

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


class Recorder:
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
        self.offset = _DIVERGED * float(np.sum(initial_layer(parameters) ** 2))
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


def initial_layer(parameters: Parameters) -> FloatArray:
    """Return the second layer of the model as a column, shape (p, 1)."""
    return (parameters.output[: parameters.p] * parameters.p)[:, None]


def own_layers(parameters: Parameters, members: int) -> FloatArray:
    """Return the second layers that the runs begin with: one column for all, or one for each where they are trained."""
    return np.repeat(initial_layer(parameters), members if parameters.is_trained else 1, axis=1)


def coordinates(parameters: Parameters, rho: FloatArray, Q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return students (..., p, p_star + p) and teachers (p_star, p_star) in one orthonormal basis, over sqrt(N)."""
    values, vectors = np.linalg.eigh(parameters.gram)
    kept = values > 1e-13 * max(float(values[-1]), 0.0)
    roots = np.where(kept, np.sqrt(np.where(kept, values, 1.0)), 0.0)
    teacher = vectors * roots
    along = (rho @ vectors) * np.where(kept, 1.0 / np.where(kept, roots, 1.0), 0.0)
    rest, basis = np.linalg.eigh(Q - along @ np.swapaxes(along, -1, -2))
    own = basis * np.sqrt(np.maximum(rest, 0.0))[..., None, :]
    return np.concatenate([along, own], axis=-1), teacher
