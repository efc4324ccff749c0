"""Losses l(f, y) with two derivatives in the output f."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from derand._utils.validation import FloatArray, check_scalar
from derand.exceptions import InputError, InputTypeError

__all__ = ["LOSSES", "Loss", "as_loss"]


@dataclass(frozen=True)
class Loss:
    r"""A loss :math:`l(f, y) = c^2 \rho((f - y)/c)` of the residual.

    Parameters
    ----------
    value, first, second : callable
        rho and its derivatives, on arrays.
    name : str
        For messages and results.
    scale : float
        The scale c > 0.
    breakpoints : tuple of float
        Residuals, in units of c, where the second derivative jumps.
    is_lipschitz : bool
        Whether rho' is bounded.

    Examples
    --------
    >>> loss = as_loss("square")
    >>> float(loss.l(np.array([3.0]), np.array([1.0]))[0]), float(loss.dl(np.array([3.0]), np.array([1.0]))[0])
    (2.0, 2.0)
    """

    value: Callable[[FloatArray], FloatArray]
    first: Callable[[FloatArray], FloatArray]
    second: Callable[[FloatArray], FloatArray]
    name: str = "custom"
    scale: float = 1.0
    breakpoints: tuple[float, ...] = ()
    is_lipschitz: bool = False

    def l(self, f: FloatArray, y: FloatArray) -> FloatArray:  # noqa: E743
        """Return the loss."""
        return np.asarray(self.scale**2 * self.value((f - y) / self.scale))

    def dl(self, f: FloatArray, y: FloatArray) -> FloatArray:
        """Return its derivative in f."""
        return np.asarray(self.scale * self.first((f - y) / self.scale))

    def ddl(self, f: FloatArray, y: FloatArray) -> FloatArray:
        """Return its second derivative in f."""
        return np.asarray(self.second((f - y) / self.scale))


def _log_cosh(r: FloatArray) -> FloatArray:
    """Return log cosh r without overflow."""
    return np.asarray(np.logaddexp(r, -r) - math.log(2.0))


def _huber(r: FloatArray) -> FloatArray:
    """Return r^2/2 up to |r| = 1, |r| - 1/2 beyond."""
    size = np.abs(r)
    return np.where(size <= 1.0, 0.5 * r * r, size - 0.5)


#: Losses of unit scale by name.
LOSSES: Mapping[str, Loss] = MappingProxyType(
    {
        "square": Loss(lambda r: 0.5 * r * r, lambda r: 1.0 * r, np.ones_like, "square"),
        "pseudo-huber": Loss(
            lambda r: r * r / (1.0 + np.sqrt(1.0 + r * r)),
            lambda r: r / np.sqrt(1.0 + r * r),
            lambda r: (1.0 + r * r) ** -1.5,
            "pseudo-huber",
            is_lipschitz=True,
        ),
        "log-cosh": Loss(_log_cosh, np.tanh, lambda r: 1.0 - np.tanh(r) ** 2, "log-cosh", is_lipschitz=True),
        "huber": Loss(
            _huber,
            lambda r: np.clip(r, -1.0, 1.0),
            lambda r: np.where(np.abs(r) < 1.0, 1.0, 0.0),
            "huber",
            breakpoints=(-1.0, 1.0),
            is_lipschitz=True,
        ),
    }
)


def as_loss(loss: Any, scale: float | None = None) -> Loss:
    """Return a loss from its name, with a scale, or as it is.

    Parameters
    ----------
    loss : str or Loss
        A name of `LOSSES` (square: r^2/2; pseudo-huber: sqrt(1 + r^2) - 1; log-cosh; huber), in any case.
    scale : float, optional
        The scale c > 0 of the residual; 1 by default.

    Returns
    -------
    Loss
        The loss with its derivatives.

    Raises
    ------
    InputError
        If the name is unknown or the scale isn't positive.
    InputTypeError
        If it is neither a name nor a `Loss`.

    Examples
    --------
    >>> float(as_loss("huber", 0.5).dl(np.array([7.0]), np.array([0.0]))[0])
    0.5
    """
    if isinstance(loss, str):
        name = loss.lower().replace("_", "-")
        if name not in LOSSES:
            raise InputError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
        loss = LOSSES[name]
    if not isinstance(loss, Loss):
        raise InputTypeError(f"loss must be a name or a Loss, got {type(loss).__name__}")
    if scale is None:
        return loss
    scale = check_scalar(scale, "scale", low=0.0, low_open=True, high=math.inf, high_open=True)
    return Loss(loss.value, loss.first, loss.second, loss.name, scale, loss.breakpoints, loss.is_lipschitz)
