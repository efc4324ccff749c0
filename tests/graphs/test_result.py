"""MaxCutResult: plain data, text, and a verify that refuses other graphs."""

import functools
import json

import networkx as nx
import pytest

from derand.exceptions import CertificateError
from derand.graphs.maxcut import maxcut
from derand.maxcut.elimination import plan_elimination


@pytest.fixture(scope="module")
def result():
    return maxcut(nx.petersen_graph())


def test_dictionary_is_json(result):
    data = json.loads(json.dumps(result.to_dict()))
    assert data["value"] == 12
    assert data["optimal"] is True
    assert sorted(data["partition"][0] + data["partition"][1]) == list(range(10))
    assert data["estimated_upper_bound"] is None


def test_text_says_what_is_proved(result):
    assert "value 12" in repr(result)
    assert "proved optimal" in repr(result)
    assert "no proved upper bound" in repr(maxcut(nx.petersen_graph(), bound=False))


def test_verify_refuses_another_graph(result):
    other = nx.petersen_graph()
    other.remove_edge(0, 1)
    other.add_edge(0, 2)
    with pytest.raises(CertificateError):
        result.verify(other)
    with pytest.raises(CertificateError, match="other nodes"):
        result.verify(nx.path_graph(11))


def test_without_a_proof_there_is_an_estimate_under_another_name():
    unproved = maxcut(nx.petersen_graph(), bound=False)
    assert unproved.upper_bound is None
    assert unproved.certificate is None
    assert unproved.proof == ""
    assert not unproved.proved
    assert not unproved.optimal
    assert unproved.estimated_upper_bound == unproved.sdp_value


def test_odd_cycles_prove_a_bound_where_the_factorisation_is_refused(monkeypatch):
    monkeypatch.setattr("derand.maxcut.kernel._EARLY_BOUND", 50)
    refuse = functools.partial(plan_elimination, max_memory=1000, core=10)
    monkeypatch.setattr("derand.maxcut.kernel.plan_elimination", refuse)
    G = nx.gnm_random_graph(120, 400, seed=2)
    weaker = maxcut(G, effort="derandomize")
    assert weaker.proved
    assert weaker.proof == weaker.to_dict()["proof"] == "odd cycles"
    # The estimate keeps its own name beside the bound.
    assert weaker.value <= weaker.estimated_upper_bound < weaker.upper_bound < 400
    assert weaker.estimated_upper_bound == weaker.sdp_value
    assert "by odd cycles, gap" in repr(weaker)
    assert weaker.verify(G)
    monkeypatch.undo()
    stronger = maxcut(G, effort="derandomize")
    assert stronger.proof == "semidefinite"
    assert stronger.upper_bound < weaker.upper_bound


def test_chain_of_the_guarantee(result):
    assert result.value >= result.expected_cut - 1e-9
    assert result.expected_cut >= 0.87856 * result.sdp_value - 1e-9
    assert "0.87856" in result.guarantee
