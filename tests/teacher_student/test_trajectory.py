import numpy as np
import pytest
from scipy.special import erf

from derand.exceptions import BudgetExceededError, InputError
from derand.teacher_student import FlowStatus, SmoothActivation, TeacherStudent
from derand.teacher_student.trajectory import check_memory, check_times, integrate
from tests.teacher_student.reference import orthogonal_start, random_start, riccati_losses

ALPHAS = np.linspace(0.0, 120.0, 61)


@pytest.mark.parametrize(("p", "t"), [(4, [1.0, 1.0]), (2, [1.5, 0.5]), (3, [1.0])])
def test_losses_agree_with_the_scalar_riccati_form(p, t):
    t = np.array(t)
    # Until most of the loss is gone: later the matrices of the Riccati form are too badly scaled.
    rho, Q = orthogonal_start(p, t.size, 0.05, seed=p)
    alphas = np.linspace(0.0, 20.0 * t.size, 41)
    run = TeacherStudent(p, t.size, T=np.diag(t), lr=0.05).solve(rho, Q, alphas, second_order=False)
    assert run.success
    assert np.max(np.abs(run.loss - riccati_losses(rho, Q, t, 0.05, alphas))) < 1e-11


@pytest.mark.parametrize("activation", ["square", "erf"])
def test_tolerance_is_met(activation):
    # against the same method at the smallest tolerance that it takes
    rho, Q = orthogonal_start(4, 2, 0.01)
    model = TeacherStudent(4, 2, activation, lr=0.1)
    fine = model.solve(rho, Q, ALPHAS, rtol=2.5e-14)
    assert np.max(np.abs(model.solve(rho, Q, ALPHAS).loss - fine.loss)) < 1e-11
    assert np.max(np.abs(model.solve(rho, Q, ALPHAS, rtol=1e-6).loss - fine.loss)) < 1e-4


@pytest.mark.medium
def test_a_batch_is_its_members_whatever_else_diverges():
    starts = [orthogonal_start(4, 2, 1e-3, seed=s) for s in range(3)]
    rho, Q = (np.stack(parts) for parts in zip(*starts, strict=True))
    Q[1] *= 6.0  # beyond the basin of the plateau, 5.236
    Q[2] *= 4.0
    model = TeacherStudent(4, 2, lr=0.1)
    run = model.solve(rho, Q, ALPHAS)
    assert [state.name for state in run.status] == ["COMPLETED", "DIVERGED", "COMPLETED"]
    assert not run.success
    assert 0.0 < run.end[1] < 1.0
    assert np.all(np.isnan(run.loss[1, 1:]))
    # The third loss starts at 9: its error is relative to that.
    for member, scale in ((0, 1.0), (2, 9.0)):
        assert np.max(np.abs(run.loss[member] - model.solve(rho[member], Q[member], ALPHAS).loss)) < 1e-11 * scale


def test_members_that_diverge_together():
    Q = np.stack([6.0 * np.eye(4), 6.0 * np.eye(4), 7.0 * np.eye(4)])
    run = TeacherStudent(4, 2, lr=0.1).solve(np.zeros((3, 4, 2)), Q, [0.0, 50.0])
    assert all(state is FlowStatus.DIVERGED for state in run.status)
    assert np.all(np.isfinite(run.loss[:, 0]))


def test_small_overlaps_keep_their_relative_accuracy():
    """On the plateau rho grows at the escape rate, however small it is."""
    model = TeacherStudent(4, 2, lr=0.1)
    spot = model.plateau()
    rho, _ = orthogonal_start(4, 2, 1e-30)
    run = model.solve(rho, spot.q * np.eye(4), [0.0, 30.0])
    assert np.allclose(run.rho[1] / rho, np.exp(30.0 * spot.escape_rates[0]), rtol=1e-9)


def test_an_end_at_the_start_and_leading_shapes():
    rho, Q, T = random_start(3, 2)
    model = TeacherStudent(3, 2, T=T)
    run = model.solve(rho, Q, [0.0])
    assert run.rho.shape == (1, 3, 2)
    assert run.success
    assert np.array_equal(run.rho[0], rho)
    batch = model.solve(np.broadcast_to(rho, (2, 1, 3, 2)), np.broadcast_to(Q, (2, 1, 3, 3)), [0.0, 1.0])
    assert batch.loss.shape == (2, 1, 2)
    assert batch.status.shape == batch.end.shape == (2, 1)


def test_integrate_takes_an_absolute_tolerance():
    rho, Q = orthogonal_start(2, 1, 0.1)
    parameters = TeacherStudent(2, 1).parameters
    rough = integrate(parameters, rho[None], Q[None], ALPHAS, second_order=True, n_inputs=None, rtol=1e-3, atol=1e-2)
    assert (
        rough.n_evaluations
        < integrate(parameters, rho[None], Q[None], ALPHAS, second_order=True, n_inputs=None).n_evaluations / 3
    )


