r"""
Wider students wait almost as long
==================================

How long does a quadratic student stay on its plateau?  Its overlaps with the teacher grow like
:math:`e^{\Lambda \alpha}` with :math:`\Lambda = 4\gamma t/p^*` under gradient flow: the width p of the student doesn't
enter, only that of the teacher does.  Width acts through a constant: the number of overlaps that start out at random,
and the height of the plateau.

This holds for the learning rate in mean-field scaling (a step of p times ``lr``); with a step of ``lr`` itself every
rate carries a factor 1/p, and wide students are slower.
"""

import matplotlib.pyplot as plt
import numpy as np

from derand.plotting import EscapeTimeDisplay
from derand.teacher_student import TeacherStudent

# %%
# Escape time against both widths
# -------------------------------
# One task for each pair of widths, run through joblib: any ``n_jobs`` and back end gives the same numbers.  Random
# weights in N = 1e8 dimensions; bars are two standard errors over 16 random starts.

display = EscapeTimeDisplay.from_widths((2, 3, 4, 8), (1, 2), N=1e8, n_starts=16, rng=0, lr=0.05)

figure, left = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
display.plot(left)
plt.show()

# %%
# One-pass SGD isn't gradient flow
# --------------------------------
# Its noise gathers on the plateau and adds to the initial overlaps, whatever N is: the escape is earlier, and the
# prediction says by how much.

rates = np.array([0.02, 0.05, 0.1, 0.15])
models = [TeacherStudent(4, 2, lr=float(lr)) for lr in rates]
flow = [m.escape_time(1e8, second_order=False).time for m in models]
mean = [m.escape_time(1e8).time for m in models]
noisy = [m.escape_time(1e8, fluctuations=True).time for m in models]
figure, right = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
right.plot(rates, rates * flow, "o-", color="#0072B2", label="gradient flow")
right.plot(rates, rates * mean, "s--", color="#D55E00", label="mean of SGD's steps")
right.plot(rates, rates * noisy, "^-.", color="#009E73", label="with the noise gathered on the plateau")
right.set(xlabel="learning rate", ylabel="learning rate x samples / N", title="p = 4, two teacher vectors")
right.legend(frameon=False)
right.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# What was shown
# --------------
# Four times the width saves less than a fifth of the time; two teacher vectors instead of one double it.

times = {(point.setting["p_star"], point.setting["p"]): point.value.time for point in display.points}
assert all(point.success for point in display.points)
for p_star in (1, 2):
    assert 0.8 < times[p_star, 8] / times[p_star, 2] < 1.05
for p in (2, 4, 8):
    assert 1.8 < times[2, p] / times[1, p] < 2.3
assert np.all(np.array(noisy) < np.array(mean))
assert np.ptp(rates * flow) < 1e-4 * flow[0]
