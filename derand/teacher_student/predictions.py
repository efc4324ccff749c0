"""Closed-form predictions of the quadratic model along a run, as methods."""

from __future__ import annotations

from typing import Any

from derand._utils.rng import RNGLike
from derand._utils.validation import check_scalar
from derand.exceptions import InputError
from derand.teacher_student.branch import plateau_limits
from derand.teacher_student.escape import EscapeTime, Start, find_escape_time
from derand.teacher_student.late import NoiseFloor, Tail, best_loss, find_noise_floor, find_tail
from derand.teacher_student.parameters import LARGEST, Parameters
from derand.teacher_student.plateau import CriticalRates, Plateau, critical_rates, find_plateau
from derand.teacher_student.stability import copy_of_teacher, general_noise_floor, linearise
from derand.teacher_student.stationary import NumericalPlateau, find_numerical_plateau

__all__ = ["QuadraticPredictions"]


class QuadraticPredictions:
    r"""Predictions that hold for the square, second layers of ones and no constraint.

    Below, gamma is the mean-field learning rate eta / p, :math:`\tau = \mathrm{tr}\,T/p^*`,
    :math:`\tau_2 = \mathrm{tr}\,T^2/p^{*2}`, and t_l are the eigenvalues of T, largest first.

    Parameters
    ----------
    parameters : Parameters
        The checked setting.
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def plateau(self, *, second_order: bool = True, q0: float = 1.0) -> Plateau | NumericalPlateau:
        r"""Return the plateau rho = 0, Q = q I and the rates at which it is left.

        q = p (x + tau) / (p + 2), where x is the smaller root of
        :math:`x = \gamma[\frac{p+4}{p+2} x^2 + \frac{4\tau}{p+2} x + \frac{2\tau^2}{p+2} + 2\tau_2 + D]`, and
        :math:`\Lambda_l = 2\gamma (2 t_l/p^* - x)`.  For gradient flow x = 0: the rates don't depend on p, and the
        loss is tau_2 + tau^2 / (p + 2).

        For other activations, second layers or a norm constraint the fixed point that random weights reach (rho = 0,
        Q = q0 I for N to infinity) is found numerically, with its residual and the eigenvalues of the linearised
        equations.  For erf, K = p = p* and soft committees it is Saad and Solla's symmetric plateau.  With a
        `SmoothActivation` every right-hand side is a set of integrals, of which the search does most coarsely.

        Parameters
        ----------
        second_order : bool, default True
            False for gradient flow, whose plateau differs (it is a critical point of the loss; SGD's isn't).
        q0 : float, default 1.0
            Squared norm at the start of the numerical search; without effect on the closed form.

        Returns
        -------
        Plateau or NumericalPlateau
            Norm, loss and escape rates; the closed form has the edge of the basin of attraction among isotropic norms,
            the numerical one the overlaps, the residual and an error estimate of the rates.

        Raises
        ------
        InputError
            If lr is beyond the largest one with a plateau, q0 or T is too large, or the second layer is trained.
        NonConvergenceError
            If the numerical search doesn't settle.

        Examples
        --------
        >>> from derand.teacher_student import TeacherStudent
        >>> spot = TeacherStudent(4, 2, lr=0.05).plateau(second_order=False)
        >>> round(spot.q, 12), round(spot.loss, 12)  # 4/6 and 1/2 + 1/6
        (0.666666666667, 0.666666666667)
        """
        if self.parameters.is_plain:
            return find_plateau(self.parameters, second_order=second_order)
        return find_numerical_plateau(self.parameters, second_order=second_order, q0=q0)

    def critical_lr(self, *, solution: Any = None, q0: float = 1.0) -> CriticalRates:
        r"""Return the learning rates, in the model's own scaling, where the behaviour changes.

        For the plain quadratic model, plateau:
        :math:`1/(\frac{4\tau}{p+2} + 2 \sqrt{\frac{p+4}{p+2}(\frac{2\tau^2}{p+2} + 2\tau_2 + D)})`; stable:
        the root of :math:`\frac{2\gamma}{p^*} \sum_l t_l / (1 - 4\gamma t_l/p^*) = 1`, for T = I this is
        p*/(2 (p* + 2)).  Between the two, the flow ends at a partly informed stationary loss.

        For every other model, the fixed point that random weights reach (see `plateau`) is followed as lr grows, by
        Newton's method along the branch, up to the fold where it ceases to exist: `plateau`.  `escape` is where its
        last growing rate vanishes.  `stable` follows from the equations linearised at a solution of zero loss.  The
        second moments C of deviations orthogonal to all weights obey

        .. math:: \dot C = -\eta (HC + CH) + \eta^2 K[C], \quad H_{kl} = a_k a_l E[g'_k g'_l], \quad
                  K[C]_{kl} = a_k a_l \sum_{mn} a_m a_n E[g'_k g'_l g'_m g'_n]\, C_{mn},

        and the largest stable :math:`\eta` is one over the spectral radius of :math:`(H \cdot + \cdot H)^{-1} K`.  The
        four-point averages are closed for the square and erf, an integral over an interval for ReLU, and a quadrature
        for smooth functions.  Deviations within the span of the weights decay for any rate (N to infinity), and so do
        those of a trained second layer.

        Parameters
        ----------
        solution : tuple of array_like, optional
            (rho, Q) of a solution of zero loss.  Default: each teacher vector copied by p / p_star students (scaled
            where the second layers ask for it and the activation allows it).  Other solutions may have other limits.
            The plain quadratic model's limit is the same for all, and takes none.
        q0 : float, default 1.0
            Squared norm of the students at the start, which chooses the plateau; without effect on the closed forms.

        Returns
        -------
        CriticalRates
            In lr, not gamma.

        Raises
        ------
        InputError
            If T = 0, or there is no such solution, or p is above 32 outside the plain quadratic model.

        Notes
        -----
        Limits that are followed take about a second for erf and the square, several for ReLU, growing as
        p^3 (p + p_star)^2; they are exact to about 1e-8.  Where the norms grow without bound up to the limit (erf with
        much label noise), it is where they pass a million times those of the start.  Deterministic.

        Examples
        --------
        >>> from derand.teacher_student import TeacherStudent
        >>> rates = TeacherStudent(4, 2).critical_lr()
        >>> round(rates.plateau, 12), rates.escape, round(rates.stable, 12)
        (0.3, None, 0.25)

        One ReLU learns another: H = 1/2, and K = 1/2 gives eta = 2 H / K.

        >>> round(TeacherStudent(1, 1, "relu").critical_lr().stable, 12)
        2.0
        """
        # gamma = eta / p, and eta is proportional to lr
        factor = self._lr_per_gamma()
        if not self.parameters.is_plain:
            stable = linearise(self.parameters, solution).stable
            limits = plateau_limits(
                self.parameters, stable, check_scalar(q0, "q0", low=0.0, high=LARGEST, low_open=True)
            )
            plateau, escape = (None if eta is None else factor * eta / self.parameters.p for eta in limits)
            return CriticalRates(plateau, escape, factor * stable / self.parameters.p)
        if solution is not None:
            raise InputError("solution must be None for the plain quadratic model, whose limit doesn't depend on it")
        found = critical_rates(self.parameters)
        assert found.plateau is not None
        escape = None if found.escape is None else factor * found.escape
        return CriticalRates(factor * found.plateau, escape, factor * found.stable)

    def _lr_per_gamma(self) -> float:
        """Return lr / gamma: 1 in mean-field scaling."""
        return 1.0

    def escape_time(
        self,
        N: float,
        *,
        q0: float = 1.0,
        n_starts: int | None = None,
        second_order: bool = True,
        fluctuations: bool = False,
        rng: RNGLike = None,
    ) -> EscapeTime:
        r"""Return the time to get half-way down from the plateau, for random weights in N dimensions.

        :math:`\alpha = [c - \log \mathrm{tr}(\rho_0 \rho_0^\top)]/(2\Lambda)` with the constant c computed from the
        equations of motion.  The start is Q = q0 I with overlaps :math:`\rho_0` of variance q0 t / N: random weights of
        squared norm q0 N.  For gradient flow q0 doesn't matter, since rho / sqrt(Q) grows at the same rate while the
        norms settle.

        For other activations and second layers Lambda is the largest eigenvalue at the numerical `plateau`, and
        half-way down means half its loss, so a solution of zero loss must exist.  A plateau on which the students
        already overlap with the teacher, as for erf, is left along differences between them; where it is approached
        more slowly than it is left, c grows with log N until that is very large.

        Parameters
        ----------
        N : float
            Input dimension; only its logarithm matters.
        q0 : float, default 1.0
            Squared norm of the initial weight vectors divided by N, > 0.
        n_starts : int, optional
            Average over that many random starts, at least 2.  Default: one typical start, whose overlaps are
            isotropic and have the mean square size.
        second_order : bool, default True
            False for gradient flow.
        fluctuations : bool, default False
            Multiply the variances of the overlaps with the teacher's directions by 1 + kappa_l, for the noise that real
            SGD gathers until it leaves the plateau; see `overlap_law`.  It doesn't vanish as N grows.  For the plain
            quadratic model only.
        rng : None, int or Generator
            For the random starts.

        Returns
        -------
        EscapeTime
            Time, its standard error over the starts, rate and constant.

        Raises
        ------
        InputError
            If there is no plateau, it isn't left or isn't reached from q0, or an argument is out of range; outside the
            plain quadratic model also if copies of the teacher's vectors are no solution, the norms are constrained,
            or the second layer is trained.
        NonConvergenceError
            If a numerical plateau wasn't found.
        BudgetExceededError
            If p (p + p_star) is above 20,000.
        """
        start = Start(N, q0, n_starts)
        return find_escape_time(self.parameters, start, second_order=second_order, fluctuations=fluctuations, rng=rng)

    def noise_floor(self, *, solution: Any = None) -> NoiseFloor:
        r"""Return the stationary loss under label noise, and its estimate of first order in the noise.

        For the plain quadratic model the estimate is (D/2) h / (1 - h), h = (2 gamma / p*) sum_l t_l / (1 - 4 gamma t_l
        / p*); for T = I this is gamma D / (1 - 2 gamma (p* + 2)/p*).  It is exact for p = p*.  For p > p* the spare
        neurons keep a norm of order D as well.

        For other models it is :math:`\frac12 \mathrm{tr}\, HC` with the stationary C of
        :math:`0 = -\eta (HC + CH) + \eta^2 (K[C] + D H)`, see `critical_lr`, and the loss is that of the fixed point
        of the full equations found from there.

        Parameters
        ----------
        solution : tuple of array_like, optional
            (rho, Q) of the solution of zero loss, as for `critical_lr`.

        Returns
        -------
        NoiseFloor
            Loss at the stationary point (solved for, residual attached) and the estimate.

        Raises
        ------
        InputError
            If p < p*, T is singular, lr leaves no stable solution; for other models also if the second layer is
            trained, the norms are constrained, or students are redundant (p > p*).
        NonConvergenceError
            If the stationary point wasn't found.

        Examples
        --------
        >>> from derand.teacher_student import TeacherStudent
        >>> floor = TeacherStudent(1, 1, "relu", lr=0.1, noise=0.01).noise_floor()
        >>> round(floor.estimate, 9)  # (D/4) x / (1 - x), x = lr / 2
        0.000131579
        """
        if not self.parameters.is_plain:
            return general_noise_floor(self.parameters, solution)
        if solution is not None:
            raise InputError("solution must be None for the plain quadratic model, whose floor doesn't depend on it")
        return find_noise_floor(self.parameters)

    def tail(self) -> Tail:
        """Return the prefactors of the algebraic end of training, loss ~ A / alpha^2, for p > p* without noise.

        A = (p - p*)(p* + 2) / (64 gamma^2 (p + 2) (1 - h)), for any T; the spare neurons' squared norms shrink like
        p (p* + 2) / (8 gamma (p + 2) alpha).  For p = p* the end is exponential instead.

        Returns
        -------
        Tail
            The two prefactors.

        Raises
        ------
        InputError
            If p <= p*, there is label noise, T is singular, or lr leaves no stable solution.
        """
        return find_tail(self.parameters)

    def best_loss(self) -> float:
        """Return the smallest loss of any student: zero unless p < rank T.

        For other models it is zero where copies of the teacher's vectors are a solution, and unknown otherwise.  Water
        filling for the plain quadratic model: with c_l = t_l / p*, the student takes the p strongest directions, each
        raised by s = (sum of the dropped c_l) / (p + 2).  The loss is (p s - sum c_l)^2 / 2 + p s^2 + sum c_l^2 over
        the dropped ones.

        Returns
        -------
        float
            The loss.

        Raises
        ------
        InputError
            If the model isn't the plain quadratic one and has no such solution, or its norms are constrained.

        Examples
        --------
        >>> from derand.teacher_student import TeacherStudent
        >>> TeacherStudent(2, 4).best_loss()  # s = 1/8: 1/32 + 1/32 + 1/8
        0.1875
        """
        if self.parameters.is_plain:
            return best_loss(self.parameters)
        if self.parameters.constraint is not None:
            raise InputError("the smallest loss with constrained norms has no closed form")
        copy_of_teacher(self.parameters)  # raises where there is none
        return 0.0
