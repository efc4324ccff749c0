"""What the pictures of solutions show, read from the artists."""

import numpy as np
import pytest

from derand.exceptions import InputError, InputTypeError
from derand.plotting import FrameDriftDisplay, HessianSpectrumDisplay, SolutionDistanceDisplay
from derand.teacher_student import TeacherStudent

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def start(seed=0):
    return 0.1 * np.random.default_rng(seed).standard_normal((4, 2)), np.eye(4)


def test_drift_is_zero_where_the_theory_says_so_and_not_elsewhere():
    alphas = np.linspace(0.0, 40.0, 5)
    fair, skew = TeacherStudent(4, 2, lr=0.1), TeacherStudent(4, 2, lr=0.1, T=np.diag([1.5, 0.5]))
    runs = {
        "equal": fair.solve(*start(), alphas),
        "unequal": skew.solve(*start(), alphas),
        "SGD": fair.simulate(*start(), 200, alphas, n_replicas=3, rng=0),
    }
    display = FrameDriftDisplay.from_runs(runs).plot()
    assert np.max(display.drifts["equal"]) < 1e-12
    assert display.drifts["unequal"][-1] > 0.05
    assert display.drifts["SGD"][-1] > 0.01
    assert display.drifts["SGD"].shape == (5,)
    assert [line.get_label() for line in display.ax_.get_lines()] == list(runs)
    assert np.min(display.ax_.get_lines()[0].get_ydata()) >= 1e-16


def test_distances_of_the_weights_themselves():
    """The start as weights in six dimensions, teachers along the first two axes."""
    rho, Q = start()
    display = SolutionDistanceDisplay.from_start(TeacherStudent(4, 2), rho, Q, n_random=300, rng=1).plot()
    left, _, right = np.linalg.svd(rho, full_matrices=False)
    W = np.hstack([rho, np.linalg.cholesky(Q - rho @ rho.T)])
    closest = np.hstack([np.sqrt(2) * left @ right, np.zeros((4, 4))])
    assert np.isclose(display.closest, np.linalg.norm(W - closest), rtol=1e-12)
    assert np.isclose(display.selected, display.closest, rtol=1e-12)
    assert np.all(display.random > display.closest)
    assert sum(patch.get_height() for patch in display.ax_.patches) == 300


def test_unequal_teachers_select_another_solution_than_the_closest():
    model = TeacherStudent(4, 2, T=np.diag([1.5, 0.5]))
    display = SolutionDistanceDisplay.from_start(model, *start(), n_random=10, second_order=False, rng=1)
    assert display.selected > display.closest + 1e-4


def test_spectra_are_the_models():
    display = HessianSpectrumDisplay.from_model(TeacherStudent(4, 2), 1000).plot()
    assert [spectrum.inertia() for spectrum in display.spectra.values()] == [
        (4000, 0, 0),
        (8, 3982, 10),
        (0, 2001, 1999),
    ]
    assert all(sum(s.multiplicities) == 4000 for s in display.spectra.values())
    points = [line for line in display.ax_.get_lines() if line.get_marker() in ("o", "s", "^")]
    for line, spectrum in zip(points, display.spectra.values(), strict=True):
        assert np.array_equal(line.get_xdata(), spectrum.values)
        assert np.array_equal(line.get_ydata(), np.array(spectrum.multiplicities, dtype=float))


def test_bad_arguments():
    with pytest.raises(InputError, match="runs"):
        FrameDriftDisplay.from_runs({})
    with pytest.raises(InputTypeError, match="runs"):
        FrameDriftDisplay.from_runs({"a": 1})
    with pytest.raises(InputError, match="alpha = 0"):
        FrameDriftDisplay.from_runs({"late": TeacherStudent(4, 2).solve(*start(), [1.0])})
    with pytest.raises(InputTypeError, match="model"):
        SolutionDistanceDisplay.from_start("model", *start())
    with pytest.raises(InputError, match="n_random"):
        SolutionDistanceDisplay.from_start(TeacherStudent(4, 2), *start(), n_random=0)
    with pytest.raises(InputError, match="closed form"):
        HessianSpectrumDisplay.from_model(TeacherStudent(4, 2, "erf"), 100)
