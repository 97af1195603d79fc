"""What the latest versions of a partition have changed, before it is taken into the table.

A version is written behind the one before it, many records in a row of the database: that costs
a fraction of a row for each. Whose they are stands in an index beside it, so that a resumed job
need not read them all. Going back takes rows away. When too many versions wait behind which nobody
can go back any more, the older half is taken into the table: of each key the newest record, and
only if the other half has none of it.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate, chain
from operator import le, sub
from typing import NamedTuple

import msgspec
import numpy as np
from rocksdict import Rdict, WriteBatch

from okl_flow.operators import rocks
from okl_flow.packing import Pieces

__all__ = ["Chunk", "Journal", "chunks"]

_TOGETHER = 64  # of a row at most: one is read with all of them
_BYTES = 32 << 10  # of a row, unless one record has more
_LISTED = 16  # rows whose keys are in one row of the index

_BYTES_MAX = 16 << 20  # that wait to be taken into the table
_VERSIONS_MAX = 64  # likewise
_MERGED_BYTES = 32 << 20  # that are taken into the table in one write


class Chunk(NamedTuple):
    """Records that lie together."""

    keys: tuple[str, ...]
    sizes: Sequence[int]  # of the record of each; 0 for a key that is deleted
    content: memoryview  # the records

    def records(self, places: Iterable[int] | None = None) -> Iterator[tuple[str, bytes]]:
        """The keys with their records: all, or those at some places."""
        keys, sizes, content = self
        ends = list(accumulate(sizes))
        for place in range(len(keys)) if places is None else places:
            yield keys[place], bytes(content[ends[place] - sizes[place] : ends[place]])

    def record(self, place: int) -> bytes:
        """The record of one key."""
        begin = sum(self.sizes[:place])
        return bytes(self.content[begin : begin + self.sizes[place]])

    def without(self, gone: Collection[str]) -> "Chunk":
        """The same without some of its keys."""
        left = [(key, packed) for key, packed in self.records() if key not in gone]
        packed = [one for _, one in left]
        content = memoryview(b"".join(packed))
        return Chunk(tuple(key for key, _ in left), list(map(len, packed)), content)


class Spot(NamedTuple):
    """What the index knows of a chunk."""

    at: bytes  # where it lies
    keys: tuple[str, ...]


_encoded = msgspec.msgpack.Encoder().encode
_records_in = msgspec.msgpack.Decoder(tuple[list[int], memoryview]).decode
_listed_in = msgspec.msgpack.Decoder(tuple[int, list[tuple[str, ...]]]).decode


class Journal:
    """The versions of a partition that are not yet in its table.

    Parameters:
        database: of the partition.
        last: the newest version; what is above it is passed over.
    """

    def __init__(self, database: Rdict, last: int) -> None:
        self._database = database
        self._index: dict[bytes, list[Spot]] = {}  # its rows, by the position of the first chunk
        self._newest: dict[str, Spot] = {}  # of each key the chunk with its newest record
        self._fresh: list[Spot] = []  # chunks whose keys are not yet in it
        self._held: dict[int, list[int]] = {}  # of each version records, bytes, and 1 for itself
        self._chunks = 0  # of the version at hand
        for size, spots in _index_of(database):
            if rocks.version_of(spots[0].at) > last:
                break
            self._note(size, spots)

    def __contains__(self, key: str) -> bool:
        """Whether the newest record of a key is here."""
        return key in self._positions()

    def position_of(self, key: str) -> bytes | None:
        """Where a key's newest record lies; None if that is elsewhere."""
        spot = self._positions().get(key)
        return spot and spot.at

    def read(self, keys: Sequence[str]) -> list[tuple[int, bytes] | None]:
        """Of each key its newest record, here or in the table, and the version that it is of."""
        positions = self._positions()
        elsewhere = [key for key in keys if key not in positions]
        stored = dict(zip(elsewhere, rocks.records_at(self._database, elsewhere), strict=True))
        return [
            self._find(key, positions[key]) if key in positions else stored[key] for key in keys
        ]

    def _find(self, key: str, spot: Spot) -> tuple[int, bytes] | None:
        """The record of a key in a chunk, and its version; None if the key was deleted."""
        chunk = _chunk(spot, self._database.get(rocks.JOURNAL + spot.at))
        packed = chunk.record(spot.keys.index(key))
        return (rocks.version_of(spot.at), packed) if packed else None

    def put(self, batch: WriteBatch, version: int, keys: Sequence[str], records: Pieces) -> None:
        """Put records of keys, each of which is given once, behind those that are here."""
        content, ends = records.content.data, records.ends.tolist()
        sizes, begin = np.diff(records.ends).tolist(), 0
        while begin < len(keys):
            first, spots = begin, list[Spot]()
            while begin < len(keys) and len(spots) < _LISTED:
                most = min(begin + _TOGETHER, len(keys))
                fitting = bisect_right(ends, ends[begin] + _BYTES, begin, most + 1) - 1
                end = max(begin + 1, fitting)
                at = rocks.position(version, self._chunks)
                batch.put(*_row(at, sizes[begin:end], content[ends[begin] : ends[end]]))
                spots.append(Spot(at, tuple(keys[begin:end])))
                self._chunks += 1
                begin = end
            size = ends[begin] - ends[first]
            batch.put(*_index_row(size, spots))
            self._note(size, spots)

    def close(self) -> None:
        """End the version at hand: what is put from now on is of the next one."""
        self._chunks = 0

    def shorten(self, floor: int, records_max: int, patience: float) -> None:
        """Take versions into the table if too many wait behind which nobody can go back.

        Half of what may is left. The floor is the oldest version that one can go back to. More
        patience lets more of everything wait.
        """
        most = [patience * limit for limit in (records_max, _BYTES_MAX, _VERSIONS_MAX)]
        waiting = [(version, held) for version, held in self._held.items() if version <= floor]
        left = [sum(each) for each in zip(*(held for _, held in waiting), strict=True)]
        if all(map(le, left, most)):
            return
        for version, held in waiting:
            left = [*map(sub, left, held)]
            if all(2 * count <= limit for count, limit in zip(left, most, strict=True)):
                self._merge(version, floor)
                return

    def _merge(self, last: int, floor: int) -> None:
        """Take the versions up to the last given into the table, which is at most the floor.

        It is done in pieces. Each is one write: what a crash leaves undone is here still.
        """
        end = rocks.position(last + 1, 0)
        going = {at: spots for at, spots in self._index.items() if at < end}
        newest = self._newest_of(going, floor)
        # Not from the very beginning: there are the rows that were deleted last.
        begin = rocks.JOURNAL + next(iter(going))
        rows = rocks.rows_from(self._database, rocks.JOURNAL, begin)
        batch, size = WriteBatch(raw_mode=True), 0
        for first, spots in going.items():
            batch.delete(rocks.INDEX + first)
            for spot in spots:
                batch.delete(rocks.JOURNAL + spot.at)
                encoded = _next(rows, spot)
                if newest[spot.at]:
                    size += _take_in(batch, spot, encoded, newest[spot.at])
            if size > _MERGED_BYTES:
                self._database.write(batch)
                batch, size = WriteBatch(raw_mode=True), 0
        self._database.write(batch)
        for first in going:
            del self._index[first]
        self._newest = {key: spot for key, spot in self._newest.items() if spot.at >= end}
        self._fresh = [spot for spot in self._fresh if spot.at >= end]
        self._held = {version: held for version, held in self._held.items() if version > last}

    def erase(self, keys: Collection[str], batch: WriteBatch, keep: int | None = None) -> None:
        """Take keys out of all versions; what was last written in the version to keep stays."""
        newest = {key: self.position_of(key) for key in keys}
        for key in keys:
            batch.delete(rocks.record_key(key))
        for part in _parts(self._database):
            left = []
            for at, chunk in part:
                gone = set(keys).intersection(chunk.keys)
                if gone and rocks.version_of(at) == keep:
                    sizes = dict(zip(chunk.keys, chunk.sizes, strict=True))
                    gone = {key for key in gone if newest[key] != at or not sizes[key]}
                left.append(chunk.without(gone) if gone else chunk)
                if gone:
                    batch.put(*_row(at, left[-1].sizes, left[-1].content))
            spots = [Spot(at, one.keys) for (at, _), one in zip(part, left, strict=True)]
            if spots != [Spot(at, chunk.keys) for at, chunk in part]:
                batch.put(*_index_row(sum(len(one.content) for one in left), spots))
            if spots[0].at in self._index:
                self._index[spots[0].at] = spots
        self._newest, self._fresh = {}, list(chain.from_iterable(self._index.values()))

    def _positions(self) -> dict[str, Spot]:
        """Of each key the chunk with its newest record.

        They are put together when somebody asks: nobody does for keys that are all in memory.
        """
        for spot in self._fresh:
            self._newest.update(dict.fromkeys(spot.keys, spot))
        self._fresh.clear()
        return self._newest

    def _note(self, size: int, spots: list[Spot]) -> None:
        """Take note of a row of the index, and of the bytes of its records."""
        self._index[spots[0].at] = spots
        self._fresh += spots
        held = self._held.setdefault(rocks.version_of(spots[0].at), [0, 0, 1])
        held[0] += sum(len(keys) for _, keys in spots)
        held[1] += size

    def _newest_of(self, lists: Collection[bytes], floor: int) -> dict[bytes, list[int]]:
        """Of each chunk in some rows of the index the places of keys that no later chunk has.

        What is above the floor may be undone, and does not count.
        """
        end = rocks.position(floor + 1, 0)
        seen, newest = set[str](), {}
        for first in reversed(self._index):
            if first >= end:
                continue
            for at, keys in reversed(self._index[first]):
                if first in lists:
                    newest[at] = [place for place, key in enumerate(keys) if key not in seen]
                seen.update(keys)
        return newest


