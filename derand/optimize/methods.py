"""The methods by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from derand.optimize.accelerated import Accelerated, AcceleratedParameters
from derand.optimize.certificate import Tolerances
from derand.optimize.lbfgs_lanczos import LBFGSLanczos
from derand.optimize.method import Method
from derand.optimize.newton_cg import NewtonCG, newton_damping
from derand.optimize.perturbation import TheoremConstants, theorem_constants
from derand.optimize.perturbed_gradient import PerturbedGradient, PerturbedGradientParameters

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


def _constants(name: str, options: MethodOptions) -> TheoremConstants:
    """Return the constants of the theorem behind a method; `InputError` names the missing ones."""
    return theorem_constants(name, options.tolerances, grad_lip=options.grad_lip, delta_f=options.delta_f, n=options.n)


_FACTORIES: Mapping[str, Callable[[MethodOptions], Method[Any]]] = MappingProxyType(
    {
        "lbfgs-lanczos": lambda options: LBFGSLanczos(options.tolerances.gtol, options.memory),
        "newton-cg": lambda options: NewtonCG(options.tolerances.gtol, newton_damping(options.tolerances)),
        "perturbed_gradient": lambda options: PerturbedGradient(
            PerturbedGradientParameters.from_constants(_constants("perturbed_gradient", options)),
            options.tolerances.gtol,
        ),
        "accelerated": lambda options: Accelerated(
            AcceleratedParameters.from_constants(_constants("accelerated", options)), options.tolerances.gtol
        ),
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
