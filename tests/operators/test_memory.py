"""Records in memory: the engine keeps them, and what it kept is checked."""

import pytest

from okl_flow import make_learner
from okl_flow.operators.store import MemoryStore, StoreError
from tests.operators.changes import NOTHING, changes

LEARNERS = [make_learner("kogd", budget=4)]


def test_all_that_was_committed_comes_back():
    store = MemoryStore(None, 4, LEARNERS)
    store.commit(*changes({"b": b"one", "ü": b"two", "": b"three"}))
    store.spill(*changes({"b": None}))
    pointer = store.commit(*changes({"a": b"two"}))
    store.commit(*changes({"a": b"later"}))
    again = MemoryStore(pointer, 4, LEARNERS)
    assert again.read(["a", "b", "ü", ""]) == [(3, b"two"), None, (2, b"two"), (2, b"three")]
    assert again.commit(*NOTHING) == MemoryStore(pointer, 4, LEARNERS).commit(*NOTHING)
    assert again.requests() == []
    again.close()


def test_what_is_kept_does_not_depend_on_the_order_of_changes():
    given = changes({"b": b"one", "a": b"two", "c": b"three"})
    pointer = MemoryStore(None, 4, LEARNERS).commit(*given)
    store = MemoryStore(None, 4, LEARNERS)
    store.spill(*changes({"c": b"three"}))
    store.spill(*changes({"a": b"two"}))
    assert store.commit(*changes({"b": b"one"})) == pointer


def test_damage_is_found():
    pointer = MemoryStore(None, 4, LEARNERS).commit(*changes({"a": b"record"}))
    for at in range(len(pointer)):
        damaged = bytearray(pointer)
        damaged[at] ^= 1
        for kept in (bytes(damaged), pointer[:at]):
            with pytest.raises(StoreError, match="is damaged: its .* Put the recovery directory"):
                MemoryStore(kept, 4, LEARNERS)


def test_another_job_is_refused():
    pointer = MemoryStore(None, 4, LEARNERS).commit(*NOTHING)
    with pytest.raises(StoreError, match="begun with partitions 4, and is opened with 8"):
        MemoryStore(pointer, 8, LEARNERS)
    with pytest.raises(StoreError, match="the budget of learner 0 was 4, and is 9 now"):
        MemoryStore(pointer, 4, [make_learner("kogd", budget=9)])
