"""The methods by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from derand.optimize.certificate import Tolerances
from derand.optimize.lbfgs_lanczos import LBFGSLanczos
from derand.optimize.method import Method

__all__ = ["METHODS", "MethodOptions", "make_method"]


@dataclass(frozen=True)
class MethodOptions:
    """What a method may want to know.

    Parameters
    ----------
    tolerances : Tolerances
        What is to be proved.
    grad_lip : float or None
        Lipschitz constant of the gradient.
    delta_f : float or None
        Bound on f(x0) - min f.
    memory : int
        Pairs kept by L-BFGS.
    n : int
        Number of variables.
    """

    tolerances: Tolerances
    grad_lip: float | None
    delta_f: float | None
    memory: int
    n: int


_FACTORIES: Mapping[str, Callable[[MethodOptions], Method[Any]]] = MappingProxyType(
    {
        "lbfgs-lanczos": lambda options: LBFGSLanczos(options.tolerances.gtol, options.memory),
    }
)

METHODS: tuple[str, ...] = tuple(_FACTORIES)


def make_method(name: str, options: MethodOptions) -> Method[Any]:
    """Return the method of that name.

    Parameters
    ----------
    name : str
        One of `METHODS`.
    options : MethodOptions
        Its parameters.

    Returns
    -------
    Method
        Ready for `Method.init`.
    """
    return _FACTORIES[name](options)
