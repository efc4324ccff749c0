"""How a run can end, each with the sentence a user reads."""

from __future__ import annotations

from enum import Enum

__all__ = ["SOSPStatus"]


class SOSPStatus(Enum):
    """Ways in which `minimize_sosp` ends; the value is the message.  Only CERTIFIED counts as success.

    Examples
    --------
    >>> SOSPStatus.BUDGET.value
    'The limit on evaluations or iterations was reached; x is the best point so far and nothing is proved about it.'
    """

    RUNNING = "Running: this is a state on the way, not a result."
    CERTIFIED = (
        "Certified: the gradient is within gtol and the smallest Hessian eigenvalue is proved to be at least -curv_tol."
    )
    INCONCLUSIVE = (
        "Inconclusive: the gradient is within gtol, but the smallest Hessian eigenvalue could neither be proved to be "
        "at least -curv_tol nor used to decrease the function; raise curv_tol or give an exact hessp."
    )
    BUDGET = (
        "The limit on evaluations or iterations was reached; x is the best point so far and nothing is proved about it."
    )
    TIME_LIMIT = "The time limit was reached; x is the best point so far and nothing is proved about it."
    STALLED = (
        "Stalled: no decrease could be found although the gradient exceeds gtol; gtol lies below what the rounding of "
        "the function allows, or the function isn't smooth or isn't finite here."
    )
    UNBOUNDED = "The function appears to be unbounded below: its value fell below fun_lower."
    NON_FINITE = (
        "The function, gradient or Hessian product isn't finite where it has to be; x is the best finite point."
    )
    BAD_GRADIENT = "The gradient contradicts the function values; check the derivative of the coordinate that is named."
    BAD_HESSP = "The Hessian products contradict the gradients or aren't symmetric; check hessp."
    INTERRUPTED = "Interrupted; x is the best point so far and nothing is proved about it."
    CALLBACK = "Stopped by the callback; x is the best point so far and nothing is proved about it."
