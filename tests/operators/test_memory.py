"""Records in memory: the engine keeps them, and what it kept is checked."""

import pytest

from okl_flow import make_learner
from okl_flow.operators.store import MemoryStore, StoreError

LEARNERS = [make_learner("kogd", budget=4)]


def test_all_that_was_committed_comes_back():
    store = MemoryStore(None, 4, LEARNERS)
    store.commit([("b", b"one", 0), ("ü", b"", 0), ("", b"three", 0)])
    store.spill([("b", None, 2)])
    pointer = store.commit([("a", b"two", 0)])
    store.commit([("a", b"later", 3)])
    again = MemoryStore(pointer, 4, LEARNERS)
    assert again.read(["a", "b", "ü", ""]) == [(3, b"two"), None, (2, b""), (2, b"three")]
    assert again.commit([]) == MemoryStore(pointer, 4, LEARNERS).commit([])
    assert again.requests() == []
    again.close()


def test_what_is_kept_does_not_depend_on_the_order_of_changes():
    changes = [("b", b"one", 0), ("a", b"two", 0), ("c", b"three", 0)]
    pointer = MemoryStore(None, 4, LEARNERS).commit(changes)
    store = MemoryStore(None, 4, LEARNERS)
    store.spill(changes[2:])
    store.spill(changes[1:2])
    assert store.commit(changes[:1]) == pointer


def test_damage_is_found():
    pointer = MemoryStore(None, 4, LEARNERS).commit([("a", b"record", 0)])
    for at in range(len(pointer)):
        damaged = bytearray(pointer)
        damaged[at] ^= 1
        for kept in (bytes(damaged), pointer[:at]):
            with pytest.raises(StoreError, match="is damaged: its .* Put the recovery directory"):
                MemoryStore(kept, 4, LEARNERS)


def test_another_job_is_refused():
    pointer = MemoryStore(None, 4, LEARNERS).commit([])
    with pytest.raises(StoreError, match="begun with partitions 4, and is opened with 8"):
        MemoryStore(pointer, 8, LEARNERS)
    with pytest.raises(StoreError, match="the budget of learner 0 was 4, and is 9 now"):
        MemoryStore(pointer, 4, [make_learner("kogd", budget=9)])
