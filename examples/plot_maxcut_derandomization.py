r"""
Randomness that removes itself
==============================

The semidefinite relaxation of the maximum cut gives every node a unit vector :math:`w_i`.  Goemans and Williamson cut
by the signs of :math:`w_i^\top x` for a random Gaussian :math:`x`, and expect at least 0.878 of the optimum.  The
smoothed objective

.. math:: f(W, b) = \sum_{ij} w_{ij}\, \mathbb E[s(w_i^\top x + b_i)\, s(w_j^\top x + b_j)] + \lambda \|W\|_F^2

starts there, with :math:`b` near 0.  At a second-order stationary point :math:`\|W\|` is almost 0: all randomness is
gone, and the signs of :math:`b` are one cut.  The expectation is computed in closed form, so no sample is drawn at all.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from derand.graphs.convert import labelled_problem
from derand.maxcut.conditioning import best_hyperplane
from derand.maxcut.derandomize import GOEMANS_WILLIAMSON, derandomize
from derand.maxcut.objective import SmoothedCutObjective
from derand.maxcut.relaxation import expected_cut, relaxation_value, solve_relaxation
from derand.optimize import minimize_sosp

G = nx.random_regular_graph(3, 200, seed=4)
problem = labelled_problem(G).problem
vectors = solve_relaxation(problem).vectors

# %%
# From the vectors to a cut
# -------------------------
# Eight principal coordinates of the vectors are kept, and a small bias along the first one leaves the saddle at b = 0.

W = vectors[:, :8] / np.linalg.norm(vectors[:, :8], axis=1, keepdims=True)
objective = SmoothedCutObjective(problem, W.shape[1])
trace = []


def record(state):
    """Note evaluations, the size of W and the expected cut of the present signs."""
    size = np.linalg.norm(objective.unpack(state.x)[0]) / np.sqrt(problem.n)
    trace.append((state.nfev, size, objective.expected_cut(state.x)))


run = minimize_sosp(
    objective.value_and_grad,
    objective.pack(W, 0.1 * W[:, 0]),
    hessp=objective.hessp,
    gtol=1e-6,
    curv_tol=objective.lam,
    callback=record,
)
W_end, b_end = objective.unpack(run.x)
side = np.where(b_end >= 0.0, 1, -1)
cut = problem.cut_value(side)

# %%
# The library does the same in one call, rounds without loss, and checks the chain of inequalities.

found = derandomize(problem, vectors)
expectation, sdp_value = expected_cut(problem, vectors), relaxation_value(problem, vectors)
hyperplane = problem.cut_value(best_hyperplane(problem, vectors, rng=0)[0])

# %%
# :math:`\|W\|` against the expected cut
# --------------------------------------
# The curve begins a little below the expected cut of a hyperplane: smoothing the signs costs value, which the descent
# wins back.  The vectors first grow, which sharpens the signs, and then vanish.

evaluations, sizes, expected = (np.array(column) for column in zip(*trace, strict=True))
figure, (upper, lower) = plt.subplots(2, 1, figsize=(7.0, 6.0), sharex=True, layout="constrained")
upper.semilogy(evaluations, np.maximum(sizes, 1e-16), color="#0072B2", marker="o", markersize=3)
upper.set(ylabel="root mean square row of W")
lower.plot(evaluations, expected, color="#0072B2", marker="o", markersize=3, label="expected cut of the smoothed signs")
for value, colour, style, label in (
    (sdp_value, "#000000", "-", "value of the relaxation"),
    (hyperplane, "#009E73", "-.", "best of 1000 random hyperplanes"),
    (expectation, "#D55E00", "--", "expected cut of a random hyperplane"),
):
    lower.axhline(value, color=colour, linestyle=style, label=label)
lower.set(xlabel="evaluations of value and gradient", ylabel="weight of the cut")
lower.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 0.12))
for axes in (upper, lower):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# What was shown
# --------------
# The certificate proves a second-order stationary point; by Stein's identity the gradient in W is (H + 2 lam) W there,
# which bounds the norm of W; at W = 0 the signs are the cut, and the chain holds.

print(f"|W| {sizes[0]:.2g} -> {sizes[-1]:.2g}; cut {cut}, expected {expectation:.2f}, relaxation {sdp_value:.2f}")

assert run.success
assert np.linalg.norm(W_end) <= objective.weight_bound(W_end, b_end, run.certificate.min_eigenvalue_lower) < 0.1
assert sizes[-1] < 1e-3 < 0.5 < sizes[0]
assert abs(objective.expected_cut(run.x) - cut) < 1e-6 * cut
assert found.value >= cut >= expectation >= GOEMANS_WILLIAMSON * sdp_value
assert found.is_guaranteed
assert found.value >= hyperplane
assert sdp_value >= found.value
