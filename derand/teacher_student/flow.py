"""Right-hand side of the equations of motion of the order parameters."""

from __future__ import annotations

import numpy as np

from derand._utils.validation import FloatArray
from derand.exceptions import InputError
from derand.teacher_student.parameters import Parameters, assemble

__all__ = ["check_finite_size", "velocity"]


def check_finite_size(parameters: Parameters, n_inputs: int | None, second_order: bool) -> None:
    """Raise InputError where the exact finite-N mean isn't known."""
    if n_inputs is None:
        return
    if not second_order:
        raise InputError("finite_N corrects the second-order term, so second_order must be True")
    if parameters.activation.degrees is None or parameters.constraint is not None:
        raise InputError("finite_N needs a homogeneous activation and no constraint")


def velocity(
    parameters: Parameters, rho: FloatArray, Q: FloatArray, *, second_order: bool, n_inputs: int | None
) -> tuple[FloatArray, FloatArray]:
    r"""Return d rho / d alpha and dQ / d alpha without checking the arguments.

    .. math:: \dot\rho_{kl} = -\eta a_k E[u g'_k z^*_l], \qquad
              \dot Q_{kk'} = -\eta \{a_k E[u g'_k z_{k'}] + (k \leftrightarrow k')\}
              + \eta^2 a_k a_{k'} E[(u^2 + D) g'_k g'_{k'}].

    At finite N the last average carries |x|^2 / N, which multiplies a function of the fields of degree d by 1 + d/N.

    Returns
    -------
    tuple of ndarray
        Velocities of rho, shape (..., p, p_star), and of Q, shape (..., p, p).
    """
    p = parameters.p
    moments = parameters.activation.moments(assemble(parameters, rho, Q), parameters.output, p)
    rates = parameters.step * parameters.output[:p]
    drift = -rates[:, None] * moments.drift
    own = drift[..., :p]
    d_rho = drift[..., p:]
    d_q = own + np.swapaxes(own, -1, -2)
    if second_order:
        data, label = (0, 0) if n_inputs is None else (parameters.activation.degrees or (0, 0))
        size = n_inputs or 1
        kick = (1.0 + data / size) * moments.noise + (1.0 + label / size) * parameters.noise * moments.slope
        d_q = d_q + rates[:, None] * rates * kick
    if parameters.constraint is not None:
        pull = np.diagonal(d_q, axis1=-2, axis2=-1) / (2.0 * np.diagonal(Q, axis1=-2, axis2=-1))
        d_rho = d_rho - pull[..., :, None] * rho
        d_q = d_q - (pull[..., :, None] + pull[..., None, :]) * Q
    return d_rho, d_q
