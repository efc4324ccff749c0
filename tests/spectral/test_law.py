import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from derand.exceptions import InputError
from derand.spectral import SpectralLaw


@pytest.mark.parametrize("delta", [0.5, 1.0, 4.0, 50.0])
def test_marchenko_pastur_edges(delta):
    edges = SpectralLaw([1.0], weights=[1.0]).edges(delta)
    assert abs(edges.right.value - (1 + delta**-0.5) ** 2) < 1e-12
    if delta >= 1.0:
        assert abs(edges.left.value - (1 - delta**-0.5) ** 2) < 1e-12
    else:  # nodes at zero are the atom's; the bulk starts above it
        low, high = SpectralLaw([1.0], weights=[1.0]).bulk(delta)[0]
        assert abs(low - (1 - delta**-0.5) ** 2) < 1e-12
        assert abs(high - (1 + delta**-0.5) ** 2) < 1e-12


@pytest.mark.parametrize("delta", [0.7, 2.0, 9.0])
def test_signs_against_closed_form(delta):
    """+-1 weights: delta tau^2 (1 + tau^2) = (1 - tau^2)^2 is quadratic in tau^2."""
    edges = SpectralLaw([1.0, -1.0], weights=[0.5, 0.5]).edges(delta)
    q = min(r.real for r in np.roots([delta - 1.0, delta + 2.0, -1.0]) if r.real > 0.0)
    tau = math.sqrt(q)
    z = -1.0 / (delta * tau) - tau / (1.0 - q)
    assert abs(edges.left.value - z) < 1e-12
    assert abs(edges.right.value + z) < 1e-12


def test_optimal_weights_of_phase_retrieval():
    """T = 1 - 1/y: at delta the outlier is 1/delta, and the threshold is 1/2."""
    law = SpectralLaw.from_function(lambda z: 1.0 - 1.0 / z**2, breakpoints=[0.0])
    right = law.threshold("right")
    assert abs(right.value - 0.5) < 1e-12
    assert right.error < 1e-11
    for delta in (0.6, 1.0, 3.0):
        (outlier,) = law.outliers(delta, "right")
        assert abs(outlier.value - 1.0 / delta) < 1e-12
    left = law.threshold("left")
    assert (left.value, left.kind) == (math.inf, "none")
    assert "unbounded" in left.reason
    assert law.edges(1.0).left.value == -math.inf


def test_smooth_weights_against_adaptive_quadrature():
    """Edge and outlier of -tanh(z^2) at delta = 6 by scipy's quad and brentq: 12 digits."""
    delta = 6.0

    def mean(f):
        return 2 * sum(
            quad(lambda z: f(z) * norm.pdf(z), a, b, epsabs=1e-15, epsrel=1e-13)[0] for a, b in ((0, 2), (2, 10))
        )

    def T(z, t):
        g = -np.tanh(z * z)
        return g * t / (1 + g * t)

    edge_tau = brentq(lambda t: delta * mean(lambda z: T(z, t) ** 2) - 1, 0.05, 0.95, xtol=1e-15)
    out_tau = brentq(lambda t: delta * mean(lambda z: T(z, t) * (1 - z * z)) - 1, 0.01, edge_tau, xtol=1e-15)
    law = SpectralLaw.from_function(lambda z: -np.tanh(z**2))
    edge, (outlier,) = law.edges(delta).left, law.outliers(delta, "left")
    assert abs(edge.value - (mean(lambda z: T(z, edge_tau)) - 1 / delta) / edge_tau) < 1e-12
    assert abs(outlier.value - (mean(lambda z: T(z, out_tau)) - 1 / delta) / out_tau) < 1e-12
    assert edge.error < 1e-11


