"""The live models of one state partition, in front of the store that holds all of them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from okl_flow.contest import Contest, Terms
from okl_flow.native import Array
from okl_flow.operators import notes
from okl_flow.operators.record import Record, RecordCodec
from okl_flow.operators.store import Change, Request, Store
from okl_flow.waiting import Waiting, WaitingRoom

__all__ = ["Entry", "Models", "Row"]


Row = tuple[int, Array, float | None, int, int | None, Waiting | None]
"""One score to make, and one label to learn if there is one: the place of its item in the batch;
the features; the label; how many events the model saw before; the time of the event; the event
that is to wait for its label, or that has waited. A plain tuple, as there is one per event."""


@dataclass(slots=True)
class Entry:
    """What is kept for one key, ready for use. A new one, and a deleted one, is empty."""

    record: Record
    version: int = 0  # at which it was last written; 0 for never
    room: WaitingRoom | None = None
    contest: Contest | None = None  # where there are several learners
    dim: int = 0  # features of its events; 0 before the first
    rows: list[Row] = field(default_factory=list)  # of the batch at hand

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to keep."""
        return not (self.record.events or self.room)


class Models:
    """A cache of entries, the latest used at its end.

    Changed entries are written at a commit, all at once. Where there are more of them than the
    cache may hold, they are written ahead, for the commit that is to come.
    """

    def __init__(
        self, store: Store, codec: RecordCodec, live_max: int, terms: Terms | None = None
    ) -> None:
        """`live_max` is how many entries may be live between two batches."""
        self._terms = terms
        self._store = store
        self._codec = codec
        self._live_max = live_max
        self._live: dict[str, Entry] = {}
        self._changed: dict[str, Entry] = {}

    def fetch(self, keys: Iterable[str]) -> dict[str, Entry]:
        """The entries of keys, each of which is given once."""
        found: dict[str, Entry] = {}
        missing = []
        for key in keys:
            entry = self._live.pop(key, None)
            if entry is None:
                missing.append(key)
            else:
                self._live[key] = found[key] = entry
        if missing:
            for key, stored in zip(missing, self._store.read(missing), strict=True):
                entry = self._opened(key, *stored) if stored else Entry(Record([]))
                self._live[key] = found[key] = entry
        return found

    def touch(self, key: str, entry: Entry) -> None:
        """Let an entry be written at the next commit."""
        self._changed[key] = entry

    def renew(self, key: str) -> Entry:
        """An empty entry in place of the one of a key, which is forgotten."""
        old = self._live[key]
        entry = self._live[key] = self._changed[key] = Entry(Record([]), old.version)
        return entry

    def requests(self) -> list[Request]:
        """What the command line asks for, once; it is done with the next commit."""
        return self._store.requests()

    def trim(self) -> None:
        """Let the entries go that were not used for longest, if there are too many."""
        excess = len(self._live) - self._live_max
        if excess <= 0:
            return
        going = list(islice(self._live, excess))
        self._store.spill(self._changes(key for key in going if key in self._changed))
        for key in going:
            del self._live[key]
            self._changed.pop(key, None)

    def commit(self) -> bytes:
        """Write all that changed as the next version; what the engine keeps to find it again."""
        version = self._store.spill(self._changes(self._changed))
        for key, entry in self._changed.items():
            entry.version = version
            if entry.is_empty:
                del self._live[key]
        self._changed.clear()
        return self._store.commit([])

    def idle(self, count: int, before: int) -> list[str]:
        """Of the next so many stored keys, going round for ever, those idle since a time."""
        return [
            key
            for key, _version, blob in self._store.sweep(count)
            if (time := self._codec.head(blob)[1]) is not None and time < before
        ]

    def _opened(self, key: str, version: int, blob: bytes) -> Entry:
        record = self._codec.unpack(blob)
        room, contest = notes.unpack(key, record.notes, self._terms)
        return Entry(record, version, room, contest, record.states[0].dim if record.states else 0)

    def _changes(self, keys: Iterable[str]) -> list[Change]:
        return [
            (key, self._packed(entry), entry.version)
            for key, entry in ((key, self._changed[key]) for key in keys)
            if entry.version or not entry.is_empty
        ]

    def _packed(self, entry: Entry) -> bytes | None:
        if entry.is_empty:
            return None
        entry.record.notes = notes.pack(entry.room, entry.contest)
        return self._codec.pack(entry.record)
