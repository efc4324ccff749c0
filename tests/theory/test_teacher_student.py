"""Statements of arXiv 2604.03068, one test each, as pairs (computed, predicted), with the qualifications they need.

1. Norms settle on a plateau with rho = 0; it is a saddle of the population loss.
2. The width changes the time on the plateau by a prefactor only, not its rate -- in mean-field scaling.
3. The solutions of zero loss form a manifold of dimension p p* - p*(p* + 1)/2; two kinds of flat directions.
4. W = 0 is a local maximum of the loss.
5. S = rho (rho' rho)^(-1/2) is conserved, and the end is the closest solution -- for T = I and equal norms.
6. Neither holds for an anisotropic teacher, and SGD itself follows only for small learning rates.
"""

import math

import numpy as np

from derand.teacher_student import TeacherStudent, conserved_frame
from tests.teacher_student.reference import orthogonal_start

P, P_STAR = 4, 2


def test_norms_settle_on_the_plateau():
    """At alpha = 50 the overlaps have grown from 1e-8 by exp(8.5) to 5e-5, and enter Q squared: 3e-9."""
    model = TeacherStudent(P, P_STAR, lr=0.1)
    rho, Q = orthogonal_start(P, P_STAR, 1e-8)
    computed = model.solve(rho, Q, [50.0]).Q[0]
    assert np.allclose(computed, model.plateau().q * np.eye(P), rtol=0, atol=1e-8)


def test_plateau_is_a_saddle():
    model = TeacherStudent(P, P_STAR)
    q = model.plateau(second_order=False).q
    negative, zero, positive = model.hessian_spectrum(np.zeros((P, P_STAR)), q * np.eye(P), 10**6).inertia()
    assert (negative, positive) == (P * P_STAR, P * (P + 1) // 2)
    assert negative < 1e-5 * zero  # few ways down among a flat majority


def test_rate_does_not_depend_on_the_width_in_mean_field_scaling():
    rates = [TeacherStudent(p, 2).plateau(second_order=False).escape_rates[0] for p in (2, 4, 32)]
    assert np.allclose(rates, 4 * 0.05 / 2, rtol=1e-15)
    standard = [
        TeacherStudent(p, 2, lr_scaling="standard").plateau(second_order=False).escape_rates[0] for p in (2, 4, 32)
    ]
    assert math.isclose(standard[0], 16 * standard[2], rel_tol=1e-14)


def test_flat_directions_at_the_solutions():
    n = 1000
    model = TeacherStudent(P, P_STAR)
    rho = np.sqrt(P / P_STAR) * np.eye(P, P_STAR)
    negative, zero, _ = model.hessian_spectrum(rho, rho @ rho.T, n).inertia()
    tangent, spare = model.solution_manifold_dimension(), (P - P_STAR) * (n - P_STAR)
    assert (negative, zero) == (0, tangent + spare)
    assert tangent == P * P_STAR - P_STAR * (P_STAR + 1) // 2


def test_the_origin_is_a_maximum():
    spectrum = TeacherStudent(P, P_STAR).hessian_spectrum(np.zeros((P, P_STAR)), np.zeros((P, P)), 1000)
    assert spectrum.inertia() == (1000 * P, 0, 0)


def test_conserved_frame_and_closest_solution():
    """The tail is algebraic, hence the tolerance of 2e-2 on rho at alpha = 400; S itself is exact to 1e-12."""
    rho, Q = orthogonal_start(P, P_STAR, 1e-2)
    model = TeacherStudent(P, P_STAR, lr=0.1)
    end = model.solve(rho, Q, [400.0])
    assert np.max(np.abs(conserved_frame(end.rho[0]) - conserved_frame(rho))) < 1e-12
    assert np.max(np.abs(end.rho[0] - model.selected_solution(rho, Q).rho)) < 2e-2


def test_anisotropic_teachers_select_another_solution():
    """t = (1.5, 0.5): the frame is close to Gram-Schmidt of rho0, strongest direction first, and far from polar."""
    rho, Q = orthogonal_start(P, P_STAR, 1e-6, seed=1)
    model = TeacherStudent(P, P_STAR, T=np.diag([1.5, 0.5]))
    end = model.selected_solution(rho, Q, second_order=False)
    gram_schmidt, upper = np.linalg.qr(rho)
    gram_schmidt = gram_schmidt * np.sign(np.diag(upper))
    to_polar, to_schmidt = end.drift, np.linalg.norm(end.frame - gram_schmidt)
    assert to_schmidt < 0.05 * to_polar


def test_sgd_follows_only_for_small_learning_rates():
    overlaps = [TeacherStudent(P, P_STAR, lr=lr).overlap_law(n_samples=2000, rng=0).mean for lr in (0.2, 0.05, 1e-5)]
    assert overlaps[0] < 0.7 < overlaps[1] < 0.95
    assert overlaps[2] > 0.999


def test_second_order_search_leaves_the_plateau_for_a_solution():
    """From the saddle, where the gradient vanishes, the search ends at zero loss: all second-order points are."""
    from derand.optimize import minimize_sosp
    from tests.problems import make_problem

    problem = make_problem("teacher_student_plateau")
    saddle = problem.starts["saddle"]
    assert np.linalg.norm(problem.fun(saddle)[1]) < 1e-12
    result = minimize_sosp(problem.fun, saddle, hessp=problem.hessp, rng=0)
    assert result.success
    assert abs(result.fun - problem.minimum) < 1e-8


def test_closest_of_many_solutions():
    """The end is closer to the start than each of a thousand random points of the manifold."""
    rho, Q = orthogonal_start(P, P_STAR, 0.1, seed=5)
    model = TeacherStudent(P, P_STAR)
    selected = model.solution_distance(rho, Q, model.selected_solution(rho, Q).rho)
    assert np.all(model.solution_distance(rho, Q, model.random_solutions(1000, rng=6)[0]) > selected)
