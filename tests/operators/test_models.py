"""What has changed is written at a commit, or ahead of it, and what memory holds is given back."""

import msgspec
import numpy as np
import pytest

from okl_flow import make_learner
from okl_flow.events import Cause, Event
from okl_flow.murmur import seeds_of
from okl_flow.operators.admission import Rules
from okl_flow.operators.models import Models
from okl_flow.operators.partition import Partition
from okl_flow.operators.requests import FORGET, Request, leave
from okl_flow.operators.store import StateDirectory
from okl_flow.packing import packer_of
from okl_flow.waiting import Limits

LEARNER = make_learner("bogd", budget=5, bandwidth=1.5)
RULES = Rules((LEARNER,), (LEARNER.name,), None, Limits(100, None), None)


@pytest.fixture
def directory(tmp_path):
    return StateDirectory.open(tmp_path / "state", step="learn", partitions=1, learners=[LEARNER])


class Watched:
    """A store that counts what is written ahead of its commits."""

    def __init__(self, store):
        self._store = store
        self.ahead = 0

    def __getattr__(self, name):
        return getattr(self._store, name)

    def spill(self, keys, records):
        self.ahead += len(keys)
        return self._store.spill(keys, records)


def opened(directory, snapshot=None, live=100_000):
    pointer, figures = snapshot or (None, None)
    store = Watched(directory.store(0, pointer))
    models = Models(store, [LEARNER], live)
    return Partition("p000", "learn", RULES, models, 10_000, figures), models, store


def events(numbers, first):
    X = np.random.default_rng(first).normal(size=(len(numbers), 3))
    return [
        Event(f"user-{number}", x, Cause("t", 0, first + at), None, None, float(np.sign(x[0])))
        for at, (number, x) in enumerate(zip(numbers, X, strict=True))
    ]


def run(partition, numbers, first, size=50):
    for begin in range(0, len(numbers), size):
        partition.process(events(numbers[begin : begin + size], first + begin))


def records(store, keys):
    return [found and found[1] for found in store.read([f"user-{key}" for key in keys])]


def test_many_keys_are_written_ahead_and_few_are_not(directory):
    partition, _models, store = opened(directory)
    run(partition, range(2000), 0)
    assert store.ahead == 0  # nothing is known yet of how often a key changes
    partition.snapshot()
    run(partition, range(2000), 2000)
    assert store.ahead >= 1500
    partition.snapshot()
    before = store.ahead
    run(partition, [number % 900 for number in range(4500)], 4000)
    partition.snapshot()  # which finds that each was changed five times
    after = store.ahead
    assert after > before
    run(partition, [number % 900 for number in range(4500)], 9000)
    assert store.ahead == after


def test_what_was_written_ahead_of_no_commit_is_undone(directory, tmp_path):
    partition, _models, store = opened(directory)
    run(partition, range(2000), 0)
    snapshot = partition.snapshot()
    committed = records(store, range(2000))
    run(partition, range(2000), 2000)
    assert store.ahead >= 1500 and records(store, range(2000)) != committed
    store.close()
    partition, _models, store = opened(directory, snapshot)
    assert records(store, range(2000)) == committed
    run(partition, range(2000), 2000)
    partition.snapshot()
    whole = StateDirectory.open(tmp_path / "b", step="learn", partitions=1, learners=[LEARNER])
    undisturbed, _models, other = opened(whole)
    run(undisturbed, range(2000), 0)
    run(undisturbed, range(2000), 2000)
    undisturbed.snapshot()
    assert records(store, range(2000)) == records(other, range(2000))
    store.close()
    other.close()


@pytest.mark.parametrize("numbers", [[1, 1], [1, 2], [1, 1, 2], [1, 1, 1, 1]])
def test_a_request_about_a_key_without_events_in_the_batch(directory, numbers):
    partition, models, store = opened(directory)
    run(partition, [0], 0)
    partition.snapshot()
    leave(directory.place(0).requests, Request(FORGET, "user-0"))
    run(partition, numbers, 1)
    _pointer, figures = partition.snapshot()
    assert records(store, [0]) == [None]
    keys = [f"user-{number}" for number in dict.fromkeys(numbers)]
    for key in keys:
        own = [one for one in events(numbers, 1) if one.key == key]
        state = LEARNER.init(3, seed=seeds_of([key])[0])
        LEARNER.step(state, np.array([one.features for one in own]), [one.label for one in own])
        record = models.record(key)
        assert record.events == len(own)
        assert packer_of(LEARNER).pack(record.states[0]) == packer_of(LEARNER).pack(state)
    counts = msgspec.msgpack.decode(figures)["counts"]
    assert counts == {"events": 1 + len(numbers), "keys": 1 + len(keys), "forgotten": 1}
    store.close()


def test_states_of_keys_that_leave_the_cache_are_given_back(directory):
    partition, models, store = opened(directory, live=40)
    for first in range(0, 3000, 300):
        run(partition, range(300), first, 20)
        partition.snapshot()
    [pool] = models.keepers
    assert pool._count <= 40 + 20  # as many as are live, and those of the batch
    assert pool._count - len(pool._unused) == len(models) <= 40
    store.close()
