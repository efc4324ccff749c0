r"""
Seeing the same samples twice
=============================

A target without linear part, of information exponent 3, is invisible to one gradient step.  A second step on the *same*
samples learns its direction, because the network remembers them; a second step on fresh samples doesn't.  That is a
statement for large N: what a few hundred neurons show is the trend.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from derand.commands.two_step import LINKS
from derand.plotting import AlignmentDisplay
from derand.two_step import (
    AssumptionWarning,
    alignment,
    extract_directions,
    information_exponent,
    random_problem,
    reuse_exponent,
    sampling_chance,
    step_sizes,
    theory_alignment,
    two_step_update,
)

warnings.simplefilter("ignore", AssumptionWarning)

link = LINKS["bounded3"]  # sin(z) less its linear part
activation = [0.0, 1.0, 0.5, 1.0 / 6.0]
gamma = 0.2
print("information exponent", information_exponent(link), "learned by the spike of order", reuse_exponent(link))

# %%
# Two ways to take the second step, two ways to look
# --------------------------------------------------
# Both batches have :math:`n = d/\gamma` samples a step.  Weighted least squares regress the change of the weights on
# powers of the second layer; singular vectors mix the orders and miss what is inside the bulk.


def measure(size, batch, method, seed):
    """Return the projection of the target on three extracted directions, and what the samples' noise alone gives."""
    n = round(size / gamma) * (2 if batch == "fresh" else 1)
    problem = random_problem(size, size, n, [link], rng=seed)
    etas = step_sizes(problem.X, problem.y, size, activation, alphas=(0.45, 0.45), kappas=(0.7, 0.7), batch=batch)
    run = two_step_update(*problem[:4], *etas, activation=activation, batch=batch, dtype=np.float32)
    found = extract_directions(run.W2 - run.W0, run.a0, 3, method=method)
    span = alignment(found.directions, problem.directions).span
    return float(span[0]), float(sampling_chance(run, problem.directions)[0])


sizes = [100, 200, 400]
tables = {
    f"{batch}, {method}": np.array([[measure(size, batch, method, seed) for seed in range(3)] for size in sizes])
    for batch, method in (("reuse", "wls"), ("reuse", "svd"), ("fresh", "wls"))
}
curves = {label: table[:, :, 0] for label, table in tables.items()}
chance = np.mean(tables["fresh, wls"][:, :, 1], axis=1)
limit = float(theory_alignment(link, gamma, memory=True, coefficients=activation).span[0])
plain = float(theory_alignment(link, gamma).span[0])
print(f"limit for a reused batch {limit:.3f}; {plain:.3f} if the memory were left out; 0 for a fresh one")

AlignmentDisplay.from_alignments(sizes, curves, chance=chance, theory={"reuse, wls": limit}).plot()
plt.show()

# %%
# What was shown
# --------------

means = {label: np.mean(table, axis=1) for label, table in curves.items()}
assert means["reuse, wls"][-1] > 0.6 * limit
assert means["reuse, wls"][-1] > 1.3 * means["reuse, svd"][-1]
assert means["reuse, wls"][-1] > 2.0 * means["fresh, wls"][-1]
print("fresh", means["fresh, wls"], "chance", chance)
assert means["fresh, wls"][-1] < 1.5 * chance[-1] < means["reuse, wls"][-1]
assert theory_alignment(link, gamma, batch="fresh").span[0] < 1e-12
