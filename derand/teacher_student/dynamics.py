"""Loss, equations of motion, their integration and the simulation of SGD, as methods for any activation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from derand._utils.rng import RNGLike
from derand._utils.validation import FloatArray, check_array, check_int, check_option, check_scalar
from derand.exceptions import InputError
from derand.teacher_student.flow import check_finite_size, motion
from derand.teacher_student.parameters import Parameters, joint_covariance
from derand.teacher_student.simulation import Simulation, run_simulation
from derand.teacher_student.trajectory import Trajectory, check_times, integrate

__all__ = ["Dynamics"]


class Dynamics:
    """What holds for every activation: loss, equations of motion, trajectories and runs of SGD.

    Parameters
    ----------
    parameters : Parameters
        The checked setting.
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def loss(self, rho: Any, Q: Any, *, second_layer: Any = None) -> FloatArray:
        """Return the population loss E[(f - y)^2] / 2 without the label noise's D / 2.

        For the square with second layers of ones it is
        (tr Q/p - tr T/p*)^2/2 + tr Q^2/p^2 + tr T^2/p*^2 - 2 tr(rho rho')/(p p*).

        Parameters
        ----------
        rho : array_like of shape (..., p, p_star)
            Overlaps of student and teacher.
        Q : array_like of shape (..., p, p)
            Overlaps of the students.
        second_layer : array_like of shape (p,) or (..., p), optional
            Second layer of the student; the model's own by default.

        Returns
        -------
        ndarray of shape (...)
            The loss.

        Raises
        ------
        InputError
            If shapes don't fit, [[Q, rho], [rho', T]] isn't positive semidefinite within 1e-10, or the loss overflows.
        """
        sigma = joint_covariance(self.parameters, rho, Q)
        output = self.parameters.outputs(self._layer(second_layer, sigma))
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.asarray(0.5 * self.parameters.activation.squared_error(sigma, output))
        if not np.all(np.isfinite(found)):
            raise InputError("the loss overflows: second layers or overlaps are too large")
        return found

    def _layer(self, second_layer: Any, sigma: FloatArray) -> FloatArray:
        """Return the checked second layer, the model's own by default; shape (..., p) or (p,)."""
        p = self.parameters.p
        if second_layer is None:
            return np.asarray(self.parameters.output[:p] * p)
        layer = check_array(second_layer, "second_layer")
        if layer.shape not in ((p,), (*sigma.shape[:-2], p)):
            raise InputError(f"second_layer must have shape ({p},) or {(*sigma.shape[:-2], p)}, got {layer.shape}")
        return layer

    def rhs(
        self,
        rho: Any,
        Q: Any,
        *,
        second_order: bool = True,
        finite_N: int | None = None,
        second_layer: Any = None,
    ) -> tuple[FloatArray, FloatArray]:
        r"""Return the velocities d rho / d alpha and d Q / d alpha.

        For the square with second layers of ones, :math:`m = \mathrm{tr} Q/p - \mathrm{tr} T/p^*`,

        .. math:: \dot\rho = -2\gamma\,[m \rho + 2 Q \rho/p - 2 \rho T/p^*], \quad
                  \dot Q = -4\gamma\,[m Q + 2 Q^2/p - 2\rho\rho^\top/p^*] + 4\gamma^2\{\dots\},

        with :math:`\{\dots\} = E[(u^2 + D)\, z z^\top]`, the second-order term.  Without it this is the gradient
        flow of the population loss.

        Parameters
        ----------
        rho : array_like of shape (..., p, p_star)
            Overlaps of student and teacher.
        Q : array_like of shape (..., p, p)
            Overlaps of the students.
        second_order : bool, default True
            Whether to include the term of order lr^2 of one-pass SGD.
        finite_N : int, optional
            Return N times the exact mean change in one step of SGD in N dimensions instead (square and ReLU only).
        second_layer : array_like of shape (p,) or (..., p), optional
            Second layer of the student; the model's own by default.

        Returns
        -------
        d_rho : ndarray of shape (..., p, p_star)
            Velocity of rho.
        d_Q : ndarray of shape (..., p, p)
            Velocity of Q.

        Raises
        ------
        InputError
            If shapes don't fit, the matrices aren't realisable, `finite_N` isn't available, or numbers overflow.

        Notes
        -----
        O((p + p_star)^2 p) operations for the square, O(p^2 (p + p_star)^2) for erf and ReLU.
        """
        d_rho, d_q, _ = self._motion(rho, Q, second_layer, second_order, self._finite_size(finite_N, second_order))
        return d_rho, d_q

    def second_layer_rhs(self, rho: Any, Q: Any, *, second_layer: Any = None) -> FloatArray:
        r"""Return the velocity of a trained second layer, ds_k / d alpha = -(eta_s / p) E[(f - y) g(z_k)].

        Zero for a model whose second layer is fixed.  It has no second-order term: the steps are of order 1/N.

        Parameters
        ----------
        rho : array_like of shape (..., p, p_star)
            Overlaps of student and teacher.
        Q : array_like of shape (..., p, p)
            Overlaps of the students.
        second_layer : array_like of shape (p,) or (..., p), optional
            Second layer of the student; the model's own by default.

        Returns
        -------
        ndarray of shape (..., p)
            The velocity.

        Raises
        ------
        InputError
            If shapes don't fit, the matrices aren't realisable, or numbers overflow.

        Examples
        --------
        >>> from derand.teacher_student import TeacherStudent
        >>> model = TeacherStudent(1, 1, second_layer=[2.0], second_layer_lr=0.1)
        >>> model.second_layer_rhs([[1.0]], [[1.0]]).round(12)  # -0.1 E[(2 z^2 - z^2) z^2]
        array([-0.3])
        """
        return self._motion(rho, Q, second_layer, False, None)[2]

    def _motion(
        self, rho: Any, Q: Any, second_layer: Any, second_order: bool, size: int | None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return all velocities after checking the order parameters."""
        sigma = joint_covariance(self.parameters, rho, Q)
        p = self.parameters.p
        state = (sigma[..., :p, p:], sigma[..., :p, :p], self._layer(second_layer, sigma))
        with np.errstate(over="ignore", invalid="ignore"):
            found = motion(self.parameters, state, second_order=second_order, n_inputs=size)
        if not all(np.all(np.isfinite(part)) for part in found):
            raise InputError("the velocities overflow: lr, noise, second layers or overlaps are too large")
        return found

    def _finite_size(self, finite_N: int | None, second_order: bool) -> int | None:
        """Return the checked number of inputs."""
        size = None if finite_N is None else check_int(finite_N, "finite_N", low=1)
        check_finite_size(self.parameters, size, second_order)
        return size

    def solve(
        self,
        rho0: Any,
        Q0: Any,
        alphas: Sequence[float] | FloatArray,
        *,
        second_order: bool = True,
        finite_N: int | None = None,
        rtol: float = 1e-12,
        atol: float | None = None,
        max_evaluations: int = 300_000,
    ) -> Trajectory:
        """Return the order parameters along time, for one start or a batch of starts.

        Parameters
        ----------
        rho0 : array_like of shape (..., p, p_star)
            Initial overlaps, at alpha = 0.
        Q0 : array_like of shape (..., p, p)
            Initial overlaps of the students.
        alphas : array_like of shape (n_times,)
            Increasing times >= 0 at which to report.
        second_order : bool, default True
            Whether to include the term of order lr^2; False is gradient flow.
        finite_N : int, optional
            Use the exact one-step mean at this N in the second-order term (square and ReLU only).
        rtol : float, default 1e-12
            Relative tolerance of the integrator for each member of the batch, at least 2.5e-14 times the root of the
            batch size (below, 2.5e-14 is used).
        atol : float, optional
            Absolute tolerance.  Default: rtol times the largest initial entry of rho, and of Q, member by member; an
            absolute tolerance not far below rho0 would decide the escape from the plateau.
        max_evaluations : int, default 300_000
            Evaluations of the equations, at least 1, after which all runs end as ``FlowStatus.OUT_OF_EVALUATIONS``; the
            step under way is finished.

        Returns
        -------
        Trajectory
            With `success`, a status for each member, and the second layer where it is trained.  Divergence is reported
            as ``FlowStatus.DIVERGED`` with the time; the numbers after it are NaN.

        Raises
        ------
        InputError
            If shapes don't fit, the start isn't realisable, or a number is out of range.
        BudgetExceededError
            If the trajectories would take more than 4 GB.

        Notes
        -----
        The explicit Runge-Kutta method of order 8 of Dormand and Prince: the equations aren't stiff up to the plateau's
        critical rate.  Deterministic.
        """
        size = self._finite_size(finite_N, second_order)
        sigma = joint_covariance(self.parameters, rho0, Q0)
        times = check_times(alphas)
        rtol = check_scalar(rtol, "rtol", low=0.0, high=0.1, low_open=True)
        atol = None if atol is None else check_scalar(atol, "atol", low=0.0, low_open=True)
        budget = check_int(max_evaluations, "max_evaluations", low=1)
        p, lead = self.parameters.p, sigma.shape[:-2]
        if sigma.size == 0:
            raise InputError("rho0 must hold at least one start")
        self._motion(rho0, Q0, None, second_order, size)  # raises where an integrator would never get off the ground
        flat = sigma.reshape(-1, *sigma.shape[-2:])
        run = integrate(
            self.parameters,
            flat[:, :p, p:],
            flat[:, :p, :p],
            times,
            second_order=second_order,
            n_inputs=size,
            rtol=rtol,
            atol=atol,
            max_evaluations=budget,
        )
        return _reshape(run, lead)

    def simulate(
        self,
        rho0: Any,
        Q0: Any,
        N: int,
        alphas: Sequence[float] | FloatArray,
        *,
        n_replicas: int = 1,
        method: str = "exact",
        rng: RNGLike = None,
    ) -> Simulation:
        """Return order parameters of independent runs of one-pass SGD in N dimensions.

        Parameters
        ----------
        rho0 : array_like of shape (p, p_star) or (n_replicas, p, p_star)
            Initial overlaps, for all runs or one by one.
        Q0 : array_like of shape (p, p) or (n_replicas, p, p)
            Initial overlaps of the students.
        N : int
            Input dimension, at least p + p_star.
        alphas : array_like of shape (n_times,)
            Increasing times >= 0 at which to report; N alpha samples, rounded, are used by then.
        n_replicas : int, default 1
            Independent runs, done together.
        method : {"exact", "weights"}
            "exact": a process of the order parameters alone with exactly the same law; the cost of a step doesn't
            depend on N.  "weights": all p N weights, for comparison.
        rng : None, int or Generator
            Source of randomness; the two methods use it differently.

        Returns
        -------
        Simulation
            Order parameters, losses, and a status for each run: divergence is reported, and the numbers after it are
            NaN.

        Raises
        ------
        InputError
            If shapes don't fit, the start isn't realisable, or a number is out of range.
        BudgetExceededError
            If method "weights" would need more than 4 GB.

        Notes
        -----
        A step of one run costs O(p (p + p_star)) operations with "exact" and O(p N) with "weights".
        """
        check_option(method, "method", ("exact", "weights"))
        return run_simulation(
            self.parameters,
            joint_covariance(self.parameters, rho0, Q0),
            N,
            check_times(alphas),
            n_replicas=n_replicas,
            method=method,
            rng=rng,
        )


def _reshape(run: Trajectory, lead: tuple[int, ...]) -> Trajectory:
    """Return the trajectories with the leading shape of the starts in place of the flat one."""
    layer = run.second_layer
    return replace(
        run,
        rho=run.rho.reshape(*lead, *run.rho.shape[1:]),
        Q=run.Q.reshape(*lead, *run.Q.shape[1:]),
        loss=run.loss.reshape(*lead, *run.loss.shape[1:]),
        status=run.status.reshape(lead),
        end=run.end.reshape(lead),
        second_layer=None if layer is None else layer.reshape(*lead, *layer.shape[1:]),
    )
