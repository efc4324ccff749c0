import numpy as np
import pytest

from derand.exceptions import InputError
from derand.teacher_student import TeacherStudent
from derand.teacher_student.predictions import QuadraticPredictions


def test_predictions_need_the_parameters_alone():
    parameters = TeacherStudent(4, 2, lr=0.05).parameters
    bare, full = QuadraticPredictions(parameters), TeacherStudent(4, 2, lr=0.05)
    assert bare.critical_lr() == full.critical_lr()
    assert bare.plateau().q == full.plateau().q
    assert bare.best_loss() == 0.0


@pytest.mark.parametrize(
    "model",
    [
        TeacherStudent(3, 2, "erf"),
        TeacherStudent(3, 2, constraint="norm"),
        TeacherStudent(3, 2, second_layer=[1.0, 1.0, -1.0]),
        TeacherStudent(3, 2, teacher_second_layer=[1.0, 2.0]),
    ],
)
def test_every_closed_form_refuses_other_models(model):
    rho, Q = np.eye(3, 2), np.eye(3)
    calls = [
        model.tail,
        model.solution_manifold_dimension,
        model.overlap_law,
        lambda: model.selected_solution(rho, Q),
    ]
    for call in calls:
        with pytest.raises(InputError, match="closed form"):
            call()


def test_ones_written_out_are_the_plain_model():
    assert TeacherStudent(2, 1, second_layer=[1, 1], teacher_second_layer=[1.0]).plateau().q > 0
