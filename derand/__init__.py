"""Optimization and derandomization algorithms whose every answer carries its proof.

Public names are imported on first use: ``import derand`` itself loads neither numpy nor any other library.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take the name for true; the typing module would be half of the import's time
if TYPE_CHECKING:
    from derand.exceptions import DerandError, DerandWarning
    from derand.hessian import HessianOperator, check_gradient, check_hessian, min_eigenvalue
    from derand.objectives import SmoothedObjective
    from derand.optimize import SOSPCertificate, SOSPResult, minimize_sosp, sosp_method

__version__ = "0.1.0"

__all__ = [
    "DerandError",
    "DerandWarning",
    "HessianOperator",
    "SOSPCertificate",
    "SOSPResult",
    "SmoothedObjective",
    "__version__",
    "check_gradient",
    "check_hessian",
    "min_eigenvalue",
    "minimize_sosp",
    "sosp_method",
]

_HOME = {
    "derand.exceptions": ("DerandError", "DerandWarning"),
    "derand.hessian": ("HessianOperator", "check_gradient", "check_hessian", "min_eigenvalue"),
    "derand.objectives": ("SmoothedObjective",),
    "derand.optimize": ("SOSPCertificate", "SOSPResult", "minimize_sosp", "sosp_method"),
}


def __getattr__(name: str) -> object:
    """Import a public name or a subpackage on first use (PEP 562)."""
    from importlib import import_module

    for module, names in _HOME.items():
        if name in names:
            return getattr(import_module(module), name)
    if not name.startswith("_"):
        try:
            return import_module(f"derand.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"derand.{name}":
                raise
    raise AttributeError(f"module 'derand' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted(__all__)
