"""The records of a partition on disk, in versions that the engine can go back to.

Every commit is one atomic, synced write: the changed records, each beside the one it follows, a
list of what was changed, and the head, which says what the newest version is. The engine keeps
a pointer to it. On resume at a version, those above it are undone from their lists. As a version
gets too old to go back to, the records that it has replaced are deleted, with its list.

A process may die at any moment, while it undoes or deletes too: each of these writes is atomic
and may be made again.
"""

import logging
from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path

import msgspec
from rocksdict import Rdict, WriteBatch, WriteOptions

from okl_flow.operators import rocks
from okl_flow.operators.contract import Change, StoreError
from okl_flow.operators.requests import FORGET, Request, left
from okl_flow.operators.rocks import HEAD, Entry, Head, explained

__all__ = ["DiskStore", "Place", "begun", "synced"]

_log = logging.getLogger(__name__)

_FORMAT = 1
_BEGINNING = 1  # the version of a partition that has none yet
_COLLECTED_MAX = 3  # versions, in one commit


class Place(msgspec.Struct, frozen=True):
    """Where a partition lies."""

    store: str  # id of the state directory
    partition: int
    path: Path  # of its database
    requests: Path  # folder of what is asked of it

    @property
    def where(self) -> str:
        """The partition, in words."""
        return f"partition {self.partition} of the state directory {self.path.parent}"


class DiskStore:
    """The records of one partition in a RocksDB.

    Parameters:
        place: where the partition lies.
        pointer: what `commit` returned, as the engine kept it; None at the first start.
        versions_kept: committed versions that one can go back to. At least 2.
    """

    def __init__(self, place: Place, pointer: bytes | None, *, versions_kept: int = 4) -> None:
        self._place = place
        self._kept = versions_kept
        self._chunks = 0  # of the list of the version to come
        self._swept = rocks.FIRST
        self._handed: list[Request] = []  # to be answered by the next commit
        self._answered: dict[str, int] = {}  # and in which version others were
        self._head = Head(place.store, _BEGINNING, _BEGINNING)
        wanted = None if pointer is None else _version_of(pointer, place)
        self._database = rocks.open_database(place.path, place.where, create=wanted is None)
        try:
            with explained(place.where):
                self._resume(wanted)
        except BaseException:
            self._database.close()
            raise

    def read(self, keys: Sequence[str]) -> list[tuple[int, bytes] | None]:
        """Of each key the version that its record was written in, and the packed record."""
        found: list[tuple[int, bytes] | None] = []
        with explained(self._place.where):
            rows = rocks.rows_by_key(self._database)
            for key in keys:
                prefix = rocks.record_prefix(key)
                rows.seek(prefix)
                one = None
                if not rows.valid():
                    rows.status()  # raises if it was not the end that ended it
                elif (row := rows.key()).startswith(prefix) and (packed := rows.value()):
                    one = rocks.version_of(row), packed
                found.append(one)
        return found

    def spill(self, changes: Sequence[Change]) -> int:
        """Write changes ahead of the next commit, because memory is short.

        Returns the version they will have. If that commit never comes they are undone.
        """
        if changes:
            batch = WriteBatch(raw_mode=True)
            self._put(batch, changes)
            with explained(self._place.where):
                self._database.write(batch)
        return self._head.committed + 1

    def commit(self, changes: Sequence[Change]) -> bytes:
        """Write the next version, all of it or nothing; returns what the engine has to keep."""
        forgotten = [request.key for request in self._handed if request.kind == FORGET]
        if forgotten:
            self.spill(changes)
            changes = []
        batch = WriteBatch(raw_mode=True)
        self._put(batch, changes)
        version = self._head.committed + 1
        with explained(self._place.where):
            for key in dict.fromkeys(forgotten):
                rocks.erase(self._database, key, batch, keep=version)
            floor = self._collect(batch, version)
            for request in self._handed:
                batch.put(rocks.request_key(request.id), msgspec.msgpack.encode(version))
                self._answered[request.id] = version
            erased = bool(forgotten)
            head = Head(self._place.store, version, floor, erased)
            batch.put(HEAD, msgspec.msgpack.encode(head))
            self._database.write(batch, synced())
            self._head, self._chunks, self._handed = head, 0, []
            if erased:
                self._compact(forgotten)
            self._drop_requests()
        return msgspec.msgpack.encode((_FORMAT, *head[:1], self._place.partition, version))

    def sweep(self, count: int) -> list[tuple[str, int, bytes]]:
        """The next so many stored records, with their versions, going round for ever."""
        with explained(self._place.where):
            ahead = rocks.newest(self._database, self._swept)
            again = rocks.newest(self._database, end=self._swept)
            present = (one for one in chain(ahead, again) if one[2])
            found = list(islice(present, count))
        if found:
            self._swept = rocks.after(found[-1][0])
        return found

    def requests(self) -> list[Request]:
        """What the command line asks for; it is answered by the changes of the next commit."""
        with explained(self._place.where):
            handed = {request.id for request in self._handed}
            new = [
                request
                for request in left(self._place.requests)
                if request.id not in self._answered and request.id not in handed
            ]
        self._handed += new
        return new

    def size(self) -> int:
        """How many bytes its files have."""
        return rocks.bytes_of(self._place.path)

    def close(self) -> None:
        """Let go of the database, so that another process may open it."""
        self._database.close()

    def _put(self, batch: WriteBatch, changes: Sequence[Change]) -> None:
        """Put changes into a batch, with their list."""
        version = self._head.committed + 1
        ending = rocks.version_ending(version)
        entries: list[Entry] = []
        for key, packed, before in changes:
            if packed is None and before == 0:
                continue  # it never came here
            batch.put(rocks.record_prefix(key) + ending, packed or b"")
            if packed is None or before != version:
                entries.append((key, before, packed is None))
        if entries:
            batch.put(rocks.list_key(version, self._chunks), msgspec.msgpack.encode(entries))
            self._chunks += 1

    def _collect(self, batch: WriteBatch, version: int) -> int:
        """Delete what no version can be gone back to for; returns the oldest that can be."""
        target = version - self._kept + 1
        floor = self._head.floor
        while floor < min(target, self._head.floor + _COLLECTED_MAX):
            floor += 1
            for row, _, entries in rocks.lists(self._database, floor):
                for key, before, deleted in entries:
                    if before not in (0, floor):
                        batch.delete(rocks.record_key(key, before))
                    if deleted and self._database.get(rocks.record_key(key, floor)) == b"":
                        batch.delete(rocks.record_key(key, floor))
                batch.delete(row)
        return floor

    def _resume(self, wanted: int | None) -> None:
        """Begin, or go back to the version that the engine wants."""
        head = begun(self._database, self._place)
        target = _BEGINNING if wanted is None else wanted
        if not head.floor <= target <= head.committed:
            raise StoreError(
                self._astray(wanted, f"holds versions {head.floor} to {head.committed}")
            )
        if wanted is None and head.committed > _BEGINNING:
            _log.warning(
                "%s begins anew: the engine resumes from nothing, and its versions up to %d are "
                "undone. That is right for a job that died in its first moments. If the recovery "
                "directory is missing, put both directories back from copies of one moment",
                self._place.where,
                head.committed,
            )
        for version in range(head.committed + 1, target, -1):
            head = self._undo(head, version)
        self._head = head
        self._answered = rocks.answered_requests(self._database)
        if head.erased:
            self._compact(None)
        self._drop_requests()

    def _undo(self, head: Head, version: int) -> Head:
        """Take one version back, which must be the newest."""
        batch = WriteBatch(raw_mode=True)
        for row, _, entries in rocks.lists(self._database, version):
            for key, _, _ in entries:
                batch.delete(rocks.record_key(key, version))
            batch.delete(row)
        for request, answered_in in rocks.answered_requests(self._database).items():
            if answered_in == version:
                batch.delete(rocks.request_key(request))
        head = head._replace(committed=min(head.committed, version - 1))
        batch.put(HEAD, msgspec.msgpack.encode(head))
        self._database.write(batch, synced())
        return head

    def _compact(self, keys: list[str] | None) -> None:
        """Let the bytes of what was erased go, not just the way to them."""
        rocks.compact(self._database, keys)
        self._head = self._head._replace(erased=False)
        self._database.put(HEAD, msgspec.msgpack.encode(self._head))

    def _drop_requests(self) -> None:
        """Take away the requests whose answer can no longer be undone, then the note of them."""
        for request, version in list(self._answered.items()):
            if version <= self._head.floor:
                (self._place.requests / request).unlink(missing_ok=True)
                self._database.delete(rocks.request_key(request))
                del self._answered[request]

    def _astray(self, wanted: int | None, holds: str) -> str:
        """Why the engine and the partition do not belong together."""
        asked = (
            "the engine resumes from nothing"
            if wanted is None
            else f"the engine resumes at version {wanted}"
        )
        return (
            f"{asked}, but {self._place.where} {holds}: its recovery directory is missing, or "
            "one of the two is an older copy, or of another job. Start with the recovery "
            "directory that belongs to it, or put both back from copies of one moment, or begin "
            "anew with both empty, without what was learned"
        )


