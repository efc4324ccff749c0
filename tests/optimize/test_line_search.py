"""The Wolfe conditions, checked on random polynomials and on lines where they are hard to meet."""

import math

import numpy as np
import pytest

from derand.optimize.line_search import Trial, wolfe_search
from derand.optimize.oracle import Point


class Line:
    """A function of one variable as a line that counts its evaluations."""

    def __init__(self, fun, slope):
        self.fun, self.slope, self.trials = fun, slope, []

    def __call__(self, step):
        value = self.fun(step)
        slope = self.slope(step) if math.isfinite(value) else math.inf
        trial = Trial(step, value, slope, Point(np.array([step]), value, np.array([slope])))
        self.trials.append(trial)
        return trial

    def search(self, step, **options):
        return wolfe_search(self, self(0.0), step, **options)


def _is_wolfe(line, found):
    """Return whether the conditions of the docstring hold, recomputed from the trials."""
    start = line.trials[0]
    # The steepest descent met on the line, among the trials that were kept as lower ends.
    steepest = min(t.slope for t in line.trials if t.slope < 0.0)
    decrease = found.fun <= start.fun + 1e-4 * found.step * start.slope
    return decrease and 0.9 * start.slope <= found.slope <= -0.9 * steepest


def test_random_polynomials_end_with_the_wolfe_conditions():
    rng = np.random.default_rng(0)
    for _ in range(500):
        # Even leading term, negative slope at 0: bounded below, with up to three local minima.
        roots = np.poly1d([*(abs(rng.standard_normal(1)) + 0.1), *rng.standard_normal(5), 0.0])
        if roots.deriv()(0.0) >= -1e-3:
            continue
        line = Line(lambda t, p=roots: float(p(t)), lambda t, p=roots: float(p.deriv()(t)))
        found = line.search(float(np.exp(rng.uniform(-7, 7))))
        assert found is not None
        assert _is_wolfe(line, found)
        assert len(line.trials) <= 32


@pytest.mark.parametrize("first", [1e-12, 1e-3, 1.0, 1e3, 1e12])
def test_the_scale_of_the_first_step_does_not_matter(first):
    line = Line(lambda t: (t - 1.0) ** 2, lambda t: 2.0 * (t - 1.0))
    found = line.search(first)
    assert _is_wolfe(line, found)
    assert len(line.trials) <= 25


@pytest.mark.parametrize("scale", [1e-100, 1e-30, 1e30, 1e100])
def test_lines_of_extreme_scale(scale):
    line = Line(lambda t: (t / scale - 1.0) ** 2, lambda t: 2.0 * (t / scale - 1.0) / scale)
    found = line.search(1.0)
    assert found is not None
    assert found.fun < 1.0


def test_values_that_are_not_finite_are_walls():
    line = Line(lambda t: -t if t < 0.3 else math.inf, lambda _: -1.0)
    found = line.search(1.0)
    assert found is not None
    assert 0.29 < found.step < 0.3
    line = Line(lambda t: 0.0 if t == 0.0 else math.inf, lambda _: -1.0)
    assert line.search(1.0) is None
    assert len(line.trials) <= 62


def test_decrease_hidden_by_rounding_is_seen_in_the_slopes():
    # 1e8 + (t-1)^2 1e-9: all values are equal in floats, the slopes still show the minimum.
    line = Line(lambda t: 1e8 + 1e-9 * (t - 1.0) ** 2, lambda t: 2e-9 * (t - 1.0))
    found = line.search(0.9)
    assert found is not None
    assert abs(found.slope) < 0.9 * 2e-9


def test_line_that_leaves_a_saddle_is_not_minimised_exactly():
    # Slope -1e-9 at 0 and a minimum at 1 with slopes near 1 on the way.
    line = Line(lambda t: -1e-9 * t - t**2 / 2 + t**4 / 4, lambda t: -1e-9 - t + t**3)
    found = line.search(0.1)
    assert len(line.trials) <= 8
    assert found.fun < -0.1


def test_arrival_at_a_stationary_point_ends_the_search():
    line = Line(lambda t: -t + 0.5 * t**2, lambda t: -1.0 + t)
    assert line.search(1.0, gtol=1e-3).step == 1.0
    assert len(line.trials) == 2


@pytest.mark.parametrize(
    ("fun", "slope"),
    [
        (lambda t: -t, lambda _: -1.0),
        (lambda t: -t * t - t, lambda t: -2.0 * t - 1.0),
        (lambda t: -(t**3) - t, lambda t: -3.0 * t * t - 1.0),
    ],
)
def test_unbounded_lines_end_at_the_lowest_point_within_the_range_of_floats(fun, slope):
    def safe(t):
        try:
            return fun(t)
        except OverflowError:
            return math.inf

    def safe_slope(t):
        return max(slope(t), -1e300)

    line = Line(safe, safe_slope)
    found = line.search(1.0)
    assert found is not None
    assert found.fun == min(t.fun for t in line.trials)
    assert found.fun < -1e50


def test_wrong_slope_finds_nothing():
    line = Line(lambda t: t, lambda _: -1.0)
    assert line.search(1.0) is None
    assert len(line.trials) <= 62


def test_noise_ends():
    rng = np.random.default_rng(0)
    line = Line(lambda t: (t - 1) ** 2 + 1e-3 * rng.standard_normal(), lambda t: 2 * (t - 1) + rng.standard_normal())
    for step in (1e-6, 1.0, 1e6):
        line.trials.clear()
        found = line.search(step)
        assert len(line.trials) <= 62
        assert found is None or found.fun <= line.trials[0].fun + 4e-16