def test_declared_kinks():
    """Huber weights -min(z^2, 1): the threshold with kinks declared against quad, 8 digits."""
    law = SpectralLaw.from_function(lambda z: -np.minimum(z**2, 1.0), breakpoints=[-1.0, 1.0])

    def mean(f):
        parts = ((0.0, 1.0), (1.0, 3.0), (3.0, 10.0))
        return 2 * sum(quad(lambda z: f(z) * norm.pdf(z), a, b, epsabs=1e-14)[0] for a, b in parts)

    def gap(t):
        def T(z):
            g = -min(z * z, 1.0)
            return g * t / (1 + g * t)

        return mean(lambda z: T(z) ** 2) - mean(lambda z: T(z) * (1 - z * z))

    tau = brentq(gap, 0.2, 0.9, xtol=1e-13)
    exact = 1.0 / mean(lambda z: (-min(z * z, 1.0) * tau / (1 - min(z * z, 1.0) * tau)) ** 2)
    assert abs(law.threshold("left").value / exact - 1.0) < 1e-8


def test_support_edge():
    """Weights with little probability at their end: for small delta the edge is set by the end alone."""
    law = SpectralLaw.from_function(lambda z: np.exp(-(z**2)) - 1.0)
    kinds = {delta: law.edges(delta).left.kind for delta in (1e-3, 1.0)}
    assert kinds[1.0] == "soft"
    rare = SpectralLaw.from_function(lambda z: z**2 / (1.0 + z**2))
    edge = rare.edges(1e-3).right
    assert edge.kind == "support"
    assert edge.tau == pytest.approx(-1.0, rel=1e-6)


def test_two_planted_directions():
    """sign(z1 z2) with E[v^2 G] = c = 2/pi: tau solves tau^3 + c tau^2 + tau = c, and delta = (1 - tau^2)/(c tau).

    That is more than delta_alg = (pi/2)^2: the signs themselves aren't the best weights.
    """
    c = 2 / math.pi
    tau = next(r.real for r in np.roots([1.0, c, 1.0, -c]) if abs(r.imag) < 1e-12)
    exact = (1 - tau**2) / (c * tau)
    assert exact > math.pi**2 / 4
    law = SpectralLaw.from_function(lambda a, b: np.sign(a * b), k=2, breakpoints=[0.0])
    for side, direction in (("right", [1.0, 1.0]), ("left", [1.0, -1.0])):
        assert abs(law.threshold(side).value - exact) < 1e-11
        assert not law.threshold(side, rank=1).is_finite
        (outlier,) = law.outliers(4.0, side)
        assert abs(abs(outlier.direction @ direction) / math.sqrt(2.0) - 1.0) < 1e-12
    assert law.outliers(2.9) == ()


def test_extreme_eigenvalue_is_johnstones():
    """Johnstone (2001) for white Wishart matrices: centre (sqrt(n-1) + sqrt(p))^2 and his scale.

    His n - 1 for n moves the centre by (1 + sqrt(p/n))/n = 1.5/n, a correction of higher order.
    """
    p, n = 1000, 4000
    root, other = math.sqrt(n - 1), math.sqrt(p)
    centre, scale = (root + other) ** 2 / n, (root + other) * (1 / root + 1 / other) ** (1 / 3) / n
    mean, deviation = SpectralLaw([1.0], weights=[1.0]).extreme_eigenvalue(n / p, p, "right")
    assert abs(mean - (centre - 1.2065 * scale)) < 1.6 / n
    assert abs(deviation / (1.268 * scale) - 1.0) < 1e-3
    assert math.isnan(SpectralLaw.from_function(lambda z: z**2).extreme_eigenvalue(2.0, 100, "right")[0])


def test_drawn_weights_move_the_edge_as_predicted():
    """The edges of 100 samples of 1000 weights: 1/sqrt(2 * 99) = 7 % is the standard error of their deviation."""
    law = SpectralLaw.from_function(lambda z: np.tanh(z) - 0.3 * np.cos(z))
    rng = np.random.default_rng(0)
    z = rng.standard_normal((100, 1000))
    edges = [SpectralLaw(row, support=(-1.3, 1.3)).edges(2.0).left.value for row in np.tanh(z) - 0.3 * np.cos(z)]
    edge, fixed, drawn = (
        law.edges(2.0).left.value,
        law.extreme_eigenvalue(2.0, 500)[1],
        law.extreme_eigenvalue(2.0, 500, random_weights=True)[1],
    )
    assert abs(np.std(edges, ddof=1) / math.sqrt(drawn**2 - fixed**2) - 1.0) < 0.2
    assert abs(np.mean(edges) - edge) < 4.0 * drawn / 10.0


