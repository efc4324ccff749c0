"""Second-order stationary points with a proof."""

from derand.optimize.adapters import from_jax, from_torch
from derand.optimize.certificate import SOSPCertificate
from derand.optimize.checkpoint import Checkpoint
from derand.optimize.minimize import minimize_sosp
from derand.optimize.result import IterationRecord, SOSPResult
from derand.optimize.scipy_method import sosp_method
from derand.optimize.status import SOSPStatus

__all__ = [
    "Checkpoint",
    "IterationRecord",
    "SOSPCertificate",
    "SOSPResult",
    "SOSPStatus",
    "from_jax",
    "from_torch",
    "minimize_sosp",
    "sosp_method",
]
