import math

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.optimize import brentq

from derand.exceptions import InputError
from derand.teacher_student import TeacherStudent
from derand.teacher_student.plateau import gathered_noise

SETTINGS = [
    (4, 2, {"lr": 0.1}),
    (3, 3, {"lr": 0.05, "noise": 0.4, "T": np.diag([1.7, 1.0, 0.2])}),
    (1, 2, {"lr": 0.08, "T": [[1.0, 0.3], [0.3, 0.8]]}),
]


@pytest.mark.parametrize("second_order", [True, False])
@pytest.mark.parametrize(("p", "p_star", "keywords"), SETTINGS)
def test_plateau_is_stationary_and_left_at_its_rates(p, p_star, keywords, second_order):
    model = TeacherStudent(p, p_star, **keywords)
    spot = model.plateau(second_order=second_order)
    Q = spot.q * np.eye(p)
    d_rho, d_q = model.rhs(np.zeros((p, p_star)), Q, second_order=second_order)
    assert not np.any(d_rho)
    assert np.max(np.abs(d_q)) < 1e-15
    assert math.isclose(float(model.loss(np.zeros((p, p_star)), Q)), spot.loss, rel_tol=1e-14)
    vectors = np.linalg.eigh(model.parameters.gram)[1]
    for rate, direction in zip(spot.escape_rates, vectors.T[::-1], strict=True):
        small = 1e-9 * np.outer(np.ones(p), direction)
        assert np.allclose(model.rhs(small, Q, second_order=second_order)[0], rate * small, rtol=1e-6, atol=1e-24)


def test_basin_edge_is_the_other_fixed_point():
    model = TeacherStudent(4, 2, lr=0.1)
    edge = model.plateau().basin
    assert math.isclose(edge, 5.236067977499790, rel_tol=1e-14)  # 3 + sqrt 5
    for q, sign in ((edge - 1e-3, -1.0), (edge, 0.0), (edge + 1e-3, 1.0)):
        speed = model.rhs(np.zeros((4, 2)), q * np.eye(4))[1][0, 0]
        assert abs(speed) < 1e-13 if sign == 0.0 else speed * sign > 1e-6


def test_critical_rate_of_the_plateau_to_1e_6():
    """Where norms that start at zero overlap begin to grow for ever: the sign of the smallest velocity of q."""
    model = TeacherStudent(4, 2, noise=0.2)
    limit = model.critical_lr().plateau

    def smallest_speed(lr):
        # E[dq/d alpha] at rho = 0, Q = qI is a cubic in q; minimise it on a fine grid by its derivative's root
        trial = TeacherStudent(4, 2, noise=0.2, lr=lr)
        norms = np.linspace(0.5, 4.0, 4)
        speeds = trial.rhs(np.zeros((4, 4, 2)), norms[:, None, None] * np.eye(4))[1][:, 0, 0]
        cubic = np.polynomial.Polynomial.fit(norms, speeds, 3)
        roots = cubic.deriv().roots()
        return cubic(np.max(roots.real))

    assert abs(brentq(smallest_speed, 0.8 * limit, 1.2 * limit, xtol=1e-10) - limit) < 1e-6


def test_stability_of_the_solutions_changes_at_the_critical_rate():
    """Largest real part of the linearised equations at zero loss, by differences, changes sign there."""
    T = np.diag([1.3, 0.7])
    limit = TeacherStudent(2, 2, T=T).critical_lr().stable

    def abscissa(lr):
        model, base, h = TeacherStudent(2, 2, T=T, lr=lr), np.array([1.3, 0.7, 1.3, 0.7]), 1e-5

        def speed(y):
            # diagonal rho and Q are an invariant set
            from derand.teacher_student.flow import velocity

            found = velocity(model.parameters, np.diag(y[:2]), np.diag(y[2:]), second_order=True, n_inputs=None)
            return np.concatenate([np.diag(part) for part in found])

        columns = [(speed(base + h * e) - speed(base - h * e)) / (2 * h) for e in np.eye(4)]
        return np.max(np.linalg.eigvals(np.array(columns).T).real)

    assert abs(brentq(abscissa, 0.9 * limit, 1.1 * limit, xtol=1e-9) - limit) < 1e-6
    assert math.isclose(TeacherStudent(7, 3).critical_lr().stable, 3 / 10, rel_tol=1e-14)


