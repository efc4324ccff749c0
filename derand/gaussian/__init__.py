"""Expectations over normal variables: quadrature, Hermite expansions, bivariate probabilities, Stein, sampling."""

from derand.gaussian.bivariate import (
    SignProductDerivatives,
    bivariate_normal_cdf,
    expected_sign_product,
    expected_sign_product_derivatives,
)

__all__ = [
    "SignProductDerivatives",
    "bivariate_normal_cdf",
    "expected_sign_product",
    "expected_sign_product_derivatives",
]
