"""Records in Avro, bare and in the Confluent wire format."""

import json
import re
import subprocess
import sys
from decimal import Decimal
from io import BytesIO

import fastavro
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import okl_flow.wire
from okl_flow.events import Cause, Event, Forget, Label, Reason, Reject
from okl_flow.wire import (
    Avro,
    Columns,
    Confluent,
    Decoder,
    Hashing,
    Names,
    Raw,
    RegistryError,
    SchemaRegistry,
)
from tests.wire.plain import one, plain
from tests.wire.registry import serving

MILLIS = {"type": "long", "logicalType": "timestamp-millis"}


def record(**fields):
    """A schema; a pair is a type with a default."""
    declared = [
        {"name": name, "type": kind[0], "default": kind[1]}
        if isinstance(kind, tuple)
        else {"name": name, "type": kind}
        for name, kind in fields.items()
    ]
    return {"type": "record", "name": "Record", "namespace": "shop", "fields": declared}


def optional(kind):
    return ["null", kind], None


FULL = record(
    type=({"type": "enum", "name": "Kind", "symbols": ["event", "label", "forget"]}, "event"),
    key="string",
    id=optional("string"),
    time=optional(MILLIS),
    features=optional({"type": "array", "items": ["null", "double"]}),
    label=optional("double"),
)


def written(schema, value):
    stream = BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return stream.getvalue()


def decoded(schema, value, features=None, **options):
    """What becomes of a record, bare."""
    decoder = Decoder(Avro(schema), features or Columns(2), **options)
    return one(decoder, Raw(written(schema, value), b"by kafka", "t", 1, 2, 9))


def framed(id, octets):
    return b"\0" + id.to_bytes(4, "big") + octets


def confluent(registry, features=None, **options):
    settings = SchemaRegistry(registry.url, patience=0.0)
    return Decoder(Confluent(settings), features or Columns(2), **options)


def test_an_event_with_everything():
    event = decoded(FULL, {"key": "ann", "id": "e1", "time": 5, "features": [1, None], "label": 1})
    assert type(event) is Event
    assert (event.key, event.id, event.time, event.label) == ("ann", "e1", 5, 1.0)
    assert event.cause == Cause("t", 1, 2)
    np.testing.assert_array_equal(event.features, [1.0, np.nan])


def test_what_is_null_or_no_field_is_not_there():
    event = decoded(FULL, {"key": "ann", "features": [1, 2]})
    assert (event.id, event.time, event.label) == (None, 9, None)
    event = decoded(record(features={"type": "array", "items": "float"}), {"features": [0.5, 2]})
    assert (event.key, event.id, event.time, event.label) == ("by kafka", None, 9, None)
    assert event.features.tolist() == [0.5, 2.0]


def test_a_label_and_a_wish_to_forget():
    label = decoded(FULL, {"type": "label", "key": "ann", "id": "e1", "label": -1.0})
    assert label == Label("ann", "e1", -1.0, Cause("t", 1, 2), 9)
    assert decoded(FULL, {"type": "forget", "key": "ann"}) == Forget("ann", Cause("t", 1, 2), 9)
    decoder = Decoder(Avro(FULL), Columns(2))
    assert one(decoder, Raw(None, b"ann", "t", 1, 2)) == Forget("ann", Cause("t", 1, 2))


ARRAY = {"type": "array", "items": "double"}


@pytest.mark.parametrize(
    ("kind", "key", "expected"),
    [
        ("string", "jürgen", "jürgen"),
        ("int", 7, "7"),
        ("long", -(2**63), str(-(2**63))),
        ({"type": "enum", "name": "User", "symbols": ["ann", "bob"]}, "bob", "bob"),
        ({"type": "string", "logicalType": "uuid"}, "not-one", "not-one"),
        (["null", "long", "string"], "7", "7"),
        (["null", "long", "string"], None, "by kafka"),
    ],
)
def test_keys_of_many_types(kind, key, expected):
    schema = record(key=kind, features=ARRAY)
    # The writer would turn a uuid to text itself.
    plain_text = record(key="string", features=ARRAY)
    as_text = isinstance(kind, dict) and "logicalType" in kind
    octets = written(plain_text if as_text else schema, {"key": key, "features": [1, 2]})
    decoder = Decoder(Avro(schema), Columns(2))
    assert one(decoder, Raw(octets, b"by kafka")).key == expected


