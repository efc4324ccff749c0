r"""
How long a student waits on its plateau
=======================================

A student network :math:`f(x) = \frac1p \sum_k (w_k \cdot x)^2 / N` sees one random sample after the other, labelled
by a teacher of the same kind with :math:`p^* = 2` vectors.  First the norms of its weights settle, at a loss that has
nothing to do with the teacher's directions; then nothing seems to happen; then it learns.

:class:`derand.teacher_student.TeacherStudent` predicts the height of this plateau, the rate at which it is left, and
the whole curve, for every width p.  The curves below are checked against runs of stochastic gradient descent, simulated
exactly in law without ever forming a weight vector.
"""

import matplotlib.pyplot as plt
import numpy as np

from derand.plotting import LossCurvesDisplay
from derand.teacher_student import TeacherStudent

p_star, lr = 2, 0.05
widths = (2, 4, 16)

# %%
# Predicted curves
# ----------------
# Random weights in N = 1e6 dimensions have overlaps of size 1e-3 with the teacher.  With the learning rate in
# mean-field scaling (the step is p times ``lr``), the width p doesn't enter the rate of escape.

alphas = np.linspace(0.0, 160.0, 161)
models = {p: TeacherStudent(p, p_star, lr=lr) for p in widths}
display = LossCurvesDisplay.from_models({f"p = {p}": models[p] for p in widths}, alphas, N=1e6, rng=0)
curves = {p: display.curves[f"p = {p}"] for p in widths}

# %%
# A check by simulation
# ---------------------
# A warm start (two students with overlap 0.4) and N = 2,000, so that the run is short.

warm = (0.4 * np.eye(4, p_star), np.eye(4))
times = np.linspace(0.0, 10.0, 11)
predicted = models[4].solve(*warm, times)
simulated = models[4].simulate(*warm, 2000, times, n_replicas=20, rng=1)

# %%
# Loss against time
# -----------------

display.plot()
plt.show()

# %%
# What was shown
# --------------
# The curves stay on the predicted plateaus for tens of time units; the rate of escape of gradient flow is the same for
# all widths, and eight times the width saves less than a fifth of the half time, averaged over random starts; the mean
# of twenty runs of SGD agrees with the equations within 4/sqrt(N); the plateau is a saddle point with p p* ways down,
# whatever the dimension.

for p in widths:
    assert abs(curves[p].loss[30] / models[p].plateau().loss - 1.0) < 1e-2
    assert curves[p].success
rates = [models[p].plateau(second_order=False).escape_rates[0] for p in widths]
assert np.allclose(rates, 4.0 * lr / p_star, rtol=1e-14)
half = [models[p].escape_time(1e6, n_starts=16, second_order=False, rng=0).time for p in widths]
assert 0.8 < half[2] / half[0] < 1.0

gap = np.max(np.abs(np.mean(simulated.rho, axis=0) - predicted.rho))
assert simulated.success
assert gap < 4.0 / np.sqrt(2000)

q = models[4].plateau(second_order=False).q
counts = models[4].hessian_spectrum(np.zeros((4, p_star)), q * np.eye(4), 10**9).inertia()
assert counts[0] == 4 * p_star
assert sum(counts) == 4 * 10**9
