import numpy as np
import pytest

from derand.exceptions import InputError
from derand.spectral import SuccessCurve, success_curve

SETTING = {"d": 20, "eta": 0.2, "n_steps": 6}


def curve(deltas=(1.0, 6.0), n_seeds=3, **kwargs):
    return success_curve("half-quad", "pseudo-huber", "z**2", deltas=deltas, n_seeds=n_seeds, **SETTING, **kwargs)


def test_same_bits_for_any_number_of_jobs_and_order():
    one, two = curve(), curve(n_jobs=2)
    assert np.array_equal(one.correlations, two.correlations)
    assert np.array_equal(one.test_risk, two.test_risk)
    assert np.array_equal(curve(deltas=(6.0, 1.0)).correlations[::-1], one.correlations)
    assert not np.array_equal(curve(seed=1).correlations, one.correlations)


def test_resumption(tmp_path):
    path = tmp_path / "runs.jsonl"
    whole = curve()
    curve(n_seeds=1, checkpoint=path)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"run": "6.0/2", "row": [0.1')  # cut off in the middle of a line
    counts = []
    resumed = curve(checkpoint=path, callback=lambda done, total: counts.append((done, total)))
    assert np.array_equal(resumed.correlations, whole.correlations)
    assert counts[0] == (3, 6)
    assert counts[-1] == (6, 6)
    counts.clear()
    again = curve(checkpoint=path, callback=lambda done, total: counts.append(done))
    assert counts == []
    assert np.array_equal(again.train_risk, whole.train_risk)
    with pytest.raises(InputError, match="another experiment"):
        curve(seed=5, checkpoint=path)


def test_success_and_intervals():
    table = np.array([[0.1, 0.2, np.nan, 0.3], [0.9, 0.8, 0.6, 0.7]])
    found = SuccessCurve(np.array([1.0, 2.0]), table, table, table)
    assert found.success.tolist() == [0.0, 1.0]
    low, high = found.interval()
    assert low[0] == pytest.approx(0.0, abs=1e-12)
    assert 0.45 < high[0] < 0.55  # z^2/(n + z^2) = 0.4899
    assert 0.45 < low[1] < 0.55
    with pytest.raises(InputError, match="confidence"):
        found.interval(1.0)


def test_links_without_hard_directions_are_refused():
    with pytest.raises(InputError, match="no hard direction"):
        success_curve("tanh", "square", "z", deltas=[1.0], **SETTING)
