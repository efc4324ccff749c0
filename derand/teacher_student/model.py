"""The public face of this package: one teacher-student setting, its predictions and its runs."""

from __future__ import annotations

from typing import Any

from derand._utils.validation import check_option
from derand.exceptions import InputTypeError
from derand.teacher_student.dynamics import Dynamics
from derand.teacher_student.erf import Erf
from derand.teacher_student.geometry import SolutionGeometry
from derand.teacher_student.parameters import make_parameters
from derand.teacher_student.predictions import QuadraticPredictions
from derand.teacher_student.relu import Relu
from derand.teacher_student.smooth import SmoothActivation
from derand.teacher_student.square import Square

__all__ = ["TeacherStudent"]


class TeacherStudent(Dynamics, QuadraticPredictions, SolutionGeometry):
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
    activation : {"square", "erf", "relu"} or SmoothActivation, default "square"
        The function g.  "square": z^2.  "erf": erf(z / sqrt 2), as in Saad and Solla's
        equations (`derand.structure` and `derand.two_step` call erf(z) by this name).  "relu": max(z, 0).  Anything
        smooth: a `SmoothActivation`.
    T : array_like of shape (p_star, p_star), optional
        Gram matrix of the teacher, positive semidefinite; the identity by default.  For a random teacher take the
        matrix it realises: its eigenvalues are split by O(1/sqrt N), which matters over times of order log N.
    noise : float, default 0.0
        Variance D >= 0 of the label noise.
    lr : float, default 0.05
        Learning rate, 1e-100 to 1e150; see above for its scaling.
    lr_scaling : {"mean_field", "standard"}
        See above.
    constraint : {None, "norm"}
        "norm": after each step every student vector is scaled back to its initial norm.
    second_layer : array_like of shape (p,), optional
        Factors s_k, of any sign; ones by default.  The soft committee machine without 1/p is ``np.full(p, p)``.  They
        stay as they are unless `second_layer_lr` is given.
    teacher_second_layer : array_like of shape (p_star,), optional
        Likewise for the teacher, always fixed.
    second_layer_lr : float, optional
        Learning rate > 0 of the student's second layer, which then is trained from the given factors on, by
        :math:`\Delta s_k = -(\eta_s/N)\, \partial \ell / \partial s_k`, so that
        :math:`ds_k/d\alpha = -(\eta_s/p)\, E[(f - y)\, g(z_k)]`.  As for `lr`, :math:`\eta_s` is p times this rate in
        mean-field scaling and the rate itself in standard scaling.  None keeps the second layer fixed.

    Raises
    ------
    InputError
        If a value is out of range or T isn't positive semidefinite.
    InputTypeError
        If an argument has the wrong type.

    Notes
    -----
    The equations are exact for N -> infinity at fixed p, p_star and alpha; at finite N the order parameters of SGD
    deviate by O(1/sqrt N).

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
        second_layer_lr: float | None = None,
    ) -> None:
        function: Any = activation
        if isinstance(activation, str):
            named: dict[str, Any] = {"square": Square, "erf": Erf, "relu": Relu}
            function = named[check_option(activation, "activation", tuple(named))]()
        elif not isinstance(activation, SmoothActivation):
            raise InputTypeError(
                f"activation must be 'square', 'erf', 'relu' or SmoothActivation(function, derivative), got "
                f"{type(activation).__name__}"
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
                second_layer_lr=second_layer_lr,
            )
        )
        self.lr, self.lr_scaling = float(lr), lr_scaling

    def _lr_per_gamma(self) -> float:
        """Return lr / gamma: p in standard scaling."""
        return 1.0 if self.lr_scaling == "mean_field" else float(self.parameters.p)
