r"""
Leaving saddle points, with a proof at the end
==============================================

A ring of forty double wells,

.. math:: f(x) = \tfrac14 \sum_i (x_i^2 - 1)^2 + \tfrac14 \sum_i (x_i - x_{i+1})^2,

has its global minima at :math:`(1, \dots, 1)` and :math:`(-1, \dots, -1)`, and a saddle point at 0 with 19 directions
of negative curvature.  Started there, L-BFGS stops at once and reports success.  Started a hair beside it, gradient
descent needs a hundred steps to get away.  :func:`derand.optimize.minimize_sosp` leaves the saddle along a computed
direction of negative curvature, and ends with a proven lower bound on the smallest Hessian eigenvalue.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from derand import minimize_sosp

n = 40


def fun(x):
    """Return value and gradient."""
    excess, step = x * x - 1.0, x - np.roll(x, -1)
    return 0.25 * (excess @ excess + step @ step), excess * x + 0.5 * (step - np.roll(step, 1))


def hessian(x):
    """Return the dense Hessian, used here only to check what derand has proved."""
    eye = np.eye(n)
    return np.diag(3.0 * x * x - 1.0) + 0.5 * (2.0 * eye - np.roll(eye, 1, axis=0) - np.roll(eye, -1, axis=0))


# %%
# Three ways from the saddle
# --------------------------
# Gradient descent starts a distance of 1e-9 away, since at the saddle itself it would never move.

saddle = np.zeros(n)
stuck = minimize(fun, saddle, jac=True, method="L-BFGS-B")

x = saddle + 1e-9 * np.random.default_rng(0).standard_normal(n) / np.sqrt(n)
descent = []
for _ in range(120):
    value, gradient = fun(x)
    descent.append(value)
    x = x - 0.25 * gradient

result = minimize_sosp(fun, saddle, gtol=1e-6, curv_tol=1e-3, rng=0)
certificate = result.certificate

# %%
# Value against gradient evaluations
# ----------------------------------

evaluations = [record.nfev for record in result.history]
values = [record.fun for record in result.history]

figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
axes.axhline(stuck.fun, color="#000000", linestyle=":", label="L-BFGS-B from the saddle: 'converged'")
steps = np.arange(1, len(descent) + 1)
axes.plot(steps, descent, color="#D55E00", linestyle="--", label="gradient descent from beside it")
axes.plot(evaluations, values, color="#0072B2", marker="o", markersize=4, label="minimize_sosp from the saddle")
bound = certificate.min_eigenvalue_lower
axes.annotate(
    f"certified: |gradient| = {certificate.gradient_norm:.1e},\nsmallest eigenvalue at least {bound:.2f}",
    xy=(evaluations[-1], values[-1]),
    xytext=(evaluations[-1] - 28, values[-1] - 1.8),
    arrowprops={"arrowstyle": "->"},
)
axes.set(xlabel="evaluations of value and gradient", ylabel="value of f", xlim=(0, 121), ylim=(0, 11.5))
axes.legend(loc="upper left", bbox_to_anchor=(0.2, 0.82), frameon=False)
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# What was shown
# --------------
# The claims of this page, checked by means that derand has no part in: L-BFGS-B calls the saddle converged; gradient
# descent is still at its height after fifty steps; derand's point has eigenvalues above the proven bound, by LAPACK.

eigenvalues = np.linalg.eigvalsh(hessian(result.x))

assert stuck.success
assert stuck.fun == 0.25 * n
assert np.sum(np.linalg.eigvalsh(hessian(saddle)) < -1e-9) == 19
assert descent[50] > 0.25 * n - 1e-6
assert result.success
assert result.fun < 0.1 * n
assert np.linalg.norm(fun(result.x)[1]) <= 1e-6
assert -1e-3 <= certificate.min_eigenvalue_lower <= eigenvalues[0]
