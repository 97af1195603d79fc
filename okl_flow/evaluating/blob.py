"""Figures as bytes, and back: arrays and numbers under the settings that they were made with.

    magic "OKLE" | version, 2 bytes | CRC-32 of what follows, 4 bytes | MessagePack

The map holds the settings, plain data, and arrays as type, shape and little-endian bytes. No
code and no class names are in it.
"""

import struct
import zlib
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

__all__ = ["FORMAT_VERSION", "FiguresError", "pack", "unpack"]

FORMAT_VERSION = 1

_MAGIC = b"OKLE"
_PREFIX = struct.Struct("<4sHI")


class FiguresError(ValueError):
    """Figures that cannot be restored, and why."""


def pack(settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], **plain: Any) -> bytes:
    """Arrays and plain data as bytes.

    >>> blob = pack({"window": 5}, {"sums": np.ones(2)}, events=3)
    >>> unpack(blob, {"window": 5})
    ({'sums': array([1., 1.])}, {'events': 3})
    """
    held = {
        name: [array.dtype.newbyteorder("<").str, array.shape, array.tobytes()]
        for name, array in arrays.items()
    }
    body = msgspec.msgpack.encode([settings, held, plain])
    return _PREFIX.pack(_MAGIC, FORMAT_VERSION, zlib.crc32(body)) + body


def unpack(
    blob: bytes, settings: Mapping[str, Any]
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays, free to be changed, and the data that `pack` wrote under the same settings."""
    if len(blob) < _PREFIX.size or blob[: len(_MAGIC)] != _MAGIC:
        raise FiguresError("not figures of okl_flow: they do not begin with OKLE")
    _magic, version, checksum = _PREFIX.unpack_from(blob)
    if version != FORMAT_VERSION:
        raise FiguresError(
            f"the figures have format {version}; this version of okl_flow reads {FORMAT_VERSION}"
        )
    body = memoryview(blob)[_PREFIX.size :]
    if zlib.crc32(body) != checksum:
        raise FiguresError(f"the figures are damaged or cut: {len(blob)} bytes fail the check")
    stored, held, plain = msgspec.msgpack.decode(body)
    for name in {**settings, **stored}:
        if stored.get(name) != settings.get(name):
            raise FiguresError(
                f"the figures were kept with {name}={stored.get(name)!r}, and now it is "
                f"{settings.get(name)!r}: go on with the old setting, or give the step another "
                "step_id to begin anew"
            )
    arrays = {
        name: np.frombuffer(data, dtype=dtype).reshape(shape).copy()
        for name, (dtype, shape, data) in held.items()
    }
    return arrays, plain
