"""When to stop: a time limit and a user who has seen enough."""

from __future__ import annotations

import math
import time

from derand._utils.validation import check_scalar

__all__ = ["Clock"]


class Clock:
    """A deadline that can be brought forward.

    Parameters
    ----------
    time_limit : float or None
        Seconds from now; None for no limit.

    Attributes
    ----------
    status : str
        "finished" until something ends the run early: "time_limit", "callback" or "interrupted".

    Examples
    --------
    >>> clock = Clock(None)
    >>> clock.is_over(), clock.status
    (False, 'finished')
    >>> clock.stop("callback")
    >>> clock.is_over(), clock.remaining(), clock.status
    (True, 0.0, 'callback')
    """

    def __init__(self, time_limit: float | None) -> None:
        self._deadline = math.inf
        if time_limit is not None:
            self._deadline = time.monotonic() + check_scalar(time_limit, "time_limit", low=0.0)
        self.status = "finished"

    def is_over(self) -> bool:
        """Return whether to stop now; the first time that the limit is seen to have passed sets the status."""
        if self.status == "finished" and time.monotonic() >= self._deadline:
            self.status = "time_limit"
        return self.status != "finished"

    def stop(self, reason: str) -> None:
        """End the run for the given reason; the first reason stays."""
        if self.status == "finished":
            self.status = reason

    def remaining(self, share: float = 1.0) -> float | None:
        """Return a share of the seconds left, None without a limit."""
        if self.status != "finished":
            return 0.0
        if math.isinf(self._deadline):
            return None
        return max(0.0, share * (self._deadline - time.monotonic()))
