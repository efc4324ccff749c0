import argparse
import json
from fractions import Fraction

import pytest

from derand.commands import maxcut
from derand.commands.verify import configure, run
from derand.exceptions import CertificateError


@pytest.fixture
def files(tmp_path):
    """Return the paths of a pentagon with fractional weights and of its certificate."""
    graph, proof = tmp_path / "graph.rud", tmp_path / "proof.json"
    graph.write_text("5 5\n1 2 0.25\n2 3 0.25\n3 4 0.25\n4 5 0.25\n5 1 0.5\n", encoding="utf-8")
    parser = argparse.ArgumentParser()
    maxcut.configure(parser)
    assert maxcut.run(parser.parse_args([str(graph), "-q", "-o", "-", "--certificate", str(proof)])) == 0
    return graph, proof


def _run(*paths):
    parser = argparse.ArgumentParser()
    configure(parser)
    return run(parser.parse_args([str(path) for path in paths]))


def test_a_good_certificate_is_accepted(files, capsys):
    capsys.readouterr()
    assert _run(*files) == 0
    document = json.loads(capsys.readouterr().out)
    # All edges but one of the light ones.
    assert document["accepted"]
    assert Fraction(document["cut_value"]) == Fraction(5, 4)
    assert document["optimal"] == (Fraction(document["upper_bound"]) == Fraction(5, 4))


@pytest.mark.parametrize("change", [{"upper_bound": "1"}, {"cut_value": "3/2"}, {"side": "+++++"}, {"parts": None}])
def test_a_changed_certificate_is_refused(files, change):
    graph, proof = files
    data = json.loads(proof.read_text(encoding="utf-8"))
    proof.write_text(json.dumps({**data, **change}), encoding="utf-8")
    with pytest.raises(CertificateError):
        _run(graph, proof)


def test_another_graph_is_refused(files):
    graph, proof = files
    graph.write_text(graph.read_text(encoding="utf-8").replace("0.5", "0.75"), encoding="utf-8")
    with pytest.raises(CertificateError):
        _run(graph, proof)
