"""A million events of a stream that travels: memory stays flat, and nothing drifts away."""

import numpy as np
import pytest

from benchmarks.soak import DIM, soak
from okl_flow.registry import REGISTRY

EVENTS = 1_000_000
RESIDUAL_MAX = 1e-9
WORSE_MAX = 0.01  # more mistakes in the last third than in the one before, as a share of all


@pytest.mark.parametrize("name", list(REGISTRY))
def test_a_bounded_learner_stays_as_it_is(name):
    soaked = soak(name, EVENTS)
    bound = soaked.learner.state_bytes_max(DIM)
    assert bound is not None
    assert max(soaked.state_bytes) <= bound
    assert soaked.state_bytes[0] == soaked.state_bytes[-1]
    assert all(residual <= RESIDUAL_MAX for residual in soaked.drift.values()), soaked.drift
    third = len(soaked.mistakes) // 3
    before, last = soaked.mistakes[third:-third], soaked.mistakes[-third:]
    assert np.mean(last) <= np.mean(before) + WORSE_MAX