def _take_in(batch: WriteBatch, spot: Spot, encoded: bytes, places: Sequence[int]) -> int:
    """Put some records of a chunk into the table; how many bytes that is."""
    stamp, taken = rocks.stamp(rocks.version_of(spot.at)), 0
    for key, packed in _chunk(spot, encoded).records(places):
        if packed:
            batch.put(rocks.record_key(key), stamp + packed)
        else:
            batch.delete(rocks.record_key(key))
        taken += len(packed)
    return taken


def chunks(database: Rdict) -> Iterator[tuple[bytes, Chunk]]:
    """All that lies in a journal, the oldest first, with its positions; what is not committed too.

    What the journal and its index do not both have is a ValueError.
    """
    for part in _parts(database):
        yield from part


def _parts(database: Rdict) -> Iterator[list[tuple[bytes, Chunk]]]:
    """All that lies in a journal, the oldest first: what a row of the index lists, together."""
    records = rocks.rows_from(database, rocks.JOURNAL)
    for size, spots in _index_of(database):
        found = [(spot.at, _chunk(spot, _next(records, spot))) for spot in spots]
        if size != sum(len(chunk.content) for _, chunk in found):
            version = rocks.version_of(spots[0].at)
            raise ValueError(
                f"the records of version {version} are longer or shorter than the index says"
            )
        yield found
    if next(records, None) is not None:
        raise ValueError("there are records that no index knows")


