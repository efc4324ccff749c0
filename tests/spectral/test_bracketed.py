import numpy as np

from derand.spectral.bracketed import bracketed_roots


def test_roots_to_the_last_digit():
    target = np.linspace(0.1, 50.0, 300)
    for function, inverse in ((lambda x: x**3, np.cbrt), (np.sinh, np.arcsinh), (lambda x: x**2 / (1 + x), None)):
        roots, residuals = bracketed_roots(lambda x, i, f=function: f(x) - target[i], np.zeros(300), np.full(300, 60.0))
        assert np.max(np.abs(residuals) / target) < 1e-14
        if inverse is not None:
            assert np.allclose(roots, inverse(target), rtol=4e-16, atol=0)


def test_decreasing_flat_and_exact_ends():
    low, high = np.array([0.0, 0.0, 1.0]), np.array([2.0, 1.0, 3.0])
    shift = np.array([1.0, 0.0, 9.0])
    roots, _ = bracketed_roots(lambda x, i: shift[i] - x**2, low, high)
    assert roots.tolist() == [1.0, 0.0, 3.0]


def test_without_a_sign_change_the_better_end_comes_back():
    roots, residuals = bracketed_roots(lambda x, i: x + 1.0, np.array([1.0]), np.array([2.0]))
    assert (roots[0], residuals[0]) == (1.0, 2.0)


def test_jumps_are_located():
    roots, residuals = bracketed_roots(lambda x, i: np.where(x < 0.3, -1.0, 2.0), np.zeros(1), np.ones(1))
    assert abs(residuals[0]) == 1.0
    assert abs(roots[0] - 0.3) < 1e-12
