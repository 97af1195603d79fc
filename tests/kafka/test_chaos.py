"""The big run, made small; and its checker finds what is wrong."""

from collections import deque
from dataclasses import replace

import pytest

from okl_flow.events import Prediction, Report
from tests.kafka.chaos.checker import check_labels_apart, check_one_topic, found
from tests.kafka.chaos.run import Chaos


@pytest.fixture(scope="module")
def undisturbed(broker_place, tmp_path_factory):
    """What a job that nothing happens to has read and written: in one topic, and apart."""
    bootstrap = broker_place["bootstrap"]
    given = {"delivery": "exactly_once", "seed": 5, "events": 2000, "keys": 20}
    folder = tmp_path_factory.mktemp("undisturbed")
    jobs = [Chaos(folder / f"{apart}", bootstrap, apart=apart, **given) for apart in (False, True)]
    for one in jobs:
        assert not one.kill_and_check(0).complaints
    return [found(bootstrap, one.settings) for one in jobs]


@pytest.mark.parametrize("apart", [False, True], ids=["labels with events", "labels apart"])
def test_a_job_that_is_killed_over_and_over(apart, broker, runs):
    outcome = runs(broker, apart=apart).kill_and_check(4)
    assert not outcome.complaints
    assert sum(outcome.kills.values()) == 4
    assert outcome.read > outcome.records


def out_of_order(own):
    """The first that another of its key follows, behind all: of two keys no order is promised."""
    keys = [one.name if isinstance(one, Report) else one.key for one in own]
    moved = next(at for at, key in enumerate(keys) if key in keys[at + 1 :])
    return [*own[:moved], *own[moved + 1 :], own[moved]]


WRONG = {
    "lost": lambda own: own[:-1],
    "again": lambda own: [*own, own[7]],
    "out of order": out_of_order,
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", ["predictions", "rejects", "reports"])
def test_what_is_wrong_is_found(name, wrong, undisturbed):
    one, apart = undisturbed
    doctored = WRONG[wrong](getattr(one, name))
    is_seen = (name, wrong) != ("rejects", "out of order")  # of these the order is not promised
    complaints = check_one_topic(replace(one, **{name: doctored}), exact=True)
    assert bool(complaints) == is_seen
    assert all(name in each for each in complaints)
    if name != "reports" and wrong == "again":
        doctored = WRONG[wrong](getattr(apart, name))
        assert check_labels_apart(replace(apart, **{name: doctored}), exact=True)


def test_a_wrong_bit_is_found(undisturbed):
    one, _apart = undisturbed
    own = one.predictions
    changed = {field: getattr(own[9], field) for field in Prediction.__struct_fields__}
    changed["score"] += 1e-16 if changed["score"] == 0.0 else changed["score"] * 3e-16
    doctored = replace(one, predictions=[*own[:9], Prediction(**changed), *own[10:]])
    assert check_one_topic(doctored, exact=True)
    repeated = replace(one, predictions=[*own, Prediction(**changed)])
    assert check_one_topic(repeated, exact=False)
    assert not check_one_topic(replace(one, predictions=[*own, own[9]]), exact=False)


def test_a_label_without_an_outcome_is_found(undisturbed):
    _one, apart = undisturbed
    left = deque(apart.predictions)
    while left[0].label is None or not left[0].id:
        left.rotate()
    left.popleft()
    assert check_labels_apart(replace(apart, predictions=list(left)), exact=True)
