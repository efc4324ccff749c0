"""Limits, interruptions, callbacks and failures at every point of a run, and resumption from each."""

import math
from itertools import pairwise

import numpy as np
import pytest

from derand.exceptions import InputError
from derand.optimize import Checkpoint, SOSPStatus, minimize_sosp
from tests.optimize import hostile


class Boom(Exception):
    pass


class Counted:
    """The coupled wells; raises `error` at evaluation number `at`."""

    def __init__(self, at=None, error=KeyboardInterrupt):
        self.count, self.at, self.error = 0, at, error

    def _tick(self):
        self.count += 1
        if self.count == self.at:
            raise self.error

    def fun(self, x):
        self._tick()
        return hostile.coupled(x)

    def hessp(self, x, v):
        self._tick()
        return hostile.coupled_hessp(x, v)


X0 = np.zeros(14)


def _run(counted, *, products=True, **options):
    return minimize_sosp(
        counted.fun, X0, hessp=counted.hessp if products else None, curv_tol=1e-3, gtol=1e-7, rng=5, **options
    )


def _bits(result):
    """Return everything that two equal runs have to share, as bytes and tuples."""
    certificate = result.certificate
    proof = (
        None
        if certificate is None
        else tuple(value.tobytes() if isinstance(value, np.ndarray) else value for value in vars(certificate).values())
    )
    counts = (result.nit, result.nfev, result.nhev, result.n_escapes)
    return result.x.tobytes(), result.jac.tobytes(), result.fun, result.status, counts, result.history, proof


@pytest.mark.parametrize("products", [True, False])
def test_every_budget_gives_the_best_point_so_far_and_resumes(products, tmp_path):
    whole = _run(Counted(), products=products)
    assert whole.success
    assert whole.n_escapes >= 1
    n_calls = whole.nfev + whole.nhev
    for max_evals in range(1, n_calls):
        counted = Counted()
        part = _run(counted, products=products, max_evals=max_evals)
        assert counted.count == part.nfev + part.nhev == max_evals
        assert part.status is SOSPStatus.BUDGET
        assert not part.success
        assert "nothing is proved" in part.message
        assert part.fun == hostile.coupled(part.x)[0]
        assert part.fun <= hostile.coupled(X0)[0]
        assert _bits(_run(Counted(), products=products, resume=part.checkpoint)) == _bits(whole)
    part.checkpoint.save(tmp_path / "c")
    for path in (tmp_path / "c", str(tmp_path / "c")):
        assert _bits(_run(Counted(), products=products, resume=path)) == _bits(whole)
    assert _run(Counted(), products=products, max_evals=n_calls).success


@pytest.mark.parametrize("products", [True, False])
def test_keyboard_interrupt_at_every_evaluation(products):
    whole = _run(Counted(), products=products)
    for at in range(1, whole.nfev + whole.nhev + 1):
        part = _run(Counted(at), products=products)
        assert part.status is SOSPStatus.INTERRUPTED
        assert not part.success
        if part.checkpoint is None:
            assert at == 1
            assert math.isnan(part.fun)
        else:
            assert part.fun == hostile.coupled(part.x)[0]
            assert _bits(_run(Counted(), products=products, resume=part.checkpoint)) == _bits(whole)


def test_chains_of_interruptions_end_where_the_uninterrupted_run_ends(tmp_path):
    whole = _run(Counted())
    rng, path, result = np.random.default_rng(0), tmp_path / "c", _run(Counted(2))
    for _ in range(200):
        if result.success:
            break
        result.checkpoint.save(path)
        result = _run(Counted(int(rng.integers(1, 30))), resume=path)
    assert _bits(result) == _bits(whole)


@pytest.mark.parametrize("at", [1, 2, 3, 10, 25])
@pytest.mark.parametrize("error", [Boom, ZeroDivisionError, np.linalg.LinAlgError])
def test_errors_of_fun_pass_through_with_what_was_reached(at, error):
    with pytest.raises(error) as caught:
        _run(Counted(at, error))
    partial = caught.value.partial
    assert partial.status is SOSPStatus.INTERRUPTED
    if at == 1:
        np.testing.assert_array_equal(partial.x, X0)
    else:
        assert partial.fun == hostile.coupled(partial.x)[0]
        assert _bits(_run(Counted(), resume=partial.checkpoint)) == _bits(_run(Counted()))


