"""The comparisons: same problems for all, judged by means that no method has part in."""

import numpy as np
import pytest

from derand.commands.comparisons import (
    SUITES,
    _by_derand,
    embedding_rows,
    judge_point,
    maxcut_rows,
    sosp_rows,
    structure_rows,
    torus_graph,
)
from derand.commands.demonstrations import coupled_wells


def test_judge_sees_saddles_and_minima():
    wells = coupled_wells(8)
    assert judge_point(wells, wells.x0)[0] == 0.0
    # The Hessian at 0 is -1 plus the ring's Laplacian over 2, whose smallest eigenvalue is 0; at (1, ..., 1) it's 2.
    assert judge_point(wells, wells.x0)[1] == pytest.approx(-1.0, abs=1e-12)
    assert judge_point(wells, np.ones(8)) == (0.0, pytest.approx(2.0, abs=1e-12))


def test_every_run_of_derand_is_proved_and_no_claim_of_its_is_wrong():
    rows = {row["method"]: row for row in sosp_rows(0)}
    for method in ("derand", "derand, gradients only"):
        assert rows[method]["runs"] == rows[method]["reached"] == rows[method]["claimed"] == rows[method]["proved"] == 6
    peers = [row for method, row in rows.items() if method.startswith("scipy")]
    assert len(peers) == 5
    # Three of the starts are exact saddles, which no gradient method leaves.
    assert all(row["reached"] <= 3 and row["proved"] == 0 for row in peers)
    assert max(row["reached"] for row in peers) == 3


def test_torus_has_four_neighbours_everywhere():
    torus = torus_graph(5, 0)
    degree = np.bincount(torus.heads, minlength=25) + np.bincount(torus.tails, minlength=25)
    assert degree.tolist() == [4] * 25
    assert set(torus.weights.tolist()) == {-1, 1}


@pytest.mark.slow
def test_cuts_lie_between_the_peers_and_the_bound():
    rows = list(maxcut_rows(0))
    for task in {row["task"] for row in rows}:
        ours, *peers = [row for row in rows if row["task"] == task]
        assert ours["cpu_ratio"] == 1.0
        assert all(peer["cut"] <= ours["cut"] <= ours["proved_upper_bound"] for peer in peers)
        assert peers


@pytest.mark.slow
def test_distortions_lie_above_the_bound_of_any_map():
    ours, *peers = list(embedding_rows(0))
    bound = ours["lower_bound_of_any_map"]
    assert all(0.0 < bound <= ours["distortion"] < peer["distortion"] for peer in peers)
    scaled = {peer["method"]: peer["distortion"] for peer in peers}
    assert scaled["principal axes, best scale"] <= scaled["principal axes"]


@pytest.mark.slow
def test_directions_are_found_for_every_link():
    rows = list(structure_rows(0))
    for task in {row["task"] for row in rows}:
        ours, *peers = [row for row in rows if row["task"] == task]
        # One draw of 500 samples: within twice the limit of efficient estimators.
        assert ours["subspace_error"] < 2.0 * ours["efficiency_bound"]
        assert all(ours["subspace_error"] < peer["subspace_error"] <= 1.0 for peer in peers)


def test_suites_are_named():
    assert set(SUITES) == {"sosp", "maxcut", "embedding", "structure"}


def test_an_interrupted_run_is_no_row():
    """derand's solvers answer Ctrl-C with their best result; a comparison must end there instead."""

    class Interrupted:
        """Objective whose third call meets Ctrl-C."""

        def __init__(self):
            self.calls = 0

        def fun(self, x):
            self.calls += 1
            if self.calls == 3:
                raise KeyboardInterrupt
            return 0.5 * float(x @ x), x

        def hessp(self, x, v):
            return v

    with pytest.raises(KeyboardInterrupt):
        _by_derand(Interrupted(), np.ones(4), seed=0)
