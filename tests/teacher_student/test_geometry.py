import numpy as np
import pytest

from derand.exceptions import InputError
from derand.teacher_student import TeacherStudent
from derand.teacher_student.geometry import SolutionGeometry
from tests.teacher_student.reference import orthogonal_start


def test_geometry_needs_the_parameters_alone():
    model = TeacherStudent(4, 2)
    bare = SolutionGeometry(model.parameters)
    assert bare.solution_manifold_dimension() == 5
    assert np.array_equal(bare.random_solutions(2, rng=0)[0], model.random_solutions(2, rng=0)[0])


def test_selected_solution_is_closer_than_all_random_ones():
    rho, Q = orthogonal_start(4, 2, 0.2)
    model = TeacherStudent(4, 2)
    end = model.selected_solution(rho, Q)
    selected = model.solution_distance(rho, Q, end.rho)
    others = model.solution_distance(rho, Q, model.random_solutions(1000, rng=1)[0])
    assert np.all(others > selected)
    assert np.isclose(selected, model.solution_distance(rho, Q, model.closest_solution(rho)[0]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["random_solutions", "closest_solution", "solution_distance"])
def test_other_models_are_refused(name):
    rho, Q = orthogonal_start(2, 1, 0.1)
    arguments = {"random_solutions": (1,), "closest_solution": (rho,), "solution_distance": (rho, Q, rho)}[name]
    with pytest.raises(InputError, match="closed form"):
        getattr(TeacherStudent(2, 1, "erf"), name)(*arguments)
    with pytest.raises(InputError, match="p must be at least p_star"):
        TeacherStudent(1, 2).random_solutions(1)


def test_single_starts_only():
    rho, Q = orthogonal_start(2, 1, 0.1)
    with pytest.raises(InputError, match="single matrices"):
        TeacherStudent(2, 1).solution_distance(rho[None], Q[None], rho)
