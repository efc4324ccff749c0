r"""
The two directions behind a response, with error bars
=====================================================

Twenty columns, 500 samples, and a response that depends on two combinations of the columns,

.. math:: y = \cos(2 b_1^\top x) - \cos(b_2^\top x) + 0.2\,\varepsilon .

The link is even, so that sliced inverse regression sees nothing.  :class:`derand.estimators.StructureRegressor` comes
close to the least error that any estimator can have without knowing the link.
"""

import matplotlib.pyplot as plt
import numpy as np

from derand.estimators import SliceReducer, StructureRegressor
from derand.plotting import SufficientSummaryDisplay
from derand.structure import subspace_distance
from derand.structure.estimation import efficiency_bound

rng = np.random.default_rng(3)
B = np.linalg.qr(rng.standard_normal((20, 2)))[0].T
X = rng.standard_normal((500, 20))


def link(z):
    """Return the noiseless response."""
    return np.cos(2 * z[:, 0]) - np.cos(z[:, 1])


y = link(X @ B.T) + 0.2 * rng.standard_normal(500)
model = StructureRegressor(2).fit(X, y)

# %%
# Errors against the limit
# ------------------------

bound = efficiency_bound(link, 500, 20, 0.2, k=2)
error = subspace_distance(model.components_, B)
sliced = {m: subspace_distance(SliceReducer(2, method=m).fit(X, y).components_, B) for m in ("sir", "dr")}
print(f"limit {bound:.3f}, found {error:.3f}, estimated {model.certificate_.expected_error:.3f}")
print(f"95 % cone {model.certificate_.angle(0.95):.3f}; SIR {sliced['sir']:.3f}, DR {sliced['dr']:.3f}")

# %%
# The sufficient summary plot
# ---------------------------
# All that X says about y is in this picture.

SufficientSummaryDisplay.from_estimator(model, X, y).plot()
plt.show()

# %%
# What was shown
# --------------

assert error < model.certificate_.angle(0.99)
assert error < 1.5 * bound
assert sliced["sir"] > 10 * bound
assert sliced["dr"] > 3 * bound
