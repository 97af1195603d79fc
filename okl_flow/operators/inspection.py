"""A state directory seen from outside: read while a job writes it, and changed where none does."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import msgspec
from rocksdict import Rdict, WriteBatch

from okl_flow.factory import make_described
from okl_flow.learner import Learner
from okl_flow.murmur import partition_of
from okl_flow.operators import rocks
from okl_flow.operators.contract import StoreError
from okl_flow.operators.disk import begun, synced
from okl_flow.operators.journal import Journal, chunks
from okl_flow.operators.record import RecordCodec, RecordError
from okl_flow.operators.requests import FORGET, Request, answered, leave, left
from okl_flow.operators.rocks import Head, LockedError, explained
from okl_flow.operators.store import Place, StateDirectory
from okl_flow.placing import partition_name

__all__ = [
    "Stored",
    "ask",
    "findings",
    "learners_of",
    "newest",
    "pending",
    "record_of",
    "records",
    "versions",
]

_TRIES = 10
_PAUSE_SECONDS = 0.05


class Stored(NamedTuple):
    """A record in its store."""

    key: str
    partition: int
    version: int
    packed: bytes


def learners_of(directory: StateDirectory) -> list[Learner]:
    """The learners that the directory was begun with."""
    learners = []
    for described in directory.about["learners"]:
        try:
            made = make_described(described)
        except (ValueError, TypeError) as error:
            raise StoreError(
                f"the learner {described.get('learner')!r} of {directory.path} cannot be made "
                f"from its description: {error}"
            ) from error
        assert isinstance(made, Learner)
        learners.append(made)
    return learners


def records(directory: StateDirectory) -> Iterator[Stored]:
    """Every record as it was at its partition's last commit, partition by partition."""
    for partition in range(directory.partitions):
        with _reading(directory.place(partition)) as (database, head):
            if database is None:
                continue
            for key, version, packed in newest(database, head.committed):
                yield Stored(key, partition, version, packed)


def newest(database: Rdict, last: int) -> Iterator[tuple[str, int, bytes]]:
    """Every record of a partition as it was in a version, the last one."""
    journal = Journal(database, last)
    for key, version, packed in rocks.table(database):
        if key not in journal:
            yield key, version, packed
    for at, chunk in chunks(database):
        for key, packed in chunk.records():
            if packed and journal.position_of(key) == at:
                yield key, rocks.version_of(at), packed


def record_of(directory: StateDirectory, key: str) -> Stored | None:
    """The record of a key as it was at the last commit; None if there is none."""
    partition = partition_of(key, directory.partitions)
    with _reading(directory.place(partition)) as (database, head):
        if database is None:
            return None
        [found] = Journal(database, head.committed).read([key])
        return Stored(key, partition, *found) if found else None


def pending(directory: StateDirectory, partition: int) -> list[Request]:
    """The requests that the job has still to answer."""
    place = directory.place(partition)
    with _reading(place) as (database, _):
        done = rocks.answered_requests(database) if database else {}
    return [request for request in left(place.requests) if request.id not in done]


def findings(directory: StateDirectory, learners: Sequence[Learner] | None) -> Iterator[str]:
    """What is wrong with the directory, in words; without learners states are not unpacked."""
    codec = None if learners is None else RecordCodec(learners)
    for partition in range(directory.partitions):
        place = directory.place(partition)
        name = partition_name(partition)
        try:
            with _reading(place) as (database, head):
                if database is None:
                    continue
                if head.store != directory.about["id"]:
                    yield f"{name}: it belongs to another state directory, with id {head.store}"
                for one in _findings(database, head, directory, partition, codec):
                    yield f"{name}: {one}"
        except StoreError as error:
            yield f"{name}: {error}"


def versions(directory: StateDirectory) -> Iterator[tuple[int, tuple[int, int]]]:
    """Of each partition that has been begun, the oldest and the newest version that it has."""
    for partition in range(directory.partitions):
        with _reading(directory.place(partition)) as (database, head):
            if database is not None:
                yield partition, (head.floor, head.committed)


