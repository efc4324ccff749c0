import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes

from derand.exceptions import BudgetExceededError, InputError
from derand.teacher_student import TeacherStudent, conserved_frame
from tests.teacher_student.reference import orthogonal_start, random_start, weights_for


def test_frame_is_the_polar_factor():
    rho = np.random.default_rng(0).standard_normal((5, 4, 2))
    S = conserved_frame(rho)
    assert np.allclose(np.swapaxes(S, -1, -2) @ S, np.eye(2), rtol=0, atol=1e-14)
    rest = np.swapaxes(S, -1, -2) @ rho
    assert np.allclose(rest, np.swapaxes(rest, -1, -2), rtol=0, atol=1e-14)
    assert np.all(np.linalg.eigvalsh(rest) > 0)


@pytest.mark.parametrize("second_order", [True, False])
def test_frame_is_conserved_for_an_isotropic_teacher_and_start(second_order):
    rho, Q = orthogonal_start(4, 2, 1e-2)
    run = TeacherStudent(4, 2, lr=0.1).solve(rho, Q, np.linspace(0, 200, 21), second_order=second_order)
    assert np.max(np.abs(conserved_frame(run.rho) - conserved_frame(rho))) <= 1e-12


def test_conserved_end_is_the_closest_solution():
    """Procrustes: the rotation that brings the teacher's vectors closest to the student's weights."""
    rho, Q = orthogonal_start(4, 2, 0.1)
    model = TeacherStudent(4, 2)
    end = model.selected_solution(rho, Q)
    W, W_star = weights_for(rho, Q, np.eye(2), 20)
    # Pad the teacher with two zero vectors, so that the solutions are sqrt(2) R (W*, 0) with R orthogonal of order 4.
    padded = np.sqrt(2.0) * np.vstack([W_star, np.zeros((2, 20))])
    rotation, _ = orthogonal_procrustes(padded.T, W.T)
    closest = rotation.T @ padded
    assert end.is_conserved
    assert np.allclose(end.rho, closest @ W_star.T / 20, rtol=0, atol=1e-10)
    assert np.allclose(end.Q, closest @ closest.T / 20, rtol=0, atol=1e-10)
    assert float(model.loss(end.rho, end.Q)) < 1e-14


def test_other_starts_are_integrated():
    """Unequal norms, cold start: the frame is that of Q0^(-1/2) rho0 and not that of rho0."""
    Q = np.diag([2.0, 0.5, 1.0])
    rho = 1e-4 * np.random.default_rng(1).standard_normal((3, 2))
    end = TeacherStudent(3, 2).selected_solution(rho, Q, second_order=False)
    expected = conserved_frame(np.diag(np.diag(Q) ** -0.5) @ rho)
    assert not end.is_conserved
    assert end.drift > 0.1
    assert np.max(np.abs(end.frame - expected)) < 0.05
    assert np.max(np.abs(end.frame - expected)) < 0.3 * np.max(np.abs(end.frame - conserved_frame(rho)))


def test_random_norms_make_a_small_drift():
    rho, Q, _ = random_start(4, 2, n_inputs=2500)
    end = TeacherStudent(4, 2).selected_solution(rho, Q)
    assert 0.1 / 50 < end.drift < 4 / 50


def test_overlap_law_at_the_measured_rates():
    """Overlaps of full SGD runs, N = 3000, three standard errors; the last row of the law is a limit."""
    measured = {0.2: (0.650, 0.034), 0.1: (0.775, 0.032), 0.05: (0.855, 0.028), 0.02: (0.900, 0.036)}
    for lr, (value, error) in measured.items():
        law = TeacherStudent(4, 2, lr=lr).overlap_law(n_samples=4000, rng=0)
        assert abs(law.mean - value) < 2 * error
        assert law.standard_error < 0.01
    assert TeacherStudent(4, 2, lr=1e-7).overlap_law(n_samples=100, rng=0).mean > 0.999


def test_law_of_nearly_equal_teachers_is_that_of_equal_ones():
    equal, nearly = (TeacherStudent(4, 2, lr=0.1, T=np.diag([1.0, 1.0 - gap])) for gap in (0.0, 1e-9))
    first, second = equal.overlap_law(rng=0), nearly.overlap_law(N=1e6, n_samples=100, rng=0)
    assert abs(first.mean - second.mean) < 3 * second.standard_error
    assert np.allclose(first.noise_ratios, second.noise_ratios, rtol=1e-6)


@pytest.mark.medium
def test_law_of_unequal_teachers_at_small_rates_is_the_turn_of_the_equations():
    """Without noise (lr -> 0) each start ends where the integration of that start alone says."""
    model = TeacherStudent(3, 2, lr=1e-4, T=np.diag([1.3, 0.7]))
    law = model.overlap_law(N=1e4, n_samples=2, rng=3)
    normal = np.random.default_rng(3).standard_normal((2, 3, 2))
    rho = normal * np.sqrt(np.array([1.3, 0.7]) / 1e4)
    ends = np.array([model.selected_solution(start, np.eye(3)).frame for start in rho])
    overlaps = np.sum(conserved_frame(rho) * ends, axis=(1, 2)) / 2
    assert law.noise_ratio < 1e-3
    assert abs(law.mean - overlaps.mean()) < 0.01
    assert law.mean < 0.999


def test_the_law_of_unequal_teachers_depends_on_log_n():
    model = TeacherStudent(4, 2, lr=0.05, T=np.diag([1.1, 0.9]))
    small, large = (model.overlap_law(N=n, n_samples=60, rng=0).mean for n in (1e3, 1e12))
    assert large < small - 0.01


def test_bad_frames_and_starts():
    with pytest.raises(InputError, match="p >= p_star"):
        conserved_frame(np.ones((1, 2)))
    with pytest.raises(InputError, match="full column rank"):
        conserved_frame(np.ones((2, 2)))
    rho, Q = orthogonal_start(3, 2, 0.1)
    with pytest.raises(InputError, match="stable"):
        TeacherStudent(3, 2, noise=0.1).selected_solution(rho, Q)
    with pytest.raises(InputError, match="single matrices"):
        TeacherStudent(3, 2).selected_solution(rho[None], Q[None])
    with pytest.raises(InputError, match="N must be given"):
        TeacherStudent(3, 2, T=np.diag([1.2, 0.8])).overlap_law()
    with pytest.raises(InputError, match="N is too small"):
        TeacherStudent(3, 2, T=np.diag([1.2, 0.8])).overlap_law(N=5)
    with pytest.raises(InputError, match="positive definite"):
        TeacherStudent(3, 2, T=np.diag([1.2, 0.0])).overlap_law(N=1e4)
    with pytest.raises(InputError, match="p must be at least"):
        TeacherStudent(1, 2).overlap_law()


def test_more_samples_than_memory_holds_are_refused():
    with pytest.raises(BudgetExceededError, match="n_samples"):
        TeacherStudent(512, 2).overlap_law(n_samples=10_000_000)


@pytest.mark.medium
def test_wide_students_take_fewer_samples():
    """The overlap averages itself over many directions: few samples are as accurate."""
    law = TeacherStudent(64, 32).overlap_law(rng=0)
    more = TeacherStudent(64, 32).overlap_law(n_samples=1000, rng=1)
    assert law.standard_error < 1e-3
    assert abs(law.mean - more.mean) < 4.0 * np.hypot(law.standard_error, more.standard_error)
