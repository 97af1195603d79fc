"""States as bytes, and back: one format for every learner, map and statistic.

A snapshot is a header and the used part of each array, between a magic word and a checksum.
The header is a MessagePack map: the learner's name and configuration in plain words, the
state's numbers, and each array's type and shape. No code and no class names are in it, so a
renamed class never orphans a store.

    magic "OKLF" | version, 2 bytes | header length, 4 bytes | header | arrays | CRC-32, 4 bytes

All numbers are little-endian. A blob that is cut, damaged or foreign raises a SnapshotError
and nothing is loaded.
"""

import struct
import zlib
from dataclasses import fields
from typing import Any

import msgspec
import numpy as np

from okl_flow.alignment import KernelAlignment
from okl_flow.approximation.feature_map import FeatureMap
from okl_flow.factory import make_described
from okl_flow.learner import Learner
from okl_flow.parameters import difference
from okl_flow.state import ObjectState, State, array_axes, inner_states, used

__all__ = ["FORMAT_VERSION", "SnapshotError", "dumps", "inspect", "loads", "restore"]

FORMAT_VERSION = 1

Owner = Learner | FeatureMap | KernelAlignment

_MAGIC = b"OKLF"
_PREFIX = struct.Struct("<4sHI")
_CHECKSUM = struct.Struct("<I")


class SnapshotError(ValueError):
    """A snapshot that cannot be loaded, or made, and why."""


def dumps(learner: Owner, state: Any) -> bytes:
    """The configuration of a learner, map or statistic, and one state of it, as bytes.

    >>> from okl_flow import make_learner
    >>> learner = make_learner("kogd", budget=10)
    >>> len(dumps(learner, learner.init(dim=24))) < 300
    True
    """
    numbers = {}
    arrays = []
    contents = []
    for path, part in inner_states(state):
        if isinstance(part, ObjectState):
            raise SnapshotError(
                f"a state of {learner.describe()['learner']} holds a Python object "
                f"({type(part.held).__name__}), and a snapshot holds arrays and numbers only: "
                "keep such a state with pickle"
            )
        numbers.update({path + name: getattr(part, name) for name in _number_names(part)})
        for name, axes in array_axes(type(part)).items():
            little_endian = axes.scalar_type.newbyteorder("<")
            held = used(part, name)
            arrays.append([path + name, little_endian.str, held.shape])
            contents.append(held.astype(little_endian, copy=False).tobytes())
    header = msgspec.msgpack.encode(
        {"config": learner.describe(), "numbers": numbers, "arrays": arrays}
    )
    body = b"".join([_PREFIX.pack(_MAGIC, FORMAT_VERSION, len(header)), header, *contents])
    return body + _CHECKSUM.pack(zlib.crc32(body))


def loads(blob: bytes) -> tuple[Any, Any]:
    """The learner, map or statistic, and the state, that `dumps` wrote."""
    header, contents = _opened(blob)
    try:
        learner = make_described(header["config"])
        numbers = header["numbers"]
        dim = numbers["dim"]
        state = learner.blank(dim, numbers) if isinstance(learner, Learner) else learner.init(dim)
        _fill(state, learner, header, contents)
    except SnapshotError:
        raise
    except (ValueError, TypeError, KeyError) as error:
        raise SnapshotError(f"the snapshot does not fit this version: {error}") from error
    return learner, state


def restore(learner: Owner, blob: bytes) -> Any:
    """The state in a snapshot that was taken under just this configuration."""
    config = _opened(blob)[0]["config"]
    asked = learner.describe()
    name = difference(asked, config)
    if name is not None:
        raise SnapshotError(
            f"the snapshot was taken under another configuration: its {name} is "
            f"{config.get(name)!r}, the learner's is {asked.get(name)!r}"
        )
    return loads(blob)[1]


def inspect(blob: bytes) -> dict[str, Any]:
    """What a snapshot holds, without loading it: configuration, numbers, shapes and bytes."""
    header, _contents = _opened(blob)
    return {
        "format_version": FORMAT_VERSION,
        **header["config"],
        **header["numbers"],
        "arrays": {name: tuple(shape) for name, _dtype, shape in header["arrays"]},
        "bytes": len(blob),
    }


def _number_names(state: State) -> list[str]:
    """The fields of a state that are numbers."""
    arrays = array_axes(type(state))
    return [
        item.name
        for item in fields(state)
        if item.name not in arrays and not isinstance(getattr(state, item.name), State | list)
    ]


def _opened(blob: bytes) -> tuple[dict[str, Any], memoryview]:
    """The header and the bytes of the arrays, once the blob has proved to be whole."""
    view = memoryview(blob)
    smallest = _PREFIX.size + _CHECKSUM.size
    if len(view) < smallest or bytes(view[: len(_MAGIC)]) != _MAGIC:
        raise SnapshotError("not a snapshot of okl_flow: it does not begin with OKLF")
    _magic, version, header_length = _PREFIX.unpack_from(view)
    body, checksum = view[: -_CHECKSUM.size], _CHECKSUM.unpack(view[-_CHECKSUM.size :])[0]
    if zlib.crc32(body) != checksum:
        raise SnapshotError(f"the snapshot is damaged or cut: its {len(view)} bytes fail the check")
    if version != FORMAT_VERSION:
        raise SnapshotError(
            f"the snapshot has format {version}; this version of okl_flow reads {FORMAT_VERSION}"
        )
    header_end = _PREFIX.size + header_length
    header = msgspec.msgpack.decode(body[_PREFIX.size : header_end])
    return header, body[header_end:]


def _fill(state: Any, learner: Owner, header: dict[str, Any], contents: memoryview) -> None:
    """Put the snapshot's numbers and arrays into a fresh state."""
    stored = {name: (dtype, tuple(shape)) for name, dtype, shape in header["arrays"]}
    begin = 0
    for path, part in inner_states(state):
        lengths = {name: header["numbers"][path + name] for name in _number_names(part)}
        for name, value in lengths.items():
            setattr(part, name, value)
        if isinstance(learner, Learner):
            lengths["outputs"] = learner.task.outputs
        for name, axes in array_axes(type(part)).items():
            dtype, shape = stored[path + name]
            for axis, length in zip(axes, shape, strict=True):
                expected = axis if isinstance(axis, int) else lengths.setdefault(axis, length)
                if length != expected:
                    raise SnapshotError(
                        f"the snapshot's {path + name} has {length} along {axis}, not {expected}"
                    )
            count = int(np.prod(shape))
            values = np.frombuffer(contents, dtype=dtype, count=count, offset=begin)
            begin += values.nbytes
            setattr(part, name, values.astype(axes.scalar_type).reshape(shape))
    if begin != len(contents):
        raise SnapshotError(f"the snapshot has {len(contents) - begin} bytes too many")
