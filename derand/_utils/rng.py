"""Random streams: from a user's seed to a generator, and to independent child streams."""

from __future__ import annotations

from typing import Any

import numpy as np

from derand.exceptions import InputError, InputTypeError

RNGLike = int | np.random.Generator | np.random.SeedSequence | np.random.BitGenerator | None


def check_rng(rng: Any) -> np.random.Generator:
    """Return a generator from a seed (SPEC 7); an existing generator is used as it is."""
    if isinstance(rng, np.random.RandomState):
        raise InputTypeError("rng must be a seed or a numpy Generator, got the legacy RandomState")
    try:
        return np.random.default_rng(rng)
    except TypeError as error:
        raise InputTypeError(f"rng must be None, an int, a SeedSequence or a Generator: {error}") from error
    except ValueError as error:
        raise InputError(f"rng is no valid seed: {error}") from error
