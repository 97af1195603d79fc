"""When a cluster is started again, and when no more."""

from random import Random

import pytest

from okl_flow.running.patience import Patience, Policy


def pauses(policy, times, lasted=1.0):
    patience = Patience(policy, Random(3))
    return [patience.fail(now, lasted) for now in times]


def test_pauses_double_up_to_a_minute_give_or_take_half():
    policy = Policy(failures=100, within=1e6, pause=1.0)
    found = pauses(policy, range(12))
    for number, pause in enumerate(found):
        middle = min(60.0, 2.0**number)
        assert 0.5 * middle <= pause <= 1.5 * middle
    assert len({pause / min(60.0, 2.0**at) for at, pause in enumerate(found)}) > 6


def test_a_healthy_run_makes_pauses_short_again():
    policy = Policy(failures=100, pause=1.0, healthy=60.0)
    patience = Patience(policy, Random(3))
    for now in range(5):
        pause = patience.fail(now, 59.0)
    assert pause >= 8.0
    assert patience.fail(99.0, 60.0) <= 1.5


def test_so_many_failures_within_a_time_are_too_many():
    policy = Policy(failures=3, within=100.0)
    assert pauses(policy, [0.0, 50.0, 100.0])[-1] is None
    assert None not in pauses(policy, [0.0, 50.0, 100.5, 151.0, 201.5])
    assert pauses(policy, [0.0, 50.0, 100.5, 120.0])[-1] is None
    assert pauses(Policy(failures=1), [0.0]) == [None]


@pytest.mark.parametrize("name", ["failures", "within", "pause", "healthy"])
def test_absurd_policies_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} must be"):
        Policy(**{name: -1})
