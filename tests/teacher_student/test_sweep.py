import pickle

import joblib
import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.sweeps import grid
from derand.teacher_student import sweep


def final_loss(model, generator):
    """A task with random numbers and with linear algebra."""
    p, p_star = model.parameters.p, model.parameters.p_star
    rho = 0.3 * generator.standard_normal((p, p_star)) / np.sqrt(p)
    run = model.simulate(rho, np.eye(p) + rho @ rho.T, 100, [2.0], n_replicas=3, rng=generator)
    return run.loss[:, -1], model.escape_time(1e4).time


SETTINGS = grid(p=(2, 3), lr=(0.05, 0.1))


@pytest.mark.medium
@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_bitwise_the_same_for_any_number_of_jobs_and_back_end(backend):
    alone = sweep(final_loss, SETTINGS, rng=0, p_star=1)
    with joblib.parallel_config(backend=backend):
        for jobs in (1, 2, 3):
            together = sweep(final_loss, SETTINGS, n_jobs=jobs, rng=0, p_star=1)
            for a, b in zip(alone, together, strict=True):
                assert a.success
                assert a.setting == b.setting
                assert np.array_equal(a.value[0], b.value[0])
                assert a.value[1] == b.value[1]


def test_values_are_those_of_the_models():
    from derand.teacher_student import TeacherStudent

    points = sweep(lambda model, generator: model.plateau().q, grid(p=(1, 4), noise=(0.0, 0.2)), p_star=2, lr=0.1)
    for point in points:
        assert point.value == TeacherStudent(p_star=2, lr=0.1, **point.setting).plateau().q


def test_a_setting_without_an_answer_keeps_its_reason():
    good, bad, worse = sweep(
        lambda model, generator: model.plateau().q, [{"lr": 0.1}, {"lr": 0.5}, {"lr": -1.0}], p=4, p_star=2
    )
    assert good.success
    assert not bad.success
    assert bad.value is None
    assert "divergence threshold" in str(bad.error)
    assert "lr" in str(worse.error)
    assert str(pickle.loads(pickle.dumps(bad.error))) == str(bad.error)


def test_other_errors_are_raised():
    with pytest.raises(ZeroDivisionError):
        sweep(lambda model, generator: 1 / 0, [{}], p=1, p_star=1)


def test_bad_arguments():
    with pytest.raises(InputTypeError, match="task"):
        sweep("plateau", [{}], p=1, p_star=1)
    with pytest.raises(InputTypeError, match="settings"):
        sweep(final_loss, [3], p=1, p_star=1)
    with pytest.raises(InputError, match="repeat"):
        sweep(final_loss, [{"p": 2}], p=1, p_star=1)
    assert sweep(final_loss, [], p=1, p_star=1) == []


def test_callback_and_interrupt():
    seen = []
    points = sweep(_loss, grid(p=(2, 4, 6)), p_star=2, n_jobs=1, callback=lambda *counts: seen.append(counts))
    assert seen == [(1, 3), (2, 3), (3, 3)]

    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        sweep(_loss, grid(p=(2, 4, 6)), p_star=2, n_jobs=1, callback=stop)
    assert [point.value for point in caught.value.partial] == [point.value for point in points[:2]]


def _loss(model, generator):
    return model.plateau(second_order=False).loss