def begun(database: Rdict, place: Place) -> Head:
    """The head of a partition, which is begun if it was not."""
    head = rocks.head_of(database)
    if head is None:
        head = Head(place.store, _BEGINNING, _BEGINNING)
        database.put(HEAD, msgspec.msgpack.encode(head), synced())
    if head.store != place.store:
        raise StoreError(f"{place.where} was copied from another one: put the whole directory back")
    return head


def synced() -> WriteOptions:
    """How to write what must be on the disk when the call returns."""
    options = WriteOptions()
    options.sync = True
    return options


def _version_of(pointer: bytes, place: Place) -> int:
    """The version that a pointer of this partition points to."""
    try:
        form, store, partition, version = msgspec.msgpack.decode(
            pointer, type=tuple[int, str, int, int]
        )
    except msgspec.MsgspecError as error:
        raise StoreError(
            f"what the engine kept for {place.where} points to no version of it ({error}): was "
            "the job begun without a state directory? Go on as it was begun, or begin anew"
        ) from error
    if form != _FORMAT:
        raise StoreError(
            f"what the engine kept for {place.where} has format {form}; this version of okl_flow "
            f"reads {_FORMAT}"
        )
    if (store, partition) != (place.store, place.partition):
        raise StoreError(
            f"the engine resumes with partition {partition} of the state directory with id "
            f"{store}, and this is {place.where}, with id {place.store}: give the directory that "
            "the recovery directory belongs to, or begin anew with both empty"
        )
    return version
