"""Expectations over normal variables: quadrature, Hermite expansions, bivariate probabilities, Stein, sampling."""

from derand.gaussian.bivariate import (
    SignProductDerivatives,
    bivariate_normal_cdf,
    expected_sign_product,
    expected_sign_product_derivatives,
)
from derand.gaussian.hermite import (
    HermiteExpansion,
    hermite_coefficients,
    hermite_expansion,
    hermite_polynomials,
)
from derand.gaussian.qmc import monte_carlo_normal, sobol_normal
from derand.gaussian.quadrature import gauss_hermite, tensor_gauss_hermite
from derand.gaussian.special import normal_cdf, normal_pdf

__all__ = [
    "HermiteExpansion",
    "SignProductDerivatives",
    "bivariate_normal_cdf",
    "expected_sign_product",
    "expected_sign_product_derivatives",
    "gauss_hermite",
    "hermite_coefficients",
    "hermite_expansion",
    "hermite_polynomials",
    "monte_carlo_normal",
    "normal_cdf",
    "normal_pdf",
    "sobol_normal",
    "tensor_gauss_hermite",
]