@pytest.mark.parametrize(
    ("kind", "time", "expected"),
    [
        (MILLIS, 1769860800000, 1769860800000),
        ("long", 5, 5),
        ("string", "1970-01-01T00:00:01Z", 1000),
        ({"type": "long", "logicalType": "timestamp-micros"}, -1, -1),
        (["null", {"type": "long", "logicalType": "timestamp-micros"}], 1999, 1),
        ({"type": "long", "logicalType": "timestamp-nanos"}, 5_999_999, 5),
        (["null", MILLIS], None, 9),
    ],
)
def test_times_of_many_types(kind, time, expected):
    assert decoded(record(time=kind, features=ARRAY), {"time": time, "features": [1, 2]}).time == (
        expected
    )


def test_a_time_beyond_all_years_is_refused_alone():
    rejected = decoded(record(time=MILLIS, features=ARRAY), {"time": 2**62, "features": [1, 2]})
    assert (rejected.reason, rejected.key) == (Reason.MALFORMED, "by kafka")
    assert rejected.message.startswith("time: expected milliseconds since 1970")


NAMED = {
    "type": "record",
    "name": "Features",
    "fields": [
        {"name": "age", "type": ["null", "int"]},
        {"name": "country", "type": {"type": "enum", "name": "C", "symbols": ["de", "fr"]}},
        {"name": "member", "type": "boolean"},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        },
        {"name": "at", "type": MILLIS},
    ],
}
VALUES = {"age": None, "country": "fr", "member": True, "price": Decimal("9.99"), "at": 2**62}


def test_a_record_of_named_features():
    names = Names(["price", "age", "country", "member", "at"], categories={"country": ["de", "fr"]})
    event = decoded(record(features=NAMED), {"features": VALUES}, names)
    np.testing.assert_array_equal(event.features, [9.99, np.nan, 0, 1, 1, 2.0**62])
    few = Names(["age", "member"], unknown="ignore")
    event = decoded(record(features=NAMED), {"features": VALUES}, few)
    np.testing.assert_array_equal(event.features, [np.nan, 1])
    refused = decoded(record(features=NAMED), {"features": VALUES}, Names(["age", "members"]))
    assert refused.reason == Reason.FEATURES
    assert "expected no member of this name" in refused.message


def test_features_mean_what_they_mean_in_json():
    values = {**VALUES, "price": 9.5, "at": 3, "age": 37}
    for choice in (
        Hashing(16),
        Names(["age", "country", "at"], categories={"country": ["fr"]}, unknown="ignore"),
    ):
        by_json = one(
            Decoder("json", choice), Raw(json.dumps({"key": "a", "features": values}).encode())
        )
        by_avro = decoded(
            record(features=NAMED), {"features": {**values, "price": Decimal("9.5")}}, choice
        )
        assert by_avro.features.tolist() == by_json.features.tolist()


def test_features_of_other_shapes():
    a_map = record(features={"type": "map", "values": ["null", "double", "string"]})
    event = decoded(a_map, {"features": {"a": 1.5, "b": None}}, Names(["b", "a"]))
    np.testing.assert_array_equal(event.features, [np.nan, 1.5])
    sparse = {
        "type": "record",
        "name": "Sparse",
        "fields": [
            {"name": "indices", "type": {"type": "array", "items": "int"}},
            {"name": "values", "type": {"type": "array", "items": "float"}},
        ],
    }
    given = {"features": {"indices": [0, 2], "values": [1.5, -1]}}
    assert decoded(record(features=sparse), given, Columns(3)).features.tolist() == [1.5, 0.0, -1.0]


