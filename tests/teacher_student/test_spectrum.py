import numpy as np
import pytest

from derand.exceptions import BudgetExceededError, InputError
from derand.hessian import extreme_eigenpairs, inertia, min_eigenvalue, spectral_density
from derand.teacher_student import TeacherStudent
from tests.teacher_student.reference import dense_hessian, random_start, weights_for

P, P_STAR, N = 4, 2, 12
T = np.diag([1.3, 0.7])


def solution():
    rho = np.zeros((P, P_STAR))
    rho[:P_STAR] = np.sqrt(P / P_STAR) * T
    Q = np.zeros((P, P))
    Q[:P_STAR, :P_STAR] = P / P_STAR * T
    return rho, Q


def points():
    q = TeacherStudent(P, P_STAR, T=T).plateau(second_order=False).q
    rho, Q, _ = random_start(P, P_STAR, seed=4)
    return {
        "zero": (np.zeros((P, P_STAR)), np.zeros((P, P))),
        "plateau": (np.zeros((P, P_STAR)), q * np.eye(P)),
        "solution": solution(),
        "random": (0.3 * rho, Q),
    }


def expand(spectrum):
    return np.repeat(spectrum.values, spectrum.multiplicities)


@pytest.mark.parametrize("layers", [None, [1.0, -1.0, 2.0, 0.5]])
@pytest.mark.parametrize("point", ["zero", "plateau", "solution", "random"])
def test_spectrum_agrees_with_the_dense_hessian(point, layers):
    rho, Q = points()[point]
    model = TeacherStudent(P, P_STAR, T=T, second_layer=layers)
    W, W_star = weights_for(rho, Q, T, N)
    output = model.parameters.output
    dense = dense_hessian(W, W_star, output[:P], -output[P:])
    spectrum = model.hessian_spectrum(rho, Q, N)
    assert sum(spectrum.multiplicities) == P * N
    assert np.max(np.abs(expand(spectrum) - np.linalg.eigvalsh(dense))) < 1e-12
    operator = model.hessian_operator(W, W_star)
    assert np.max(np.abs(operator.dense() - dense)) < 1e-12


def test_operator_feeds_the_eigenvalue_tools():
    rho, Q = points()["plateau"]
    model = TeacherStudent(P, P_STAR, T=T)
    lowest = extreme_eigenpairs(model.hessian_operator(*weights_for(rho, Q, T, 50)), k=1, which="SA", rng=0)
    assert np.isclose(lowest.values[0], model.hessian_spectrum(rho, Q, 50).values[0], rtol=1e-6)


@pytest.mark.parametrize("point", ["plateau", "solution"])
def test_closed_spectra_test_the_eigenvalue_tools(point):
    """Heavy multiplicities and exact zeros, where Lanczos counts go wrong: inertia, density, moments, smallest value.

    At the solution the flat directions are zero to rounding, so a threshold of 1e-10 separates them.
    """
    rho, Q = points()[point]
    model, n = TeacherStudent(P, P_STAR, T=T), 60
    operator, closed = model.hessian_operator(*weights_for(rho, Q, T, n)), model.hessian_spectrum(rho, Q, n)
    counted = inertia(operator, tol=1e-10)
    assert counted.is_proven
    assert (counted.negative, counted.zero, counted.positive) == closed.inertia()
    values = expand(closed)
    density = spectral_density(operator, n_vectors=20, n_steps=30, method="lanczos", rng=0)
    for order in (1, 2, 3):
        moment = density.moment(order)
        assert abs(moment.value - np.mean(values**order)) <= 4.0 * moment.standard_error + 1e-14
    gap = 0.5 * (closed.values[0] + closed.values[1])
    share = density.cdf(gap)
    exact = np.mean(values < gap)
    assert share.lower - 4.0 * share.standard_error <= exact <= share.upper + 4.0 * share.standard_error
    lowest = min_eigenvalue(operator, rng=0)
    assert lowest.lower - 1e-12 <= values[0] <= lowest.value + 1e-12


@pytest.mark.parametrize("n", [40, 10**9])
def test_counts_are_exact_at_any_size(n):
    """The multiplicities of the paper's three points, T = I."""
    model = TeacherStudent(P, P_STAR)
    zero = model.hessian_spectrum(np.zeros((P, P_STAR)), np.zeros((P, P)), n)
    assert dict(zip(np.round(zero.values, 12), zero.multiplicities, strict=True)) == {
        -1.0: P * P_STAR,
        -0.5: P * (n - P_STAR),
    }
    q = model.plateau(second_order=False).q
    plateau = model.hessian_spectrum(np.zeros((P, P_STAR)), q * np.eye(P), n)
    assert plateau.inertia() == (
        P * P_STAR,
        P * (n - P - P_STAR) + P * (P - 1) // 2,
        P * (P + 1) // 2,
    )
    rho = np.zeros((P, P_STAR))
    rho[:P_STAR] = np.sqrt(P / P_STAR) * np.eye(P_STAR)
    found = model.hessian_spectrum(rho, rho @ rho.T, n)
    flat = (P - P_STAR) * n + P_STAR * (P_STAR - 1) // 2
    assert found.inertia() == (0, flat, P * n - flat)
    assert flat == model.solution_manifold_dimension() + (P - P_STAR) * (n - P_STAR)
    assert found.multiplicities[-1] == 1
    assert np.isclose(found.values[-1], 4 * (P_STAR + 2) / (P * P_STAR), rtol=1e-13)


def test_bad_arguments():
    model = TeacherStudent(P, P_STAR, T=T)
    rho, Q = points()["random"]
    with pytest.raises(InputError, match="N must be at least the rank 6"):
        model.hessian_spectrum(rho, Q, 5)
    with pytest.raises(InputError, match="single matrices"):
        model.hessian_spectrum(rho[None], Q[None], 50)
    with pytest.raises(InputError, match="square"):
        TeacherStudent(P, P_STAR, "erf", T=T).hessian_spectrum(rho, Q, 50)
    W, W_star = weights_for(rho, Q, T, N)
    with pytest.raises(InputError, match="must be the model's T"):
        model.hessian_operator(W, 1.1 * W_star)
    with pytest.raises(InputError, match="W_star"):
        model.hessian_operator(W, W_star[:, 1:])


def test_spans_too_large_are_refused():
    with pytest.raises(BudgetExceededError, match="order 10100"):
        TeacherStudent(101, 1).hessian_spectrum(np.zeros((101, 1)), np.diag([0.0, 0.0] + [1.0] * 99), 10**6)
