"""Records: what was packed comes back, and damage is found."""

import struct
import zlib

import numpy as np
import pytest

from okl_flow import make_learner
from okl_flow.operators.record import Record, RecordCodec, RecordError
from okl_flow.operators.shelf import NEVER
from okl_flow.packing import Pieces, packer_of
from okl_flow.pool import Pool
from tests.conformance.cases import events_for

LEARNERS = [make_learner("kogd", budget=4), make_learner("fogd", feature_count=6)]


def learned(count=9):
    X, y = events_for("binary", count)
    states = [learner.init(5) for learner in LEARNERS]
    for learner, state in zip(LEARNERS, states, strict=True):
        learner.step(state, X, y)
    return states


@pytest.mark.parametrize("time", [None, 0, -5, 1_700_000_000_000])
@pytest.mark.parametrize("notes", [b"", b"waiting"])
def test_what_was_packed_comes_back(time, notes):
    codec = RecordCodec(LEARNERS)
    packed = codec.pack(Record(learned(), 9, time, notes))
    record = codec.unpack(packed)
    assert (record.events, record.time, record.notes) == (9, time, notes)
    assert codec.head(packed) == (9, time, len(packed))
    assert codec.pack(record) == packed
    X, y = events_for("binary", 40)
    for learner, state, other in zip(LEARNERS, record.states, learned(), strict=True):
        np.testing.assert_array_equal(learner.step(state, X, y), learner.step(other, X, y))


@pytest.mark.parametrize("longest", [0, 7, 40, 400])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 17, 60])
def test_many_records_are_packed_at_once_as_each_alone(count, longest):
    """Whatever they hold: of each byte, what `struct` and `zlib` make of it."""
    drawn = np.random.default_rng(4)
    events = drawn.integers(0, 2**62, count)
    times = np.where(drawn.random(count) < 0.3, NEVER, drawn.integers(-(2**62), 2**62, count))
    sizes = drawn.integers(0, longest + 1, (3, count)) * (drawn.random((3, count)) < 0.7)
    parts = [[drawn.bytes(size) for size in line] for line in sizes.tolist()]
    packed = RecordCodec.pack_all(events, times, [Pieces.of(one) for one in parts])
    assert (packed.ends[0], packed.ends[-1]) == (0, packed.content.shape[0])
    for one, seen, time, notes, *states in zip(packed.list(), events, times, *parts, strict=True):
        flags = int(time != NEVER) | (2 if any(states) else 0)
        head = struct.pack("<BBQqI", 1, flags, seen, 0 if time == NEVER else time, len(notes))
        body = head + notes + b"".join(states)
        assert one == body + struct.pack("<I", zlib.crc32(body))


@pytest.mark.parametrize("count", [3, 4, 9])
def test_records_of_one_length_are_packed_as_each_alone(count):
    codec, columns = RecordCodec(LEARNERS), (np.full(count, 9), np.arange(count))
    states = [
        Pieces.of([packer_of(learner).pack(state)] * count)
        for learner, state in zip(LEARNERS, learned(), strict=True)
    ]
    packed = codec.pack_all(*columns, [Pieces.of([b"waiting"] * count), *states])
    alone = [codec.pack(Record(learned(), 9, time, b"waiting")) for time in range(count)]
    assert packed.list() == alone


def test_a_key_without_events_has_no_states():
    codec = RecordCodec(LEARNERS)
    packed = codec.pack(Record([], notes=b"labels that came first"))
    assert codec.unpack(packed) == Record([], 0, None, b"labels that came first")


@pytest.mark.parametrize("are_pooled", [False, True])
def test_many_records_are_unpacked_at_once_as_each_alone(are_pooled):
    keepers = [Pool(learner) for learner in LEARNERS] if are_pooled else []
    codec = RecordCodec(LEARNERS, keepers)
    written = [
        Record(learned(count) if count else [], count, count or None, b"!" * (count % 4))
        for count in (0, 1, 9, 0, 30, 2)
    ]
    read = codec.unpack_all([codec.pack(record) for record in written])
    for record in read if are_pooled else []:
        pairs = zip(keepers, record.states, strict=False)
        record.states = [keeper.state(number) for keeper, number in pairs]
    assert [codec.pack(record) for record in read] == [codec.pack(record) for record in written]
    assert [len(record.states) for record in read] == [0, 2, 2, 0, 2, 2]
    assert codec.unpack_all([]) == []


def test_a_fresh_key_is_small():
    learner = make_learner("kogd", budget=16)
    assert len(RecordCodec([learner]).pack(Record([learner.init(8)], 1, 1))) < 50


def test_every_flipped_bit_and_every_cut_is_found():
    codec = RecordCodec(LEARNERS[:1])
    packed = codec.pack(Record(learned()[:1], 9, 5, b"notes"))
    for at in range(8 * len(packed)):
        damaged = bytearray(packed)
        damaged[at // 8] ^= 1 << at % 8
        with pytest.raises(RecordError, match="damaged or cut"):
            codec.unpack(bytes(damaged))
    for length in range(len(packed)):
        with pytest.raises(RecordError, match="damaged or cut"):
            codec.unpack(packed[:length])


def test_records_of_other_learners_are_refused():
    packed = RecordCodec(LEARNERS[:1]).pack(Record(learned()[:1], 9))
    with pytest.raises(RecordError, match="does not fit the learners"):
        RecordCodec(LEARNERS).unpack(packed)
    with pytest.raises(RecordError, match="does not fit the learners"):
        RecordCodec(LEARNERS).unpack_all([packed, packed])
    packed = RecordCodec(LEARNERS).pack(Record(learned(), 9))
    with pytest.raises(RecordError, match="does not fit the learners: [0-9]+ bytes are left"):
        RecordCodec(LEARNERS[:1]).unpack(packed)


def test_a_record_does_not_reach_into_the_next_one():
    codec = RecordCodec(LEARNERS[1:])
    packed = codec.pack(Record(learned()[1:], 9))
    short = packed[:-12]  # without its checksum, and without the last number
    short += struct.pack("<I", zlib.crc32(short))
    with pytest.raises(RecordError, match="does not fit the learners: 8 bytes are missing"):
        RecordCodec(LEARNERS[1:], [Pool(LEARNERS[1])]).unpack_all([short, packed])


def test_nonsense_is_refused():
    codec = RecordCodec(LEARNERS)
    with pytest.raises(RecordError, match="each of 2 learners, or none; this one has 1"):
        codec.pack(Record(learned()[:1], 9))
    with pytest.raises(RecordError, match="64 bits, not 9 and 18446744073709551616"):
        codec.pack(Record(learned(), 9, 2**64))
    with pytest.raises(RecordError, match="64 bits, not 18446744073709551616 and None"):
        codec.pack(Record(learned(), 2**64))
    with pytest.raises(RecordError, match="it has 3 bytes"):
        codec.head(b"abc")
    with pytest.raises(RecordError, match="format 7; this version .* reads 1"):
        codec.head(b"\x07" + codec.pack(Record([]))[1:])


def test_the_layout_is_that_of_all_learners():
    assert len(RecordCodec(LEARNERS).layout) == 3
    assert RecordCodec(LEARNERS).layout != RecordCodec(LEARNERS[::-1]).layout
