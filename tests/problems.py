"""Thirty-one problems with exact derivatives and known saddles; sixteen of them may tune the solver.

`make_problem(name)` builds one; the same name always gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from tests import problems_data, problems_low_rank, problems_polynomial, problems_teacher, problems_wells
from tests.problems_base import Objective, Problem

__all__ = ["FACTORIES", "PROBLEM_NAMES", "Objective", "Problem", "make_problem"]

_BUILDERS: tuple[Callable[[], Problem], ...] = (
    problems_data.dictionary,
    problems_wells.double_wells,
    problems_wells.ginzburg_landau,
    problems_polynomial.himmelblau,
    problems_low_rank.matrix_factorisation,
    problems_low_rank.maxcut,
    problems_wells.monkey_saddles,
    problems_wells.octopus_100,
    problems_low_rank.phase_retrieval,
    problems_low_rank.quadratic_net,
    problems_polynomial.rosenbrock,
    problems_wells.smoothed_cosines,
    problems_low_rank.symmetric_factorisation,
    problems_data.tanh_net,
    problems_teacher.teacher_student_plateau,
    problems_polynomial.tensor_decomposition,
    problems_wells.allen_cahn,
    problems_data.angle_synchronisation,
    problems_low_rank.blind_deconvolution,
    problems_wells.coupled_wells,
    problems_polynomial.cubic_model,
    problems_data.gaussian_mixture,
    problems_data.hopfield,
    problems_low_rank.linear_autoencoder,
    problems_low_rank.matrix_completion,
    problems_wells.octopus_10,
    problems_wells.phi4_chain,
    problems_polynomial.quartic_saddle,
    problems_low_rank.robust_phase_retrieval,
    problems_polynomial.six_hump_camel,
    problems_data.softplus_net,
)

FACTORIES = MappingProxyType({builder.__name__: builder for builder in _BUILDERS})
PROBLEM_NAMES: tuple[str, ...] = tuple(FACTORIES)


def make_problem(name: str) -> Problem:
    """Return the problem of that name."""
    return FACTORIES[name]()
