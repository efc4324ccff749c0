"""Solutions of the quadratic model, which of them is selected, and the Hessian, as methods."""

from __future__ import annotations

from typing import Any

from derand._utils.rng import RNGLike
from derand._utils.validation import FloatArray
from derand.exceptions import InputError
from derand.hessian import HessianOperator
from derand.teacher_student.frame import OverlapLaw, SelectedSolution, find_overlap_law, select_solution
from derand.teacher_student.late import solution_dimension
from derand.teacher_student.manifold import closest_solution, sample_solutions, solution_distance
from derand.teacher_student.parameters import Parameters, joint_covariance
from derand.teacher_student.spectrum import HessianSpectrum, hessian_operator, hessian_spectrum

__all__ = ["SolutionGeometry"]


class SolutionGeometry:
    """The manifold of zero-loss solutions, the solution that is selected, and the curvature of the loss.

    All of it holds for the square; the solutions need second layers of ones and no constraint as well.

    Parameters
    ----------
    parameters : Parameters
        The checked setting.
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

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

    def random_solutions(self, n: int, *, rng: RNGLike = None) -> tuple[FloatArray, FloatArray]:
        r"""Return order parameters of random solutions of zero loss, uniform on the manifold.

        :math:`W = \sqrt{p/p^*}\, R\, W^*` with R of orthonormal columns, so that :math:`\rho = \sqrt{p/p^*}\, R T` and
        :math:`Q = (p/p^*)\, R T R^\top`; R is uniform (Haar).

        Parameters
        ----------
        n : int
            How many.
        rng : None, int or Generator
            Source of randomness.

        Returns
        -------
        rho : ndarray of shape (n, p, p_star)
            Overlaps.
        Q : ndarray of shape (n, p, p)
            Own overlaps.

        Raises
        ------
        InputError
            If p < p*, or the model isn't the plain quadratic one.

        Examples
        --------
        >>> from derand.teacher_student import TeacherStudent
        >>> model = TeacherStudent(4, 2)
        >>> rho, Q = model.random_solutions(3, rng=0)
        >>> bool((abs(model.loss(rho, Q)) < 1e-14).all())
        True
        """
        return sample_solutions(self.parameters, n, rng)

    def closest_solution(self, rho0: Any) -> tuple[FloatArray, FloatArray]:
        """Return the order parameters of the zero-loss solution closest to given weights (Procrustes).

        It is sqrt(p/p*) R W* with R = polar(rho0), for any T and Q0.

        Parameters
        ----------
        rho0 : array_like of shape (..., p, p_star)
            Overlaps of the weights, of full column rank.

        Returns
        -------
        rho : ndarray of shape (..., p, p_star)
            Overlaps of the solution with the teacher.
        Q : ndarray of shape (..., p, p)
            Own overlaps.

        Raises
        ------
        InputError
            If rho0 has another shape or is rank deficient, or the model isn't the plain quadratic one.
        """
        return closest_solution(self.parameters, rho0)

    def solution_distance(self, rho0: Any, Q0: Any, rho: Any) -> FloatArray:
        r"""Return the distances :math:`\|W - W_0\| / \sqrt N` of zero-loss solutions W from weights W_0.

        The square is
        :math:`\mathrm{tr}\, Q_0 + (p/p^*)\, \mathrm{tr}\, T - 2\sqrt{p/p^*}\, \mathrm{tr}\, R\rho_0^\top` with
        :math:`R = \sqrt{p^*/p}\, \rho T^{-1}`.

        Parameters
        ----------
        rho0 : array_like of shape (p, p_star)
            Overlaps of the weights W_0.
        Q0 : array_like of shape (p, p)
            Own overlaps of W_0.
        rho : array_like of shape (..., p, p_star)
            Overlaps of the solutions, as from `random_solutions`, `closest_solution` or `selected_solution`.

        Returns
        -------
        ndarray of shape (...)
            The distances.

        Raises
        ------
        InputError
            If shapes don't fit, T is singular, a rho isn't that of a solution within 1e-6, or the model isn't the plain
            quadratic one.
        """
        sigma = joint_covariance(self.parameters, rho0, Q0)
        if sigma.ndim != 2:
            raise InputError("rho0 and Q0 must be single matrices")
        return solution_distance(self.parameters, sigma, rho)

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

    def overlap_law(
        self, *, q0: float = 1.0, N: float | None = None, n_samples: int | None = None, rng: RNGLike = None
    ) -> OverlapLaw:
        """Return the mean overlap of the selected frame with the initial one, for SGD from random weights.

        Until it leaves the plateau SGD adds to the overlaps with each principal direction of the teacher a noise whose
        variance, brought back to the start by the growth of rho, is kappa times that of the start, whatever N is.  So
        for T = t I, S_end ~ polar(rho0 + sqrt(kappa) noise), and "SGD selects the closest solution" holds only as
        lr -> 0.  kappa follows the norms from q0 to the plateau.

        For teachers of different norms the equations of motion themselves turn S while the strongest direction grows
        first, the more the larger N is: there the random starts, with the noise added, are integrated to their ends.

        Parameters
        ----------
        q0 : float, default 1.0
            Squared norm of the initial weight vectors divided by N, > 0.
        N : float, optional
            Input dimension, needed where T isn't a multiple of the identity.
        n_samples : int, optional
            Random starts to average over; by default 20,000 for T = t I, where each is an algebraic formula, fewer
            (at least 10) where p p_star^2 is above 1,000, and 400 where each is an integration.
        rng : None, int or Generator
            Source of randomness.

        Returns
        -------
        OverlapLaw
            Mean of tr(S_0' S_end) / p_star, its standard error, and kappa.

        Raises
        ------
        InputError
            If p < p*, T is singular, N is missing where it is needed, the plateau isn't there, or some direction
            doesn't grow on it.
        NonConvergenceError
            If a frame didn't settle.
        BudgetExceededError
            If the starts would take more than 4 GB.
        """
        return find_overlap_law(self.parameters, q0, N, n_samples, rng)

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
