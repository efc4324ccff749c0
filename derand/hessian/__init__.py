"""Hessians and other symmetric matrices: products, extreme eigenvalues with bounds, spectra, derivative checks."""

from derand.hessian.density import CumulativeEstimate, Estimate, GaussRule, SpectralDensity, spectral_density
from derand.hessian.derivative_check import DerivativeCheck, GradientCheck, HessianCheck, check_gradient, check_hessian
from derand.hessian.eigenpairs import Eigenpairs
from derand.hessian.extreme import extreme_eigenpairs
from derand.hessian.inertia import Inertia, InertiaEstimate, estimate_inertia, inertia
from derand.hessian.lanczos import LanczosProcess
from derand.hessian.min_eigenvalue import MinEigenvalue, min_eigenvalue
from derand.hessian.operator import HessianOperator, PrincipalBlock
from derand.hessian.outliers import BulkEdges, Outliers, estimate_bulk_edges, outliers

__all__ = [
    "BulkEdges",
    "CumulativeEstimate",
    "DerivativeCheck",
    "Eigenpairs",
    "Estimate",
    "GaussRule",
    "GradientCheck",
    "HessianCheck",
    "HessianOperator",
    "Inertia",
    "InertiaEstimate",
    "LanczosProcess",
    "MinEigenvalue",
    "Outliers",
    "PrincipalBlock",
    "SpectralDensity",
    "check_gradient",
    "check_hessian",
    "estimate_bulk_edges",
    "estimate_inertia",
    "extreme_eigenpairs",
    "inertia",
    "min_eigenvalue",
    "outliers",
    "spectral_density",
]
