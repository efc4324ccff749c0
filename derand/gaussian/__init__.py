"""Expectations over normal variables: quadrature, Hermite expansions, bivariate probabilities, Stein, sampling."""

from derand.gaussian.bivariate import (
    SignProductDerivatives,
    bivariate_normal_cdf,
    expected_sign_product,
    expected_sign_product_derivatives,
    sign_disagreement_probability,
)
from derand.gaussian.hermite import (
    HermiteExpansion,
    hermite_coefficients,
    hermite_expansion,
    hermite_polynomials,
)
from derand.gaussian.orthant import orthant_probability
from derand.gaussian.qmc import monte_carlo_normal, sobol_normal
from derand.gaussian.quadrature import gauss_hermite, tensor_gauss_hermite
from derand.gaussian.special import normal_cdf, normal_pdf
from derand.gaussian.stein import IdentityResidual, heat_equation_residual, stein_residual, weight_gradient_residual

__all__ = [
    "HermiteExpansion",
    "IdentityResidual",
    "SignProductDerivatives",
    "bivariate_normal_cdf",
    "expected_sign_product",
    "expected_sign_product_derivatives",
    "gauss_hermite",
    "heat_equation_residual",
    "hermite_coefficients",
    "hermite_expansion",
    "hermite_polynomials",
    "monte_carlo_normal",
    "normal_cdf",
    "normal_pdf",
    "orthant_probability",
    "sign_disagreement_probability",
    "sobol_normal",
    "stein_residual",
    "tensor_gauss_hermite",
    "weight_gradient_residual",
]