def test_a_level_below_which_the_outlier_has_to_lie():
    law = SpectralLaw.from_function(lambda z: 2.0 - np.tanh(z**2))
    free, bound = law.threshold("left"), law.threshold("left", below=0.0)
    assert free.is_finite
    assert not bound.is_finite  # no weight is negative
    shifted = SpectralLaw.from_function(lambda z: 0.55 - np.tanh(z**2))
    first, second = shifted.threshold("left"), shifted.threshold("left", below=0.0)
    for delta in (0.9 * second.value, 1.1 * second.value):
        has_any = any(outlier.value < 0.0 for outlier in shifted.outliers(delta, "left"))
        assert has_any == any(a < delta < b for a, b in second.intervals)
    assert second.value >= first.value - 1e-9


def test_several_roots_are_all_found():
    """Brute force over delta agrees with the intervals."""
    law = SpectralLaw.from_function(lambda z: np.cos(2.3 * z) - 0.6 * np.exp(-((np.abs(z) - 1.5) ** 2) / 0.02))
    for side in ("left", "right"):
        found = law.threshold(side)
        for delta in np.geomspace(0.05, 500.0, 40):
            inside = any(a < delta < b for a, b in found.intervals)
            assert bool(law.outliers(float(delta), side)) == inside


def test_samples_carry_error_estimates():
    rng = np.random.default_rng(0)
    z = rng.standard_normal(40_000)
    sample = SpectralLaw(-np.tanh(z**2), z)
    exact = SpectralLaw.from_function(lambda z: -np.tanh(z**2))
    for got, want in (
        (sample.edges(6.0).left, exact.edges(6.0).left),
        (sample.outliers(6.0, "left")[0], exact.outliers(6.0, "left")[0]),
        (sample.threshold("left"), exact.threshold("left")),
    ):
        assert abs(got.value - want.value) < 4.0 * got.error
        assert got.error < 0.05 * abs(want.value)


def test_unbounded_samples_give_no_number():
    z = np.random.default_rng(0).standard_normal(20_000)
    u = np.random.default_rng(1).standard_normal(20_000)
    law = SpectralLaw(0.5 * u**2 - z**2 + u**2, z)
    assert law.edges(4.0).left.kind == "none"
    assert law.threshold("left").value == math.inf
    assert law.outliers(4.0) == ()
    drawn = SpectralLaw.from_sampler(lambda n, rng: (-(rng.standard_normal(n) ** 2), None), 500, rng=0)
    assert drawn.edges(1.0).left.value == -math.inf


def test_scaling_and_reflection():
    z = np.linspace(-4, 4, 81)
    p = norm.pdf(z)
    law, twice = SpectralLaw(np.sin(z), z, p), SpectralLaw(2 * np.sin(z), z, p)
    mirrored = SpectralLaw(-np.sin(z), z, p)
    assert np.isclose(twice.edges(3.0).left.value, 2 * law.edges(3.0).left.value, rtol=1e-12)
    assert np.isclose(mirrored.edges(3.0).left.value, -law.edges(3.0).right.value, rtol=1e-12)


def test_bad_arguments():
    law = SpectralLaw([1.0, 2.0], weights=[0.5, 0.5])
    with pytest.raises(InputError, match="no planted direction"):
        law.threshold()
    with pytest.raises(InputError, match="side"):
        law.outliers(1.0, "up")
    with pytest.raises(InputError, match="MatrixSpectralLaw"):
        SpectralLaw(np.ones((2, 2, 2)))
    with pytest.raises(InputError, match="support"):
        SpectralLaw([1.0, 2.0], support=(0.0, 1.5))
    with pytest.raises(InputError, match="weights"):
        SpectralLaw([1.0, 2.0], weights=[-1.0, 2.0])
    with pytest.raises(InputError, match="v must"):
        SpectralLaw([1.0, 2.0], [1.0])
    with pytest.raises(InputError, match="shape"):
        SpectralLaw.from_function(lambda z: z[:3])
    with pytest.raises(InputError, match="NaN"):
        SpectralLaw.from_function(lambda z: np.sqrt(z))