def test_system_exit_passes_through():
    with pytest.raises(SystemExit):
        _run(Counted(5, SystemExit))


@pytest.mark.parametrize("max_iter", [0, 1, 2, 5])
def test_iterations_are_limited(max_iter):
    result = _run(Counted(), max_iter=max_iter)
    assert result.status is SOSPStatus.BUDGET
    assert result.nit == max_iter
    assert len(result.history) == max_iter + 1
    assert result.history[0].event == "start"
    assert _bits(_run(Counted(), resume=result.checkpoint)) == _bits(_run(Counted()))


def test_time_limit():
    result = _run(Counted(), time_limit=0.0)
    assert result.status is SOSPStatus.TIME_LIMIT
    assert "time limit" in result.message
    assert _run(Counted(), time_limit=3600.0).success

    def slow(x):
        end = time_now() + 0.01
        while time_now() < end:
            pass
        return hostile.coupled(x)

    from time import monotonic as time_now

    result = minimize_sosp(slow, X0, time_limit=0.05)
    assert result.status is SOSPStatus.TIME_LIMIT
    assert 1 <= result.nfev <= 6


@pytest.mark.parametrize("at", [0, 1, 2, 5])
@pytest.mark.parametrize("way", ["True", "StopIteration"])
def test_callback_ends_the_run(at, way):
    seen = []

    def callback(state):
        seen.append(state)
        assert state.status is SOSPStatus.RUNNING
        assert not state.success
        assert state.checkpoint is None
        if state.nit == at:
            if way == "StopIteration":
                raise StopIteration
            return True
        return None

    result = _run(Counted(), callback=callback)
    assert result.status is SOSPStatus.CALLBACK
    assert [state.nit for state in seen] == list(range(at + 1))
    assert [state.history[-1] for state in seen] == list(result.history)
    assert _bits(_run(Counted(), resume=result.checkpoint)) == _bits(_run(Counted()))


def test_callback_that_returns_other_things_changes_nothing():
    assert _bits(_run(Counted(), callback=lambda state: np.ones(3))) == _bits(_run(Counted()))
    assert _bits(_run(Counted(), callback=lambda state: 1)) == _bits(_run(Counted()))


def test_callback_that_scribbles_on_its_argument_changes_nothing():
    def callback(state):
        state.x[:] = math.nan
        state.jac[:] = math.nan

    assert _bits(_run(Counted(), callback=callback)) == _bits(_run(Counted()))


def test_function_that_scribbles_on_its_argument_changes_nothing():
    def fun(x):
        pair = hostile.coupled(x)
        x[:] = math.nan
        return pair

    def hessp(x, v):
        product = hostile.coupled_hessp(x, v)
        x[:] = v[:] = math.nan
        return product

    result = minimize_sosp(fun, X0, hessp=hessp, curv_tol=1e-3, gtol=1e-7, rng=5)
    assert _bits(result) == _bits(_run(Counted()))


def test_function_that_reuses_its_gradient_array_changes_nothing():
    store = np.empty(14)

    def fun(x):
        value, store[:] = hostile.coupled(x)
        return value, store

    result = minimize_sosp(fun, X0, hessp=hostile.coupled_hessp, curv_tol=1e-3, gtol=1e-7, rng=5)
    assert _bits(result) == _bits(_run(Counted()))


@pytest.mark.parametrize("nit", [0, 3])
@pytest.mark.parametrize("error", [Boom, KeyboardInterrupt])
def test_failing_callbacks(nit, error):
    def callback(state):
        if state.nit == nit:
            raise error

    if error is KeyboardInterrupt:
        result = _run(Counted(), callback=callback)
        assert result.status is SOSPStatus.INTERRUPTED
    else:
        with pytest.raises(Boom) as caught:
            _run(Counted(), callback=callback)
        result = caught.value.partial
    assert _bits(_run(Counted(), resume=result.checkpoint)) == _bits(_run(Counted()))


