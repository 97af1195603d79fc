"""Records in Avro, bare and in the Confluent wire format."""

import json
import re
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest

import okl_flow.wire
from okl_flow.events import Cause, Event, Forget, Label, Reason
from okl_flow.wire import Avro, Columns, Confluent, Decoder, Hashing, Names, Raw, SchemaRegistry
from tests.wire.avro_records import (
    ARRAY,
    FULL,
    MILLIS,
    NAMED,
    VALUES,
    confluent,
    framed,
    optional,
    record,
    written,
)
from tests.wire.plain import one


def decoded(schema, value, features=None, **options):
    """What becomes of a record, bare."""
    decoder = Decoder(Avro(schema), features or Columns(2), **options)
    return one(decoder, Raw(written(schema, value), b"by kafka", "t", 1, 2, 9))


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
