"""What the latest versions of a partition have changed, before it is taken into the table.

A version is written behind the one before it, many records in a row of the database: that costs
a fraction of a row for each. Which they are stands in an index beside it, so that a resumed job
need not read them all. Going back takes rows away. As nobody can go back behind a version any more
its records are taken into the table, each key's newest only.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from rocksdict import Rdict, WriteBatch

from okl_flow.operators import rocks
from okl_flow.packing import Pieces

__all__ = ["Chunk", "Journal", "chunks"]

_TOGETHER = 64  # of a row at most: one is read with all of them
_BYTES = 16 << 10  # of a row, unless one record has more
_LISTED = 16  # rows whose keys are in one row of the index

_BYTES_MAX = 16 << 20  # that wait to be taken into the table
_VERSIONS_MAX = 64  # likewise
_MERGED_BYTES = 32 << 20  # that are taken into the table in one write


class Chunk(NamedTuple):
    """Records that lie together."""

    keys: tuple[str, ...]
    sizes: Sequence[int]  # of the record of each; 0 for a key that is deleted
    content: bytes | memoryview  # the records

    def records(self) -> Iterator[tuple[str, bytes]]:
        """The keys with their records."""
        begin = 0
        for key, size in zip(self.keys, self.sizes, strict=True):
            yield key, bytes(self.content[begin : begin + size])
            begin += size

    def without(self, gone: Collection[str]) -> "Chunk":
        """The same without some of its keys."""
        left = [(key, packed) for key, packed in self.records() if key not in gone]
        packed = [one for _, one in left]
        return Chunk(tuple(key for key, _ in left), list(map(len, packed)), b"".join(packed))


Listed = tuple[int, list[tuple[str, ...]]]
"""What was written at once: the bytes of the records, and the keys, chunk by chunk."""

_encoded = msgspec.msgpack.Encoder().encode
_chunk_in = msgspec.msgpack.Decoder(tuple[tuple[str, ...], list[int], bytes]).decode
_listed_in = msgspec.msgpack.Decoder(Listed).decode


class Journal:
    """The versions of a partition that are not yet in its table.

    Parameters:
        database: of the partition.
        last: the newest version; what is above it is passed over.
    """

    def __init__(self, database: Rdict, last: int) -> None:
        self._database = database
        self._newest: dict[str, bytes] = {}  # of each key the position of its newest record
        self._fresh: list[tuple[bytes, tuple[str, ...]]] = []  # chunks whose keys are not yet in it
        self._held: dict[int, tuple[int, int]] = {}  # of each version how many records and bytes
        self._chunks = 0  # of the version at hand
        for at, (size, listed) in _lists(database):
            if rocks.version_of(at) > last:
                break
            self._note(at, size, listed)
        self._positions()

    def __contains__(self, key: str) -> bool:
        """Whether the newest record of a key is here."""
        return key in self._positions()

    def position_of(self, key: str) -> bytes | None:
        """Where a key's newest record lies; None if that is elsewhere."""
        return self._positions().get(key)

    def read(self, keys: Sequence[str]) -> list[tuple[int, bytes] | None]:
        """Of each key its newest record, here or in the table, and the version that it is of."""
        positions = self._positions()
        elsewhere = [key for key in keys if key not in positions]
        stored = dict(zip(elsewhere, rocks.records_at(self._database, elsewhere), strict=True))
        return [
            self._find(key, positions[key]) if key in positions else stored[key] for key in keys
        ]

    def _find(self, key: str, at: bytes) -> tuple[int, bytes] | None:
        """The record of a key at a position, and its version; None if the key was deleted."""
        encoded = self._database.get(rocks.JOURNAL + at)
        if encoded is None:
            raise ValueError(f"the newest record of {key!r} is missing")
        keys, sizes, content = _chunk_in(encoded)
        place = keys.index(key)
        begin = sum(sizes[:place])
        packed = content[begin : begin + sizes[place]]
        return (rocks.version_of(at), packed) if packed else None

    def put(self, batch: WriteBatch, version: int, keys: Sequence[str], records: Pieces) -> None:
        """Put records of keys, each of which is given once, behind those that are here."""
        content, ends = records.content.data, records.ends.tolist()
        sizes, begin = np.diff(records.ends).tolist(), 0
        while begin < len(keys):
            at, first = rocks.position(version, self._chunks), begin
            listed: list[tuple[str, ...]] = []
            while begin < len(keys) and len(listed) < _LISTED:
                most = min(begin + _TOGETHER, len(keys))
                fitting = bisect_right(ends, ends[begin] + _BYTES, begin, most + 1) - 1
                end = max(begin + 1, fitting)
                own = tuple(keys[begin:end])
                chunk = Chunk(own, sizes[begin:end], content[ends[begin] : ends[end]])
                batch.put(rocks.JOURNAL + rocks.position(version, self._chunks), _encoded(chunk))
                listed.append(own)
                self._chunks += 1
                begin = end
            size = ends[begin] - ends[first]
            batch.put(rocks.INDEX + at, _encoded((size, listed)))
            self._note(at, size, listed)

    def close(self) -> None:
        """End the version at hand: what is put from now on is of the next one."""
        self._chunks = 0

    def is_due(self, floor: int, records_max: int, patience: float) -> bool:
        """Whether versions up to one should be taken into the table.

        More patience lets more of everything wait.
        """
        ripe = [held for version, held in self._held.items() if version <= floor]
        records = sum(count for count, _ in ripe)
        size = sum(size for _, size in ripe)
        return (
            records > patience * records_max
            or size > patience * _BYTES_MAX
            or len(ripe) > patience * _VERSIONS_MAX
        )

    def merge(self, floor: int) -> None:
        """Take the versions up to one, behind which nobody can go back, into the table.

        It is done in pieces. Each is one write: what a crash leaves undone is here still.
        """
        end = rocks.position(floor + 1, 0)
        piece: list[_Part] = []
        size = 0
        for part in _parts(self._database):
            if part.at >= end:
                break
            piece.append(part)
            size += part.size
            if size > _MERGED_BYTES:
                self._take_in(piece)
                piece, size = [], 0
        self._take_in(piece)
        self._newest = {key: at for key, at in self._newest.items() if at >= end}
        self._fresh = [(at, keys) for at, keys in self._fresh if at >= end]
        self._held = {version: held for version, held in self._held.items() if version > floor}

    def erase(self, keys: Collection[str], batch: WriteBatch, keep: int | None = None) -> None:
        """Take keys out of all versions; what was last written in the version to keep stays."""
        positions = self._positions()
        newest = {key: positions.pop(key, None) for key in keys}
        for key in keys:
            batch.delete(rocks.record_key(key))
        for part in _parts(self._database):
            left = []
            for at, chunk in part.chunks:
                gone = set(keys).intersection(chunk.keys)
                if rocks.version_of(at) == keep:
                    sizes = dict(zip(chunk.keys, chunk.sizes, strict=True))
                    kept = {key for key in gone if newest[key] == at and sizes[key]}
                    positions.update(dict.fromkeys(kept, at))
                    gone -= kept
                left.append(chunk.without(gone) if gone else chunk)
                if gone:
                    batch.put(rocks.JOURNAL + at, _encoded(left[-1]))
            if any(one is not chunk for one, (_, chunk) in zip(left, part.chunks, strict=True)):
                listed = sum(len(one.content) for one in left), [one.keys for one in left]
                batch.put(rocks.INDEX + part.at, _encoded(listed))

    def _positions(self) -> dict[str, bytes]:
        """Of each key where its newest record lies.

        They are put together when somebody asks: nobody does for keys that are all in memory.
        """
        for at, keys in self._fresh:
            self._newest.update(dict.fromkeys(keys, at))
        self._fresh.clear()
        return self._newest

    def _note(self, at: bytes, size: int, listed: list[tuple[str, ...]]) -> None:
        """Take note of what was written from a position on."""
        version, first = rocks.version_of(at), rocks.chunk_of(at)
        for chunk, keys in enumerate(listed, first):
            self._fresh.append((rocks.position(version, chunk), keys))
        count, before = self._held.get(version, (0, 0))
        self._held[version] = count + sum(map(len, listed)), before + size

    def _take_in(self, piece: Sequence["_Part"]) -> None:
        """Put the newest record of each key in some parts into the table, in their place."""
        batch, seen = WriteBatch(raw_mode=True), set[str]()
        for part in reversed(piece):
            batch.delete(rocks.INDEX + part.at)
            for at, chunk in reversed(part.chunks):
                batch.delete(rocks.JOURNAL + at)
                stamp, begin = rocks.stamp(rocks.version_of(at)), 0
                for key, size in zip(chunk.keys, chunk.sizes, strict=True):
                    begin += size
                    if key in seen:
                        continue
                    seen.add(key)
                    if size:
                        packed = chunk.content[begin - size : begin]
                        batch.put(rocks.record_key(key), stamp + packed)
                    else:
                        batch.delete(rocks.record_key(key))
        self._database.write(batch)


