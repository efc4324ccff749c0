"""Mutated inputs: every reader answers with an edge list or GraphFormatError, within its memory."""

from __future__ import annotations

import pytest

from tests.fuzz.readers import SEEDS, make_case, run_campaign

# The regular campaign, in pieces that stay short; ``python -m tests.fuzz.readers`` runs 200,000 for each reader.
COUNT = 1000
FIRST = 10**9


@pytest.mark.parametrize("piece", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2))])
@pytest.mark.parametrize("reader", SEEDS)
def test_mutated_inputs(reader: str, piece: int) -> None:
    tally = run_campaign(reader, first=FIRST + COUNT * piece, count=COUNT)
    assert tally.failures == []
    # A campaign in which everything is refused, or nothing is, would test little.
    assert tally.accepted > COUNT // 200
    assert tally.refused > COUNT // 4


def test_cases_are_reproducible() -> None:
    assert [make_case("auto", i) for i in range(50)] == [make_case("auto", i) for i in range(50)]
    assert len({make_case("auto", i) for i in range(50)}) > 40
