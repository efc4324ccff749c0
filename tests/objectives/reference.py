"""Independent references: Gaussian integrals by numpy's own Gauss-Hermite rule, from pointwise values alone."""

from __future__ import annotations

from itertools import product

import numpy as np


def tensor_rule(n, dim):
    """Nodes (n**dim, dim) and weights of numpy's probabilists' Gauss-Hermite rule."""
    x, w = np.polynomial.hermite_e.hermegauss(n)
    w = w / w.sum()
    return np.array(list(product(x, repeat=dim))), np.prod(np.array(list(product(w, repeat=dim))), axis=1)


def gaussian_mean(fun, mean, factor, n=40):
    """E[fun(mean + factor xi)], fun mapping (N, dim) to (N, ...)."""
    nodes, weights = tensor_rule(n, factor.shape[1])
    return np.tensordot(weights, fun(mean + nodes @ factor.T), axes=1)


def gaussian_slope(integrand, mean, factor, n=40):
    """E[grad g(mean + factor xi) xi'], shape (dim, r)."""
    nodes, weights = tensor_rule(n, factor.shape[1])
    slopes = integrand.gradient(mean + nodes @ factor.T)
    return (slopes * weights[:, None]).T @ nodes


def pointwise_hessian(integrand, z):
    """The Hessians at the rows of z from Hessian products, (N, dim, dim)."""
    unit = np.eye(integrand.dim)
    return np.stack([integrand.hessian_product(z, np.broadcast_to(e, z.shape)) for e in unit], axis=2)


def assert_pointwise_derivatives(integrand, z, rng, rtol=1e-6):
    """Gradient and Hessian products against central differences; h = 1e-5 leaves truncation and rounding near 1e-9."""
    v = rng.standard_normal(z.shape)
    h = 1e-5
    slope = (integrand.value(z + h * v) - integrand.value(z - h * v)) / (2 * h)
    np.testing.assert_allclose(np.sum(integrand.gradient(z) * v, axis=1), slope, rtol=rtol, atol=rtol)
    curve = (integrand.gradient(z + h * v) - integrand.gradient(z - h * v)) / (2 * h)
    np.testing.assert_allclose(integrand.hessian_product(z, v), curve, rtol=rtol, atol=rtol)


def assert_expectation(integrand, mean, factor, *, n=40, tol=1e-12):
    """Value, gradients and Hessian of a closed form against the reference rule, relative to the size of each."""
    parts = integrand.expectation(mean, factor)

    def close(got, want):
        assert np.shape(got) == np.shape(want)
        assert np.max(np.abs(got - want)) <= tol * (1.0 + np.max(np.abs(want)))

    close(parts.value, gaussian_mean(integrand.value, mean, factor, n))
    close(parts.gradient, gaussian_mean(integrand.gradient, mean, factor, n))
    close(parts.factor_gradient, gaussian_slope(integrand, mean, factor, n))
    close(parts.hessian(mean.size), gaussian_mean(lambda z: pointwise_hessian(integrand, z), mean, factor, n))
    size = max(1, mean.size - 1)
    np.testing.assert_array_equal(parts.hessian(size), parts.hessian(mean.size)[:size, :size])


def assert_expectation_derivative(integrand, mean, factor, rng, rtol=1e-6):
    """The directional derivatives of a closed form against central differences of its gradients."""
    dmean, dfactor = rng.standard_normal(mean.shape), rng.standard_normal(factor.shape)
    h = 1e-5
    up = integrand.expectation(mean + h * dmean, factor + h * dfactor)
    down = integrand.expectation(mean - h * dmean, factor - h * dfactor)
    dgradient, dslope = integrand.expectation(mean, factor).derivative(dmean, dfactor)
    np.testing.assert_allclose(dgradient, (up.gradient - down.gradient) / (2 * h), rtol=rtol, atol=rtol)
    np.testing.assert_allclose(dslope, (up.factor_gradient - down.factor_gradient) / (2 * h), rtol=rtol, atol=rtol)
    middle = (up.value - down.value) / (2 * h)
    parts = integrand.expectation(mean, factor)
    assert abs(np.sum(parts.gradient * dmean) + np.sum(parts.factor_gradient * dfactor) - middle) <= rtol * (
        1 + abs(middle)
    )


def assert_same_numbers(integrand, z, v, xp):
    """The same numbers from NumPy and from another array library, to a few roundings."""
    for name, args in (("value", (z,)), ("gradient", (z,)), ("hessian_product", (z, v))):
        want = getattr(integrand, name)(*args)
        got = getattr(integrand, name)(*(xp.asarray(a) for a in args))
        assert type(got) is type(xp.asarray(z))
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-13, atol=1e-13)
