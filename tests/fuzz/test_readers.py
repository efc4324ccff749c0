"""Mutated inputs: every reader answers with an edge list or GraphFormatError, within its memory."""

from __future__ import annotations

import pytest

from tests.fuzz.readers import SEEDS, make_case, run_campaign

# The regular campaign; ``python -m tests.fuzz.readers`` runs 200,000 for each reader.
COUNT = 2000


@pytest.mark.parametrize("reader", SEEDS)
def test_mutated_inputs(reader: str) -> None:
    tally = run_campaign(reader, first=10**9, count=COUNT)
    assert tally.failures == []
    # A campaign in which everything is refused, or nothing is, would test little.
    assert tally.accepted > COUNT // 200
    assert tally.refused > COUNT // 4


def test_cases_are_reproducible() -> None:
    assert [make_case("auto", i) for i in range(50)] == [make_case("auto", i) for i in range(50)]
    assert len({make_case("auto", i) for i in range(50)}) > 40
