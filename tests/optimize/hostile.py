"""Functions that are hard to minimise honestly, shared by the tests of this folder."""

import numpy as np


def ring(x):
    """Return (|x|^2 - 1)^2: a saddle at 0 and a sphere of minima, along which the curvature is exactly 0."""
    excess = float(x @ x) - 1.0
    return excess**2, 4.0 * excess * x


def ring_hessp(x, v):
    return 4.0 * (float(x @ x) - 1.0) * v + 8.0 * x * float(x @ v)


def ring_hess(x):
    return 4.0 * (float(x @ x) - 1.0) * np.eye(x.size) + 8.0 * np.outer(x, x)


def wells(x):
    """Return sum (x_i^2 - 1)^2: separable, 2^n minima."""
    return float(np.sum((x**2 - 1.0) ** 2)), 4.0 * x * (x**2 - 1.0)


def wells_hessp(x, v):
    return (12.0 * x**2 - 4.0) * v


def coupled(x):
    """Return wells with neighbours coupled: no coordinate stands alone."""
    value, gradient = wells(x)
    step = np.diff(x)
    gradient = gradient.copy()
    gradient[:-1] -= step
    gradient[1:] += step
    return value + 0.5 * float(step @ step), gradient


def coupled_hessp(x, v):
    step = np.diff(v)
    product = wells_hessp(x, v)
    product[:-1] -= step
    product[1:] += step
    return product


def dense(hessp, x):
    """Return the Hessian from its products with the unit vectors."""
    return np.stack([hessp(x, e) for e in np.eye(x.size)], axis=1)


def monkey(z):
    """Return x^3 - 3 x y^2, whose Hessian at 0 is 0."""
    x, y = z
    return float(x**3 - 3.0 * x * y**2), np.array([3.0 * x**2 - 3.0 * y**2, -6.0 * x * y])


def quadratic(eigenvalues):
    """Return the diagonal quadratic and its products."""
    d = np.asarray(eigenvalues, dtype=np.float64)
    return (lambda x: (0.5 * float(x @ (d * x)), d * x)), (lambda _, v: d * v)
