"""Sweeps: order, bits, resumption, and workers that die."""

import os
import signal

import joblib
import numpy as np
import pytest

from derand.exceptions import BudgetExceededError, InputError, InputTypeError
from derand.sweeps import grid, read_sweep, sweep


def _draw(n, seed):
    """Return normal numbers and their mean."""
    x = np.random.default_rng(seed).standard_normal(n)
    return {"x": x, "mean": float(x.mean())}


def _same(a, b):
    assert [r["mean"] for r in a] == [r["mean"] for r in b]
    assert all(p["x"].tobytes() == q["x"].tobytes() for p, q in zip(a, b, strict=True))


def test_grid_is_in_lexicographic_order():
    assert [tuple(s.values()) for s in grid(a=[2, 1], b="xy")] == [(2, "x"), (2, "y"), (1, "x"), (1, "y")]
    assert grid() == [{}]


@pytest.mark.parametrize("backend", ["loky", "threading", "sequential"])
def test_every_backend_gives_the_same_bits(backend):
    settings = grid(n=[3, 50], seed=range(4))
    alone = sweep(_draw, settings)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        _same(sweep(_draw, settings), alone)
    for setting, result in zip(settings, alone, strict=True):
        assert result["x"].tobytes() == np.random.default_rng(setting["seed"]).standard_normal(setting["n"]).tobytes()


def test_settings_are_spread_over_arguments():
    assert sweep(pow, [(2, 5), [3, 2]]) == [32, 9]
    assert sweep(abs, [-3, 4]) == [3, 4]
    assert sweep(lambda a, b: a - b, [{"b": 1, "a": 3}]) == [2]
    assert sweep(abs, []) == []


def test_an_interrupted_sweep_goes_on_where_it_ended(tmp_path):
    called = []

    def square(x):
        called.append(x)
        if x == 2 and len(called) == 3:
            raise KeyboardInterrupt
        return x * x

    store = tmp_path / "squares.jsonl"
    with pytest.raises(KeyboardInterrupt):
        sweep(square, range(4), store=store)
    assert read_sweep(store) == [(0, 0), (1, 1)]
    assert sweep(square, range(5), store=store) == [0, 1, 4, 9, 16]
    assert called == [0, 1, 2, 2, 3, 4]


def test_resumed_and_fresh_results_are_equal(tmp_path):
    settings = grid(n=[4], seed=range(3))
    store = tmp_path / "s.jsonl"
    sweep(_draw, settings[:2], store=store)
    _same(sweep(_draw, settings, store=store), sweep(_draw, settings))
    # A store of more settings than the sweep asks for is no harm.
    _same(sweep(_draw, settings[1:2], store=store), sweep(_draw, settings[1:2]))


@pytest.mark.medium
def test_a_killed_worker_costs_nothing_but_time(tmp_path):
    marker = tmp_path / "died"

    def fragile(x):
        if x == 3 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return x * 0.1

    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert sweep(fragile, range(6), store=tmp_path / "s") == [x * 0.1 for x in range(6)]
    assert marker.exists()
    assert sorted(setting for setting, _ in read_sweep(tmp_path / "s")) == list(range(6))


@pytest.mark.medium
def test_workers_that_keep_dying_end_the_sweep_with_what_there_is(tmp_path):
    def deadly(x):
        if x == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    with (
        joblib.parallel_config(backend="loky", n_jobs=2),
        pytest.raises(BudgetExceededError, match="died 2 times") as e,
    ):
        sweep(deadly, range(3), retries=1, store=tmp_path / "s")
    assert e.value.partial[1] is None
    assert len(e.value.partial) == 3


def test_errors_name_the_setting():
    def inverse(x):
        return 1 / x

    with pytest.raises(ZeroDivisionError) as error:
        sweep(inverse, [1, 0])
    assert error.value.__notes__ == ["in the sweep, at the setting 0"]


def test_callback_counts_and_can_end_the_sweep():
    seen = []
    assert sweep(abs, [1, 2], callback=lambda done, total: seen.append((done, total))) == [1, 2]
    assert seen == [(1, 2), (2, 2)]
    with pytest.raises(BudgetExceededError) as error:
        sweep(abs, [-1, -2, -3], callback=lambda done, _: done == 2)
    assert error.value.partial == [1, 2, None]


def test_mistakes_are_named(tmp_path):
    with pytest.raises(InputError, match="settings must differ"):
        sweep(abs, [1, 1])
    with pytest.raises(InputTypeError, match="return the attributes"):
        sweep(lambda x: object(), [1])
    with pytest.raises(InputTypeError, match="function must be callable"):
        sweep(3, [1], store=tmp_path / "s")
    with pytest.raises(InputError, match="retries"):
        sweep(abs, [1], retries=-1)
