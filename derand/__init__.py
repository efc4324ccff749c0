"""Optimization and derandomization algorithms whose every answer carries its proof.

Public names are imported on first use: ``import derand`` itself loads neither numpy nor any other library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from derand.exceptions import DerandError, DerandWarning
    from derand.objectives import SmoothedObjective
    from derand.optimize import SOSPResult, minimize_sosp, sosp_method

__version__ = "0.1.0"

_HOME = {
    "DerandError": "derand.exceptions",
    "DerandWarning": "derand.exceptions",
    "SOSPResult": "derand.optimize",
    "SmoothedObjective": "derand.objectives",
    "minimize_sosp": "derand.optimize",
    "sosp_method": "derand.optimize",
}

__all__ = ["DerandError", "DerandWarning", "SOSPResult", "SmoothedObjective", "__version__", "minimize_sosp", "sosp_method"]


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    from importlib import import_module

    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    try:
        return import_module(f"derand.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"derand.{name}":
            raise
    raise AttributeError(f"module 'derand' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted(__all__)
