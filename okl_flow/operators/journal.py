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
from okl_flow.operators.contract import StoreError
from okl_flow.packing import Pieces

__all__ = ["Chunk", "Journal", "chunks"]

_TOGETHER = 32  # records of a row at most: one is read with all of them
_BYTES = 16 << 10  # of a row, unless one record has more

_BYTES_MAX = 16 << 20  # that wait to be taken into the table
_VERSIONS_MAX = 64  # likewise
_MERGED_BYTES = 32 << 20  # that are taken into the table in one write


class Chunk(NamedTuple):
    """Records that lie together."""

    keys: Sequence[str]
    sizes: Sequence[int]  # of the record of each; 0 for a key that is deleted
    content: bytes  # the records

    def records(self) -> Iterator[tuple[str, bytes]]:
        """The keys with their records."""
        begin = 0
        for key, size in zip(self.keys, self.sizes, strict=True):
            yield key, self.content[begin : begin + size]
            begin += size

    def without(self, gone: Collection[str]) -> "Chunk":
        """The same without some of its keys."""
        left = [(key, packed) for key, packed in self.records() if key not in gone]
        packed = [one for _, one in left]
        return Chunk([key for key, _ in left], list(map(len, packed)), b"".join(packed))


_encoded = msgspec.msgpack.Encoder().encode
_decoded = msgspec.msgpack.Decoder(tuple[list[str], list[int]]).decode


class Journal:
    """The versions of a partition that are not yet in its table.

    Parameters:
        database: of the partition.
        last: the newest version; what is above it is passed over.
    """

    def __init__(self, database: Rdict, last: int) -> None:
        self._database = database
        self._newest: dict[str, bytes] = {}  # of each key the position of its newest record
        self._held: dict[int, tuple[int, int]] = {}  # of each version how many records and bytes
        self._chunks = 0  # rows of the version at hand
        for row, encoded in rocks.rows_from(database, rocks.INDEX):
            at = row[len(rocks.INDEX) :]
            if rocks.version_of(at) > last:
                break
            self._note(at, *_decoded(encoded))

    def __contains__(self, key: str) -> bool:
        """Whether the newest record of a key is here."""
        return key in self._newest

    def position_of(self, key: str) -> bytes | None:
        """Where a key's newest record lies; None if that is elsewhere."""
        return self._newest.get(key)

    def find(self, key: str) -> tuple[int, bytes] | None:
        """The version that a key's newest record was written in, and the record; None if elsewhere.

        It is empty if the key was deleted.
        """
        at = self._newest.get(key)
        if at is None:
            return None
        encoded = self._database.get(rocks.INDEX + at)
        content = self._database.get(rocks.JOURNAL + at)
        if encoded is None or content is None:
            raise StoreError(f"the newest record of {key!r} is missing")
        keys, sizes = _decoded(encoded)
        place = keys.index(key)
        begin = sum(sizes[:place])
        return rocks.version_of(at), content[begin : begin + sizes[place]]

    def put(self, batch: WriteBatch, version: int, keys: Sequence[str], records: Pieces) -> None:
        """Put records of keys, each of which is given once, behind those that are here."""
        content, ends = records.content.data, records.ends.tolist()
        sizes, begin = np.diff(records.ends).tolist(), 0
        while begin < len(keys):
            most = min(begin + _TOGETHER, len(keys))
            fitting = bisect_right(ends, ends[begin] + _BYTES, begin, most + 1) - 1
            end = max(begin + 1, fitting)
            at = rocks.position(version, self._chunks)
            held = bytes(content[ends[begin] : ends[end]])
            _put(batch, at, Chunk(keys[begin:end], sizes[begin:end], held))
            self._note(at, keys[begin:end], sizes[begin:end])
            self._chunks += 1
            begin = end

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
        piece: list[tuple[bytes, Chunk]] = []
        size = 0
        for at, chunk in chunks(self._database):
            if rocks.version_of(at) > floor:
                break
            piece.append((at, chunk))
            size += len(chunk.content)
            if size > _MERGED_BYTES:
                self._take_in(piece)
                piece, size = [], 0
        self._take_in(piece)
        self._held = {version: held for version, held in self._held.items() if version > floor}

    def erase(self, keys: Collection[str], batch: WriteBatch, keep: int | None = None) -> None:
        """Take keys out of all versions; what was last written in the version to keep stays."""
        newest = {key: self._newest.pop(key, None) for key in keys}
        for key in keys:
            batch.delete(rocks.record_key(key))
        for at, chunk in chunks(self._database):
            gone = set(keys).intersection(chunk.keys)
            if rocks.version_of(at) == keep:
                held = dict(zip(chunk.keys, chunk.sizes, strict=True))
                kept = {key for key in gone if newest[key] == at and held[key]}
                self._newest.update(dict.fromkeys(kept, at))
                gone -= kept
            if gone:
                _put(batch, at, chunk.without(gone))

    def _note(self, at: bytes, keys: Sequence[str], sizes: Sequence[int]) -> None:
        """Take note of what lies at a position, which is the last one."""
        self._newest.update(dict.fromkeys(keys, at))
        version = rocks.version_of(at)
        count, size = self._held.get(version, (0, 0))
        self._held[version] = count + len(keys), size + sum(sizes)

    def _take_in(self, piece: Sequence[tuple[bytes, Chunk]]) -> None:
        """Put the newest record of each key in some chunks into the table, in their place."""
        batch, seen = WriteBatch(raw_mode=True), set[str]()
        for at, chunk in reversed(piece):
            batch.delete(rocks.INDEX + at)
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
                if self._newest.get(key) == at:
                    del self._newest[key]
        self._database.write(batch)


def chunks(database: Rdict) -> Iterator[tuple[bytes, Chunk]]:
    """All that lies in a journal, the oldest first, with its positions; what is not committed too.

    What the index and the journal do not both have is a StoreError.
    """
    records = rocks.rows_from(database, rocks.JOURNAL)
    for row, encoded in rocks.rows_from(database, rocks.INDEX):
        at = row[len(rocks.INDEX) :]
        other, content = next(records, (b"", b""))
        chunk = Chunk(*_decoded(encoded), content)
        if other != rocks.JOURNAL + at or sum(chunk.sizes) != len(content):
            raise StoreError(
                f"part {rocks.chunk_of(at)} of version {rocks.version_of(at)} is missing or damaged"
            )
        yield at, chunk
    if next(records, None) is not None:
        raise StoreError("there are records that no index knows")


def _put(batch: WriteBatch, at: bytes, chunk: Chunk) -> None:
    """Put a chunk at a position."""
    batch.put(rocks.INDEX + at, _encoded(chunk[:2]))
    batch.put(rocks.JOURNAL + at, chunk.content)
