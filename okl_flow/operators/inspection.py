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
            newest = rocks.newest(database, version_max=head.committed) if database else ()
            for key, version, packed in newest:
                if packed:
                    yield Stored(key, partition, version, packed)


def record_of(directory: StateDirectory, key: str) -> Stored | None:
    """The record of a key as it was at the last commit; None if there is none."""
    partition = partition_of(key, directory.partitions)
    with _reading(directory.place(partition)) as (database, head):
        if database is None:
            return None
        version, packed = _newest(database, key, head)
        return Stored(key, partition, version, packed) if packed else None


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
    rocks.erase(database, request.key, batch)
    if request.kind != FORGET:
        codec = RecordCodec(learners_of(directory))
        _, packed = _newest(database, request.key, head)
        record = codec.unpack(packed) if packed else None
        changed = answered(request, record, codec.learners)
        assert changed is not None
        batch.put(rocks.record_key(request.key, head.floor), codec.pack(changed))
    for one in left(place.requests):  # earlier ones are never to be answered again
        if one.key == request.key and (request.id == "" or one.id <= request.id):
            batch.put(rocks.request_key(one.id), msgspec.msgpack.encode(head.floor))
    batch.put(rocks.HEAD, msgspec.msgpack.encode(head._replace(erased=True)))
    database.write(batch, synced())
    rocks.compact(database, [request.key])
    database.put(rocks.HEAD, msgspec.msgpack.encode(head))


def _newest(database: Rdict, key: str, head: Head) -> tuple[int, bytes]:
    """The newest committed record of a key, and its version; empty if there is none."""
    for row, packed in rocks.rows_from(database, rocks.record_prefix(key)):
        version = rocks.version_of(row)
        if version <= head.committed:
            return version, packed
    return 0, b""


def _findings(
    database: Rdict,
    head: Head,
    directory: StateDirectory,
    partition: int,
    codec: RecordCodec | None,
) -> Iterator[str]:
    """What is wrong with one partition."""
    listed: dict[tuple[str, int], int] = {}  # what was written in a version, and what it follows
    for _, version, entries in rocks.lists(database):
        if version <= head.floor:
            yield f"the list of version {version} should be gone: the oldest kept is {head.floor}"
        for key, before, _ in entries:
            if listed.get((key, version), 0) == 0:
                listed[key, version] = before
    seen = set()
    for row, packed in rocks.rows_from(database, rocks.FIRST):
        key, version = rocks.split_record_key(row)
        seen.add((key, version))
        if partition_of(key, directory.partitions) != partition:
            yield f"the record of {key!r} lies in the wrong partition"
        if head.floor < version and (key, version) not in listed:
            yield f"the record of {key!r} in version {version} is in no list"
        if packed:
            try:
                _check(packed, codec)
            except RecordError as error:
                yield f"the record of {key!r} in version {version}: {error}"
    for (key, version), before in listed.items():
        for needed in (version, before):
            if needed and (key, needed) not in seen:
                yield f"the record of {key!r} in version {needed} is missing"


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
