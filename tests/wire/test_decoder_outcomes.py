"""Whatever the bytes are, every record has one outcome."""

import json

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okl_flow.events import Event, Reject
from okl_flow.wire import Columns, Csv, Decoder, Hashing, Json, Libsvm, Names, Raw
from tests.wire.plain import one, plain


def decoders():
    """One of every kind."""
    names = Names(["a", "b", "c"], categories={"b": ["x", "y"]})
    columns = ["k", "i", "t", "l", "y", "a", "b"]
    row = Csv(columns, key="k", id="i", time="t", label="l", type="y")
    return [
        Decoder("json", Columns(2)),
        Decoder(Json(unknown="refuse"), names, labels=["x", "y", "z"]),
        Decoder("json", Hashing(7), key="all", labels=[0, 1]),
        Decoder("msgpack", Columns(2), labels=[False, True]),
        Decoder("msgpack", names),
        Decoder("msgpack", Hashing(3)),
        Decoder("libsvm", Columns(2), labels=["x", "1"]),
        Decoder(Libsvm(comment="id"), Columns(2)),
        Decoder(row),
        Decoder(row, Hashing(3)),
        Decoder(row, Names(["b", "a"], categories={"b": ["x", "y"]})),
    ]


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    st.sampled_from(["x", "y", "", "ä", "nan", "2026-01-31T12:00:00Z", "a" * 1025]),
    st.text(max_size=3),
)
names = st.sampled_from(["a", "b", "c", "d", "indices", "values", "dim", "a.b", "[0]"])
features = st.one_of(
    st.lists(st.floats() | scalars, min_size=1, max_size=3),
    st.fixed_dictionaries({"a": st.floats(), "b": st.sampled_from(["x", "y"])}),
    st.dictionaries(names, scalars | st.lists(scalars, max_size=2), max_size=3),
    st.builds(
        lambda pairs: {"indices": [i for i, _ in pairs], "values": [v for _, v in pairs]},
        st.lists(st.tuples(st.integers(-1, 2), st.floats() | st.none()), max_size=3),
    ),
    scalars,
)
objects = st.fixed_dictionaries(
    {"key": st.sampled_from(["ann", "bob"]) | scalars},
    optional={
        "id": scalars,
        "time": st.integers(0, 10**12) | scalars,
        "features": features,
        "label": scalars,
        "type": st.sampled_from(["event", "label", "forget", "x"]) | scalars,
        "more": scalars,
    },
)
lines = st.builds(
    lambda cells, separator: separator.join(cells).encode("utf-8", "surrogatepass"),
    st.lists(
        st.one_of(
            st.sampled_from(["1", "-1", "1:2", "2:0.5", "x", "y", "# e1", "nan", "inf", "", "1_0"]),
            st.sampled_from(['"x"', '"', '"a,b"', "label", "forget", "event", "1700000000000"]),
            st.text(max_size=3),
        ),
        max_size=8,
    ),
    st.sampled_from([",", " "]),
)
well_formed = st.one_of(
    objects.map(lambda record: json.dumps(record, ensure_ascii=False)),
    objects.map(json.dumps),
).map(lambda text: text.encode("utf-8", "surrogatepass"))


@st.composite
def mangled(draw):
    value = bytearray(draw(well_formed | objects.map(packed)))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(0, len(value) - 1)))
        value[at : at + draw(st.integers(0, 2))] = draw(st.binary(max_size=2))
    return bytes(value)


def packed(record):
    try:
        return msgspec.msgpack.encode(record)
    except UnicodeEncodeError:
        return b"\xc0"


raws = st.builds(
    Raw,
    st.one_of(
        st.none(), st.binary(max_size=30), well_formed, objects.map(packed), lines, mangled()
    ),
    st.none() | st.sampled_from([b"ann", b"\xff", b""]),
    st.just("t"),
    st.just(1),
    st.integers(0, 9),
    st.none() | st.just(5),
)


@pytest.mark.parametrize("which", range(len(decoders())))
@settings(deadline=None)
@given(batch=st.lists(raws, max_size=6))
def test_every_record_has_one_outcome_however_it_is_batched(which, batch):
    """Whatever the bytes: nothing raises, nothing is lost, and the neighbours do not matter."""
    decoder = decoders()[which]
    records, rejects = decoder(batch)
    alone = [decoder([raw]) for raw in batch]
    assert [len(events) + len(refused) for events, refused in alone] == [1] * len(batch)
    expected = [plain(event) for events, _ in alone for event in events]
    assert [plain(record) for record in records] == expected
    assert rejects == [reject for _, refused in alone for reject in refused]
    for record in records:
        assert 0 < len(record.key) <= 1024
        if isinstance(record, Event):
            assert not np.isinf(record.features).any()
            assert record.label is None or np.isfinite(record.label)
        record.key.encode()
    for reject in rejects:
        msgspec.json.encode(reject)


@settings(deadline=None)
@given(objects)
def test_json_and_messagepack_agree(record):
    """An object means the same in both, where JSON can say it at all."""
    try:
        text = msgspec.json.encode(record)
        octets = msgspec.msgpack.encode(record)
    except UnicodeEncodeError:
        return
    if b"null" in text:  # which is how JSON is told of NaN and infinity
        return
    for choice in (Columns(2), Names(["a", "b"], categories={"b": ["x"]}), Hashing(5)):
        by_json = one(Decoder("json", choice), Raw(text))
        by_messagepack = one(Decoder("msgpack", choice), Raw(octets))
        if isinstance(by_json, Reject):
            assert by_messagepack.reason == by_json.reason
            assert (by_messagepack.key, by_messagepack.id) == (by_json.key, by_json.id)
        else:
            assert plain(by_messagepack) == plain(by_json)
