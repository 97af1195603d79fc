"""How the records of one partition lie in RocksDB.

    "m" | key                the table: the version that a packed record is of, and the record
    "j" | version | chunk    the journal: some of the records that a version has changed
    "i" | version | chunk    whose they are, and those of the next chunks
    "r" | id                 in which version a request was answered
    "h"                      which versions there are

The records of the latest versions are in the journal (`okl_flow.operators.journal`), and only
there. Those of the table are older than that, and nobody can go back behind them.
"""

import os
import struct
import time
from collections.abc import Iterator, Sequence
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
    WriteBufferManager,
)

from okl_flow.operators.contract import StoreError

__all__ = [
    "HEAD",
    "INDEX",
    "JOURNAL",
    "TABLE",
    "Head",
    "LockedError",
    "after",
    "answered_requests",
    "bytes_of",
    "chunk_of",
    "compact",
    "explained",
    "head_of",
    "open_database",
    "open_to_read",
    "position",
    "record_key",
    "records_at",
    "request_key",
    "rows_from",
    "stamp",
    "table",
    "tables_of",
    "version_of",
]

HEAD, INDEX, JOURNAL, TABLE = b"h", b"i", b"j", b"m"
_REQUEST = b"r"
_AFTER_JOURNAL, _AFTER_TABLE = b"k", b"n"
_POSITION = struct.Struct(">QI")
_VERSION = struct.Struct(">Q")

_CACHE_BYTES = 32 << 20  # of blocks read, for all partitions of a process
_BUFFER_BYTES = 4 << 20  # of changes not yet in a table, per partition, at most twice
_BUFFERS_BYTES = 256 << 20  # of all partitions of a process; the fullest goes into a table then
_TABLE_BYTES = 64 << 20
_FILES_MAX = 24  # of a partition kept open
_LOCK_SECONDS = 10.0  # a process that was just killed may hold the lock so long
_PAUSE_SECONDS = 0.05

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


def record_key(key: str) -> bytes:
    """Where a record lies in the table."""
    return TABLE + key.encode()


def after(key: str) -> bytes:
    """The place in the table behind a key."""
    return record_key(key) + b"\0"


def stamp(version: int) -> bytes:
    """What stands before a record of a version in the table."""
    return _VERSION.pack(version)


def _opened(value: bytes) -> tuple[int, bytes]:
    version: int = _VERSION.unpack_from(value)[0]
    return version, value[_VERSION.size :]


def records_at(database: Rdict, keys: Sequence[str]) -> list[tuple[int, bytes] | None]:
    """The records that the table has of keys, with their versions."""
    found: list[bytes | None] = database.get([record_key(key) for key in keys]) or []
    return [None if value is None else _opened(value) for value in found]


def table(
    database: Rdict, begin: bytes = TABLE, end: bytes = _AFTER_TABLE
) -> Iterator[tuple[str, int, bytes]]:
    """The records of the table between two places: keys, versions and packed records."""
    for row, value in rows_from(database, TABLE, begin):
        if row >= end:
            return
        yield row[len(TABLE) :].decode(), *_opened(value)


def position(version: int, chunk: int) -> bytes:
    """Where a part of what a version has changed lies, in the index and in the journal."""
    return _POSITION.pack(version, chunk)


def version_of(at: bytes) -> int:
    """The version of a position."""
    version: int = _POSITION.unpack(at)[0]
    return version


def chunk_of(at: bytes) -> int:
    """Which part of its version lies at a position."""
    chunk: int = _POSITION.unpack(at)[1]
    return chunk


def answered_requests(database: Rdict) -> dict[str, int]:
    """The ids of the requests that were answered, each with the version in which it was."""
    return {
        row[len(_REQUEST) :].decode(): msgspec.msgpack.decode(version, type=int)
        for row, version in rows_from(database, _REQUEST)
    }


def request_key(request: str) -> bytes:
    """Where it stands that a request was answered."""
    return _REQUEST + request.encode()


def rows_from(
    database: Rdict, prefix: bytes, begin: bytes | None = None
) -> Iterator[tuple[bytes, bytes]]:
    """The rows that begin with a prefix, in order, from one of them on."""
    rows = database.iter()
    rows.seek(prefix if begin is None else begin)
    while rows.valid():
        row = rows.key()
        if not row.startswith(prefix):
            return
        yield row, rows.value()
        rows.next()
    rows.status()  # raises if it was not the end that ended it


def compact(database: Rdict, keys: Sequence[str] | None = None) -> None:
    """Write the tables anew where some keys lay, or all, without what was erased."""
    how = CompactOptions()
    how.set_bottommost_level_compaction(BottommostLevelCompaction.force())
    if keys is None:
        database.compact_range(None, None, how)
        return
    for key in keys:
        database.compact_range(record_key(key), after(key), how)
    database.compact_range(INDEX, _AFTER_JOURNAL, how)


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
    options.set_level_zero_file_num_compaction_trigger(4)  # a read looks into each of these
    options.set_target_file_size_base(_TABLE_BYTES)
    options.set_max_open_files(_FILES_MAX)
    options.set_max_log_file_size(1 << 20)
    options.set_keep_log_file_num(2)
    options.set_stats_dump_period_sec(0)
    options.set_stats_persist_period_sec(0)
    options.set_max_manifest_file_size(1 << 20)
    return options