def test_labels_by_name():
    schema = record(features=ARRAY, label={"type": "enum", "name": "L", "symbols": ["ham", "spam"]})
    event = decoded(schema, {"features": [1, 2], "label": "spam"}, labels=("ham", "spam"))
    assert event.label == 1.0
    truth = record(features=ARRAY, label="boolean")
    assert decoded(truth, {"features": [1, 2], "label": False}).label == -1.0
    whole = record(features=ARRAY, label="int")
    assert decoded(whole, {"features": [1, 2], "label": 0}, labels=(0, 1)).label == -1.0


@pytest.mark.parametrize(
    ("schema", "value", "reason", "message"),
    [
        (record(features=ARRAY), {"features": [1]}, "features", "features: expected 2 numbers, fo"),
        (
            record(features=ARRAY),
            {"features": [1, np.inf]},
            "features",
            "features: expected finite",
        ),
        (record(label="double"), {"label": 1}, "features", "features: expected some, found none;"),
        (
            record(features={"type": "array", "items": "string"}),
            {"features": ["1", "x"]},
            "features",
            "features[0]: expected a number or null, found '1'",
        ),
        (record(features="bytes"), {"features": b"x"}, "features", "features: expected a list of "),
        (
            record(key="bytes", features=ARRAY),
            {"key": b"x", "features": [1, 2]},
            "key",
            "key: expected a text of 1 to 1024 characters, or a whole number, found",
        ),
        (
            record(time="double", features=ARRAY),
            {"time": 0.5, "features": [1, 2]},
            "malformed",
            "time: expected milliseconds since 1970",
        ),
        (
            record(type="string", features=ARRAY),
            {"type": "Event", "features": [1, 2]},
            "malformed",
            "type: expected 'event', 'label' or 'forget', found 'Event'",
        ),
        ({"type": "string"}, "hello", "malformed", "expected an object, found 'hello'"),
        (["null", "string"], None, "malformed", "expected an object, found null"),
    ],
)
def test_what_is_rejected(schema, value, reason, message):
    rejected = decoded(schema, value)
    assert (rejected.reason, rejected.original) == (reason, written(schema, value))
    assert rejected.message.startswith(message)


def test_a_reject_says_whose_it_is():
    schema = record(key="long", id="string", features=ARRAY, label="string")
    rejected = decoded(schema, {"key": 7, "id": "e1", "features": [1, 2], "label": "x"})
    assert (rejected.reason, rejected.key, rejected.id) == (Reason.LABEL, "7", "e1")
    schema = record(key="long", id="string", features="string")
    rejected = decoded(schema, {"key": 7, "id": "e1", "features": "x"})
    assert (rejected.reason, rejected.key, rejected.id) == (Reason.FEATURES, "7", "e1")


@pytest.mark.parametrize(
    ("octets", "detail"),
    [
        (b"", "they end too soon"),
        (b"\x06ann", "they end too soon"),
        (b"\x02a\x02\x02\0\0\0", "they end too soon"),  # within a number
        (b"\x02\xff\x00", "codec can't decode"),
        (b"\x02a\x00\x01", "1 bytes are left after it"),
    ],
)
def test_bytes_that_are_no_record(octets, detail):
    schema = record(key="string", features=optional(ARRAY))
    rejected = one(Decoder(Avro(schema), Columns(2)), Raw(octets, b"ann"))
    assert (rejected.reason, rejected.key, rejected.original) == (Reason.MALFORMED, "ann", octets)
    expected = f"expected a record of the schema, found {len(octets)} bytes that are none: "
    assert rejected.message.startswith(expected)
    assert re.search(detail, rejected.message)


