"""Stores, in memory and on disk, against a model: dictionaries, one per version."""

import shutil
import tempfile

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from okl_flow import make_learner
from okl_flow.operators import rocks
from okl_flow.operators.journal import chunks
from okl_flow.operators.requests import FORGET, Request, leave, left
from okl_flow.operators.store import MemoryStore, StateDirectory
from tests.operators.changes import NOTHING, changes

LEARNERS = [make_learner("kogd", budget=4)]
KEYS = ["", "a", "b", "ba", "key ü", "x" * 300]
KEPT = 3

changed = st.dictionaries(
    st.sampled_from(KEYS), st.one_of(st.none(), st.binary(min_size=1, max_size=30)), max_size=5
)


class Stores(RuleBasedStateMachine):
    """A store goes on as dictionaries would, from any version that it promises to keep."""

    @initialize()
    def begin(self):
        self.path = tempfile.mkdtemp()
        self.pointers = [None]  # that the engine may resume with, oldest first
        self.versions = [{}]  # what was stored then
        self.now = {}
        self.store = None
        self.open(None)

    def open(self, pointer):
        folder = StateDirectory.open(
            self.path,
            step="flow.learn",
            partitions=2,
            learners=LEARNERS,
            versions_kept=KEPT,
            journal_max=self.journal_max,
        )
        self.store = folder.store(1, pointer)
        self.note_written()

    def note_written(self):
        """The versions that the records say they are of."""
        found = zip(KEYS, self.store.read(KEYS), strict=True)
        self.written = {key: one[0] for key, one in found if one}

    def note(self, changed, version):
        for key, packed in changed.items():
            if packed is None:
                self.now.pop(key, None)
                self.written.pop(key, None)
            else:
                self.now[key] = packed
                self.written[key] = version

    @rule(changed=changed)
    def spill(self, changed):
        self.note(changed, self.store.spill(*changes(changed)))

    @rule(changed=changed)
    def commit(self, changed):
        pointer = self.store.commit(*changes(changed))
        self.note(changed, self.store.spill(*NOTHING) - 1)
        self.go_on(pointer)

    def go_on(self, pointer):
        self.pointers = [*self.pointers, pointer][-KEPT:]
        self.versions = [*self.versions, dict(self.now)][-KEPT:]

    def go_back(self, back):
        self.pointers = self.pointers[: max(1, len(self.pointers) - back)]
        self.versions = self.versions[: len(self.pointers)]

    @rule(back=st.integers(0, KEPT - 1))
    def crash(self, back):
        self.go_back(back)
        self.now = dict(self.versions[-1])
        self.store.close()
        self.open(self.pointers[-1])

    @rule(count=st.integers(1, 4))
    def sweep(self, count):
        """It goes round, and leaves out what has changed lately at most."""
        seen = {}
        for _ in KEYS:
            found = self.store.sweep(count)
            assert len(found) <= count
            seen |= dict(found)
        assert seen.items() <= self.now.items()
        assert {key for key in self.now if self.is_old(key)} <= seen.keys()
        assert self.store.sweep(100) == self.store.sweep(100)  # once round

    def is_old(self, _key):
        """Whether a key has not changed lately."""
        return True

    @invariant()
    def everything_is_there(self):
        found = self.store.read(KEYS)
        assert {key: one[1] for key, one in zip(KEYS, found, strict=True) if one} == self.now
        assert {key: one[0] for key, one in zip(KEYS, found, strict=True) if one} == self.written

    def teardown(self):
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.path)


class StoresOnDisk(Stores):
    """What only a store on disk can do."""

    journal_max = 0

    @initialize()
    def ask_for_nothing(self):
        self.asked = []
        self.answered = [0]  # in each version, how many of those asked, in order

    def go_on(self, pointer):
        super().go_on(pointer)
        self.answered = [*self.answered, self.answered[-1]][-len(self.pointers) :]

    def go_back(self, back):
        super().go_back(back)
        self.answered = self.answered[: len(self.pointers)]

    def is_old(self, key):
        return self.journal_max == 0 and self.written[key] <= self.store._head.floor

    @rule(key=st.sampled_from(KEYS))
    def ask_to_forget(self, key):
        leave(StateDirectory.find(self.path).place(1).requests, Request(FORGET, key))
        self.asked.append(key)

    @rule(again=changed, early=st.booleans())
    def answer(self, again, early):
        """The records are gone from all versions; what the keys learn after that is not."""
        keys = [request.key for request in self.store.requests()]
        assert keys == self.asked[self.answered[-1] :]
        assert self.store.requests() == []
        changed = dict.fromkeys(keys)
        if early:
            self.spill(changed)
        changed |= {key: packed for key, packed in again.items() if packed}
        for version in self.versions:
            for key in keys:
                version.pop(key, None)
        self.commit(changed)
        self.answered[-1] = len(self.asked)

    @invariant()
    def no_more_waits_than_may(self):
        floor = self.store._head.floor
        waiting = [
            len(chunk.keys)
            for at, chunk in chunks(self.store._database)
            if rocks.version_of(at) <= floor
        ]
        assert sum(waiting) <= 2 * self.journal_max

    @precondition(lambda self: self.answered[-1] == len(self.asked))
    @rule()
    def what_nobody_can_ask_for_is_deleted(self):
        """After enough empty commits there is one row per key, no request, and no long journal."""
        for _ in range(KEPT):
            self.commit({})
        table = {key for key, _version, _packed in rocks.table(self.store._database)}
        assert {key for key in self.now if self.is_old(key)} <= table
        assert self.journal_max or table == self.now.keys()
        assert rocks.answered_requests(self.store._database) == {}
        assert list(left(StateDirectory.find(self.path).place(1).requests)) == []


class StoresWithJournals(StoresOnDisk):
    """Some records wait to be taken into the table."""

    journal_max = 4


class StoresInMemory(Stores):
    """The store whose pointer holds everything goes back to any."""

    def open(self, pointer):
        self.store = MemoryStore(pointer, 2, LEARNERS)
        self.note_written()


quick = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestStoresOnDisk = StoresOnDisk.TestCase
TestStoresOnDisk.settings = quick
TestStoresWithJournals = StoresWithJournals.TestCase
TestStoresWithJournals.settings = quick
TestStoresInMemory = StoresInMemory.TestCase
TestStoresInMemory.settings = quick
