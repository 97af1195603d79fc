"""JSON and MessagePack in, with everything that can be wrong with a record."""

import json

import msgspec
import numpy as np
import pytest

from okl_flow.events import Cause, Event, Forget, Label, Reason, Reject
from okl_flow.wire import Columns, Decoder, Json, MessagePack, Names, Raw
from okl_flow.wire.formats import milliseconds
from tests.wire.plain import one

NOON = 1769860800000
FULL = {"key": "ann", "id": "e1", "time": 5, "features": [1, -0.5], "label": 1}


@pytest.fixture(params=["json", "msgpack"])
def both(request):
    """Decode one object, written in either format."""
    encode = {"json": msgspec.json.encode, "msgpack": msgspec.msgpack.encode}[request.param]

    def decode(record, features=None, raw=None, **options):
        decoder = Decoder(request.param, features or Columns(2), **options)
        raw = raw or Raw(None, None, "events", 3, 17, 99)
        return one(decoder, msgspec.structs.replace(raw, value=encode(record)))

    return decode


def test_an_event_with_everything(both):
    event = both(FULL)
    assert type(event) is Event
    assert (event.key, event.id, event.time, event.label) == ("ann", "e1", 5, 1.0)
    assert type(event.label) is float
    assert event.cause == Cause("events", 3, 17)
    assert event.features.tolist() == [1.0, -0.5]
    assert event.features.flags.c_contiguous


def test_what_an_event_may_do_without(both):
    event = both({"key": "ann", "features": [1, None]})
    assert (event.id, event.time, event.label) == (None, 99, None)
    assert np.isnan(event.features[1])
    explicit = both({"key": "ann", "id": None, "time": None, "features": [1, 2], "label": None})
    assert (explicit.id, explicit.time, explicit.label) == (None, 99, None)


def test_a_label_and_a_wish_to_forget(both):
    label = both({"type": "label", "key": "ann", "id": "e1", "label": -1})
    assert label == Label("ann", "e1", -1.0, Cause("events", 3, 17), 99)
    forget = both({"type": "forget", "key": "ann", "time": 7})
    assert forget == Forget("ann", Cause("events", 3, 17), 7)


def test_a_tombstone_is_a_wish_to_forget():
    decoder = Decoder("json", Columns(2))
    assert one(decoder, Raw(None, b"ann", "t", 1, 2, 3)) == Forget("ann", Cause("t", 1, 2), 3)
    nobody = one(decoder, Raw(None, None, "t", 1, 2, 3))
    assert (nobody.reason, nobody.original) == (Reason.KEY, None)


def test_where_the_key_comes_from(both):
    keyed = Raw(b"", "jürgen".encode())
    unkeyed = {"features": [1, 2]}
    assert both({"key": "ann", **unkeyed}, raw=keyed, key="all").key == "ann"
    assert both(unkeyed, raw=keyed, key="all").key == "jürgen"
    assert both(unkeyed, key="all").key == "all"
    assert both(unkeyed).reason == Reason.KEY
    for key in (b"\xff", b"", b"a" * 1025):
        rejected = both({"id": "e1", **unkeyed}, raw=Raw(b"", key), key="all")
        assert (rejected.reason, rejected.key, rejected.id) == (Reason.KEY, None, "e1")


@pytest.mark.parametrize("number", [0, -7, 42, 2**63 - 1])
def test_whole_numbers_stand_for_their_digits(both, number):
    event = both({**FULL, "key": number, "id": number})
    assert (event.key, event.id) == (str(number), str(number))


def test_whole_numbers_of_json_have_an_end():
    decoder = Decoder("json", Columns(1))
    for digits, expected in ((1023, Event), (1024, Reject)):
        for member in ("key", "id"):
            record = {"key": "a", "features": [1], member: "#"}
            value = json.dumps(record).replace('"#"', "9" * digits).encode()
            assert type(one(decoder, Raw(value))) is expected


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("2026-01-31T12:00:00Z", NOON),
        ("2026-01-31T14:00:00.25+02:00", NOON + 250),
        ("2026-01-31 12:00:00.0019Z", NOON + 1),
        ("1969-12-31T23:59:59.9995Z", -1),
        (-62_135_596_800_000, -62_135_596_800_000),
        (253_402_300_799_999, 253_402_300_799_999),
    ],
)
def test_times(both, time, expected):
    assert both({**FULL, "time": time}).time == expected


@pytest.mark.parametrize(
    "time", ["2026-01-31T12:00:00", "2026-01-31", "noon", "", NOON * 10**3, -(10**14), 0.5, True]
)
def test_what_is_no_time(both, time):
    rejected = both({**FULL, "time": time})
    assert rejected.reason == Reason.MALFORMED
    assert rejected.message.startswith("time: expected milliseconds since 1970, or a text such as")
    assert (rejected.key, rejected.id) == ("ann", "e1")