def chunks(database: Rdict) -> Iterator[tuple[bytes, Chunk]]:
    """All that lies in a journal, the oldest first, with its positions; what is not committed too.

    What the journal and its index do not both have is a ValueError.
    """
    for part in _parts(database):
        yield from part.chunks


class _Part(NamedTuple):
    """A row of the index, and what it lists."""

    at: bytes  # where the first chunk lies
    size: int  # bytes of all records
    chunks: Sequence[tuple[bytes, Chunk]]  # with their positions


def _parts(database: Rdict) -> Iterator[_Part]:
    """All that lies in a journal, the oldest first."""
    records = rocks.rows_from(database, rocks.JOURNAL)
    for first, (size, listed) in _lists(database):
        version, found = rocks.version_of(first), []
        for number, keys in enumerate(listed, rocks.chunk_of(first)):
            at = rocks.position(version, number)
            row, encoded = next(records, (b"", b""))
            chunk = Chunk(*_chunk_in(encoded)) if row == rocks.JOURNAL + at else None
            if chunk is None or chunk.keys != keys or sum(chunk.sizes) != len(chunk.content):
                raise ValueError(f"part {number} of version {version} is missing or damaged")
            found.append((at, chunk))
        yield _Part(first, size, found)
    if next(records, None) is not None:
        raise ValueError("there are records that no index knows")


def _lists(database: Rdict) -> Iterator[tuple[bytes, Listed]]:
    """The index of a journal, the oldest first."""
    for row, encoded in rocks.rows_from(database, rocks.INDEX):
        yield row[len(rocks.INDEX) :], _listed_in(encoded)