NODE = record(features=ARRAY, next=["null", "Record"])
NOTHING = record(features=ARRAY, more={"type": "array", "items": "null"})
EMPTY = {"type": "record", "name": "E", "fields": []}
UNSAFE = [
    (NODE, "shop.Record has itself within it"),
    (NOTHING, "a list in it has items that take no bytes"),
    (record(features={"type": "array", "items": EMPTY}), "a list in it has items that take no"),
    (record(time="long", x={"type": "map", "values": NODE}), "redefined|has itself within it"),
]


@pytest.mark.parametrize(("schema", "message"), UNSAFE)
def test_schemas_that_a_few_bytes_could_kill_us_with_are_not_read(schema, message, registry):
    with pytest.raises(ValueError, match=f"Avro: schema must be one of .*({message})"):
        Decoder(Avro(schema), Columns(2))
    id = registry.add(schema)
    rejected = one(confluent(registry), Raw(framed(id, b"\x02" * 300_000), b"ann"))
    assert rejected.reason == Reason.MALFORMED
    assert re.search(f"expected a schema of records, .*({message})", rejected.message)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("nowhere.avsc", "Avro: schema must be a file with a schema: .*No such file"),
        ({"type": "nonsense"}, "Avro: schema must be one of records in Avro: UnknownType"),
        (
            record(time={"type": "long", "logicalType": "local-timestamp-millis"}),
            "the field time is a local-timestamp-millis, and must be one of timestamp-millis",
        ),
    ],
)
def test_what_is_no_schema(schema, message):
    with pytest.raises(ValueError, match=message):
        Decoder(Avro(schema), Columns(2))


def test_units_of_time_that_differ_are_refused():
    micros = {"type": "long", "logicalType": "timestamp-micros"}
    other = {**record(time=MILLIS), "name": "Other"}
    with pytest.raises(ValueError, match="the field time has one unit in one record and another"):
        Decoder(Avro([record(time=micros), other]), Columns(2))
    both = [record(time=micros, features=ARRAY), {**record(x="long"), "name": "Other"}]
    value = written(both, ("shop.Record", {"time": 5000, "features": [1, 2]}))
    assert one(Decoder(Avro(both), Columns(2), key="a"), Raw(value)).time == 5


def test_a_schema_in_a_file(tmp_path):
    path = tmp_path / "event.avsc"
    path.write_text(json.dumps(FULL))
    raw = Raw(written(FULL, {"key": "ann", "features": [1, 2]}))
    for schema in (path, str(path)):
        assert one(Decoder(Avro(schema), Columns(2)), raw).key == "ann"


def test_a_decoder_needs_features_and_a_registry():
    with pytest.raises(ValueError, match="features must be Columns, .* for the format Avro, not N"):
        Decoder(Avro(FULL))
    with pytest.raises(ValueError, match="for the format Confluent, not None"):
        Decoder(Confluent(SchemaRegistry("http://r")))
    with pytest.raises(ValueError, match="Confluent: key must be one of text, avro, not 'json'"):
        Confluent(SchemaRegistry("http://r"), key="json")
    with pytest.raises(ValueError, match="Confluent: registry must be a SchemaRegistry, not 'http"):
        Confluent("http://r")


def test_each_record_is_read_under_the_schema_that_it_was_written_under(registry):
    older = record(key="string", features=ARRAY)
    a_label = {**record(type="string", key="string", id="long", label="int"), "name": "Label"}
    ids = [registry.add(schema) for schema in (older, FULL, a_label)]
    values = [
        framed(ids[0], written(older, {"key": "ann", "features": [1, 2]})),
        framed(ids[1], written(FULL, {"key": "bob", "id": "e1", "features": [3, None]})),
        framed(ids[2], written(a_label, {"type": "label", "key": "bob", "id": 1, "label": 1})),
        None,
    ] * 3
    decoder = confluent(registry)
    records, rejects = decoder([Raw(v, b"k", "t", 0, i) for i, v in enumerate(values)])
    assert rejects == []
    assert [type(record) for record in records] == [Event, Event, Label, Forget] * 3
    assert [record.key for record in records] == ["ann", "bob", "bob", "k"] * 3
    assert len(registry.asked) == 3