def test_a_time_that_leaves_the_years_by_its_zone():
    assert milliseconds("0001-01-01T00:00:00+05:00").reason == Reason.MALFORMED


BAD = [
    ({"features": [1, 2, 3]}, "features", "features: expected 2 numbers, found 3"),
    ({"features": []}, "features", "features: expected 2 numbers, found 0"),
    ({"features": [1, "x"]}, "features", "features[1]: expected a number or null, found 'x'"),
    ({"features": [True, 1]}, "features", "features[0]: expected a number or null, found true"),
    (
        {"features": None},
        "features",
        "features: expected some, found none; a label on its own says",
    ),
    (
        {"features": 7},
        "features",
        "features: expected a list of 2 numbers, or an object with indices and v",
    ),
    ({"features": {"a": 1}}, "features", "features.a: expected no member of this name"),
    (
        {"features": {"indices": [0]}},
        "features",
        "features: expected a list of 2 numbers, or an object with indices and v",
    ),
    (
        {"key": True},
        "key",
        "key: expected a text of 1 to 1024 characters, or a whole number, found",
    ),
    ({"key": 1.5}, "key", "key: expected a text of 1 to 1024 characters, or a whole number, found"),
    (
        {"key": ""},
        "key",
        "key: expected a text of 1 to 1024 characters, or a whole number, found ''",
    ),
    ({"key": "k" * 1025}, "key", "key: expected a text of 1 to 1024 characters"),
    ({"id": []}, "malformed", "id: expected a text of 1 to 1024 characters, or a whole number, f"),
    ({"label": [1]}, "label", "label: expected a number, true, false, a text or null, found [1]"),
    ({"label": "spam"}, "label", "label: expected a finite number, found 'spam'; give labels=("),
    ({"type": "evnt"}, "malformed", "type: expected 'event', 'label' or 'forget', found 'evnt'"),
    ({"type": "label", "label": None}, "label", "label: expected a label, found none"),
    ({"type": "label", "id": None}, "malformed", "id: expected the id of the event that the label"),
]


@pytest.mark.parametrize(("changes", "reason", "message"), BAD)
def test_what_is_rejected(both, changes, reason, message):
    rejected = both({**FULL, **changes})
    assert type(rejected) is Reject
    assert rejected.reason == reason
    assert rejected.message.startswith(message)
    assert rejected.cause == Cause("events", 3, 17)
    assert rejected.original is not None
    assert rejected.key == (None if "key" in changes else "ann")
    assert rejected.id == (None if "id" in changes else "e1")


@pytest.mark.parametrize(
    ("value", "reason", "message"),
    [
        (b"", "malformed", "expected JSON, found '': input data was truncated"),
        (b'{"key":"a"', "malformed", 'expected JSON, found \'{"key":"a"\': input data was trunc'),
        (b"{]", "malformed", "expected JSON, found '{]': object keys must be strings (byte 1)"),
        (b"[1]", "malformed", "expected an object, found [1]"),
        (b"null", "malformed", "expected an object, found null"),
        (b"\xff", "malformed", r"expected JSON, found '\\xff': invalid character (byte 0)"),
        (b'{"key":"\xff"}', "malformed", "expected JSON, found"),
        (b'{"key":"\\ud800"}', "malformed", "expected JSON, found"),
        (b'{"key":"a","features":[1,1e999]}', "features", "features[1]: number out of range"),
        (
            b'{"key":"a","x":' + b"[" * 9999 + b"]" * 9999 + b"}",
            "malformed",
            "expected JSON, found",
        ),
        (b'{"key":"a","features":[1,2]} {}', "malformed", "expected JSON, found"),
    ],
)
def test_bytes_that_are_no_record(value, reason, message):
    rejected = one(Decoder("json", Columns(2)), Raw(value, b"by kafka", "t", 0, 1))
    assert (rejected.reason, rejected.original) == (reason, value)
    assert rejected.message.startswith(message)
    assert rejected.key == ("a" if reason == "features" else "by kafka")


def test_messagepack_that_is_no_record():
    decoder = Decoder("msgpack", Columns(1))
    for value in (b"", b"\xc1", b"\x80\x80", b"\x81\x01\x02", b"\x81\xa3key\xa1\xff", b"\x90"):
        rejected = one(decoder, Raw(value))
        assert (rejected.reason, rejected.original) == (Reason.MALFORMED, value)


