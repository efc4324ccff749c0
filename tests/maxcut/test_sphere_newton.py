import numpy as np
import pytest

from derand.maxcut.factor import quasi_random_vectors
from derand.maxcut.mixing import ColourBlocks, row_dots
from derand.maxcut.sphere_newton import SpherePoint, newton_step
from tests.maxcut.graphs import complete, random_graph


def test_gradient_is_the_derivative_along_the_retraction():
    matrix = random_graph(np.random.default_rng(0), 12, 30, "float").adjacency
    point = SpherePoint.at(matrix, quasi_random_vectors(12, 4))
    direction = quasi_random_vectors(12, 4)[::-1]
    slopes = []
    for step in (1e-5, -1e-5):
        moved = point.vectors + step * direction
        moved /= np.sqrt(row_dots(moved, moved))[:, None]
        slopes.append(SpherePoint.at(matrix, moved).value)
    # Central difference: error step^2 times a third derivative of order 10, plus rounding 1e-15/1e-5.
    assert (slopes[0] - slopes[1]) / 2e-5 == pytest.approx(np.sum(point.gradient() * direction), abs=1e-8)
    assert row_dots(point.gradient(), point.vectors) == pytest.approx(np.zeros(12), abs=1e-14)


def test_steps_descend_and_converge():
    blocks = ColourBlocks(random_graph(np.random.default_rng(1), 40, 160, "unit"))
    vectors = quasi_random_vectors(40, 9)
    for _ in range(20):
        blocks.sweep(vectors)
    point, residuals = SpherePoint.at(blocks.matrix, vectors), []
    for _ in range(12):
        moved, used = newton_step(blocks.matrix, point, 100)
        assert moved.value <= point.value + 1e-12
        assert used <= 130
        residuals.append(moved.residual())
        point = moved
    assert min(residuals) < 1e-9


def test_a_saddle_is_left():
    # All vectors equal is a stationary point of the complete graph, and the worst one.
    matrix = complete(6).adjacency
    vectors = np.zeros((6, 3))
    vectors[:, 0] = 1.0
    vectors[:, 1] = 1e-7 * np.arange(6)
    vectors /= np.sqrt(row_dots(vectors, vectors))[:, None]
    start = SpherePoint.at(matrix, vectors)
    moved, _ = newton_step(matrix, start, 50)
    assert moved.value < start.value
