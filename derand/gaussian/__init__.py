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
from derand.gaussian.quadrature import gauss_hermite, tensor_gauss_hermite

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
    "tensor_gauss_hermite",
]
