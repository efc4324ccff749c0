"""Error against processor time: adaptive integration and fixed-step Euler on the same equations of motion, in one run.

    python -m tests.benchmarks.teacher_student

The reference is the integration at rtol 2.5e-14.  Euler's error is linear in its step, so the step that reaches 1e-5 is
extrapolated from the finest one that is run, and its time with it (it is proportional to the number of steps).
"""

from __future__ import annotations

import os
import sys
import time

if __name__ == "__main__":
    for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(_name, "1")

import numpy as np

from derand.teacher_student import TeacherStudent

ALPHAS = np.linspace(0.0, 100.0, 101)
TARGET = 1e-5


def start(p, p_star):
    """Return a cold start with overlaps of size 0.01."""
    return 0.01 * np.random.default_rng(0).standard_normal((p, p_star)), np.eye(p)


def euler(p, p_star, gamma, rho, Q, steps):
    """Return losses at ALPHAS from fixed-step Euler, written as one would by hand for T = I."""
    h = (ALPHAS[1] - ALPHAS[0]) / steps
    losses = []
    for index in range(len(ALPHAS)):
        for _ in range(steps if index else 0):
            q_rho, square, cross = Q @ rho, Q @ Q, rho @ rho.T
            m = np.trace(Q) / p - 1.0
            e2 = m * m + 2.0 * (np.trace(square) / p**2 + 1.0 / p_star - 2.0 * np.trace(cross) / (p * p_star))
            f = square / p - cross / p_star
            q_cross = Q @ cross
            g = square @ Q / p**2 - (q_cross + q_cross.T) / (p * p_star) + cross / p_star**2
            d_rho = -2.0 * gamma * (m * rho + 2.0 * q_rho / p - 2.0 * rho / p_star)
            Q = Q + h * (-4.0 * gamma * (m * Q + 2.0 * f) + 4.0 * gamma**2 * (e2 * Q + 4.0 * m * f + 8.0 * g))
            rho = rho + h * d_rho
        m = np.trace(Q) / p - 1.0
        losses.append(0.5 * m * m + np.sum(Q * Q) / p**2 + 1.0 / p_star - 2.0 * np.sum(rho * rho) / (p * p_star))
    return np.array(losses)


def timed(function, *args, **keywords):
    """Return a result and the processor time it took."""
    begin = time.process_time()
    result = function(*args, **keywords)
    return result, time.process_time() - begin


def compare(p=4, p_star=2, gamma=0.1, steps=(10, 40, 160)):
    """Print the table and return the ratio of processor times at an error of 1e-5."""
    model, (rho, Q) = TeacherStudent(p, p_star, lr=gamma), start(p, p_star)
    reference = model.solve(rho, Q, ALPHAS, rtol=2.5e-14).loss
    ours = np.inf
    for rtol in (1e-4, 1e-5, 1e-6, 1e-8, 1e-10, 1e-12):
        run, cpu = timed(model.solve, rho, Q, ALPHAS, rtol=rtol)
        error = np.max(np.abs(run.loss - reference))
        ours = min(ours, cpu) if error <= TARGET else ours
        print(f"derand rtol={rtol:.0e}  {1e3 * cpu:9.2f} ms  error {error:.1e}")
    for count in steps:
        losses, cpu = timed(euler, p, p_star, gamma, rho, Q, count)
        error = np.max(np.abs(losses - reference))
        print(f"Euler  h={1.0 / count:.5f}  {1e3 * cpu:9.2f} ms  error {error:.1e}")
    needed = cpu * error / TARGET
    print(f"Euler at 1e-5 (extrapolated): {needed:.2f} s; ratio {needed / ours:.0f}")
    return needed / ours


if __name__ == "__main__":
    sys.exit(0 if compare() >= 100.0 else 1)
