r"""
The landscape along the way: maximum, saddle, marginal minimum
==============================================================

The Hessian of the population loss of a quadratic student is known in full at every point, from the overlaps alone: all
eigenvalues with their multiplicities, in any dimension N.  At W = 0 all of them are negative.  At the plateau a handful
of directions lead down, p for each teacher vector, among p N mostly flat ones: this is what makes it hard to leave.  At
a solution none is negative, and the flat ones are of two kinds: motions along the manifold of solutions, and directions
that spare neurons are free to take.
"""

import matplotlib.pyplot as plt
import numpy as np

from derand.hessian import extreme_eigenpairs
from derand.plotting import HessianSpectrumDisplay
from derand.teacher_student import TeacherStudent

p, p_star, N = 4, 2, 10**9
model = TeacherStudent(p, p_star)

# %%
# Three spectra for a thousand million inputs
# -------------------------------------------

display = HessianSpectrumDisplay.from_model(model, N).plot()
plt.show()

# %%
# A check by Lanczos' method
# --------------------------
# The same Hessian as an operator on the weights, for N = 300 and a plateau in a random position.

rng = np.random.default_rng(0)
q = model.plateau(second_order=False).q
frame = np.linalg.qr(rng.standard_normal((300, p + p_star)))[0].T
W, W_star = np.sqrt(300 * q) * frame[:p], np.sqrt(300) * frame[p:]
lowest = extreme_eigenpairs(model.hessian_operator(W, W_star), k=1, which="SA", rng=0).values[0]

# %%
# What was shown
# --------------

origin, plateau, solution = display.spectra.values()
assert origin.inertia() == (p * N, 0, 0)
assert plateau.inertia()[0] == p * p_star
assert np.isclose(lowest, plateau.values[0], rtol=1e-6)
assert np.isclose(plateau.values[0], -4.0 / (p * p_star), rtol=1e-12)
tangent, spare = model.solution_manifold_dimension(), (p - p_star) * (N - p_star)
assert solution.inertia() == (0, tangent + spare, p * N - tangent - spare)
