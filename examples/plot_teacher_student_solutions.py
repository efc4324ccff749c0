r"""
Which of all solutions does a student find?
===========================================

A quadratic student with p = 4 neurons can imitate a teacher with :math:`p^* = 2` in many ways: its solutions of zero
loss form a manifold of dimension :math:`p p^* - p^*(p^*+1)/2 = 5`.  The equations of motion conserve the frame
:math:`S = \rho (\rho^\top \rho)^{-1/2}` of the overlaps, if the teacher's vectors are orthogonal and of equal norms
and the student's are so at the start, and then end at the solution closest to where they began.

Three things break this: teacher vectors of unequal norms, student vectors of unequal norms, and the noise of stochastic
gradient descent at a finite learning rate from a cold start.
"""

import matplotlib.pyplot as plt
import numpy as np

from derand.plotting import FrameDriftDisplay, SolutionDistanceDisplay
from derand.teacher_student import TeacherStudent, conserved_frame

rng = np.random.default_rng(0)
alphas = np.linspace(0.0, 120.0, 61)
N = 400
weights = rng.standard_normal((4, N))
rho0, Q0 = weights[:, :2] / np.sqrt(N), weights @ weights.T / N
model = TeacherStudent(4, 2, lr=0.1)
skew = TeacherStudent(4, 2, lr=0.1, T=np.diag([1.5, 0.5]))

# %%
# Drift of the frame
# ------------------
# With equal norms it moves by rounding only.  Random weights have norms and angles of 1 + O(1/sqrt N): the drift is of
# that order.  Unequal teachers turn the frame towards the Gram-Schmidt frame of the start, strongest vector first.  The
# last curve is SGD itself, twenty runs from random weights.

runs = {
    "equal norms": model.solve(rho0, np.eye(4), alphas),
    f"random weights, N = {N}": model.solve(rho0, Q0, alphas),
    "unequal teacher": skew.solve(rho0 * np.sqrt([1.5, 0.5]), np.eye(4), alphas),
    f"SGD, N = {N}": model.simulate(rho0, Q0, N, alphas, n_replicas=20, rng=1),
}
drift = FrameDriftDisplay.from_runs(runs)

# %%
# Distance of the selected solution
# ---------------------------------
# Against 2,000 random points of the manifold, from a start with overlaps 0.3.

start = 0.3 * rng.standard_normal((4, 2)), np.eye(4)
distances = SolutionDistanceDisplay.from_start(model, *start, rng=2)

figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.2), layout="constrained")
drift.plot(left)
distances.plot(right)
plt.show()

# %%
# What was shown
# --------------
# The last assertion compares SGD with the law of its frame, tr(S_0' S_end)/p*, averaged over random starts: here 0.78.

assert np.max(drift.drifts["equal norms"]) < 1e-12
assert 0.1 / np.sqrt(N) < drift.drifts[f"random weights, N = {N}"][-1] < 4.0 / np.sqrt(N)
assert drift.drifts["unequal teacher"][-1] > 0.05
assert abs(distances.selected - distances.closest) < 1e-10
assert np.all(distances.random > distances.selected)

n = 300
cold = rng.standard_normal((60, 4, n))
starts = cold[..., :2] / np.sqrt(n), cold @ np.swapaxes(cold, 1, 2) / n
ends = model.simulate(*starts, n, [90.0], n_replicas=60, rng=3).rho[:, -1]
overlaps = np.sum(conserved_frame(starts[0]) * conserved_frame(ends), axis=(1, 2)) / 2.0
law = model.overlap_law(rng=4)
assert abs(overlaps.mean() - law.mean) < 3.0 * overlaps.std() / np.sqrt(60)
assert law.mean < 0.85
