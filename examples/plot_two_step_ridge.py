r"""
Ridge regression on learned features, told honestly
===================================================

:class:`derand.estimators.TwoStepFeatures` takes two gradient steps and hands the activations to any linear model.  More
steps mean better features.  A reused batch learns directions that a fresh one can't, in the limit of many neurons; at
this size a fresh batch nevertheless gives the better regression, being a second set of samples.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import RidgeCV

from derand.estimators import TwoStepFeatures
from derand.two_step import AssumptionWarning

warnings.simplefilter("ignore", AssumptionWarning)

d, n = 100, 2000
rng = np.random.default_rng(0)
X = rng.standard_normal((3 * n, d))


def target(z):
    """Return the sum of the second and third Hermite polynomials, clipped: information exponent 2."""
    return np.clip((z**2 - 1) / 2 + (z**3 - 3 * z) / np.sqrt(12), -4, 4)


y = target(X[:, 0])
train, test = slice(0, n), slice(2 * n, 3 * n)

# %%
# Zero, one and two steps
# -----------------------
# Errors on new samples in units of the target's variance.  "Fresh halves" splits the samples that "reuse" sees twice;
# "fresh" takes as many new ones for the second step.  Ridge regression itself has the same samples in all cases.


def error(seed, samples=n, **options):
    """Return the test error of ridge regression on the features."""
    steps = {"kappa1": 3.0, "kappa2": 3.0, **options}
    features = TwoStepFeatures(200, activation="relu", n_directions=2, random_state=seed, **steps)
    features.fit(X[:samples], y[:samples])
    model = RidgeCV(np.logspace(-5, 2, 8)).fit(features.transform(X[train]), y[train])
    return float(np.mean((model.predict(features.transform(X[test])) - y[test]) ** 2) / np.var(y[test]))


small = 1e-9
cases = {
    "no step": {"kappa1": small, "kappa2": small},
    "one step": {"kappa2": small},
    "reuse": {},
    "fresh halves": {"batch": "fresh"},
    "fresh": {"batch": "fresh", "samples": 2 * n},
}
errors = {label: [error(seed, **options) for seed in range(3)] for label, options in cases.items()}
for label, values in errors.items():
    print(f"{label:>12}: {np.mean(values):.3f} +- {np.std(values, ddof=1) / np.sqrt(3):.3f}")

figure, axes = plt.subplots(figsize=(6.0, 3.6), layout="constrained")
axes.bar(range(len(errors)), [np.mean(values) for values in errors.values()], color="#0072B2")
axes.set_xticks(range(len(errors)), list(errors))
axes.set_ylabel("test error / variance")
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# What was shown
# --------------
# Every step helps, and at this size fresh samples help more than a second look at the old ones.

mean = {label: np.mean(values) for label, values in errors.items()}
assert mean["reuse"] < mean["one step"] < mean["no step"]
assert mean["fresh"] < mean["reuse"]
