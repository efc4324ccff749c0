"""Closed-form predictions of the quadratic model, as methods."""

from __future__ import annotations

from typing import Any

from derand._utils.rng import RNGLike
from derand.exceptions import InputError
from derand.hessian import HessianOperator
from derand.teacher_student.escape import EscapeTime, find_escape_time
from derand.teacher_student.frame import OverlapLaw, SelectedSolution, find_overlap_law, select_solution
from derand.teacher_student.late import NoiseFloor, Tail, best_loss, find_noise_floor, find_tail, solution_dimension
from derand.teacher_student.parameters import Parameters, joint_covariance
from derand.teacher_student.plateau import CriticalRates, Plateau, critical_rates, find_plateau
from derand.teacher_student.spectrum import HessianSpectrum, hessian_operator, hessian_spectrum

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

    def plateau(self, *, second_order: bool = True) -> Plateau:
        r"""Return the plateau rho = 0, Q = q I and the rates at which it is left.

        q = p (x + tau) / (p + 2), where x is the smaller root of
        :math:`x = \gamma[\frac{p+4}{p+2} x^2 + \frac{4\tau}{p+2} x + \frac{2\tau^2}{p+2} + 2\tau_2 + D]`, and
        :math:`\Lambda_l = 2\gamma (2 t_l/p^* - x)`.  For gradient flow x = 0: the rates don't depend on p, and the
        loss is tau_2 + tau^2 / (p + 2).

        Parameters
        ----------
        second_order : bool, default True
            False for gradient flow, whose plateau differs (it is a critical point of the loss; SGD's isn't).

        Returns
        -------
        Plateau
            Norm, loss, escape rates, and the edge of the basin of attraction among isotropic norms.

        Raises
        ------
        InputError
            If lr is beyond the largest one with a plateau, or the model isn't the plain quadratic one.

        Examples
        --------
        >>> from derand.teacher_student import TeacherStudent
        >>> spot = TeacherStudent(4, 2, lr=0.05).plateau(second_order=False)
        >>> round(spot.q, 12), round(spot.loss, 12)  # 4/6 and 1/2 + 1/6
        (0.666666666667, 0.666666666667)
        """
        return find_plateau(self.parameters, second_order=second_order)

    def critical_lr(self) -> CriticalRates:
        r"""Return the learning rates, in the model's own scaling, where the behaviour changes.

        plateau: :math:`1/(\frac{4\tau}{p+2} + 2 \sqrt{\frac{p+4}{p+2}(\frac{2\tau^2}{p+2} + 2\tau_2 + D)})`; stable:
        the root of :math:`\frac{2\gamma}{p^*} \sum_l t_l / (1 - 4\gamma t_l/p^*) = 1`, for T = I this is
        p*/(2 (p* + 2)).  Between the two, the flow ends at a partly informed stationary loss.

        Returns
        -------
        CriticalRates
            In lr, not gamma.

        Raises
        ------
        InputError
            If the model isn't the plain quadratic one, or T = 0.

        Examples
        --------
        >>> from derand.teacher_student import TeacherStudent
        >>> rates = TeacherStudent(4, 2).critical_lr()
        >>> round(rates.plateau, 12), rates.escape, round(rates.stable, 12)
        (0.3, None, 0.25)
        """
        found = critical_rates(self.parameters)
        # gamma = eta / p, and eta is proportional to lr
        factor = self._lr_per_gamma()
        escape = None if found.escape is None else factor * found.escape
        return CriticalRates(factor * found.plateau, escape, factor * found.stable)

    def _lr_per_gamma(self) -> float:
        """Return lr / gamma: 1 in mean-field scaling."""
        return 1.0

    def escape_time(
        self,
        N: float,
        *,
        n_starts: int | None = None,
        second_order: bool = True,
        fluctuations: bool = False,
        rng: RNGLike = None,
    ) -> EscapeTime:
        r"""Return the time to get half-way down from the plateau, for random weights in N dimensions.

        :math:`\alpha = [c - \log \mathrm{tr}(\rho_0 \rho_0^\top)]/(2\Lambda)` with the constant c computed from the
        equations of motion; the start is the plateau with overlaps :math:`\rho_0` of variance q t / N.  For gradient
        flow a start with other norms takes as long, since rho / sqrt(Q) grows at the same rate while the norms settle.

        Parameters
        ----------
        N : float
            Input dimension; only its logarithm matters.
        n_starts : int, optional
            Average over that many random starts, at least 2.  Default: one typical start, whose overlaps are
            isotropic and have the mean square size.
        second_order : bool, default True
            False for gradient flow.
        fluctuations : bool, default False
            Multiply the variance of the overlaps by 1 + kappa, for the noise that real SGD gathers on the plateau
            (T a multiple of the identity only).  It doesn't vanish as N grows.
        rng : None, int or Generator
            For the random starts.

        Returns
        -------
        EscapeTime
            Time, its standard error over the starts, rate and constant.

        Raises
        ------
        InputError
            If there is no plateau or it isn't left, or an argument is out of range.
        """
        return find_escape_time(
            self.parameters, N, n_starts=n_starts, second_order=second_order, fluctuations=fluctuations, rng=rng
        )

    def noise_floor(self) -> NoiseFloor:
        """Return the stationary loss under label noise, and the estimate (D/2) h / (1 - h).

        h = (2 gamma / p*) sum_l t_l / (1 - 4 gamma t_l / p*); for T = I the estimate is
        gamma D / (1 - 2 gamma (p* + 2)/p*).
        It is exact for p = p*.  For p > p* the spare neurons keep a norm of order D as well.

        Returns
        -------
        NoiseFloor
            Loss at the stationary point (solved for, residual attached) and the estimate.

        Raises
        ------
        InputError
            If p < p*, T is singular, or lr leaves no stable solution.
        NonConvergenceError
            If the stationary point wasn't found.
        """
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

        Water filling: with c_l = t_l / p*, the student takes the p strongest directions, each raised by
        s = (sum of the dropped c_l) / (p + 2).  The loss is (p s - sum c_l)^2 / 2 + p s^2 + sum c_l^2 over the
        dropped ones.

        Returns
        -------
        float
            The loss.

        Raises
        ------
        InputError
            If the model isn't the plain quadratic one.

        Examples
        --------
        >>> from derand.teacher_student import TeacherStudent
        >>> TeacherStudent(2, 4).best_loss()  # s = 1/8: 1/32 + 1/32 + 1/8
        0.1875
        """
        return best_loss(self.parameters)

    def solution_manifold_dimension(self) -> int:
        """Return p r - r (r + 1) / 2, r = rank T: dimension of the set of solutions of zero loss.

        Returns
        -------
        int
            The dimension; it doesn't depend on N.

        Raises
        ------
        InputError
            If p < r, or the model isn't the plain quadratic one.
        """
        return solution_dimension(self.parameters)

    def selected_solution(self, rho0: Any, Q0: Any, *, second_order: bool = True) -> SelectedSolution:
        """Return the zero-loss solution at which the equations of motion end.

        Where T is a multiple of the identity and Q0 commutes with rho0 rho0', the frame S is conserved and the end
        is the solution closest to the start (Procrustes).  In all other cases the equations are integrated.

        This is about the equations of motion.  Real SGD from random weights follows them to the closest solution only
        for small learning rates or from a warm start: see `overlap_law`.

        Parameters
        ----------
        rho0 : array_like of shape (p, p_star)
            Initial overlaps, of full column rank.
        Q0 : array_like of shape (p, p)
            Initial overlaps of the students.
        second_order : bool, default True
            False for gradient flow.

        Returns
        -------
        SelectedSolution
            Frame and order parameters, whether S is conserved, and how far it moved.

        Raises
        ------
        InputError
            If shapes don't fit, rho0 is rank deficient, or the solutions aren't stable at this lr and noise.
        NonConvergenceError
            If the integration didn't settle.
        """
        sigma = joint_covariance(self.parameters, rho0, Q0)
        if sigma.ndim != 2:
            raise InputError("rho0 and Q0 must be single matrices")
        p = self.parameters.p
        return select_solution(self.parameters, sigma[:p, p:], sigma[:p, :p], second_order=second_order)

    def overlap_law(self, *, n_samples: int = 20_000, rng: RNGLike = None) -> OverlapLaw:
        """Return the mean overlap of the selected frame with the initial one, for SGD from random weights.

        On the plateau SGD adds to rho a noise of variance kappa times that of the start, whatever N is; so
        S_end ~ polar(rho0 + sqrt(kappa) noise), and "SGD selects the closest solution" holds only as lr -> 0.

        Parameters
        ----------
        n_samples : int, default 20_000
            Random starts to average over.
        rng : None, int or Generator
            Source of randomness.

        Returns
        -------
        OverlapLaw
            Mean of tr(S_0' S_end) / p_star, its standard error, and kappa.

        Raises
        ------
        InputError
            If p < p*, T isn't a multiple of the identity, or the plateau isn't there or isn't left.
        """
        return find_overlap_law(self.parameters, n_samples, rng)

    def hessian_spectrum(self, rho: Any, Q: Any, N: int) -> HessianSpectrum:
        r"""Return all eigenvalues of the Hessian of N times the loss in the weights, with exact multiplicities.

        With weights scaled by 1/sqrt(N), A = diag(a), M = W'AW - W*'bW*, the Hessian is
        :math:`d \mapsto 2A[\mathrm{tr}(M)\, d + 2 d M] + 4AW\langle AW, d\rangle + 4AWd^\top AW + 4AWW^\top A d`.
        It maps directions inside the span of W and W* to themselves (p r of them, r = rank of [[Q, rho], [rho', T]]),
        and acts on the others by a p x p matrix: p eigenvalues, each N - r times.

        Parameters
        ----------
        rho : array_like of shape (p, p_star)
            Overlaps.
        Q : array_like of shape (p, p)
            Overlaps of the students.
        N : int
            Input dimension, at least r; any size.

        Returns
        -------
        HessianSpectrum
            Values and multiplicities, with counts of negative, zero and positive ones.

        Raises
        ------
        InputError
            If shapes don't fit, the matrices aren't realisable, the activation isn't the square, or N < r.

        Notes
        -----
        O((p r)^3) operations for any N.  Multiply by 1/N for the Hessian of the loss itself.  With a norm constraint
        this is the Hessian in the weights without the constraint.
        """
        self._require_square()
        sigma = joint_covariance(self.parameters, rho, Q)
        if sigma.ndim != 2:
            raise InputError("rho and Q must be single matrices")
        return hessian_spectrum(self.parameters, sigma, N)

    def hessian_operator(self, W: Any, W_star: Any) -> HessianOperator:
        """Return the Hessian of N times the loss at weights W as a linear operator of order p N.

        Parameters
        ----------
        W : array_like of shape (p, N)
            Student weights, not scaled: norms about sqrt(N).
        W_star : array_like of shape (p_star, N)
            Teacher weights with W_star W_star' / N = T.

        Returns
        -------
        HessianOperator
            Exact products, O(p (p + p_star) N) operations each; vectors are W's rows one after the other.

        Raises
        ------
        InputError
            If shapes don't fit, W_star doesn't realise T, or the activation isn't the square.
        """
        self._require_square()
        return hessian_operator(self.parameters, W, W_star)

    def _require_square(self) -> None:
        """Raise InputError for other activations."""
        if getattr(self.parameters.activation, "name", "") != "square":
            raise InputError("the Hessian has a closed form only for activation='square'")
