"""The public face of this package: one teacher-student setting, its predictions and its runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from derand._utils.rng import RNGLike
from derand._utils.validation import FloatArray, check_int, check_option, check_scalar
from derand.exceptions import InputError, InputTypeError
from derand.teacher_student.erf import Erf
from derand.teacher_student.flow import check_finite_size, velocity
from derand.teacher_student.parameters import joint_covariance, make_parameters
from derand.teacher_student.predictions import QuadraticPredictions
from derand.teacher_student.simulation import Simulation, run_simulation
from derand.teacher_student.smooth import SmoothActivation
from derand.teacher_student.square import Square
from derand.teacher_student.trajectory import Trajectory, check_times, integrate

__all__ = ["TeacherStudent"]


class TeacherStudent(QuadraticPredictions):
    r"""A student network that learns a teacher network from one pass over Gaussian samples.

    With inputs x ~ N(0, I_N), student weights :math:`w_k` and teacher weights :math:`w^*_l` of norm about
    :math:`\sqrt N`, and fields :math:`z_k = w_k \cdot x / \sqrt N`,

    .. math:: f = \frac1p \sum_{k=1}^{p} s_k\, g(z_k), \qquad
              y = \frac1{p^*} \sum_{l=1}^{p^*} s^*_l\, g(z^*_l) + \sqrt{D}\, \xi, \qquad
              \ell = \tfrac12 (f - y)^2 .

    **Order parameters** are normalised by N: :math:`\rho_{kl} = w_k \cdot w^*_l / N`, :math:`Q = W W^\top / N`,
    :math:`T = W^* W^{*\top} / N`.  **Time** is :math:`\alpha` = samples / N.  **The loss** keeps the factor 1/2 and
    leaves out the noise's own D/2.

    **The learning rate**: one step is :math:`\Delta w_k = -\eta\, \partial \ell / \partial w_k`.  With
    ``lr_scaling="mean_field"`` (the default) :math:`\eta = p\,\mathrm{lr}`, which cancels the 1/p of the output, and
    lr is the :math:`\gamma` of the formulas; with ``"standard"`` :math:`\eta = \mathrm{lr}`, and then all rates carry a
    factor 1/p, so that statements such as "the width only changes prefactors" are false.

    Parameters
    ----------
    p : int
        Width of the student, 1 to 512.
    p_star : int
        Width of the teacher, 1 to 512.
    activation : {"square", "erf"} or SmoothActivation, default "square"
        The function g.  "square": z^2.  "erf": erf(z / sqrt 2).  Anything smooth: a `SmoothActivation`.
    T : array_like of shape (p_star, p_star), optional
        Gram matrix of the teacher, positive semidefinite; the identity by default.  For a random teacher take the
        matrix it realises: its eigenvalues are split by O(1/sqrt N), which matters over times of order log N.
    noise : float, default 0.0
        Variance D >= 0 of the label noise.
    lr : float, default 0.05
        Learning rate, > 0; see above for its scaling.
    lr_scaling : {"mean_field", "standard"}
        See above.
    constraint : {None, "norm"}
        "norm": after each step every student vector is scaled back to its initial norm.
    second_layer : array_like of shape (p,), optional
        Fixed factors s_k, of any sign; ones by default.  The soft committee machine without 1/p is ``np.full(p, p)``.
    teacher_second_layer : array_like of shape (p_star,), optional
        Likewise for the teacher.

    Raises
    ------
    InputError
        If a value is out of range or T isn't positive semidefinite.
    InputTypeError
        If an argument has the wrong type.

    Notes
    -----
    The equations are exact for N -> infinity at fixed p, p_star and alpha; at finite N the order parameters of SGD
    deviate by O(1/sqrt N).  Second layers are fixed: training them isn't implemented.

    References
    ----------
    Escape dynamics and implicit bias of one-pass SGD in overparameterized quadratic networks, arXiv:2604.03068.
    D. Saad and S. A. Solla, On-line learning in soft committee machines, Phys. Rev. E 52 (1995) 4225-4243.

    Examples
    --------
    Zero loss is reached where Q / p and T / p_star agree; here by two students with the teacher's vector each.

    >>> import numpy as np
    >>> model = TeacherStudent(2, 1)
    >>> float(model.loss(np.ones((2, 1)), np.ones((2, 2))))
    0.0
    """

    def __init__(
        self,
        p: int,
        p_star: int,
        activation: str | SmoothActivation = "square",
        *,
        T: Any = None,
        noise: float = 0.0,
        lr: float = 0.05,
        lr_scaling: str = "mean_field",
        constraint: str | None = None,
        second_layer: Any = None,
        teacher_second_layer: Any = None,
    ) -> None:
        function: Any = activation
        if isinstance(activation, str):
            function = {"square": Square, "erf": Erf}[check_option(activation, "activation", ("square", "erf"))]()
        elif not isinstance(activation, SmoothActivation):
            raise InputTypeError(
                f"activation must be 'square', 'erf' or a SmoothActivation, got {type(activation).__name__}"
            )
        super().__init__(
            make_parameters(
                p,
                p_star,
                function,
                T=T,
                noise=noise,
                lr=lr,
                lr_scaling=lr_scaling,
                constraint=constraint,
                layers=(second_layer, teacher_second_layer),
            )
        )
        self.lr, self.lr_scaling = float(lr), lr_scaling

    def _lr_per_gamma(self) -> float:
        """Return lr / gamma: p in standard scaling."""
        return 1.0 if self.lr_scaling == "mean_field" else float(self.parameters.p)

    def loss(self, rho: Any, Q: Any) -> FloatArray:
        """Return the population loss E[(f - y)^2] / 2 without the label noise's D / 2.

        For the square it is (tr Q/p - tr T/p*)^2/2 + tr Q^2/p^2 + tr T^2/p*^2 - 2 tr(rho rho')/(p p*).

        Parameters
        ----------
        rho : array_like of shape (..., p, p_star)
            Overlaps of student and teacher.
        Q : array_like of shape (..., p, p)
            Overlaps of the students.

        Returns
        -------
        ndarray of shape (...)
            The loss.

        Raises
        ------
        InputError
            If shapes don't fit or [[Q, rho], [rho', T]] isn't positive semidefinite within 1e-10.
        """
        sigma = joint_covariance(self.parameters, rho, Q)
        return np.asarray(0.5 * self.parameters.activation.squared_error(sigma, self.parameters.output))

    def rhs(
        self, rho: Any, Q: Any, *, second_order: bool = True, finite_N: int | None = None
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
            Return N times the exact mean change in one step of SGD in N dimensions instead (square only).

        Returns
        -------
        d_rho : ndarray of shape (..., p, p_star)
            Velocity of rho.
        d_Q : ndarray of shape (..., p, p)
            Velocity of Q.

        Raises
        ------
        InputError
            If shapes don't fit, the matrices aren't realisable, or `finite_N` isn't available.

        Notes
        -----
        O((p + p_star)^2 p) operations for the square, O(p^2 (p + p_star)^2) for erf.
        """
        size = self._finite_size(finite_N, second_order)
        sigma = joint_covariance(self.parameters, rho, Q)
        p = self.parameters.p
        return velocity(
            self.parameters, sigma[..., :p, p:], sigma[..., :p, :p], second_order=second_order, n_inputs=size
        )

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
            Use the exact one-step mean at this N in the second-order term (square only).
        rtol : float, default 1e-12
            Relative tolerance of the integrator for each member of the batch, at least 2.5e-14 times the root of the
            batch size (below, 2.5e-14 is used).
        atol : float, optional
            Absolute tolerance.  Default: rtol times the largest initial entry of rho, and of Q, member by member; an
            absolute tolerance not far below rho0 would decide the escape from the plateau.

        Returns
        -------
        Trajectory
            With `success` and a status for each member.  Divergence is reported as ``FlowStatus.DIVERGED`` with the
            time; the numbers after it are NaN.

        Raises
        ------
        InputError
            If shapes don't fit, the start isn't realisable, or a number is out of range.

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
        p, lead = self.parameters.p, sigma.shape[:-2]
        if sigma.size == 0:
            raise InputError("rho0 must hold at least one start")
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
        )
        if not lead:
            return replace(
                run,
                rho=run.rho[0],
                Q=run.Q[0],
                loss=run.loss[0],
                status=run.status.reshape(()),
                end=run.end.reshape(()),
            )
        return replace(
            run,
            rho=run.rho.reshape(*lead, *run.rho.shape[1:]),
            Q=run.Q.reshape(*lead, *run.Q.shape[1:]),
            loss=run.loss.reshape(*lead, times.size),
            status=run.status.reshape(lead),
            end=run.end.reshape(lead),
        )

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
