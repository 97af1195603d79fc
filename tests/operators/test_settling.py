"""What is committed comes to the disk by itself: nothing that needs it there goes before it."""

import pickle
import threading

import pytest

from okl_flow.operators.keyed import Snapshot
from okl_flow.operators.requests import FORGET, Request, leave, left
from okl_flow.operators.store import StoreError
from tests.operators.changes import NOTHING, changes, idle


class Disk:
    """In place of a store's database: its disk works when it may, or fails."""

    def __init__(self, store):
        self._database = store._database
        self.may, self.failure = threading.Event(), None
        store._database = self

    def __getattr__(self, name):
        return getattr(self._database, name)

    def flush_wal(self, sync):
        assert sync and self.may.wait(60.0)
        if self.failure:
            raise OSError(self.failure)
        self._database.flush_wal(sync)


def test_the_engine_keeps_a_commit_when_the_disk_has_it(folder):
    store = folder.store()
    disk = Disk(store)
    pointer = store.commit(*changes({"a": b"one"}))  # which does not wait
    taken = Snapshot(pointer, store.settle)
    assert (taken, store.read(["a"])) == (pointer, [(2, b"one")])
    threading.Timer(0.2, disk.may.set).start()
    packed = pickle.dumps(taken)
    assert disk.may.is_set()
    assert type(pickle.loads(packed)) is bytes
    assert pickle.loads(packed) == pointer


def test_a_disk_that_fails_is_told_of_and_not_gone_on_with(folder):
    store = folder.store()
    disk = Disk(store)
    disk.may.set()
    pointer = store.commit(*changes({"a": b"one"}))
    store.settle()
    disk.failure = "No space left on device"
    taken = Snapshot(store.commit(*changes({"a": b"two"})), store.settle)
    for do in (store.settle, store.settle, lambda: pickle.dumps(taken)):
        with pytest.raises(StoreError, match="partition 0 of .* cannot be .*No space left"):
            do()
    with pytest.raises(StoreError, match="No space left"):
        store.commit(*changes({"a": b"three"}))
    disk.failure, store._unsettled = None, None  # the job has died of it
    assert folder.store(pointer).read(["a"]) == [(2, b"one")]


def test_what_is_forgotten_is_let_go_of_when_the_disk_has_that(folder):
    """RocksDB would keep a log that is just being synced, and what was erased in it."""
    store = folder.store()
    store.commit(*changes({"ann": b"one"}))
    store.settle()
    disk = Disk(store)
    leave(folder.directory().place(0).requests, Request(FORGET, "ann"))
    assert len(store.requests()) == 1
    threading.Timer(0.2, disk.may.set).start()
    store.commit(*changes({"ann": None}))
    assert disk.may.is_set()


def test_a_request_stays_until_the_disk_has_what_makes_it_needless(folder):
    store, place = folder.store(), folder.directory().place(0)
    disk = Disk(store)
    disk.may.set()
    leave(place.requests, Request(FORGET, "ann"))
    [request] = store.requests()
    pointer = idle(store, 2)
    store.settle()
    disk.failure = "Input/output error"
    with pytest.raises(StoreError, match="Input/output error"):
        store.commit(*NOTHING)
    assert list(left(place.requests)) == [request]
    disk.failure, store._unsettled = None, None  # the job has died of it
    idle(folder.store(pointer), 2)
    assert list(left(place.requests)) == []
