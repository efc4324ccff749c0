r"""
Outliers after two gradient steps
=================================

Two steps of gradient descent turn the random first layer of a network into a spiked matrix.  With step sizes
:math:`\eta_i \sim N^{\alpha_i}` the theory counts the spikes by :math:`\alpha_2 / (1/2 - \alpha_1)` for infinitely many
neurons; :func:`derand.two_step.predict_outliers` predicts them for the few hundred that there are.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from derand.plotting import PhaseDiagramDisplay, SingularValueDisplay
from derand.two_step import (
    AssumptionWarning,
    count_outliers,
    phase_diagram,
    predict_outliers,
    predicted_count,
    random_problem,
    step_sizes,
    two_step_update,
)

# Networks of this size take steps that the theory calls large; the warnings say so.
warnings.simplefilter("ignore", AssumptionWarning)

N = 500
activation = [0.0, 1.0, 0.5]  # z + He_2(z)/2
problem = random_problem(N, N, N, [np.tanh, lambda z: np.sin(2 * z)], rng=0)
etas = step_sizes(problem.X, problem.y, N, activation, alphas=(0.4, 0.4), kappas=(0.7, 0.7))
run = two_step_update(*problem[:4], *etas, activation=activation)

# %%
# Singular values
# ---------------
# The first step adds one outlier, the second makes it longer and adds another.  The bulk of :math:`W_2` reaches beyond
# that of :math:`W_0`, so the old edge (dotted) would count too many.

prediction, counted = predict_outliers(run), count_outliers(run.W2)
print("for infinitely many neurons:", predicted_count(0.4, 0.4, 2))
print("predicted:", prediction.count, prediction.location[:2], "counted:", counted.count, counted.values[:2])
print("beyond the edge of W0:", count_outliers(run.W2, "tw").values.size)
SingularValueDisplay.from_result(run, prediction).plot()
plt.show()

# %%
# Over a grid of exponents
# ------------------------
# The left diagram is the floor formula, the middle one the prediction for this network, the right one what is counted.

small = random_problem(300, 300, 300, [np.tanh, lambda z: np.sin(2 * z)], rng=1)
alphas = [0.0, 0.1, 0.2, 0.3, 0.4, 0.45]
diagram = phase_diagram(alphas, alphas, *small[:4], activation=activation, kappas=(0.7, 0.7))
PhaseDiagramDisplay.from_diagram(diagram).plot()
plt.show()

# %%
# What was shown
# --------------

true = np.linalg.svd(run.W2, compute_uv=False)
assert prediction.count == counted.count == 2
assert abs(prediction.location[0] / true[0] - 1) < 0.015
assert abs(prediction.location[1] / true[1] - 1) < 0.04
assert count_outliers(run.W2, "tw").values.size > counted.count
assert diagram.agreement >= 0.9