def test_numbers_that_only_messagepack_has():
    decoder = Decoder("msgpack", Columns(2))

    def decoded(**changes):
        return one(decoder, Raw(msgspec.msgpack.encode({**FULL, **changes})))

    assert np.isnan(decoded(features=[np.nan, 1]).features[0])
    assert decoded(label=np.nan).label is None
    infinite = decoded(features=[1, np.inf])
    assert (infinite.reason, infinite.key) == (Reason.FEATURES, "ann")
    assert infinite.message == "features: expected finite numbers, found infinity in column 1"
    assert decoded(label=-np.inf).reason == Reason.LABEL
    assert decoded(type="label", label=np.nan).reason == Reason.LABEL


def test_further_members_are_ignored_or_refused_by_choice():
    value = json.dumps({**FULL, "lable": 1, "source": [{}]}).encode()
    assert type(one(Decoder("json", Columns(2)), Raw(value))) is Event
    rejected = one(Decoder(Json(unknown="refuse"), Columns(2)), Raw(value))
    assert rejected.reason == Reason.MALFORMED
    expected = "lable: expected no member of this name; did you mean 'label'?"
    assert rejected.message == expected
    packed = Raw(msgspec.msgpack.encode({**FULL, "lable": 1}))
    assert one(Decoder(MessagePack(unknown="refuse"), Columns(2)), packed).message == expected


def test_sparse_features(both):
    event = both({**FULL, "features": {"indices": [0, 3], "values": [1.5, None]}}, Columns(5))
    np.testing.assert_array_equal(event.features, [1.5, 0, 0, np.nan, 0])
    nothing = both({**FULL, "features": {"indices": [], "values": [], "dim": 5}}, Columns(5))
    assert nothing.features.tolist() == [0.0] * 5
    for features, place in (
        (
            {"indices": [0, 5], "values": [1, 2]},
            "features.indices[1]: expected an index from 1 to 4",
        ),
        ({"indices": [-1], "values": [1]}, "features.indices[0]: expected an index from 0 to 4"),
        ({"indices": [2, 2], "values": [1, 2]}, "features.indices[1]: expected an index from 3"),
        ({"indices": [2, 1], "values": [1, 2]}, "features.indices[1]: expected an index from 3"),
        ({"indices": [2], "values": [1, 2]}, "features.values: expected one for each of the 1"),
        ({"indices": [2], "values": [1], "dim": 4}, "features.dim: expected 5, found 4"),
        ({"indices": [2**63], "values": [1]}, "features.indices[0]: expected an index from 0 to 4"),
    ):
        rejected = both({**FULL, "features": features}, Columns(5))
        assert rejected.reason == Reason.FEATURES
        assert rejected.message.startswith(place)


def test_one_bad_record_does_no_harm_to_its_neighbours():
    good = [{**FULL, "id": f"e{i}", "features": [i, i]} for i in range(4)]
    bad = [{"features": [1]}, {"features": [1, 2]}, {**FULL, "label": "x"}, {**FULL, "time": ""}]
    values = [
        json.dumps(record).encode() for pair in zip(good, bad, strict=True) for record in pair
    ]
    values.insert(3, b"{")
    records, rejects = Decoder("json", Columns(2))(
        [Raw(v, None, "t", 0, i) for i, v in enumerate(values)]
    )
    assert [event.id for event in records] == ["e0", "e1", "e2", "e3"]
    assert [event.features.tolist() for event in records] == [[i, i] for i in range(4)]
    assert [event.cause.offset for event in records] == [0, 2, 5, 7]
    assert [reject.cause.offset for reject in rejects] == [1, 3, 4, 6, 8]
    assert [reject.reason.value for reject in rejects] == [
        "key", "malformed", "key", "label", "malformed",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"format": "jsn"}, "format must be one of 'json', .*not 'jsn'; did you mean 'json'"),
        ({"format": 7}, "format must be one of 'json', .*, or an object such as Csv, not 7"),
        ({}, "features must be Columns, Names or Hashing for the format json, not None"),
        ({"features": 8}, "features must be Columns, Names or Hashing, not 8"),
        ({"features": Columns(2), "key": ""}, "key must be a text of 1 to 1024 characters"),
        ({"features": Columns(2), "labels": ["a"]}, r"labels must be two or more .*\['a'\]"),
        ({"format": "libsvm", "features": Names(["a"])}, "features must be Columns for the fo"),
        ({"format": "libsvm"}, "features must be Columns for the format libsvm, not None"),
    ],
)  # fmt: skip
def test_what_a_decoder_cannot_be(arguments, message):
    with pytest.raises(ValueError, match=message):
        Decoder(**arguments)
