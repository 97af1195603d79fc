"""The records of a partition in memory, for jobs without a state directory.

The engine keeps them all: what `commit` returns holds every record. This suits tests and some
thousand keys; for more there is the state directory of `okl_flow.operators.store`.
"""

import json
import struct
import zlib
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from itertools import chain, islice

from okl_flow.learner import Learner
from okl_flow.operators.contract import StoreError, description_of, refuse_another
from okl_flow.operators.requests import Request
from okl_flow.packing import Pieces

__all__ = ["MemoryStore"]

_CHECKSUM = struct.Struct("<I")
_HEAD = struct.Struct("<IQ")  # bytes of the description, version
_ENTRY = struct.Struct("<QII")  # version, bytes of the key, bytes of the record


class MemoryStore:
    """The records of one partition in memory.

    Parameters:
        pointer: what `commit` returned before the crash; None at the first start.
        partitions: how many partitions the keys are spread over.
        learners: those of the operator.
        names: what they are called, if there are several.
    """

    def __init__(
        self,
        pointer: bytes | None,
        partitions: int,
        learners: Sequence[Learner],
        names: Sequence[str] = (),
    ) -> None:
        self._described = json.dumps(description_of(partitions, learners, names)).encode()
        self._version = 1
        self._records: dict[str, tuple[int, bytes]] = {}
        self._entries: dict[str, bytes] = {}  # how each is written, so that it is done once
        self._keys: list[str] = []  # in their order
        self._swept = ""  # the key that the last sweep ended with
        if pointer is not None:
            self._load(pointer)

    def read(self, keys: Sequence[str]) -> list[tuple[int, bytes] | None]:
        """Of each key the version that its record was written in, and the packed record."""
        return [self._records.get(key) for key in keys]

    def spill(self, keys: Sequence[str], records: Pieces) -> int:
        """Take records in ahead of the next commit; this frees no memory."""
        version = self._version + 1
        for key, packed in zip(keys, records.list(), strict=True):
            if not packed:
                if self._records.pop(key, None) is not None:
                    del self._entries[key]
                    del self._keys[bisect_left(self._keys, key)]
                continue
            if key not in self._records:
                insort(self._keys, key)
            name = key.encode()
            self._records[key] = (version, packed)
            self._entries[key] = _ENTRY.pack(version, len(name), len(packed)) + name + packed
        return version

    def commit(self, keys: Sequence[str], records: Pieces) -> bytes:
        """Take records in; returns all that there are."""
        self._version = self.spill(keys, records)
        head = _HEAD.pack(len(self._described), self._version)
        entries = map(self._entries.__getitem__, self._keys)
        body = b"".join([head, self._described, *entries])
        return body + _CHECKSUM.pack(zlib.crc32(body))

    def settle(self) -> None:
        """It is the engine's disk that it comes to."""

    def sweep(self, count: int) -> list[tuple[str, bytes]]:
        """The next so many stored records, going round for ever."""
        begin = bisect_right(self._keys, self._swept)
        found = list(islice(chain(self._keys[begin:], self._keys[:begin]), count))
        self._swept = found[-1] if found else ""
        return [(key, self._records[key][1]) for key in found]

    def requests(self) -> list[Request]:
        """None: the command line has nowhere to leave them."""
        return []

    def size(self) -> int:
        """How many bytes all records have."""
        return sum(map(len, list(self._entries.values())))

    def close(self) -> None:
        """Nothing is held."""

    def _load(self, pointer: bytes) -> None:
        """Take in what `commit` returned."""
        end = len(pointer) - _CHECKSUM.size
        if end < _HEAD.size or zlib.crc32(pointer[:end]) != _CHECKSUM.unpack_from(pointer, end)[0]:
            raise StoreError(
                f"the state that the engine kept is damaged: its {len(pointer)} bytes fail the "
                "check. Put the recovery directory back from a copy, or begin with a new one"
            )
        described, self._version = _HEAD.unpack_from(pointer)
        at = _HEAD.size + described
        held = json.loads(pointer[_HEAD.size : at])
        refuse_another(held, json.loads(self._described), "the state that the engine kept")
        while at < end:
            begin = at + _ENTRY.size
            version, key_bytes, size = _ENTRY.unpack_from(pointer, at)
            middle = begin + key_bytes
            key = pointer[begin:middle].decode()
            self._records[key] = (version, pointer[middle : middle + size])
            self._entries[key] = pointer[at : middle + size]
            self._keys.append(key)
            at = middle + size
