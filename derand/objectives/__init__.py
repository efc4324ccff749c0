"""Objectives: E[g(Wx + b)] + lam ||W||_F^2 with exact derivatives and what they prove, and integrands g."""

from __future__ import annotations

from derand.objectives.activations import Activation, Cosine, Exponential, ProbitSign, ReLU, ScalarPolynomial
from derand.objectives.diagnostics import DerandomizationCheck, lemma_bound
from derand.objectives.doubling import DoublingResult, solve_by_doubling
from derand.objectives.function import FunctionIntegrand
from derand.objectives.local import LocalSum
from derand.objectives.pairs import SignPairSum, SquaredProbitNet
from derand.objectives.polynomial import Polynomial
from derand.objectives.protocol import GaussianExpectation, HasExpectation, Integrand, Objective
from derand.objectives.ridge import RidgeSum
from derand.objectives.smoothed import SmoothedObjective
from derand.objectives.softplus import Softplus
from derand.objectives.sums import IntegrandSum, double_well

__all__ = [
    "Activation",
    "Cosine",
    "DerandomizationCheck",
    "DoublingResult",
    "Exponential",
    "FunctionIntegrand",
    "GaussianExpectation",
    "HasExpectation",
    "Integrand",
    "IntegrandSum",
    "LocalSum",
    "Objective",
    "Polynomial",
    "ProbitSign",
    "ReLU",
    "RidgeSum",
    "ScalarPolynomial",
    "SignPairSum",
    "SmoothedObjective",
    "Softplus",
    "SquaredProbitNet",
    "double_well",
    "lemma_bound",
    "solve_by_doubling",
]
