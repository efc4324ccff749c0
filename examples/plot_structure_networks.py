r"""
A network that is proved to look at one direction only
======================================================

Inputs are Gaussian, the label depends on one direction :math:`u` of them.  A two-layer network is trained, biases
included, to a point that is proved to be an approximate second-order stationary point of its risk plus a small decay of
the first layer.  Then its first-layer weights across :math:`u` are bounded by numbers that were computed at that point:

.. math:: \|W_\perp\| \le \frac{\|\nabla_{W_\perp} F\|}{2\lambda + \lambda_{\min}(H_b)} ,

where :math:`H_b` is the Hessian block of the first biases.
"""

import matplotlib.pyplot as plt
import numpy as np

from derand.plotting import WeightCloudDisplay
from derand.structure import MultiIndexTeacher, Network, gaussian_population, structure_certificate, train_network

direction = np.array([1.0, 1.0]) / np.sqrt(2.0)
teacher = MultiIndexTeacher(direction, lambda s: np.tanh(s[:, 0]) + 1.0)

# %%
# The exact risk
# --------------
# The expectation over inputs is a Gauss-Hermite sum: no sampling error stands between theorem and computation.

population = gaussian_population(teacher, n_nodes=32)
network = Network(2, 50, iota=4.0)
start = network.random_parameters(init="mean_field", rng=0)
trained = train_network(network, population, lam=1e-3, frozen=("output",), start=start)
proof = trained.certificate

# %%
# The weights on their way
# ------------------------

WeightCloudDisplay.from_trained(trained).plot()
plt.show()

# %%
# Deeper networks, other losses
# -----------------------------
# The theorem holds for any depth and any smooth loss; here four layers and the logistic loss.  Where all layers are
# trained, a decay of the later ones, however small, keeps the first layer from shrinking to nothing.

labels = MultiIndexTeacher(direction, lambda s: 1.0 / (1.0 + np.exp(-2.0 * s[:, 0])), kind="binary")
deep = train_network(
    Network(2, (8, 8, 8), iota=4.0),
    gaussian_population(labels, n_nodes=16),
    loss="logistic",
    lam=1e-3,
    rest_decay=1e-3,
    gtol=1e-5,
    curv_tol=1e-2,
)

# %%
# Any point
# ---------
# The bound isn't a property of the end of training: it holds at a random point as well, where it is larger.

random_point = trained.objective.restrict(network.random_parameters(rng=1))
anywhere = structure_certificate(trained.objective, random_point)

# %%
# What was shown
# --------------

for certificate in (proof, deep.certificate, anywhere):
    assert certificate.is_valid
assert trained.result.success
assert deep.result.success
assert proof.is_meaningful
assert proof.share > 0.99999
assert proof.bound < 1e-2 < np.linalg.norm(start[:100].reshape(50, 2) @ [[1.0], [-1.0]])
assert deep.certificate.share > 0.9999
