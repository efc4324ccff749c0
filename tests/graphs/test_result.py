"""MaxCutResult: plain data, text, and a verify that refuses other graphs."""

import json

import networkx as nx
import pytest

from derand.exceptions import CertificateError
from derand.graphs.maxcut import maxcut


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
    assert not unproved.proved
    assert not unproved.optimal
    assert unproved.estimated_upper_bound == unproved.sdp_value


def test_chain_of_the_guarantee(result):
    assert result.value >= result.expected_cut - 1e-9
    assert result.expected_cut >= 0.87856 * result.sdp_value - 1e-9
    assert "0.87856" in result.guarantee
