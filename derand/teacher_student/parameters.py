"""The setting of a teacher-student problem, checked once and shared by all modules of this package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from derand._utils.validation import FloatArray, check_array, check_int, check_option, check_scalar
from derand.exceptions import InputError, InputTypeError

__all__ = ["Activation", "Moments", "Parameters", "check_gram", "joint_covariance", "make_parameters", "quadratic_form"]

_PSD_SLACK = 1e-10
_MAX_WIDTH = 512
LARGEST = 1e60


class Moments(NamedTuple):
    """Gaussian averages that the equations of motion need; u is the error f - y without label noise.

    Attributes
    ----------
    squared_error : ndarray of shape (...)
        E[u^2].
    drift : ndarray of shape (..., p, p + p_star)
        E[u g'(z_k) z_j] for student k and any field j.
    noise : ndarray of shape (..., p, p)
        E[u^2 g'(z_k) g'(z_k')].
    slope : ndarray of shape (..., p, p)
        E[g'(z_k) g'(z_k')].
    readout : ndarray of shape (..., p)
        E[u g(z_k)], which moves a trained second layer.
    """

    squared_error: FloatArray
    drift: FloatArray
    noise: FloatArray
    slope: FloatArray
    readout: FloatArray


class Activation(Protocol):
    """A function g with the averages of a two-layer network made of it."""

    @property
    def name(self) -> str:
        """Name of the function, "smooth" for one given by the user."""

    @property
    def degrees(self) -> tuple[int, int] | None:
        """Degrees of homogeneity of u^2 g'g' and g'g', or None if g isn't homogeneous."""

    def value(self, z: FloatArray) -> FloatArray:
        """Return g(z)."""

    def derivative(self, z: FloatArray) -> FloatArray:
        """Return g'(z)."""

    def squared_error(self, sigma: FloatArray, c: FloatArray) -> FloatArray:
        """Return E[(sum_i c_i g(z_i))^2], z ~ N(0, sigma), sigma of shape (..., n, n), c of shape (n,) or (..., n)."""

    def moments(self, sigma: FloatArray, c: FloatArray, p: int) -> Moments:
        """Return all averages; the first p fields are the students'."""

    def slope_products(self, Q: FloatArray) -> FloatArray:
        """Return E[g'_k g'_l g'_m g'_n] for fields of covariance Q, shape (p, p, p, p)."""


@dataclass(frozen=True, eq=False)
class Parameters:
    """A checked setting; see `derand.teacher_student.TeacherStudent` for the conventions.

    Attributes
    ----------
    p, p_star : int
        Widths of student and teacher.
    gram : ndarray of shape (p_star, p_star)
        Gram matrix T of the teacher.
    noise : float
        Variance D of the label noise.
    step : float
        Learning rate eta of dw = -eta grad(loss of one sample).
    output : ndarray of shape (p + p_star,)
        Second layers (a, -b) of student and teacher: u = sum_i output_i g(z_i).
    readout_rate : float
        Rate of a trained second layer: ds_k / d alpha = -readout_rate E[u g(z_k)]; 0 for a fixed one.
    is_plain : bool
        Whether a_k = 1/p, b_l = 1/p_star, the activation is the square, there is no constraint and nothing but the
        weights is trained.
    activation : Activation
        The function g.
    constraint : str or None
        "norm" where the rows of the student keep their norms.
    """

    p: int
    p_star: int
    gram: FloatArray
    noise: float
    step: float
    output: FloatArray
    readout_rate: float
    is_plain: bool
    activation: Activation
    constraint: str | None

    @property
    def gamma(self) -> float:
        """Mean-field learning rate eta / p."""
        return self.step / self.p

    @property
    def strengths(self) -> FloatArray:
        """Eigenvalues of T / p_star, largest first; rounding below zero is removed."""
        return np.maximum(np.linalg.eigvalsh(self.gram)[::-1] / self.p_star, 0.0)

    @property
    def is_trained(self) -> bool:
        """Whether the student's second layer is trained."""
        return self.readout_rate > 0.0

    def outputs(self, second_layer: FloatArray) -> FloatArray:
        """Return (a, -b), shape (..., p + p_star), for students' second layers s of shape (..., p)."""
        lead = second_layer.shape[:-1]
        teacher = np.broadcast_to(self.output[self.p :], (*lead, self.p_star))
        return np.concatenate([second_layer / self.p, teacher], axis=-1)

    def require_plain(self, what: str) -> None:
        """Raise InputError unless the closed forms of the quadratic model hold."""
        if not self.is_plain:
            raise InputError(
                f"{what} has a closed form only for activation='square', fixed second layers of ones and no constraint"
            )


def make_parameters(
    p: Any,
    p_star: Any,
    activation: Activation,
    *,
    T: Any,
    noise: Any,
    lr: Any,
    lr_scaling: Any,
    constraint: Any,
    layers: tuple[Any, Any],
    second_layer_lr: Any = None,
) -> Parameters:
    """Return checked parameters; ``layers`` holds the second layers of student and teacher, or None for ones.

    Returns
    -------
    object of class Parameters
        The setting.

    Raises
    ------
    InputError
        If a value is out of range or T isn't a Gram matrix.
    InputTypeError
        If an argument has the wrong type.
    """
    p = check_int(p, "p", low=1, high=_MAX_WIDTH)
    p_star = check_int(p_star, "p_star", low=1, high=_MAX_WIDTH)
    gram = np.eye(p_star) if T is None else check_gram(T, "T", p_star)
    noise = check_scalar(noise, "noise", low=0.0, high=LARGEST)
    # Powers of the rate must neither overflow nor vanish.
    lr = check_scalar(lr, "lr", low=1e-100, high=1e150)
    if not isinstance(lr_scaling, str):
        raise InputTypeError(f"lr_scaling must be 'mean_field' or 'standard', got {type(lr_scaling).__name__}")
    scaling = check_option(lr_scaling, "lr_scaling", ("mean_field", "standard"))
    if constraint is not None:
        if not isinstance(constraint, str):
            raise InputTypeError(f"constraint must be None or 'norm', got {type(constraint).__name__}")
        check_option(constraint, "constraint", ("norm",))
    student, teacher = (
        np.ones(width) if layer is None else check_array(layer, name, shape=(width,))
        for layer, name, width in zip(layers, ("second_layer", "teacher_second_layer"), (p, p_star), strict=True)
    )
    for array, name in ((student, "second_layer"), (teacher, "teacher_second_layer")):
        if np.max(np.abs(array)) > LARGEST:
            raise InputError(f"{name} must not exceed {LARGEST:g}: its powers overflow")
    rate = 0.0
    if second_layer_lr is not None:
        rate = check_scalar(second_layer_lr, "second_layer_lr", low=1e-100, high=1e150) / (
            1.0 if scaling == "mean_field" else p
        )
    is_square = getattr(activation, "name", "") == "square"
    return Parameters(
        p=p,
        p_star=p_star,
        gram=gram,
        noise=noise,
        step=lr * p if scaling == "mean_field" else lr,
        output=np.concatenate([student / p, -teacher / p_star]),
        readout_rate=rate,
        is_plain=is_square
        and constraint is None
        and rate == 0.0
        and bool(np.all(student == 1.0) and np.all(teacher == 1.0)),
        activation=activation,
        constraint=constraint,
    )


def check_gram(value: Any, name: str, size: int) -> FloatArray:
    """Return a symmetric positive semidefinite matrix of the given size, symmetrised."""
    array = check_array(value, name, shape=(size, size))
    scale = max(float(np.max(np.abs(array), initial=0.0)), np.finfo(float).tiny)
    if scale > LARGEST or np.finfo(float).tiny < scale < 1.0 / LARGEST:
        raise InputError(
            f"{name} must be zero or have a largest entry between {1.0 / LARGEST:g} and {LARGEST:g}, got {scale:.3g}: "
            "the equations take its powers"
        )
    if np.max(np.abs(array - array.T), initial=0.0) > _PSD_SLACK * scale:
        raise InputError(f"{name} must be symmetric")
    array = 0.5 * (array + array.T)
    lowest = float(np.linalg.eigvalsh(array)[0])
    if lowest < -_PSD_SLACK * scale:
        raise InputError(
            f"{name} must be positive semidefinite (a Gram matrix), its smallest eigenvalue is {lowest:.3g}"
        )
    return array


def joint_covariance(parameters: Parameters, rho: Any, Q: Any) -> FloatArray:
    """Return Sigma = [[Q, rho], [rho', T]] of shape (..., n, n) after checking that it is a covariance.

    Returns
    -------
    ndarray of shape (..., p + p_star, p + p_star)
        The covariance of all fields.

    Raises
    ------
    InputError
        If the shapes don't fit, or Q or the whole matrix isn't symmetric positive semidefinite within 1e-10.
    """
    p, p_star = parameters.p, parameters.p_star
    rho, Q = check_array(rho, "rho"), check_array(Q, "Q")
    if rho.ndim < 2 or rho.shape[-2:] != (p, p_star):
        raise InputError(f"rho must have shape (..., {p}, {p_star}), got {rho.shape}")
    if Q.shape != (*rho.shape[:-2], p, p):
        raise InputError(f"Q must have shape {(*rho.shape[:-2], p, p)} to go with rho, got {Q.shape}")
    if max(np.max(np.abs(rho), initial=0.0), np.max(np.abs(Q), initial=0.0)) > LARGEST:
        raise InputError(f"rho and Q must not exceed {LARGEST:g}: their powers overflow")
    if parameters.constraint is not None and np.any(np.diagonal(Q, axis1=-2, axis2=-1) <= 1.0 / LARGEST):
        raise InputError("Q must have a positive diagonal where the norms are constrained")
    sigma = assemble(parameters, rho, Q)
    scale = np.max(np.abs(sigma), axis=(-2, -1), initial=np.finfo(float).tiny)
    if np.any(np.abs(Q - np.swapaxes(Q, -1, -2)) > _PSD_SLACK * scale[..., None, None]):
        raise InputError("Q must be symmetric")
    if sigma.size and np.any(np.linalg.eigvalsh(Q)[..., 0] < -_PSD_SLACK * scale):
        raise InputError("Q must be positive semidefinite (overlaps of weight vectors)")
    if sigma.size and np.any(np.linalg.eigvalsh(sigma)[..., 0] < -_PSD_SLACK * scale):
        raise InputError("rho isn't realisable: [[Q, rho], [rho', T]] must be positive semidefinite")
    return sigma


def quadratic_form(matrices: FloatArray, c: FloatArray) -> FloatArray:
    """Return c' M c for matrices of shape (..., n, n) and vectors of shape (n,) or (..., n)."""
    return np.asarray(np.sum((matrices @ c[..., None])[..., 0] * c, axis=-1))


def assemble(parameters: Parameters, rho: FloatArray, Q: FloatArray) -> FloatArray:
    """Return Sigma = [[Q, rho], [rho', T]] without checks, Q symmetrised."""
    p, n = parameters.p, parameters.p + parameters.p_star
    sigma = np.empty((*rho.shape[:-2], n, n))
    sigma[..., :p, :p] = 0.5 * (Q + np.swapaxes(Q, -1, -2))
    sigma[..., :p, p:] = rho
    sigma[..., p:, :p] = np.swapaxes(rho, -1, -2)
    sigma[..., p:, p:] = parameters.gram
    return sigma
