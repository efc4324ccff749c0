r"""
Why the biases have to be trained
=================================

With frozen first-layer biases a network may use the inputs across the teacher's direction as a source of noise: the
mean of a convex function of noise is an offset, and where the teacher has an offset or an even part, imitating it that
way lowers the risk.  The result are second-order stationary points whose weights across the teacher are as large as
those along it.  Trained biases make the offset themselves.
"""

import matplotlib.pyplot as plt
import numpy as np

from derand.gaussian import gauss_hermite
from derand.plotting import WeightCloudDisplay
from derand.structure import MultiIndexTeacher, Network, Sample, gaussian_population, train_network

# %%
# One weight
# ----------
# The smallest case: minimise :math:`E(\phi(w x) - 1)^2 + \lambda w^2` for the smooth ReLU
# :math:`\phi(z) = \log(1 + e^{3z})/3`.  At w = 0 the output is log(2)/3 instead of 1, and noise is the only way up.
# The second derivative at 0 changes its sign at :math:`\lambda = \frac12 - \frac14 \log 2`.

nodes, weights = gauss_hermite(100)
constant = Sample(nodes[:, None], np.ones(100), weights, np.ones((1, 1)), is_exact=True)
unit = Network(1, 1, iota=3.0)
threshold = 0.5 - np.log(2.0) / 4.0
lambdas = np.linspace(0.02, 0.45, 15)


def smallest_weight(lam, frozen):
    """Return |w| at the certified end; the loss has the factor 1/2, hence half of lam."""
    run = train_network(unit, constant, lam=lam / 2.0, frozen=frozen, start=np.array([0.7, 0.0, 1.0, 0.0]), gtol=1e-8)
    assert run.result.success
    return abs(run.parameters[0])


frozen_weights = np.array([smallest_weight(lam, ("b1", "output")) for lam in lambdas])
trained_weights = np.array([smallest_weight(lam, ("output",)) for lam in lambdas])

figure, axes = plt.subplots(figsize=(6.0, 4.0), layout="constrained")
axes.plot(lambdas, frozen_weights, "s-", color="#D55E00", label="frozen bias")
axes.plot(lambdas, trained_weights, "o-", color="#0072B2", label="trained bias")
axes.axvline(threshold, color="black", linestyle="dotted", label="w = 0 turns stable")
axes.set(xlabel="decay", ylabel="|w| at the minimum")
axes.legend(frameon=False)
plt.show()

# %%
# A network and a teacher with an offset
# --------------------------------------

direction = np.array([1.0, 1.0]) / np.sqrt(2.0)
population = gaussian_population(MultiIndexTeacher(direction, lambda s: np.tanh(s[:, 0]) + 1.0), n_nodes=32)
network = Network(2, 16, iota=4.0)
start = network.random_parameters(init="mean_field", rng=0)
runs = {
    "frozen biases": train_network(network, population, lam=1e-3, frozen=("b1", "output"), start=start),
    "trained biases": train_network(network, population, lam=1e-3, frozen=("output",), start=start),
}
figure, panels = plt.subplots(1, 2, figsize=(10.0, 4.5), layout="constrained")
for panel, (name, run) in zip(panels, runs.items(), strict=True):
    WeightCloudDisplay.from_trained(run).plot(panel)
    panel.set_title(f"{name}: share {run.certificate.share:.5g}")
plt.show()

# %%
# What was shown
# --------------
# Both ends are certified.  The frozen one isn't a counter-example to the theorem, which needs the biases' curvature to
# be nearly nonnegative: it isn't, and the certificate gives no bound.

frozen, trained = runs["frozen biases"].certificate, runs["trained biases"].certificate
assert all(run.result.success for run in runs.values())
assert frozen.share < 0.8
assert frozen.min_bias_eigenvalue < -2e-3
assert np.isinf(frozen.bound)
assert trained.share > 0.99999
assert trained.perpendicular_norm <= trained.bound < 1e-2

below, above = lambdas < threshold, lambdas > threshold + 0.03
assert frozen_weights[below].min() > 0.05
assert frozen_weights[above].max() < 1e-5
assert trained_weights.max() < 1e-5
