"""How the records of one partition lie in RocksDB.

    "m" | CRC-32 of the key | its length | key | 2^64-1 - version    a packed record; empty: deleted
    "v" | version | chunk                                            what a version changed
    "r" | id                                                         when a request was answered
    "h"                                                              which versions there are

The newest version of a key comes first, so that it is read with one seek. The checksum makes a
prefix of one length that tells keys apart: tables whose Bloom filter does not know it are passed
over.
"""

import os
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
from rocksdict import (
    AccessType,
    BlockBasedOptions,
    BottommostLevelCompaction,
    Cache,
    CompactOptions,
    DBCompactionStyle,
    DBCompressionType,
    Options,
    Rdict,
    RdictIter,
    ReadOptions,
    SliceTransform,
    WriteBatch,
    WriteBufferManager,
)

from okl_flow.operators.contract import StoreError

__all__ = [
    "FIRST",
    "HEAD",
    "Entry",
    "Head",
    "LockedError",
    "after",
    "answered_requests",
    "bytes_of",
    "compact",
    "erase",
    "explained",
    "head_of",
    "list_key",
    "lists",
    "newest",
    "open_database",
    "open_to_read",
    "record_key",
    "record_prefix",
    "request_key",
    "rows_by_key",
    "rows_from",
    "split_record_key",
    "tables_of",
    "version_ending",
    "version_of",
]

HEAD = b"h"
FIRST = b"m"  # a place before all records
_RECORD, _LIST, _REQUEST = b"m", b"v", b"r"
_AFTER_LISTS = b"w"
_VERSION = struct.Struct(">Q")
_LIST_KEY = struct.Struct(">cQI")
_NAME = struct.Struct(">cII")
_PREFIX_BYTES = 5  # of a row, that the Bloom filters know
_VERSION_MAX = (1 << 64) - 1

_CACHE_BYTES = 32 << 20  # of blocks read, for all partitions of a process
_BUFFER_BYTES = 4 << 20  # of changes not yet in a table, per partition, at most twice
_BUFFERS_BYTES = 256 << 20  # of all partitions of a process; the fullest goes into a table then
_TABLE_BYTES = 64 << 20
_FILES_MAX = 24  # of a partition kept open
_LOCK_SECONDS = 10.0  # a process that was just killed may hold the lock so long
_PAUSE_SECONDS = 0.05

Entry = tuple[str, int, bool]
"""What a version changed: a key, the version of its record before, and whether it was deleted."""

_entries = msgspec.msgpack.Decoder(list[Entry])
_shared: list[tuple[Cache, WriteBufferManager]] = []


class LockedError(StoreError):
    """A partition that another process holds."""


class Head(NamedTuple):
    """Which versions a partition has."""

    store: str  # id of the state directory
    committed: int  # the newest; changes above it were written ahead of a commit
    floor: int  # the oldest that one can go back to
    erased: bool = False  # something was erased whose bytes may still lie in the tables


def head_of(database: Rdict) -> Head | None:
    """The head of a partition; None before it is begun."""
    encoded = database.get(HEAD)
    return None if encoded is None else msgspec.msgpack.decode(encoded, type=Head)


def record_prefix(key: str) -> bytes:
    """What the rows of a key begin with, and no others."""
    name = key.encode()
    return _NAME.pack(_RECORD, zlib.crc32(name), len(name)) + name


def record_key(key: str, version: int) -> bytes:
    """Where a record lies."""
    return record_prefix(key) + version_ending(version)


def version_ending(version: int) -> bytes:
    """What the rows of a version end with."""
    return _VERSION.pack(_VERSION_MAX - version)


def split_record_key(row: bytes) -> tuple[str, int]:
    """The key and the version of a row."""
    return row[_NAME.size : -_VERSION.size].decode(), version_of(row)


def version_of(row: bytes) -> int:
    """The version of a row."""
    inverse: int = _VERSION.unpack_from(row, len(row) - _VERSION.size)[0]
    return _VERSION_MAX - inverse


def after(key: str) -> bytes:
    """A place behind all rows of a key, and before those of the next."""
    return record_key(key, 0) + b"\0"


def answered_requests(database: Rdict) -> dict[str, int]:
    """The ids of the requests that were answered, each with the version in which it was."""
    return {
        row[len(_REQUEST) :].decode(): msgspec.msgpack.decode(version, type=int)
        for row, version in rows_from(database, _REQUEST)
    }


def list_key(version: int, chunk: int) -> bytes:
    """Where a part of the list of changes lies."""
    return _LIST_KEY.pack(_LIST, version, chunk)


def request_key(request: str) -> bytes:
    """Where it stands that a request was answered."""
    return _REQUEST + request.encode()


def rows_from(
    database: Rdict, prefix: bytes, begin: bytes | None = None
) -> Iterator[tuple[bytes, bytes]]:
    """The rows that begin with a prefix, in order, from one of them on."""
    rows = database.iter(_in_order())
    rows.seek(prefix if begin is None else begin)
    while rows.valid():
        row = rows.key()
        if not row.startswith(prefix):
            return
        yield row, rows.value()
        rows.next()
    rows.status()  # raises if it was not the end that ended it


def rows_by_key(database: Rdict) -> RdictIter:
    """An iterator that finds rows of the key only whose prefix it seeks, and finds them faster."""
    reading = ReadOptions()
    reading.set_prefix_same_as_start(True)
    return database.iter(reading)


