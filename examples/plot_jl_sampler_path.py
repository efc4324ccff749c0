r"""
From a random map to a fixed one
================================

A random Gaussian map to k dimensions keeps the distances among some points within a factor that depends on their
number only.  Write it as :math:`A = M + \sigma G` with M = 0 and :math:`\sigma^2 = 1/k`.  ``method="derand"`` moves M
and shrinks :math:`\sigma` so that a bound on the expected largest distortion of A never rises; when
:math:`\sigma` is 0 the map is fixed, and what was an expectation holds for it.  M = 0 is a saddle point of every level,
which :func:`derand.optimize.minimize_sosp` leaves.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import pdist

from derand.embedding import learn_embedding

X = np.random.default_rng(5).standard_normal((14, 20))
k = 5
soft = learn_embedding(X, k, method="derand")
path = soft.certificate
print(f"bound for the random map: {path.start_bound:.3f}, at the end {path.end_bound:.3f}, {len(path.levels)} levels")

# %%
# The same path along a probability
# ---------------------------------
# ``method="union"`` follows the least eps that a random draw keeps for all pairs with even odds at least, by the exact
# noncentral chi-square law of each pair.

union = learn_embedding(X, k, method="union").certificate
print(f"even odds: {union.start_bound:.3f} for the random map, {union.end_bound:.3f} at the end")

# %%
# Bounds against the randomness that is left
# ------------------------------------------

figure, ax = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
for certificate, colour, dash, label in (
    (path, "#0072B2", "solid", "expected largest distortion at most"),
    (union, "#D55E00", "dashed", "largest distortion with even odds at most"),
):
    levels = [level for level in certificate.levels if level.sigma > 0.0]
    sigmas, bounds = [level.sigma for level in levels], [level.bound for level in levels]
    ax.plot(sigmas, bounds, color=colour, linestyle=dash, marker="o", markersize=3, label=label)
ax.axhline(soft.report.distortion, color="#000000", linestyle=":", label="fixed map, after further search")
ax.set(xlabel="standard deviation sigma of the random part", ylabel="bound", xscale="log", yscale="log")
ax.invert_xaxis()
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# What random maps do
# -------------------
# The bound that the path starts from holds for them on average; the fixed map is far below all of them.

before = pdist(X, "sqeuclidean")


def distortion(M):
    """Return the largest distortion of a map."""
    return np.abs(pdist(X @ M.T, "sqeuclidean") / before - 1.0).max()


rng = np.random.default_rng(0)
random = [distortion(rng.standard_normal((k, 20)) / np.sqrt(k)) for _ in range(300)]
print(
    f"300 random maps: {np.mean(random):.3f} on average, {min(random):.3f} at best; fixed {soft.report.distortion:.3f}"
)

# %%
# What was shown
# --------------

assert path.never_rose
assert union.never_rose
assert path.sigma == union.sigma == 0.0
assert np.mean(random) <= path.start_bound
assert np.mean(np.array(random) > union.start_bound) <= 0.5
assert np.isclose(distortion(soft.components), soft.report.distortion, rtol=1e-9)
assert soft.report.distortion <= path.end_bound
assert soft.report.distortion < 0.5 * min(random)