def test_a_schema_that_refers_to_others(registry):
    registry.add({**NAMED, "namespace": "parts"}, "parts-value")
    references = [{"name": "parts.Features", "subject": "parts-value", "version": 1}]
    of_both = [{"type": "null"}, {**record(features="parts.Features"), "name": "Both"}]
    registry.add(NAMED, "bare-value")
    bare = [{"name": "Features", "subject": "bare-value", "version": 1}]
    plain_names = {
        "type": "record",
        "name": "Bare",
        "fields": record(features="Features")["fields"],
    }
    id = registry.add(plain_names, references=bare)
    decoder = confluent(registry, Names(["age", "member"], unknown="ignore"), key="a")
    octets = written(NAMED, VALUES)
    assert one(decoder, Raw(framed(id, octets))).features[1] == 1.0
    for schema in (record(features="parts.Features"), of_both):
        id = registry.add(schema, references=references)
        inner = written(NAMED, VALUES)
        octets = inner if isinstance(schema, dict) else b"\x02" + inner
        decoder = confluent(registry, Names(["age", "member"], unknown="ignore"), key="a")
        event = one(decoder, Raw(framed(id, octets)))
        np.testing.assert_array_equal(event.features, [np.nan, 1.0])


@pytest.mark.parametrize("value", [b"", b"\0", b"\0\0\0\0", b"\1\0\0\0\1rest", b'{"key": "a"}'])
def test_what_has_no_id_of_a_schema(registry, value):
    rejected = one(confluent(registry), Raw(value, b"ann"))
    assert (rejected.reason, rejected.key, rejected.original) == (Reason.MALFORMED, "ann", value)
    assert rejected.message.startswith("expected a byte 0, the id of a schema in 4 bytes, and a ")
    assert registry.asked == []


def test_an_unknown_id_is_the_fault_of_the_record(registry):
    good = registry.add(FULL)
    octets = written(FULL, {"key": "ann", "features": [1, 2]})
    values = [framed(good, octets), framed(77, octets), framed(2**32 - 1, octets)] * 5
    records, rejects = confluent(registry)([Raw(value) for value in values])
    assert len(records) == 5
    assert len(rejects) == 10
    unknown = "expected the id of a schema in the registry, found 77, which it does not know"
    assert rejects[0].message == unknown
    assert len(registry.asked) == 2


def test_keys_of_kafka_in_avro(registry):
    a_text, a_record = {"type": "string"}, record(id="long")
    texts, records = registry.add(a_text, "t-key"), registry.add(a_record, "t-key")
    two = record(id="long", x="long")
    pairs = registry.add(two, "t-key")
    decoder = Decoder(Confluent(SchemaRegistry(registry.url), key="avro"), Columns(2))
    keys = [
        framed(texts, written(a_text, "ann")),
        framed(records, written(a_record, {"id": 7})),
        framed(pairs, written(two, {"id": 7, "x": 8})),
        framed(texts, written(a_text, "")),
        framed(99, b"x"),
        b"ann",
    ]
    forgets, rejects = decoder([Raw(None, key) for key in keys])
    assert [forget.key for forget in forgets] == ["ann", "7"]
    assert [reject.reason for reject in rejects] == [Reason.KEY] * 4
    assert [reject.message.partition(", found")[0] for reject in rejects] == [
        "key: expected a text of 1 to 1024 characters, or a whole number",
        "key: expected a text of 1 to 1024 characters, or a whole number",
        "key: expected the id of a schema in the registry",
        "key: expected a byte 0, the id of a schema in 4 bytes, and a record in Avro",
    ]
    event = one(
        decoder,
        Raw(framed(registry.add(FULL), written(FULL, {"key": "bob", "features": [1, 2]})), b"x"),
    )
    assert event.key == "bob"


