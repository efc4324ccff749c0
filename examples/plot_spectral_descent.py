r"""
Gradient descent beside its threshold
=====================================

Phase retrieval, :math:`y = (\theta_* \cdot x)^2`, by full-batch gradient descent, and the three numbers that theory
has for it: the best spectral method needs 0.5 samples per dimension; networks are said to need 3.6 with the
activation Quad :math:`u^2` and 6.0 with GeLU.

**The setting of 3.6 and 6.0** isn't published in full.  Here: Huber loss with scale 0.605, pairs of neurons
with second layers +1 and -1 and equal unit weights (so that the output is zero), infinite width, the Hessian *at
the start*.  The scale was fitted to the two numbers.

**The runs**: the same loss, m = 8 neurons, d = 60, step size 0.1, 800 steps (Quad only; GeLU takes far
more), six seeds.  A run counts as a success when the correlation of its weights with the hidden direction exceeds 0.5.
"""

import math

import matplotlib.pyplot as plt
import numpy as np

from derand.plotting import GrokkingDisplay, SuccessDisplay
from derand.spectral import MultiIndexLink, TwoLayerGD, as_loss, nn_threshold, success_curve

link, loss = MultiIndexLink("z**2"), as_loss("huber", 0.605)

# %%
# Theory
# ------

theory = {name: nn_threshold(name, loss, link, "zero_output", math.inf) for name in ("quad", "gelu")}
marks = {
    "delta_alg": link.delta_alg().value,
    "delta_NN, Quad": theory["quad"].value,
    "delta_NN, GeLU": theory["gelu"].value,
}

# %%
# Runs
# ----
# The same seeds give the same curve whatever the number of processes, and a checkpoint file would let a longer
# experiment be resumed.

options = {"d": 60, "deltas": [0.5, 2.0, 8.0], "n_seeds": 6, "init": "zero_output"}
curve = success_curve("quad", loss, link, 8, eta=0.1, n_steps=800, **options)
SuccessDisplay.from_curves({"Quad, d = 60": curve}, marks).plot()
plt.show()

# %%
# Late learning
# -------------
# The training risk falls at once, the test risk only when the hidden direction has been found.

model = TwoLayerGD("quad", loss, link, 8, d=60, delta=8.0, eta=0.1, init="zero_output")
run = model.run(800, record=range(0, 801, 10), rng=3)
GrokkingDisplay.from_run(run).plot()
plt.show()

# %%
# What was shown, and what was not
# --------------------------------
# The setting gives both published numbers.  Runs fail far below the threshold of Quad and succeed far above it.  In 60
# dimensions there is no sharp transition, a success by luck is possible below, and nothing here tests the number of
# GeLU: at sizes up to a few hundred dimensions its runs succeed well below 6.0.

assert abs(theory["quad"].value - 3.6) < 0.05
assert abs(theory["gelu"].value - 6.0) < 0.05
assert curve.success[0] <= 0.5
assert curve.success[-1] >= 5 / 6
assert run.correlation[-1] > 0.5
assert run.test_risk[-1] < 0.9 * run.test_risk[0]
assert np.all(np.isfinite(run.train_risk))
