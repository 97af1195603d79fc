"""The records of a partition on disk, in versions that the engine can go back to.

Every commit is one atomic write: the changed records, behind those of the commits before it, and
the head, which says what the newest version is. The engine keeps a pointer to it, once it is on the
disk. On resume at a version, those above it are taken away. Versions that are too old to go back to
are taken into the table of all records.

A process may die at any moment, while it goes back or fills the table too: each of these writes is
atomic and may be made again.
"""

import logging
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from pathlib import Path

import msgspec
from rocksdict import Rdict, WriteBatch, WriteOptions

from okl_flow.operators import rocks
from okl_flow.operators.contract import StoreError
from okl_flow.operators.journal import Journal
from okl_flow.operators.requests import FORGET, Request, left
from okl_flow.operators.rocks import HEAD, Head, explained
from okl_flow.packing import Pieces

__all__ = ["JOURNAL_MAX", "DiskStore", "Place", "begun", "synced"]

JOURNAL_MAX = 1 << 15
"""Changed records that may wait to be taken into the table of a partition."""

_log = logging.getLogger(__name__)
_waiting_for_disk = ThreadPoolExecutor(1, "okl_flow sync")

_FORMAT = 1
_BEGINNING = 1  # the version of a partition that has none yet
_PATIENT = 16  # partitions of which each has another patience, so that they do not merge at once


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
        journal_max: changed records, beyond those of these versions, that may wait to be taken
            into the table. The more there are the fewer come in vain; each is known in memory.
    """

    def __init__(
        self,
        place: Place,
        pointer: bytes | None,
        *,
        versions_kept: int = 4,
        journal_max: int = JOURNAL_MAX,
    ) -> None:
        self._place = place
        self._kept = versions_kept
        self._journal_max = journal_max
        self._patience = 1.0 + place.partition % _PATIENT / _PATIENT
        self._swept = rocks.TABLE
        self._handed: list[Request] = []  # to be answered by the next commit
        self._unsettled: Future[None] | None = None  # the latest commit, on its way to the disk
        wanted = None if pointer is None else _version_of(pointer, place)
        self._database = rocks.open_database(place.path, place.where, create=wanted is None)
        try:
            with explained(place.where):
                self._head = self._resumed(wanted)
                self._journal = Journal(self._database, self._head.committed)
                self._answered = rocks.answered_requests(self._database)  # in which version
                if self._head.erased:
                    self._compact(None)
                self._drop_requests()
        except BaseException:
            self._database.close()
            raise

    def read(self, keys: Sequence[str]) -> list[tuple[int, bytes] | None]:
        """Of each key the version that its record was written in, and the packed record."""
        with explained(self._place.where):
            return self._journal.read(keys)

    def spill(self, keys: Sequence[str], records: Pieces) -> int:
        """Write records ahead of the next commit; an empty one deletes what the key has.

        Each key is given once. Returns the version they will have. If that commit never comes
        they are undone.
        """
        version = self._head.committed + 1
        if keys:
            batch = WriteBatch(raw_mode=True)
            with explained(self._place.where):
                self._journal.put(batch, version, keys, records)
                self._database.write(batch)
        return version

    def commit(self, keys: Sequence[str], records: Pieces) -> bytes:
        """Write the next version, all of it or nothing; returns what the engine has to keep.

        It may do so when that is settled.
        """
        self.settle()
        forgotten = [request.key for request in self._handed if request.kind == FORGET]
        if forgotten:
            self.spill(keys, records)
            keys, records = [], Pieces.of([])
        batch = WriteBatch(raw_mode=True)
        version = self._head.committed + 1
        with explained(self._place.where):
            self._journal.put(batch, version, keys, records)
            if forgotten:
                self._journal.erase(set(forgotten), batch, keep=version)
            for request in self._handed:
                batch.put(rocks.request_key(request.id), msgspec.msgpack.encode(version))
                self._answered[request.id] = version
            floor = max(self._head.floor, version - self._kept + 1)
            head = Head(self._place.store, version, floor, bool(forgotten))
            batch.put(HEAD, msgspec.msgpack.encode(head))
            self._database.write(batch)
            self._unsettled = _waiting_for_disk.submit(self._database.flush_wal, True)
            time.sleep(0)  # the thread has its turn, and needs no other until all is on the disk
            self._head, self._handed = head, []
            self._journal.close()
            if forgotten:
                self.settle()  # a log that the disk is just taking in is kept, with what was erased
                self._compact(forgotten)
            self._drop_requests()
            self._journal.shorten(floor, self._journal_max, self._patience)
        return msgspec.msgpack.encode((_FORMAT, *head[:1], self._place.partition, version))

    def settle(self) -> None:
        """Wait until what was committed is on the disk."""
        if self._unsettled is not None:
            with explained(self._place.where):
                self._unsettled.result()
            self._unsettled = None

    def sweep(self, count: int) -> list[tuple[str, bytes]]:
        """Of the next so many stored records, going round for ever, those not changed lately."""
        with explained(self._place.where):
            ahead = rocks.table(self._database, self._swept)
            again = rocks.table(self._database, end=self._swept)
            found = list(islice(chain(ahead, again), count))
        if found:
            self._swept = rocks.after(found[-1][0])
        return [(key, packed) for key, _, packed in found if key not in self._journal]

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
        try:
            self.settle()
        finally:
            self._database.close()

    def _resumed(self, wanted: int | None) -> Head:
        """The head, at the version that the engine wants; what is newer has been undone then."""
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
        batch = WriteBatch(raw_mode=True)
        beginning = rocks.position(target + 1, 0)
        for prefix in (rocks.INDEX, rocks.JOURNAL):
            for row, _ in rocks.rows_from(self._database, prefix, prefix + beginning):
                batch.delete(row)
        for request, version in rocks.answered_requests(self._database).items():
            if version > target:
                batch.delete(rocks.request_key(request))
        if not batch.is_empty() or head.committed > target:
            head = head._replace(committed=target)
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
                self.settle()
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
