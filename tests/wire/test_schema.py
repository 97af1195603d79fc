"""The schemas say what the decoders take and the encoders write."""

import json
import math

import msgspec
import pytest
from hypothesis import given, settings

from okl_flow.events import Event, Forget, Label, Reject
from okl_flow.wire import Columns, Decoder, Encoder, Hashing, Raw
from okl_flow.wire.schema import RECORDS, schema_of
from tests.wire.plain import one
from tests.wire.test_decoder import FULL
from tests.wire.test_decoder_outcomes import objects
from tests.wire.test_outgoing import ALARM, PREDICTION, REJECT, REPORT

TYPES = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
    "array": list,
    "object": dict,
}
KNOWN = {
    *("type", "const", "enum", "anyOf", "$ref", "$defs", "$schema", "properties", "required"),
    *("additionalProperties", "items", "minLength", "maxLength", "minimum", "maximum"),
    *("title", "description", "default", "format", "contentEncoding"),
}


def fits(value, schema, root):
    """Whether a value is of a schema, in as much of the language as ours use."""
    assert set(schema) <= KNOWN, f"the test does not know {set(schema) - KNOWN}"
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        return fits(value, root["$defs"][name], root)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(is_of(value, kind) for kind in kinds):
        return False
    return all(
        (
            "const" not in schema or value == schema["const"],
            "enum" not in schema or value in schema["enum"],
            "anyOf" not in schema or any(fits(value, one, root) for one in schema["anyOf"]),
            not isinstance(value, dict) or members_fit(value, schema, root),
            not isinstance(value, list)
            or all(fits(element, schema.get("items", {}), root) for element in value),
            not isinstance(value, str)
            or schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", math.inf),
            not isinstance(value, (int, float))
            or schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf),
        )
    )


def is_of(value, kind):
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, TYPES[kind])


def members_fit(value, schema, root):
    properties = schema.get("properties", {})
    more = schema.get("additionalProperties", True)
    return set(schema.get("required", ())) <= set(value) and all(
        fits(member, properties[name], root)
        if name in properties
        else (more if isinstance(more, bool) else fits(member, more, root))
        for name, member in value.items()
    )


@pytest.mark.parametrize("name", [*RECORDS, "all"])
def test_schemas_are_whole(name):
    schema = schema_of(name)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    text = json.dumps(schema)
    for reference in text.split('"$ref": "')[1:]:
        path = reference.partition('"')[0]
        assert path.removeprefix("#/$defs/") in schema["$defs"]
    if name == "all":
        assert set(RECORDS) <= set(schema["$defs"])


@pytest.mark.parametrize("record", [PREDICTION, REPORT, ALARM, REJECT])
def test_what_is_written_fits_its_schema_and_no_other(record):
    own = type(record).__name__.lower()
    written = json.loads(Encoder()([record])[0].value)
    assert [name for name in RECORDS if fits(written, schema_of(name), schema_of(name))] == [own]
    assert fits(written, schema_of("all"), schema_of("all"))
    schema = schema_of(own)
    assert list(schema["properties"]) == list(written) == schema["required"]
    for name in written:
        assert not fits({**written, name: {"odd": []}}, schema, schema), name
        assert not fits({k: v for k, v in written.items() if k != name}, schema, schema), name


def test_what_is_not_finite_fits_its_schema():
    schema = schema_of("prediction")
    for score in (math.nan, [0.5, math.inf]):
        odd = msgspec.structs.replace(PREDICTION, score=score, predicted=math.nan)
        assert fits(json.loads(Encoder()([odd])[0].value), schema, schema)


@settings(deadline=None)
@given(objects)
def test_what_is_decoded_fits_its_schema(record):
    """And what does not fit is rejected, whatever the features are configured to be."""
    try:
        value = msgspec.json.encode(record)
    except UnicodeEncodeError:
        return
    schemas = {name: schema_of(name) for name in ("event", "label", "forget")}
    written = json.loads(value)
    for choice in (Columns(2), Hashing(4)):
        outcome = one(Decoder("json", choice, labels=["x", "y", "ä"]), Raw(value, b"k"))
        name = type(outcome).__name__.lower()
        if isinstance(outcome, Event | Label | Forget):
            # An event need not say that it is one.
            known = {m: v for m, v in written.items() if m in schemas[name]["properties"]}
            assert fits(known, schemas[name], schemas[name])


def test_what_fits_is_decoded():
    for record in (
        FULL,
        {"features": [None, 1], "label": None, "key": 7, "time": "2026-01-31T12:00:00Z"},
        {"features": {"indices": [1], "values": [2.5]}, "label": True, "type": "event"},
        {"type": "label", "key": "a", "id": 5, "label": -1, "more": "x"},
        {"type": "forget", "key": "a"},
    ):
        schema = schema_of(record.get("type", "event"))
        assert fits(record, schema, schema)
        outcome = one(Decoder("json", Columns(2)), Raw(json.dumps(record).encode(), b"k"))
        assert not isinstance(outcome, Reject)
    schema = schema_of("label")
    assert not fits({"type": "label", "key": "a", "id": 5, "label": None}, schema, schema)


def test_an_unknown_record_is_refused():
    with pytest.raises(
        ValueError, match="there is no record 'evnt'; did you mean 'event'.; known:"
    ):
        schema_of("evnt")
