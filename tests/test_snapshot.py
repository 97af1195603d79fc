"""Snapshots: small, complete, and refused when anything is wrong with them."""

import struct
import zlib

import msgspec
import numpy as np
import pytest

from okl_flow import make_learner, snapshot, streams


def learned(name="kogd", events=10, **settings):
    """A learner, and a state of it that has seen some events."""
    learner = make_learner(name, **settings)
    state = learner.init(2)
    learner.step(state, *streams.rings(events))
    return learner, state


def resealed(blob, *, version=1, **changes):
    """A snapshot whose header was changed by somebody who knows the format."""
    length = struct.unpack_from("<I", blob, 6)[0]
    header = msgspec.msgpack.decode(blob[10 : 10 + length])
    encoded = msgspec.msgpack.encode({**header, **changes})
    body = struct.pack("<4sHI", b"OKLF", version, len(encoded)) + encoded + blob[10 + length : -4]
    return body + struct.pack("<I", zlib.crc32(body))


def test_what_is_written_is_read():
    learner, state = learned(budget=7, learning_rate=0.3, bandwidth=0.6)
    again, restored = snapshot.loads(snapshot.dumps(learner, state))
    assert again == learner
    assert (restored.seen, restored.learned, restored.size) == (10, 10, state.size)
    np.testing.assert_array_equal(restored.rows, state.rows[:, : state.size])
    assert snapshot.dumps(again, restored) == snapshot.dumps(learner, state)


def test_every_flipped_bit_is_found():
    learner, state = learned(events=2, budget=2)
    blob = snapshot.dumps(learner, state)
    assert len(blob) < 400
    for position in range(8 * len(blob)):
        damaged = bytearray(blob)
        damaged[position // 8] ^= 1 << position % 8
        with pytest.raises(snapshot.SnapshotError):
            snapshot.loads(bytes(damaged))


def test_every_cut_is_found():
    blob = snapshot.dumps(*learned(events=2, budget=2))
    for length in range(len(blob)):
        with pytest.raises(snapshot.SnapshotError):
            snapshot.loads(blob[:length])
    with pytest.raises(snapshot.SnapshotError):
        snapshot.loads(blob + b"\0")


def test_foreign_bytes_are_named_so():
    with pytest.raises(snapshot.SnapshotError, match="does not begin with OKLF"):
        snapshot.loads(b"PK\x03\x04 a file of another kind")
    with pytest.raises(snapshot.SnapshotError, match="damaged or cut: its 247 bytes"):
        snapshot.loads(b"OKLF" + bytes(243))


def test_a_later_format_is_refused_by_name():
    blob = snapshot.dumps(*learned())
    with pytest.raises(snapshot.SnapshotError, match="has format 9; this version .* reads 1"):
        snapshot.loads(resealed(blob, version=9))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config": {"learner": "gone"}}, "no learner 'gone'"),
        ({"config": {"learner": "kogd", "tempo": 1}}, "no parameter 'tempo'"),
        ({"numbers": {"dim": 2}}, "seen"),
        ({"numbers": {"dim": 3, "seen": 0, "learned": 0, "size": 5, "oldest": 0}}, "not 3"),
        ({"arrays": [["rows", "<f8", [2, 1]]]}, "bytes too many|weights|not"),
        ({"config": None}, "does not fit"),
    ],
)
def test_a_header_that_does_not_fit_is_refused(changes, message):
    blob = snapshot.dumps(*learned(budget=5))
    with pytest.raises(snapshot.SnapshotError, match=message):
        snapshot.loads(resealed(blob, **changes))


def test_another_configuration_is_refused_by_field():
    learner, state = learned(budget=5, bandwidth=0.5)
    blob = snapshot.dumps(learner, state)
    assert snapshot.restore(learner, blob).seen == 10
    other = make_learner("kogd", budget=5, bandwidth=0.7)
    with pytest.raises(snapshot.SnapshotError, match=r"its bandwidth is 0.5, the learner's is 0.7"):
        snapshot.restore(other, blob)
    polynomial = make_learner("kogd", budget=5, kernel="polynomial")
    with pytest.raises(snapshot.SnapshotError, match="its kernel is 'gaussian'"):
        snapshot.restore(polynomial, blob)


def test_inspect_tells_without_loading():
    told = snapshot.inspect(snapshot.dumps(*learned(budget=4)))
    assert told["learner"] == "kogd"
    assert told["budget"] == 4
    assert told["seen"] == 10
    assert told["arrays"] == {"rows": (2, 4), "weights": (1, 4)}
    assert told["bytes"] > 8 * 4 * 3


@pytest.mark.parametrize("events", [0, 1, 10, 37])
def test_size_follows_what_is_held(events):
    learner = make_learner("kogd", budget=100, bandwidth=0.01)
    state = learner.init(24)
    empty = len(snapshot.dumps(learner, state))
    assert empty < 300 + len(msgspec.msgpack.encode(learner.describe()))
    X, y = streams.rings(events, dim=24)
    learner.step(state, X, y)
    assert state.size == events
    held = len(snapshot.dumps(learner, state)) - empty
    assert events * 25 * 8 <= held <= events * 25 * 8 + 8