def test_escape_rate_vanishes_at_the_critical_rate():
    found = TeacherStudent(1, 4, noise=3.0).critical_lr()
    assert found.escape < found.plateau
    below, above = (TeacherStudent(1, 4, noise=3.0, lr=found.escape * s).plateau() for s in (1 - 1e-6, 1 + 1e-6))
    assert below.escape_rates[0] > 0 > above.escape_rates[0]


def test_rates_in_standard_scaling():
    assert np.allclose(
        TeacherStudent(4, 2, lr_scaling="standard").critical_lr()[::2], 4 * np.array([0.3, 0.25]), rtol=1e-14
    )


def test_beyond_the_threshold_and_outside_the_quadratic_model():
    with pytest.raises(InputError, match="lr is beyond the divergence threshold"):
        TeacherStudent(4, 2, lr=0.31).plateau()
    assert TeacherStudent(4, 2, lr=0.31).plateau(second_order=False).q > 0
    with pytest.raises(InputError, match="second_layer"):
        TeacherStudent(2, 1, second_layer=[1, -1]).critical_lr()
    with pytest.raises(InputError, match="T must not be zero"):
        TeacherStudent(2, 1, T=[[0.0]]).critical_lr()


def test_gathered_noise_needs_growing_overlaps_and_a_start_in_the_basin():
    with pytest.raises(InputError, match="all directions"):
        gathered_noise(TeacherStudent(2, 2, T=np.diag([1.0, 0.01]), lr=0.1).parameters, 1.0)
    assert gathered_noise(TeacherStudent(2, 2, T=np.diag([1.0, 0.0]), lr=0.1).parameters, 1.0)[1] == 0.0
    model = TeacherStudent(4, 2, lr=0.1)
    for q0 in (model.plateau().basin, 0.0, np.nan):
        with pytest.raises(InputError, match="q0"):
            gathered_noise(model.parameters, q0)


def one_step_variance(model, q):
    """Variance rate of an entry of N^(1/2) rho at rho = 0, Q = qI, by exact quadrature of the square of one step."""
    from derand.gaussian import tensor_gauss_hermite

    nodes, weights = tensor_gauss_hermite(8, 3)
    z = nodes * np.sqrt([q, q, 1.0])
    u = (z[:, 0] ** 2 + z[:, 1] ** 2) / 2 - z[:, 2] ** 2
    return 4 * model.lr**2 * weights @ ((u**2 + 0.3) * (z[:, 0] * z[:, 2]) ** 2)


def test_gathered_noise_on_the_plateau_from_the_fourth_moment():
    model = TeacherStudent(2, 1, lr=0.06, noise=0.3)
    spot = model.plateau()
    predicted = one_step_variance(model, spot.q) / (2 * spot.escape_rates[0]) / spot.q
    assert math.isclose(gathered_noise(model.parameters, spot.q)[0], predicted, rel_tol=1e-13)


def test_gathered_noise_of_unequal_teachers_from_the_fourth_moment():
    from derand.gaussian import tensor_gauss_hermite

    t = np.array([1.3, 0.7])
    model = TeacherStudent(1, 2, lr=0.06, noise=0.3, T=np.diag(t))
    spot = model.plateau()
    nodes, weights = tensor_gauss_hermite(8, 3)
    z = nodes * np.sqrt([spot.q, *t])
    u = z[:, 0] ** 2 - (z[:, 1] ** 2 + z[:, 2] ** 2) / 2
    kick = 4 * model.lr**2 * (weights * (u**2 + 0.3) * z[:, 0] ** 2) @ z[:, 1:] ** 2
    predicted = kick / t / (2 * spot.escape_rates) / spot.q
    assert np.allclose(gathered_noise(model.parameters, spot.q), predicted, rtol=1e-12)


@pytest.mark.parametrize("q0", [0.2, 1.0, 1.5])
def test_gathered_noise_from_other_norms_by_simpsons_rule(q0):
    """The integral along the equations of motion themselves, with the variance by quadrature."""
    model = TeacherStudent(2, 1, lr=0.06, noise=0.3)
    alphas = np.linspace(0.0, 60.0, 301)
    run = model.solve(np.full((2, 1), 1e-12), q0 * np.eye(2), alphas)
    growth = run.rho[:, 0, 0] / 1e-12
    values = np.array([one_step_variance(model, q) for q in run.Q[:, 0, 0]]) / growth**2
    rest = values[-1] / (2 * model.plateau().escape_rates[0])
    predicted = (simpson(values, x=alphas) + rest) / q0
    assert math.isclose(gathered_noise(model.parameters, q0)[0], predicted, rel_tol=1e-4)
