"""Deterministic maximum cuts with a proved upper bound."""

from derand.maxcut.baselines import goemans_williamson, random_hyperplanes
from derand.maxcut.bqm import from_bqm, to_bqm
from derand.maxcut.certificate import Certificate, ProvedBound, prove_upper_bound
from derand.maxcut.derandomize import Derandomization, derandomize
from derand.maxcut.objective import SmoothedCutObjective
from derand.maxcut.problem import MaxCutProblem
from derand.maxcut.quadratic import QuadraticModel, from_ising, from_maxcut, from_qubo, to_ising, to_qubo
from derand.maxcut.qubo import QUBOSolution, solve_qubo
from derand.maxcut.relaxation import Relaxation, expected_cut, solve_relaxation
from derand.maxcut.solve import CutEvent, MaxCutSolution, solve_maxcut

__all__ = [
    "Certificate",
    "CutEvent",
    "Derandomization",
    "MaxCutProblem",
    "MaxCutSolution",
    "ProvedBound",
    "QUBOSolution",
    "QuadraticModel",
    "Relaxation",
    "SmoothedCutObjective",
    "derandomize",
    "expected_cut",
    "from_bqm",
    "from_ising",
    "from_maxcut",
    "from_qubo",
    "goemans_williamson",
    "prove_upper_bound",
    "random_hyperplanes",
    "solve_maxcut",
    "solve_qubo",
    "solve_relaxation",
    "to_bqm",
    "to_ising",
    "to_qubo",
]
