import math
import warnings

import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.two_step import (
    AssumptionWarning,
    count_outliers,
    phase_diagram,
    predict_outliers,
    predicted_count,
    random_problem,
    step_sizes,
    two_step_update,
)
from derand.two_step import diagram as module

_P = random_problem(200, 150, 250, [lambda z: np.sin(1.5 * z)], rng=0)
_SERIES = [0.0, 1.0, 0.5, 1.0 / 6.0]
_A1, _A2 = [0.1, "0.4"], [0.1, 0.3, 0.4]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        yield


@pytest.mark.parametrize("batch", ["reuse", "fresh"])
@pytest.mark.parametrize("shared_bytes", [1e9, 0.0])
def test_cells_are_those_of_single_runs(batch, shared_bytes, monkeypatch):
    """Shared pre-activations or not, every cell counts and predicts what one run of both steps does."""
    monkeypatch.setattr(module, "_SHARED_BYTES", shared_bytes)
    found = phase_diagram(_A1, _A2, *_P[:4], activation=_SERIES, batch=batch)
    for i, alpha1 in enumerate(_A1):
        for j, alpha2 in enumerate(_A2):
            etas = step_sizes(_P.X, _P.y, 200, _SERIES, alphas=(alpha1, alpha2), kappas=(0.5, 0.5), batch=batch)
            run = two_step_update(*_P[:4], *etas, activation=_SERIES, batch=batch)
            prediction = predict_outliers(run)
            np.testing.assert_allclose(found.theta[i, j, :3], prediction.theta, rtol=1e-9)
            assert found.predicted[i, j] == prediction.count
            assert found.own[i, j] == prediction.n_own
            assert found.counted[i, j] == count_outliers(run.W2).count
            assert found.asymptotic[i, j] == predicted_count(alpha1, alpha2, 3)
    assert found.alphas1 == (0.1, 0.4)
    assert 0.0 <= found.agreement <= 1.0
    assert found.n_neurons == 200


def test_jobs_and_back_ends_give_the_same():
    import joblib

    one = phase_diagram(_A1, _A2, *_P[:4], activation=_SERIES)
    with joblib.parallel_config(backend="threading"):
        two = phase_diagram(_A1, _A2, *_P[:4], activation=_SERIES, n_jobs=2)
    for name in ("predicted", "counted", "own", "theta"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_a_diagram_is_resumed(tmp_path, monkeypatch):
    path = tmp_path / "rows.npz"

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as interrupt:
        phase_diagram(_A1, _A2, *_P[:4], activation=_SERIES, checkpoint=path, callback=stop)
    partial = interrupt.value.partial
    computed = []
    row = module._row
    monkeypatch.setattr(module, "_row", lambda *given: computed.append(given[1]) or row(*given))
    seen = []
    resumed = phase_diagram(
        _A1, _A2, *_P[:4], activation=_SERIES, checkpoint=path, callback=lambda *numbers: seen.append(numbers)
    )
    assert len(computed) == 1
    assert seen == [(2, 2)]
    again = phase_diagram(_A1, _A2, *_P[:4], activation=_SERIES, checkpoint=path)
    assert len(computed) == 1
    whole = phase_diagram(_A1, _A2, *_P[:4], activation=_SERIES)
    assert (partial.alphas1, partial.is_complete) == ((0.1,), False)
    np.testing.assert_array_equal(partial.counted, whole.counted[:1])
    for found in (resumed, again):
        np.testing.assert_array_equal(found.counted, whole.counted)
        np.testing.assert_array_equal(found.theta, whole.theta)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_time_limit_leaves_the_finished_rows(n_jobs):
    import joblib

    whole = phase_diagram(["0.4"], _A2, *_P[:4], activation=_SERIES)
    with joblib.parallel_config(backend="threading"):
        part = phase_diagram(["0.4", 0.1], _A2, *_P[:4], activation=_SERIES, time_limit=0.0, n_jobs=n_jobs)
    assert whole.is_complete
    assert (part.alphas1, part.is_complete) == ((0.4,), False)
    np.testing.assert_array_equal(part.counted, whole.counted)
    np.testing.assert_array_equal(part.asymptotic, whole.asymptotic)
    for bad in (-1.0, math.nan):
        with pytest.raises(InputError, match="time_limit"):
            phase_diagram([0.1], [0.1], *_P[:4], activation=_SERIES, time_limit=bad)


def test_a_foreign_checkpoint_is_refused(tmp_path):
    path = tmp_path / "rows.npz"
    phase_diagram([0.1], [0.1], *_P[:4], activation=_SERIES, checkpoint=path)
    for change in ({"kappas": (0.6, 0.5)}, {"level": 0.99}, {"activation": [0.0, 1.0, 0.4]}, {"batch": "fresh"}):
        with pytest.raises(InputError, match="another problem"):
            phase_diagram([0.1], [0.1], *_P[:4], **{"activation": _SERIES, "checkpoint": path, **change})
    path.write_bytes(b"nonsense")
    with pytest.raises(InputError, match="can't be read"):
        phase_diagram([0.1], [0.1], *_P[:4], activation=_SERIES, checkpoint=path)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"alphas1": []}, "alphas1"),
        ({"alphas1": [0.5]}, "alphas1"),
        ({"alphas2": [0.1, -0.1]}, "alphas2"),
        ({"activation": [0.0, 0.0, 1.0]}, "c_1"),
        ({"kappas": (1.0,)}, "kappas"),
        ({"W0": np.zeros((90, 150)), "a0": np.zeros(90)}, "at least 100"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"checkpoint": "no/such/folder/rows.npz"}, "existing folder"),
    ],
)
def test_bad_input(change, match):
    given = {**_P._asdict(), "alphas1": [0.1], "alphas2": [0.1], "activation": _SERIES, **change}
    del given["directions"]
    with pytest.raises(InputError, match=match):
        phase_diagram(**given)


def test_a_number_is_no_sequence_of_exponents():
    for change in ({"alphas1": 0.1}, {"alphas2": "0.1"}):
        with pytest.raises(InputTypeError, match="sequence of exponents"):
            phase_diagram(
                **{"alphas1": [0.1], "alphas2": [0.1], **change}, activation=_SERIES, X=_P.X, y=_P.y, W0=_P.W0, a0=_P.a0
            )