def ask(directory: StateDirectory, request: Request) -> bool:
    """Answer a request at once if no job holds the key's partition; else leave it there.

    Answered at once, it holds in every version that a job may resume at. So do the requests
    that were left before it, which are answered first. Returns whether it was.
    """
    place = directory.place(partition_of(request.key, directory.partitions))
    unused = not (place.path / "CURRENT").exists() and not any(left(place.requests))
    if request.kind == FORGET and unused:
        return True
    try:
        database = rocks.open_database(place.path, place.where, create=True, patience=False)
    except LockedError:
        leave(place.requests, request)
        return False
    try:
        with explained(place.where):
            head = begun(database, place)
            done = rocks.answered_requests(database)
            for one in left(place.requests):
                if one.id not in done:
                    _answer(database, head, place, one, directory)
            _answer(database, head, place, request, directory)
    finally:
        database.close()
    return True


def _answer(
    database: Rdict, head: Head, place: Place, request: Request, directory: StateDirectory
) -> None:
    """Answer a request in all versions."""
    batch = WriteBatch(raw_mode=True)
    journal = Journal(database, head.committed)
    [found] = journal.read([request.key])
    journal.erase([request.key], batch)
    if request.kind != FORGET:
        codec = RecordCodec(learners_of(directory))
        record = codec.unpack(found[1]) if found else None
        changed = answered(request, record, codec.learners)
        assert changed is not None
        stamped = rocks.stamp(head.floor) + codec.pack(changed)
        batch.put(rocks.record_key(request.key), stamped)
    for one in left(place.requests):  # earlier ones are never to be answered again
        if one.key == request.key and (request.id == "" or one.id <= request.id):
            batch.put(rocks.request_key(one.id), msgspec.msgpack.encode(head.floor))
    batch.put(rocks.HEAD, msgspec.msgpack.encode(head._replace(erased=True)))
    database.write(batch, synced())
    rocks.compact(database, [request.key])
    database.put(rocks.HEAD, msgspec.msgpack.encode(head))


def _findings(
    database: Rdict,
    head: Head,
    directory: StateDirectory,
    partition: int,
    codec: RecordCodec | None,
) -> Iterator[str]:
    """What is wrong with one partition."""

    def of(key: str, version: int, packed: bytes) -> Iterator[str]:
        if partition_of(key, directory.partitions) != partition:
            yield f"the record of {key!r} lies in the wrong partition"
        if packed:
            try:
                _check(packed, codec)
            except RecordError as error:
                yield f"the record of {key!r} in version {version}: {error}"

    before = None
    for at, chunk in chunks(database):
        version, number = rocks.version_of(at), rocks.chunk_of(at)
        if before is not None:
            follows = (version, number) == (before[0], before[1] + 1)
            if not follows and (number > 0 or version == before[0]):
                yield f"records of version {version} are missing"
        before = version, number
        for key, packed in chunk.records():
            yield from of(key, version, packed)
    for key, version, packed in rocks.table(database):
        if version > head.floor:
            yield (
                f"the record of {key!r} is of version {version}, and not among those that one "
                "can go back to"
            )
        yield from of(key, version, packed)


def _check(packed: bytes, codec: RecordCodec | None) -> None:
    if codec is None:
        RecordCodec.check(packed)
    else:
        codec.unpack(packed)


@contextmanager
def _reading(place: Place) -> Iterator[tuple[Rdict | None, Head]]:
    """The database of a partition as it is now, with its head; None if there is none yet."""
    nothing = Head(place.store, 0, 0)
    if not (place.path / "CURRENT").exists():
        if any(place.path.glob("*.sst")):
            raise StoreError(f"{place.where} is damaged: there is no {place.path / 'CURRENT'}")
        yield None, nothing
        return
    with explained(place.where):
        database = _opened(place)
        try:
            head = rocks.head_of(database)
            yield (None if head is None else database), head or nothing
        finally:
            database.close()


def _opened(place: Place) -> Rdict:
    """The database of a partition, all of it as it was at one moment.

    RocksDB reads which tables there are, and then its logs. A job that puts a log into a table
    between the two takes it away unread; then, or where a file is gone that was just named, it is
    opened once more.
    """
    for again in range(_TRIES):
        try:
            before = rocks.tables_of(place.path)
            database = rocks.open_to_read(place.path)
        except Exception:
            if again == _TRIES - 1:
                raise
        else:
            if rocks.tables_of(place.path) == before:
                return database
            database.close()
        time.sleep(_PAUSE_SECONDS)
    raise StoreError(
        f"{place.where} changes faster than it can be read: ask again when its job is less busy"
    )
