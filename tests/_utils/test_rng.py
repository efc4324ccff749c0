import numpy as np
import pytest

from derand._utils.rng import check_rng
from derand.exceptions import InputError, InputTypeError


def test_a_seed_gives_numpys_own_stream():
    for seed in (0, 7, 2**100):
        assert check_rng(seed).random() == np.random.default_rng(seed).random()
    sequence = np.random.SeedSequence(5).spawn(2)[1]
    assert check_rng(sequence).random() == np.random.default_rng(np.random.SeedSequence(5).spawn(2)[1]).random()


def test_a_generator_is_used_as_it_is():
    generator = np.random.default_rng(0)
    assert check_rng(generator) is generator
    bits = np.random.Philox(1)
    assert check_rng(bits).bit_generator is bits


def test_none_gives_fresh_streams():
    assert check_rng(None).random() != check_rng(None).random()


@pytest.mark.parametrize("bad", [np.random.RandomState(0), "seed", 1.5, object()])
def test_wrong_types_are_named(bad):
    with pytest.raises(InputTypeError, match="rng must be"):
        check_rng(bad)


def test_negative_seed_is_refused():
    with pytest.raises(InputError, match="rng is no valid seed"):
        check_rng(-1)
