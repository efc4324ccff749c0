r"""
The Hessian shows the hidden direction, or not
==============================================

Responses :math:`y = (\theta_* \cdot x)^2` hide their direction: on average they are uncorrelated with every
coordinate.  Gradient descent from random weights finds it only if the Hessian of the risk has a negative eigenvalue
outside its bulk, with an eigenvector along :math:`\theta_*`.  Whether it has depends on the number of samples per
dimension.

**The setting**: one neuron :math:`s(u) = u^2/2`, pseudo-Huber loss :math:`\sqrt{1 + r^2} - 1`, a random unit start,
step size 0.2, after t = 5 steps.  The threshold depends on all of these.
"""

import matplotlib.pyplot as plt
import numpy as np

from derand.plotting import SpectrumDisplay, ThresholdDisplay
from derand.spectral import DMFT, MultiIndexLink, TwoLayerGD, nn_threshold

activation, loss, eta, t = "half-quad", "pseudo-huber", 0.2, 5
link = MultiIndexLink("z**2")

# %%
# Threshold against time
# ----------------------
# The more steps, the higher the threshold: training fits the samples and flattens the curvature that points at the
# hidden direction.  The best spectral method needs half a sample per dimension.

times = (0, t)
rows = {activation: [nn_threshold(activation, loss, link, t=s, n_samples=1 << 14, n_replicas=2) for s in times]}
ThresholdDisplay.from_thresholds(times, rows, link.delta_alg().value).plot()
plt.show()

# %%
# Spectra on either side
# ----------------------
# The law comes from the theory of the dynamics in infinitely many dimensions, the eigenvalues from one run in 500.

figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")
seen = {}
for ax, delta in zip(axes, (0.8, 5.0), strict=True):
    law = DMFT(activation, loss, link, delta=delta, eta=eta, n_samples=1 << 12).run(t).hessian_law()
    model = TwoLayerGD(activation, loss, link, d=500, delta=delta, eta=eta, init="orthogonal")
    X = np.random.default_rng(0).standard_normal((model.n, model.d))
    y, W = X[:, 0] ** 2, model.initial_weights(1)
    for _ in range(t):
        W = W - (eta / model.n) * model.network.force(W @ X.T, y) @ X
    values, vectors = np.linalg.eigh(model.hessian_operator(X, W @ X.T, y).dense())
    display = SpectrumDisplay.from_law(law, delta, values, n_points=120).plot(ax)
    ax.set(xlim=(1.3 * values[0], min(values[-1], 2.0)), title=f"{delta} samples per dimension")
    seen[delta] = (law.outliers(delta, "left"), values[0], vectors[0, 0] ** 2)
plt.show()

# %%
# What was shown
# --------------
# With 0.8 samples per dimension, below the threshold of 1.26, there is no informative eigenvector; with 5 there is one,
# with the predicted eigenvalue and overlap, up to the fluctuations in 500 dimensions.

threshold = rows[activation][1]
assert 0.8 < threshold.value < 5.0
assert threshold.value > rows[activation][0].value > link.delta_alg().value
assert seen[0.8][0] == ()
assert seen[0.8][2] < 0.1
(outlier,), value, overlap = seen[5.0]
assert abs(value / outlier.value - 1.0) < 0.1
assert abs(overlap - outlier.overlap) < 0.15
