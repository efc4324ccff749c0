r"""
A map fitted to the data instead of a random one
================================================

The Johnson-Lindenstrauss lemma asks for thousands of dimensions to keep the distances among some hundred points within
ten per cent, whatever the points.  The digits of scikit-learn have 64 features to begin with.
:class:`derand.estimators.LearnedJL` looks at the points, minimises the largest distortion

.. math:: \max_{i<j} \left| \frac{\|M(x_i - x_j)\|^2}{\|x_i - x_j\|^2} - 1 \right|

over linear maps M, and reports it exactly, next to a lower bound that holds for any map whatever.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.random_projection import GaussianRandomProjection, johnson_lindenstrauss_min_dim

from derand.embedding import jl_min_dim
from derand.estimators import LearnedJL

X = load_digits().data[:250]
k = 16
print("dimensions for 10 %, by the usual formula:", johnson_lindenstrauss_min_dim(len(X), eps=0.1))
print("dimensions for 10 %, by the exact chi-square law:", jl_min_dim(len(X), 0.1))

# %%
# Three maps to sixteen dimensions
# --------------------------------
# The random and the principal map are given their best scale, so that only their shape counts.

learned = LearnedJL(k, max_iter=300, compute_lower_bound=True).fit(X)
before = pdist(X, "sqeuclidean")


def ratios(components):
    """Return squared distances after a map over those before it, with the middle of their range at 1."""
    after = pdist(X @ components.T, "sqeuclidean") / before
    return 2.0 * after / (after.min() + after.max())


random = min(
    (ratios(GaussianRandomProjection(k, random_state=seed).fit(X).components_) for seed in range(30)), key=np.max
)
principal = ratios(PCA(k).fit(X).components_)
own = pdist(learned.transform(X), "sqeuclidean") / before

# %%
# Ratios of all pairs
# -------------------

figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
bins = np.linspace(0.0, 2.0, 101)
for values, colour, label in (
    (random, "#D55E00", "best of 30 random maps"),
    (principal, "#009E73", "principal axes"),
    (own, "#0072B2", "learned"),
):
    axes.hist(values, bins, histtype="step", color=colour, label=f"{label}: {np.abs(values - 1).max():.3f}")
for end in (1.0 - learned.lower_bound_, 1.0 + learned.lower_bound_):
    axes.axvline(end, color="#000000", linestyle=":", linewidth=1.0)
axes.set(xlabel="squared distance after / before", ylabel="pairs", yscale="log")
# The histograms fill the frame: the legend has a place of its own above it.
title = "largest distortion (dotted: bound for any map)"
axes.legend(title=title, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# New points
# ----------
# The fitted maximum is no promise for points that took no part in the fit; most of their pairs still fare well.

new = load_digits().data[1000:1200]
print(f"fitted: {learned.distortion_:.3f}, new points: {learned.distortion(new):.3f} at most,")
print(f"{learned.distortion(new, quantile=0.999):.3f} for all pairs but one in a thousand")

# %%
# What was shown
# --------------
# The claims of this page, by means that derand has no part in.

assert np.isclose(np.abs(own - 1).max(), learned.distortion_, rtol=1e-9)
assert learned.lower_bound_ <= learned.distortion_
assert learned.distortion_ < 0.5 * np.abs(random - 1).max()
assert learned.distortion_ < 0.6 * np.abs(principal - 1).max()
assert learned.distortion(new) > learned.distortion_
