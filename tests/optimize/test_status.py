"""Every status is a sentence of its own, and only one of them is success."""

from derand.optimize import SOSPStatus


def test_sentences():
    sentences = [status.value for status in SOSPStatus]
    assert len(set(sentences)) == len(sentences) == 12
    for sentence in sentences:
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert len(sentence) > 30


def test_only_certified_speaks_of_proof_without_denial():
    for status in SOSPStatus:
        claims = "is proved to be at least" in status.value
        assert claims == (status is SOSPStatus.CERTIFIED)


def test_what_ends_early_says_that_nothing_is_proved():
    for status in (SOSPStatus.BUDGET, SOSPStatus.TIME_LIMIT, SOSPStatus.INTERRUPTED, SOSPStatus.CALLBACK):
        assert "nothing is proved" in status.value
