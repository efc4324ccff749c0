"""Right-hand side of the equations of motion of the order parameters."""

from __future__ import annotations

import numpy as np

from derand._utils.validation import FloatArray
from derand.exceptions import InputError
from derand.teacher_student.parameters import Parameters, assemble

__all__ = ["check_finite_size", "motion", "velocity"]


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
    """Return d rho / d alpha and dQ / d alpha at the model's own second layer; see `motion`.

    Returns
    -------
    tuple of ndarray
        Velocities of rho, shape (..., p, p_star), and of Q, shape (..., p, p).
    """
    d_rho, d_q, _ = motion(parameters, (rho, Q, None), second_order=second_order, n_inputs=n_inputs)
    return d_rho, d_q


def motion(
    parameters: Parameters,
    state: tuple[FloatArray, FloatArray, FloatArray | None],
    *,
    second_order: bool,
    n_inputs: int | None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""Return the velocities of (rho, Q, s) without checking the arguments; the student's second layer is a = s / p.

    .. math:: \dot\rho_{kl} = -\eta a_k E[u g'_k z^*_l], \qquad
              \dot Q_{kk'} = -\eta \{a_k E[u g'_k z_{k'}] + (k \leftrightarrow k')\}
              + \eta^2 a_k a_{k'} E[(u^2 + D) g'_k g'_{k'}], \qquad \dot s_k = -\eta_s E[u g_k].

    Without s the second layer is the model's own.  At finite N the last average of Q carries |x|^2 / N, which
    multiplies a function of the fields of degree d by 1 + d/N.  The second layer takes steps of size 1/N, so its
    velocity has no second-order term.

    Returns
    -------
    tuple of ndarray
        Velocities of rho, shape (..., p, p_star), of Q, shape (..., p, p), and of s, shape (..., p).
    """
    rho, Q, layer = state
    p = parameters.p
    output = parameters.output if layer is None else parameters.outputs(layer)
    moments = parameters.activation.moments(assemble(parameters, rho, Q), output, p)
    rates = parameters.step * output[..., :p]
    drift = -rates[..., :, None] * moments.drift
    own = drift[..., :p]
    d_rho = drift[..., p:]
    d_q = own + np.swapaxes(own, -1, -2)
    if second_order:
        data, label = (0, 0) if n_inputs is None else (parameters.activation.degrees or (0, 0))
        size = n_inputs or 1
        kick = (1.0 + data / size) * moments.noise + (1.0 + label / size) * parameters.noise * moments.slope
        d_q = d_q + rates[..., :, None] * rates[..., None, :] * kick
    if parameters.constraint is not None:
        pull = np.diagonal(d_q, axis1=-2, axis2=-1) / (2.0 * np.diagonal(Q, axis1=-2, axis2=-1))
        d_rho = d_rho - pull[..., :, None] * rho
        d_q = d_q - (pull[..., :, None] + pull[..., None, :]) * Q
    return d_rho, d_q, -parameters.readout_rate * moments.readout
