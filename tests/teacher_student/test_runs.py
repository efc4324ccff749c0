import numpy as np

from derand.teacher_student import FlowStatus, TeacherStudent
from derand.teacher_student.runs import Recorder, coordinates
from tests.teacher_student.reference import random_start


def test_coordinates_have_the_overlaps():
    rho, Q, T = random_start(3, 2)
    state, teacher = coordinates(TeacherStudent(3, 2, T=T).parameters, rho[None], Q[None])
    assert np.allclose(teacher @ teacher.T, T, rtol=0, atol=1e-14)
    assert np.allclose(state[0, :, :2] @ teacher.T, rho, rtol=0, atol=1e-14)
    assert np.allclose(state[0] @ state[0].T, Q, rtol=0, atol=1e-14)


def test_a_run_that_diverged_is_recorded_no_more():
    rho, Q = np.zeros((2, 2, 1)), np.stack([np.eye(2)] * 2)
    recorder = Recorder(TeacherStudent(2, 1).parameters, Q, 10, np.array([0.0, 0.33]))
    assert recorder.alphas.tolist() == [0.0, 0.3]
    layer = np.ones((2, 1))
    recorder.add(0, rho, Q, layer)
    recorder.add(1, rho, Q * np.array([1.0, 1e30])[:, None, None], layer)
    run = recorder.result()
    assert list(run.status) == [FlowStatus.COMPLETED, FlowStatus.DIVERGED]
    assert np.isnan(run.loss).tolist() == [[False, False], [False, True]]
    assert not run.success
