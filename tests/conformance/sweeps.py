"""One small sweep of each kind, as functions of the number of jobs; the tests of the back ends compare their bits."""

import hashlib

import numpy as np

from derand.estimators import LearnedJL
from derand.maxcut import MaxCutProblem, solve_maxcut
from derand.plotting import EscapeTimeDisplay
from derand.spectral import success_curve
from derand.sweeps import grid, sweep
from derand.teacher_student import sweep as teacher_sweep
from derand.two_step import phase_diagram, random_problem


def digest(*arrays):
    """Return a digest of shapes and bytes."""
    text = hashlib.sha256()
    for array in arrays:
        plain = np.ascontiguousarray(array)
        text.update(f"{plain.dtype.str}{plain.shape}".encode() + plain.tobytes())
    return text.hexdigest()


def draw(n, seed):
    """Return normal numbers."""
    return np.random.default_rng(seed).standard_normal(n)


def plateau(model, generator):
    """Return the loss of the plateau and a number from the stream of the setting."""
    return model.plateau(second_order=False).loss + float(generator.standard_normal())


def sine(z):
    """Return the link of the problem of two steps."""
    return np.sin(1.5 * z)


def general(n_jobs):
    """derand.sweeps.sweep."""
    return digest(*sweep(draw, grid(n=[3, 40], seed=range(5)), n_jobs=n_jobs))


def teacher_student(n_jobs):
    """derand.teacher_student.sweep."""
    points = teacher_sweep(plateau, grid(p=(2, 4, 8)), p_star=2, rng=0, n_jobs=n_jobs)
    return digest(np.array([point.value for point in points]))


def two_step(n_jobs):
    """derand.two_step.phase_diagram."""
    problem = random_problem(120, 120, 120, [sine], rng=0)
    found = phase_diagram([0.1, 0.2, 0.3], [0.2, 0.3], *problem[:4], activation=[0.0, 1.0, 0.5], n_jobs=n_jobs)
    return digest(found.counted, found.asymptotic, found.predicted, found.own, found.theta)


def spectral(n_jobs):
    """derand.spectral.success_curve."""
    curve = success_curve(
        "quad", "square", "z**2", d=12, deltas=[2.0, 6.0], eta=0.05, n_steps=8, n_seeds=2, n_jobs=n_jobs
    )
    return digest(curve.correlations, curve.train_risk, curve.test_risk)


def embedding(n_jobs):
    """derand.estimators.LearnedJL."""
    X = np.random.default_rng(0).standard_normal((400, 12))
    learned = LearnedJL(4, max_iter=15, n_jobs=n_jobs).fit(X)
    return digest(learned.components_, np.array(learned.distortion_))


def starts(n_jobs):
    """derand.maxcut.solve_maxcut with several searches."""
    i, j = np.triu_indices(24, 1)
    edges = np.random.default_rng(0).random(i.size) < 0.3
    problem = MaxCutProblem.from_edges(i[edges], j[edges])
    found = solve_maxcut(problem, effort="quick", n_starts=3, n_jobs=n_jobs)
    return digest(found.side, np.array([found.value, found.upper_bound], dtype=float))


def escape_times(n_jobs):
    """derand.plotting.EscapeTimeDisplay."""
    points = EscapeTimeDisplay.from_widths([4, 5], [2], n_starts=3, rng=0, n_jobs=n_jobs).points
    return digest(np.array([[point.value.time, point.value.standard_error] for point in points]))


SWEEPS = {f.__name__: f for f in (general, teacher_student, two_step, spectral, embedding, starts, escape_times)}
