import dataclasses
import math
import warnings

import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.two_step import (
    AssumptionWarning,
    bbp,
    count_outliers,
    low_rank_part,
    predict_outliers,
    random_problem,
    step_sizes,
    two_step_update,
)

_LINKS = [np.tanh, lambda z: np.sin(2 * z)]
_CUBIC = [0.0, 1.0, 0.5, 1.0 / 6.0]


def _run(size=500, alphas=(0.3, 0.3), activation=_CUBIC, batch="reuse", seed=0, shape=None, kappa=0.5):
    n, d = shape or (size, size)
    problem = random_problem(size, d, n * (2 if batch == "fresh" else 1), _LINKS, rng=seed)
    etas = step_sizes(problem.X, problem.y, size, activation, alphas=alphas, kappas=(kappa, kappa), batch=batch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        return two_step_update(*problem[:4], *etas, activation=activation, batch=batch)


@pytest.mark.parametrize("batch", ["reuse", "fresh"])
@pytest.mark.parametrize("shape", [(600, 600), (1200, 600), (600, 300)])
def test_locations_and_overlaps(batch, shape):
    """First outlier within 1.5 per cent and second within 4 at N = 600; the bars of 1 and 3 are for N >= 1000."""
    run = _run(600, (0.4, 0.4), batch=batch, shape=shape)
    found = predict_outliers(run)
    u, s, vt = np.linalg.svd(run.W2)
    assert found.location[0] == pytest.approx(s[0], rel=0.015)
    assert found.location[1:2] == pytest.approx(s[1 : found.location.size][:1], rel=0.04)
    first = (vt[0] @ found.right_vectors[0]) ** 2
    assert first == pytest.approx(found.right_cos2[0], abs=0.02)
    span = np.linalg.qr(low_rank_part(run).left)[0]
    assert np.sum((span.T @ u[:, 0]) ** 2) == pytest.approx(found.left_cos2[0], abs=0.02)
    assert np.all((found.left_cos2 > 0) & (found.left_cos2 <= 1))


def test_other_weights_predict_as_well():
    """Without overlaps W0 enters through the full-rank part only: an independent one says the same within per cent."""
    run, size = _run(500, (0.3, 0.4), activation=[0.0, 1.0, 0.5]), 500
    other = np.random.default_rng(77).standard_normal((size, size)) / math.sqrt(size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        blind = two_step_update(
            *run.first, other, run.a0, run.eta1, run.eta2, activation=run.activation, batch=run.batch
        )
    location = predict_outliers(blind, overlaps=False).location
    np.testing.assert_allclose(location[:2], np.linalg.svd(run.W2, compute_uv=False)[:2], rtol=0.05)


def test_overlaps_explain_what_is_left():
    """Each draw of W0 moves the first outlier by a per cent or so; with its overlaps a third of that is left."""
    plain, known = [], []
    for seed in range(4):
        run = _run(300, (0.2, 0.45), seed=seed, activation=[0.0, 1.0, 0.5])
        first = np.linalg.svd(run.W2, compute_uv=False)[0]
        plain.append(predict_outliers(run, overlaps=False).location[0] / first - 1.0)
        known.append(predict_outliers(run).location[0] / first - 1.0)
    assert np.sqrt(np.mean(np.square(plain))) > 0.005
    assert np.sqrt(np.mean(np.square(known))) < 0.4 * np.sqrt(np.mean(np.square(plain)))


def test_outliers_of_the_full_rank_part_count():
    """A direction that no power of the second layer carries."""
    run = _run(300, (0.1, 0.2))
    signs = np.where(np.arange(300) % 2, 2.0, -2.0) / math.sqrt(300)
    other = run.W2 + np.outer(signs, np.eye(300)[-1])
    found = predict_outliers(dataclasses.replace(run, W2=other))
    assert (found.n_own, predict_outliers(run).n_own) == (1, 0)
    assert found.count == predict_outliers(run).count + 1 == count_outliers(other).count
    assert found.count == 2
    assert found.location[:2] == pytest.approx(np.linalg.svd(other, compute_uv=False)[:2], rel=0.03)


def test_count_agrees_with_what_is_counted():
    for alphas in ((0.0, 0.0), (0.1, 0.2), (0.2, 0.45), (0.45, 0.3)):
        run = _run(400, alphas, seed=4)
        assert predict_outliers(run).count == count_outliers(run.W2).count


def test_small_steps_follow_the_plain_map():
    """Hardly any full-rank part: all three descriptions of the bulk agree with the map of theta."""
    run = _run(400, (0.1, 0.1), activation=[0.0, 1.0, 0.1], kappa=2.0)
    plain = bbp(predict_outliers(run).theta, 1.0)
    for bulk in ("resolvent", "rows", "isotropic"):
        found = predict_outliers(run, bulk=bulk)
        assert found.count == 1
        assert found.location[0] == pytest.approx(plain.location[0], rel=0.03)
        assert found.right_cos2[0] == pytest.approx(plain.right_cos2[0], abs=0.03)
        assert found.left_cos2[0] == pytest.approx(plain.left_cos2[0], abs=0.03)
    isotropic = predict_outliers(run, bulk="isotropic")
    assert isotropic.location[0] == pytest.approx(plain.location[0], rel=1e-3)
    assert isotropic.edge.location == pytest.approx(2.0, rel=1e-6)
    assert isotropic.bbp_location[0] == plain.location[0]


def test_long_rows_are_flagged():
    """A neuron with a second layer five times too large makes an outlier of its own."""
    run = _run(400, (0.4, 0.4), seed=4)
    a0 = run.a0.copy()
    a0[7] = 8.0 / math.sqrt(400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        run = two_step_update(*run.first, run.W0, a0, run.eta1, run.eta2, activation=run.activation)
    found, counted = predict_outliers(run), count_outliers(run.W2)
    assert found.n_localised >= 1
    assert counted.n_localised >= 1
    assert found.count == counted.count == 2
    assert np.min(found.participation) < 0.01
    np.testing.assert_allclose(found.location[:2], counted.values[:2], rtol=0.05)


def test_no_outlier_at_all():
    run = _run(300, (0.0, 0.0), kappa=0.2)
    found = predict_outliers(run)
    assert (found.count, found.location.size, found.n_localised) == (0, 0, 0)
    assert found.right_vectors.shape == (0, 300)
    assert found.theta[0] < 1.0


def test_kinks_are_named():
    with pytest.warns(AssumptionWarning, match="smooth activation"):
        found = predict_outliers(_run(300, activation="relu"))
    assert found.location[0] > found.threshold


def test_bad_input():
    run = _run(100)
    with pytest.raises(InputTypeError, match="two_step_update"):
        predict_outliers(run.W2)
    with pytest.raises(InputError, match="bulk"):
        predict_outliers(run, bulk="free")
    with pytest.raises(InputError, match="level"):
        predict_outliers(run, level=2.0)


def test_bad_order():
    problem = random_problem(30, 20, 40, [np.tanh], rng=0)
    run = two_step_update(*problem[:4], 1.0, 1.0, activation=[0.0, 1.0, 0.5])
    with pytest.raises(InputError, match="kmax"):
        predict_outliers(run, kmax=-1)
    with pytest.raises(InputTypeError, match="kmax"):
        predict_outliers(run, kmax=1.5)