def test_estimated_tolerance_survives_an_interruption():
    options = {"gtol": 1e-7, "rng": 5}
    whole = minimize_sosp(hostile.coupled, X0, **options)
    for at in range(2, whole.nfev, 3):
        part = minimize_sosp(Counted(at).fun, X0, **options)
        resumed = minimize_sosp(hostile.coupled, X0, resume=part.checkpoint)
        assert _bits(resumed) == _bits(whole)


def test_estimate_at_a_symmetric_saddle_is_made_again_at_the_minimum():
    # sum cos x_i: all third derivatives vanish at the saddle 0, and are of size |sin x_i| on the way to the minima.
    def fun(x):
        return float(np.sum(np.cos(x) + x**4 / 50)), -np.sin(x) + 2 * x**3 / 25

    result = minimize_sosp(fun, np.zeros(20), gtol=1e-6)
    third = np.max(np.abs(np.sin(result.x) + 12 * result.x / 25))
    proof = result.certificate
    assert result.success
    assert proof.hess_lip_source == "estimated"
    # Along random directions of n variables the largest coordinate's share of the constant is seen.
    assert 1e-3 * third <= proof.hess_lip <= third
    assert proof.curv_tol == pytest.approx(np.sqrt(proof.hess_lip * 1e-6))


def test_checkpoints_of_another_problem_are_refused():
    checkpoint = _run(Counted(5)).checkpoint
    with pytest.raises(InputError, match="14 variables, x0 has 3"):
        minimize_sosp(hostile.coupled, np.zeros(3), resume=checkpoint)
    with pytest.raises(InputError, match="method"):
        minimize_sosp(hostile.coupled, X0, resume=checkpoint, method="newton-cg")
    with pytest.raises(InputError, match="checkpoint"):
        minimize_sosp(hostile.coupled, X0, resume=Checkpoint({}, {}))


def test_checkpoint_keeps_the_constants_and_refuses_others(tmp_path):
    options = {"method": "accelerated", "hess_lip": 20.0, "grad_lip": 40.0, "delta_f": 30.0, "gtol": 1e-3}
    whole = minimize_sosp(hostile.coupled, X0, **options)
    part = minimize_sosp(hostile.coupled, X0, **options, max_evals=whole.nfev // 2)
    path = tmp_path / "run.npz"
    part.checkpoint.save(path)
    assert _bits(minimize_sosp(hostile.coupled, X0, method="accelerated", resume=path)) == _bits(whole)
    with pytest.raises(InputError, match=r"grad_lip is 41.0, but the checkpoint was made with 40.0"):
        minimize_sosp(hostile.coupled, X0, method="accelerated", resume=path, grad_lip=41.0)
    short = minimize_sosp(hostile.coupled, X0, memory=2, max_evals=9, gtol=1e-7)
    assert _bits(minimize_sosp(hostile.coupled, X0, resume=short.checkpoint)) == _bits(
        minimize_sosp(hostile.coupled, X0, memory=2, gtol=1e-7)
    )
    with pytest.raises(InputError, match="memory"):
        minimize_sosp(hostile.coupled, X0, resume=short.checkpoint, memory=3)


def test_counters_and_history_tell_what_happened():
    counted = Counted()
    result = _run(counted)
    assert counted.count == result.nfev + result.nhev
    assert [record.nit for record in result.history] == list(range(result.nit + 1))
    events = [record.event for record in result.history]
    assert sum("escape" in event for event in events) == result.n_escapes
    assert events[-1] == "certificate"
    values = [record.fun for record in result.history]
    assert all(b <= a + 1e-14 * abs(a) for a, b in pairwise(values))
    assert result.history[-1].gradient_norm <= 1e-7


def test_confidence_that_leaves_no_share_is_inconclusive_not_an_error():
    # The third certificate of the octopus-like chain would need a confidence that floats round to 1.
    result = minimize_sosp(hostile.coupled, X0, hessp=hostile.coupled_hessp, confidence=1.0 - 2e-16, curv_tol=1e-3)
    assert result.status is SOSPStatus.INCONCLUSIVE or result.success
    if not result.success:
        assert "error probability" in result.message