def _next(rows: Iterator[tuple[bytes, bytes]], spot: Spot) -> bytes:
    """The next row of the journal, which has to be that of a chunk."""
    row, encoded = next(rows, (b"", b""))
    if row != rocks.JOURNAL + spot.at:
        raise _damage(spot)
    return encoded


def _chunk(spot: Spot, encoded: bytes | None) -> Chunk:
    """A chunk, of what its row holds."""
    if encoded is None:
        raise _damage(spot)
    chunk = Chunk(spot.keys, *_records_in(encoded))
    if len(chunk.keys) != len(chunk.sizes) or sum(chunk.sizes) != len(chunk.content):
        raise _damage(spot)
    return chunk


def _damage(spot: Spot) -> ValueError:
    version, number = rocks.version_of(spot.at), rocks.chunk_of(spot.at)
    return ValueError(f"part {number} of version {version} is missing or damaged")


def _row(at: bytes, sizes: Sequence[int], content: memoryview) -> tuple[bytes, bytes]:
    """A row of the journal."""
    return rocks.JOURNAL + at, _encoded((sizes, content))


def _index_row(size: int, spots: Sequence[Spot]) -> tuple[bytes, bytes]:
    """A row of the index: the bytes of its records, and the keys, chunk by chunk."""
    return rocks.INDEX + spots[0].at, _encoded((size, [keys for _, keys in spots]))


def _index_of(database: Rdict) -> Iterator[tuple[int, list[Spot]]]:
    """The rows of the index, the oldest first: the bytes of the records, and the chunks."""
    for row, encoded in rocks.rows_from(database, rocks.INDEX):
        first = row[len(rocks.INDEX) :]
        version, number = rocks.version_of(first), rocks.chunk_of(first)
        size, listed = _listed_in(encoded)
        yield (
            size,
            [Spot(rocks.position(version, at), keys) for at, keys in enumerate(listed, number)],
        )
