r"""
How noise disappears
====================

Put Gaussian noise into a function, :math:`f(W, b) = \mathbb E\, g(Wx + b) + \lambda \|W\|_F^2`.  Lemma 3.1 of
arXiv:2510.19382 says that at its second-order stationary points :math:`W = 0`.  Here :math:`g` is a tilted double well
in one dimension, so that the whole function can be drawn.
"""

import matplotlib.pyplot as plt
import numpy as np

from derand import SmoothedObjective, minimize_sosp
from derand.objectives import double_well

f = SmoothedObjective(double_well(1, tilt=0.3), k=1, d=1, lam=0.3)
paths = []
for start in ([1.1, 0.9], [1.2, -0.6], [-0.9, 0.1]):
    points = [np.array(start)]
    result = minimize_sosp(
        f.value_and_grad,
        f.pack([[start[0]]], [start[1]]),
        hessp=f.hessp,
        gtol=1e-9,
        curv_tol=1e-3,
        callback=lambda state, points=points: points.append(state.x),
    )
    paths.append((np.array([*points, result.x]), result))

# %%
# The landscape
# -------------
# The axis :math:`W = 0` is the function without noise.  All runs end on it, in one of its wells; noise of the wrong
# size is never a place to rest.

w, b = np.meshgrid(np.linspace(-1.3, 1.3, 81), np.linspace(-1.6, 1.6, 81))
values = np.array([f.value_and_grad(f.pack([[u]], [v]))[0] for u, v in zip(w.ravel(), b.ravel(), strict=True)])

figure, axes = plt.subplots(figsize=(7.0, 4.6), layout="constrained")
drawn = axes.contourf(w, b, values.reshape(w.shape), levels=np.geomspace(0.31, 12.0, 14) - 0.61, cmap="cividis")
figure.colorbar(drawn, ax=axes, label="f(W, b)", format="%.1f")
for (points, _), marker in zip(paths, "os^", strict=True):
    axes.plot(*points.T, color="white", marker=marker, markersize=4, linewidth=1.2)
    axes.plot(*points[0], marker=marker, color="#D55E00", markersize=9, linestyle="none")
axes.axvline(0.0, color="black", linestyle="dashed", linewidth=0.8)
axes.set(xlabel="size of the noise, W", ylabel="mean, b", title="starts in orange; all paths end at W = 0")
plt.show()

# %%
# The bound on the way
# --------------------
# ``weight_bound`` holds at every point where the curvature in b, plus twice lambda, is positive; it needs no constant.
# In one dimension it is sharp: the two curves are one.

figure, axes = plt.subplots(figsize=(7.0, 3.6), layout="constrained")
points = paths[0][0]
sizes = [max(abs(point[0]), 1e-17) for point in points]
bounds = [f.weight_bound([[point[0]]], [point[1]]) for point in points]
axes.semilogy(sizes, color="#0072B2", marker="o", label="size of W")
axes.semilogy(
    [bound if np.isfinite(bound) else np.nan for bound in bounds],
    color="#D55E00",
    marker="s",
    ls="dashed",
    label="bound on it, where there is one",
)
axes.set(xlabel="iteration", ylabel="size")
axes.legend(frameon=False)
plt.show()

# %%
# What was shown
# --------------
# Every run is certified, every W is nothing, the bound holds at every point, and b is a local minimum of the well.

assert all(result.success for _, result in paths)
for points, result in paths:
    W, b_end = f.unpack(result.x)[:2]
    assert abs(W[0, 0]) <= f.weight_bound(W, b_end) < 1e-8
    for w_k, b_k in points:
        assert abs(w_k) <= f.weight_bound([[w_k]], [b_k]) * (1.0 + 1e-12)
    slope, curvature = 4.0 * b_end[0] ** 3 - 4.0 * b_end[0] + 0.3, 12.0 * b_end[0] ** 2 - 4.0
    assert abs(slope) < 1e-8
    assert curvature > 0.0