def newest(
    database: Rdict,
    begin: bytes = FIRST,
    end: bytes = _LIST,
    version_max: int = _VERSION_MAX,
) -> Iterator[tuple[str, int, bytes]]:
    """The newest record of each key, up to a version; an empty one is deleted.

    The keys are those whose rows lie between two places.
    """
    last = b""
    for row, packed in rows_from(database, _RECORD, begin):
        name = row[: -_VERSION.size]
        if row >= end:
            return
        if name != last:
            key, version = split_record_key(row)
            if version <= version_max:
                last = name
                yield key, version, packed


def lists(database: Rdict, version: int | None = None) -> Iterator[tuple[bytes, int, list[Entry]]]:
    """What each version changed, or one of them: row, version and entries."""
    prefix = _LIST if version is None else _LIST + _VERSION.pack(version)
    for row, encoded in rows_from(database, prefix):
        yield row, _LIST_KEY.unpack(row)[1], _entries.decode(encoded)


def erase(database: Rdict, key: str, batch: WriteBatch, keep: int | None = None) -> None:
    """Take a key out of all versions, and out of the lists of them.

    What was written in the version to keep stays, unless the key was deleted then.
    """
    kept = keep is not None and bool(database.get(record_key(key, keep)))
    for row, _ in rows_from(database, record_prefix(key)):
        if not (kept and split_record_key(row)[1] == keep):
            batch.delete(row)
    for row, version, entries in lists(database):
        left = [entry for entry in entries if entry[0] != key]
        if kept and version == keep and len(left) < len(entries):
            left.append((key, 0, False))
        if left != entries:
            batch.put(row, msgspec.msgpack.encode(left))


def compact(database: Rdict, keys: list[str] | None = None) -> None:
    """Write the tables anew where some keys lay, or all, without what was erased."""
    how = CompactOptions()
    how.set_bottommost_level_compaction(BottommostLevelCompaction.force())
    if keys is None:
        database.compact_range(None, None, how)
        return
    for key in keys:
        prefix = record_prefix(key)
        database.compact_range(prefix, prefix + b"\xff" * (_VERSION.size + 1), how)
    database.compact_range(_LIST, _AFTER_LISTS, how)


@contextmanager
def explained(where: str) -> Iterator[None]:
    """What RocksDB raises, as an error that says what to do."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:  # rocksdict raises plain Exception, and others besides
        raise StoreError(
            f"{where} cannot be read or written: {error}. If the disk is full or the files are "
            "another user's, mend that and start again. If they are damaged, put the state "
            "directory and the engine's recovery directory back from copies of one moment, or "
            "begin anew with both empty"
        ) from error


def open_database(path: Path, where: str, *, create: bool = False, patience: bool = True) -> Rdict:
    """The database of a partition, to read and write."""
    begun = (path / "CURRENT").exists()
    if not begun and (not create or any(path.glob("*.sst"))):
        raise StoreError(
            f"{where} is missing or damaged: there is no {path / 'CURRENT'}. Put the state "
            "directory back from a copy, or begin anew with it and the engine's recovery "
            "directory empty"
        )
    deadline = time.monotonic() + (_LOCK_SECONDS if patience else 0.0)
    with explained(where):
        while True:
            try:
                return Rdict(str(path), _options(create=not begun))
            except Exception as error:
                if "lock" not in str(error).lower():
                    raise
                if time.monotonic() > deadline:
                    raise LockedError(
                        f"{where} is held by another process: {error}. Stop the job that is "
                        "still running on this state directory, or give this one another"
                    ) from error
            time.sleep(_PAUSE_SECONDS)


def bytes_of(path: Path) -> int:
    """The bytes of a database on disk, whose files may come and go meanwhile."""
    found = 0
    for file in os.scandir(path):
        with suppress(FileNotFoundError):
            found += file.stat().st_size
    return found


def tables_of(path: Path) -> tuple[str, int]:
    """The file that says which tables there are, and its length: each change makes it longer."""
    current = (path / "CURRENT").read_text().strip()
    return current, (path / current).stat().st_size


def open_to_read(path: Path) -> Rdict:
    """The database of a partition as it is now, while a job may be writing it.

    All its files are opened at once: the job may take them away at any moment.
    """
    options = _options(create=False)
    options.set_max_open_files(-1)
    return Rdict(str(path), options, None, AccessType.read_only(False))


def _in_order() -> ReadOptions:
    reading = ReadOptions()
    reading.set_total_order_seek(True)
    return reading


def _options(*, create: bool) -> Options:
    if not _shared:
        _shared.append((Cache(_CACHE_BYTES), WriteBufferManager(_BUFFERS_BYTES, False)))
    cache, buffers = _shared[0]
    blocks = BlockBasedOptions()
    blocks.set_block_cache(cache)
    blocks.set_format_version(5)
    blocks.set_bloom_filter(10, False)
    options = Options(raw_mode=True)
    options.create_if_missing(create)
    options.set_block_based_table_factory(blocks)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_write_buffer_manager(buffers)
    options.set_write_buffer_size(_BUFFER_BYTES)
    options.set_max_write_buffer_number(2)
    options.set_compaction_style(DBCompactionStyle.universal())
    options.set_prefix_extractor(SliceTransform.create_fixed_prefix(_PREFIX_BYTES))
    options.set_level_zero_file_num_compaction_trigger(4)  # a read looks into each of these
    options.set_target_file_size_base(_TABLE_BYTES)
    options.set_max_open_files(_FILES_MAX)
    options.set_max_log_file_size(1 << 20)
    options.set_keep_log_file_num(2)
    options.set_stats_dump_period_sec(0)
    options.set_stats_persist_period_sec(0)
    options.set_max_manifest_file_size(1 << 20)
    return options
