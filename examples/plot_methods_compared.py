r"""
Four methods from one saddle
============================

:func:`~derand.optimize.minimize_sosp` has four ways to search, and one way to prove.  All start here at the saddle 0 of
a ring of twenty double wells,

.. math:: f(x) = \tfrac14 \sum_i (x_i^2 - 1)^2 + \tfrac14 \sum_i (x_i - x_{i+1})^2,

where the gradient is exactly zero.  The two practical methods compute a direction of negative curvature and go.  The
two methods of the literature shake the point at random and wait; their parameters come from the Lipschitz constants of
their theorems, which on the region they visit are at most 12 for the gradient and 8 for the Hessian.
"""

import matplotlib.pyplot as plt
import numpy as np

from derand import minimize_sosp
from derand.plotting import SOSPDisplay

n = 20


def fun(x):
    """Return value and gradient."""
    excess, step = x * x - 1.0, x - np.roll(x, -1)
    return 0.25 * (excess @ excess + step @ step), excess * x + 0.5 * (step - np.roll(step, 1))


def hessp(x, v):
    """Return the product of the Hessian with a vector."""
    step = v - np.roll(v, -1)
    return (3.0 * x * x - 1.0) * v + 0.5 * (step - np.roll(step, 1))


options = {"gtol": 1e-6, "curv_tol": 1e-3, "hessp": hessp, "rng": 0}
constants = {"grad_lip": 12.0, "hess_lip": 8.0, "delta_f": fun(np.zeros(n))[0]}
runs = {
    "lbfgs-lanczos": minimize_sosp(fun, np.zeros(n), **options),
    "newton-cg": minimize_sosp(fun, np.zeros(n), method="newton-cg", **options),
    "accelerated": minimize_sosp(fun, np.zeros(n), method="accelerated", **options, **constants),
    "perturbed_gradient": minimize_sosp(fun, np.zeros(n), method="perturbed_gradient", **options, **constants),
}
for method, run in runs.items():
    calls = run.nfev + run.nhev
    print(f"{method:20} {calls:6} calls, smallest eigenvalue at least {run.certificate.min_eigenvalue_lower:.4f}")

# %%
# One run in detail
# -----------------
# The display of a result shows where it left the saddle, and what the certificate cost at the end.

SOSPDisplay.from_result(runs["lbfgs-lanczos"]).plot()
plt.show()

# %%
# All four
# --------
# The axis of the calls is logarithmic: the methods of the literature take steps that are safe in the worst case.

figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
styles = (("#0072B2", "solid"), ("#D55E00", "dashed"), ("#009E73", "dashdot"), ("#000000", "dotted"))
for (method, run), (colour, style) in zip(runs.items(), styles, strict=True):
    calls = [record.nfev + record.nhev for record in run.history]
    norms = [max(record.gradient_norm, 1e-9) for record in run.history]
    axes.plot(calls, norms, color=colour, linestyle=style, label=method)
axes.axhline(1e-6, color="gray", linewidth=0.8)
axes.annotate("tolerance", (0.99, 1.3e-6), xycoords=("axes fraction", "data"), color="gray", fontsize=9, ha="right")
axes.set(xscale="log", yscale="log", ylabel="gradient norm")
axes.set_xlabel("evaluations of value and gradient, and Hessian products")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0), columnspacing=1.0)
plt.show()

# %%
# What was shown
# --------------
# All four end at points that LAPACK confirms, and the practical ones need a fifth of the calls or less.

for run in runs.values():
    hessian = np.array([hessp(run.x, unit) for unit in np.eye(n)])
    smallest = np.linalg.eigvalsh(hessian)[0]
    assert run.success
    assert np.linalg.norm(fun(run.x)[1]) <= 1e-6
    assert -1e-3 <= run.certificate.min_eigenvalue_lower <= smallest + 1e-12
total = {method: run.nfev + run.nhev for method, run in runs.items()}
assert 5 * max(total["lbfgs-lanczos"], total["newton-cg"]) < min(total["accelerated"], total["perturbed_gradient"])