@pytest.mark.parametrize("alphas", [[], [1.0, 1.0], [2.0, 1.0], [-1.0, 1.0], [0.0, np.nan], [[0.0, 1.0]]])
def test_bad_times(alphas):
    with pytest.raises(InputError, match="alphas"):
        check_times(alphas)


def test_bad_tolerances():
    model = TeacherStudent(2, 1)
    for keywords in ({"rtol": 0.0}, {"rtol": np.nan}, {"atol": 0.0}):
        with pytest.raises(InputError, match="tol"):
            model.solve(np.zeros((2, 1)), np.eye(2), [0.0, 1.0], **keywords)


@pytest.mark.parametrize("lr", [1.0, 1e6, 1e150])
def test_absurd_learning_rates_have_a_status(lr):
    """Even where the blow-up is too fast to be followed, the run ends, without success and without NaN before it."""
    rho, Q = orthogonal_start(4, 2, 0.1)
    run = TeacherStudent(4, 2, lr=lr).solve(rho, Q, [0.0, 10.0])
    assert run.status.item() in (FlowStatus.DIVERGED, FlowStatus.STALLED)
    assert not run.success
    assert np.isfinite(run.loss[0])


def test_blow_up_after_a_long_wait_is_a_divergence():
    """Just above the plateau's critical rate the norms linger; the blow-up is below the resolution of its time."""
    limit = TeacherStudent(4, 2, noise=0.1).critical_lr().plateau
    for factor, status in ((1 - 1e-6, FlowStatus.COMPLETED), (1 + 1e-6, FlowStatus.DIVERGED)):
        model = TeacherStudent(4, 2, noise=0.1, lr=factor * limit)
        run = model.solve(np.zeros((4, 2)), np.eye(4), [0.0, 50_000.0], rtol=1e-8)
        assert run.status.item() is status
    assert 1000.0 < run.end.item() < 10_000.0


def test_a_last_time_out_of_reach_is_a_status():
    """What was reached before is kept, and agrees with a run that isn't cut off."""
    model, starts = TeacherStudent(2, 1), np.array([[[0.1], [0.0]], [[0.0], [0.2]]])
    norms = np.stack([np.eye(2)] * 2)
    run = model.solve(starts, norms, [0.0, 1.0, 1e300], max_evaluations=500, rtol=1e-9)
    assert all(state is FlowStatus.OUT_OF_EVALUATIONS for state in run.status)
    assert not run.success
    assert 500 < run.n_evaluations < 600
    assert np.all((run.end > 1.0) & (run.end < 1e300))
    full = model.solve(starts, norms, [0.0, 1.0], rtol=1e-9)
    assert full.success
    np.testing.assert_allclose(run.loss[:, :2], full.loss, rtol=1e-8)  # other steps, each to 1e-9
    assert np.all(np.isnan(run.loss[:, 2]))
    assert np.all(np.isnan(run.rho[:, 2]))


def test_a_start_of_no_size_stalls_without_warnings():
    model = TeacherStudent(2, 1, "erf", second_layer=[1e60, 1e60])
    run = model.solve(np.zeros((2, 1)), np.zeros((2, 2)), [0.0, 1.0], max_evaluations=5000)
    assert not run.success
    assert np.isnan(run.loss[1])


def test_a_budget_used_up_is_no_divergence():
    model = TeacherStudent(4, 2, lr=0.4)
    cut = model.solve(np.zeros((4, 2)), np.eye(4), [100.0], max_evaluations=20)
    assert cut.status.item() is FlowStatus.OUT_OF_EVALUATIONS
    assert model.solve(np.zeros((4, 2)), np.eye(4), [100.0]).status.item() is FlowStatus.DIVERGED
    with pytest.raises(InputError, match="max_evaluations"):
        model.solve(np.zeros((4, 2)), np.eye(4), [1.0], max_evaluations=0)


def test_error_function_along_a_run_by_quadrature():
    """The same trajectory with averages by Gauss-Hermite rules; 64 nodes are exact to 1e-12 at these variances."""
    quadrature = SmoothActivation(
        lambda z: erf(z / np.sqrt(2)), lambda z: np.sqrt(2 / np.pi) * np.exp(-(z**2) / 2), n_nodes=64
    )
    runs = [
        TeacherStudent(1, 1, g, T=[[0.5]], lr=0.5, noise=0.1).solve([[0.05]], [[0.3]], np.linspace(0, 20, 11))
        for g in ("erf", quadrature)
    ]
    assert runs[0].success
    assert np.max(np.abs(runs[0].loss - runs[1].loss)) < 1e-11


def test_trajectories_beyond_the_memory_are_refused():
    model = TeacherStudent(300, 300)
    with pytest.raises(BudgetExceededError, match="4 GB"):
        check_memory(model.parameters, 1, 3000)
    assert check_memory(model.parameters, 1, 2000) is None
