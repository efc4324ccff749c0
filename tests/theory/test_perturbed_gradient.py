"""Theorem 3 of Jin et al. 2017 (arXiv:1703.00887): PGD ends at an eps-SOSP within its number of gradients.

The proof charges every gradient step to one of three accounts, which gives the bound that is tested here, with all
constants: a step with a gradient above the threshold g_thres lowers f by eta/2 g_thres^2 at least (Lemma 10 with
eta <= 1/l), and one perturbation, with its t_thres steps, either lowers f by f_thres or ends the run:

    steps <= delta_f / (eta/2 g_thres^2) + (delta_f / f_thres + 1) (t_thres + 1).
"""

import math

import numpy as np
import pytest

from derand.optimize.oracle import Oracle
from derand.optimize.perturbation import TheoremConstants
from derand.optimize.perturbed_gradient import PerturbedGradient, PerturbedGradientParameters
from tests.optimize.wells import CosineWell


def iteration_bound(parameters, delta_f):
    per_step = 0.5 * parameters.step * parameters.gradient_threshold**2
    n_perturbations = delta_f / parameters.decrease_threshold + 1.0
    return delta_f / per_step + n_perturbations * (parameters.n_wait + 1.0)


def run_to_its_own_end(well, eps, seed):
    """Return (the point that PGD returns, its gradients, the bound), without any certificate."""
    constants = TheoremConstants(well.n, eps, well.grad_lip, well.hess_lip, well.delta_f, 1e-6)
    parameters = PerturbedGradientParameters.from_constants(constants)
    method, oracle, rng = PerturbedGradient(parameters, eps), Oracle(well), np.random.default_rng(seed)
    state = method.init(oracle, oracle.evaluate(np.zeros(well.n)))
    while not state.is_done:
        state, _ = method.step(oracle, state, rng)
    return state.point, oracle.nfev, iteration_bound(parameters, well.delta_f)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("eps", [0.1, 0.01])
@pytest.mark.parametrize("stiffness", [0.3, 2.5])
def test_reaches_an_sosp_from_the_exact_saddle(stiffness, eps, seed):
    well = CosineWell(6, stiffness)
    point, n_gradients, bound = run_to_its_own_end(well, eps, seed)
    # Ten runs of failure probability 1e-6: a single miss contradicts the theorem.
    assert point.gradient_norm <= eps
    assert well.eigenvalues(point.x).min() >= -math.sqrt(well.hess_lip * eps)
    assert n_gradients <= bound


def test_bound_grows_like_the_theorems():
    # Up to logarithms the bound is l delta_f / eps^2: chi^4 / eps^2 accounts for the growth exactly in its first term.
    bounds, factors = [], []
    for eps in (1e-2, 1e-4):
        parameters = PerturbedGradientParameters.from_constants(TheoremConstants(6, eps, 1.0, 1.0, 2.0, 1e-6))
        bounds.append(iteration_bound(parameters, 2.0))
        factors.append(parameters.chi**4 / eps**2)
    assert bounds[1] / bounds[0] == pytest.approx(factors[1] / factors[0], rel=0.05)