def test_schemas_that_are_not_in_avro(registry):
    id = registry.add('syntax = "proto3";', schemaType="PROTOBUF")
    rejected = one(confluent(registry), Raw(framed(id, b"x"), b"ann"))
    assert rejected.message == f"expected a schema in Avro, found PROTOBUF, of the id {id}"
    broken = registry.add("no JSON")
    rejected = one(confluent(registry), Raw(framed(broken, b"x"), b"ann"))
    assert rejected.message.startswith("expected a schema of records, found that of the id ")


def test_a_registry_in_trouble_is_not_the_fault_of_the_record(registry):
    id = registry.add(FULL)
    decoder = confluent(registry)
    raw = Raw(framed(id, written(FULL, {"key": "ann", "features": [1, 2]})))
    registry.faults = [(500, b"")]
    with pytest.raises(RegistryError, match="has not served us for 0 s, at last: .*status 500"):
        decoder([raw])
    assert one(decoder, raw).key == "ann"
    registry.faults = [(500, b"")]
    assert one(decoder, raw).key == "ann"  # under a schema that is known by now


floats = st.floats(allow_infinity=False)
texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)
records = st.fixed_dictionaries(
    {
        "key": texts,
        "id": st.none() | texts,
        "time": st.none() | st.integers(-(10**12), 10**12),
        "features": st.lists(st.none() | floats, min_size=2, max_size=2),
        "label": st.none() | st.floats(allow_nan=False, allow_infinity=False),
    }
)


@settings(deadline=None)
@given(st.lists(records, max_size=4))
def test_events_come_back_as_they_were_written(given):
    decoder = Decoder(Avro(FULL), Columns(2))
    events, rejects = decoder([Raw(written(FULL, one)) for one in given])
    assert rejects == []
    for event, was in zip(events, given, strict=True):
        assert (event.key, event.id, event.time) == (was["key"], was["id"], was["time"])
        assert event.label == was["label"]
        expected = [np.nan if one is None else one for one in was["features"]]
        np.testing.assert_array_equal(event.features, expected)


@pytest.fixture(scope="module")
def served():
    """A decoder of a registry with some schemas."""
    with serving() as registry:
        for schema in (FULL, record(features=NAMED), [FULL, "null"]):
            registry.add(schema)
        yield confluent(registry), confluent(registry, Hashing(3), key="all")


@st.composite
def octets(draw):
    value = bytearray(written(FULL, draw(records)))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(value)))
        value[at : at + draw(st.integers(0, 2))] = draw(st.binary(max_size=2))
    return framed(draw(st.integers(0, 4)), bytes(value))


@settings(deadline=None)
@given(batch=st.lists(st.none() | octets() | st.binary(max_size=9), max_size=5))
def test_every_record_has_one_outcome_however_it_is_batched(served, batch):
    raws = [Raw(value, b"k", "t", 0, at) for at, value in enumerate(batch)]
    for decoder in served:
        records, rejects = decoder(raws)
        alone = [one(decoder, raw) for raw in raws]
        known = [outcome for outcome in alone if not isinstance(outcome, Reject)]
        assert list(map(plain, records)) == list(map(plain, known))
        assert rejects == [outcome for outcome in alone if isinstance(outcome, Reject)]


def test_what_avro_needs_is_imported_when_it_is_asked_for():
    code = (
        "import sys; sys.modules['fastavro'] = None\n"
        "import okl_flow.wire, okl_flow.operators.decode, okl_flow.operators.encode\n"
        "try: from okl_flow.wire import Avro\n"
        "except ModuleNotFoundError as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    expected = "okl_flow.wire.Avro needs fastavro, which is not installed: pip install 'okl-flow["
    assert said.stdout.startswith(expected)


def test_every_name_is_there():
    assert okl_flow.wire.__all__ == sorted(okl_flow.wire.__all__)
    for name in okl_flow.wire.__all__:
        assert getattr(okl_flow.wire, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Protobuf'"):
        _ = okl_flow.wire.Protobuf
