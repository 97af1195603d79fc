"""Records that go out in Avro, and back."""

import json
import math
from io import BytesIO
from pathlib import Path

import fastavro
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okl_flow.events import Cause, Reason, Reject
from okl_flow.wire import (
    AvroWriter,
    ConfluentWriter,
    Encoder,
    RegistryError,
    SchemaRegistry,
    decode_outgoing,
)
from okl_flow.wire.avro_records import KINDS, avro_schema
from tests.wire.registry import incompatible
from tests.wire.test_outgoing import ALARM, CAUSE, PREDICTION, REJECT, REPORT, predictions

RECORDS = [PREDICTION, REPORT, ALARM, REJECT]
GOLDEN = Path(__file__).parent / "golden.avsc"


def writer(registry, **options):
    settings = SchemaRegistry(registry.url, patience=0.0)
    return ConfluentWriter(settings, **{"topic": "out", **options})


@pytest.fixture(params=["bare", "confluent"])
def format(request, registry):
    return AvroWriter() if request.param == "bare" else writer(registry)


def test_every_record_comes_back(format):
    values = [encoded.value for encoded in Encoder(format)(RECORDS)]
    assert [decode_outgoing(value, format) for value in values] == RECORDS


def test_whoever_has_the_schema_can_read_them():
    schema = fastavro.parse_schema(avro_schema(list(KINDS)))
    value = Encoder(AvroWriter())([PREDICTION])[0].value
    stream = BytesIO(value)
    record = fastavro.schemaless_reader(stream, schema, None)
    assert stream.read() == b""
    assert (record["key"], record["score"], record["cause"]["offset"]) == ("ann", 0.1, 17)
    assert record["time"].timestamp() == 0.005


def test_a_schema_is_registered_for_the_topic(registry):
    format = writer(registry, topic="predictions", records=["prediction"])
    encoder = Encoder(format)
    assert list(registry.subjects) == ["predictions-value"]
    encoded = encoder([PREDICTION] * 3)
    [id] = registry.subjects["predictions-value"]
    assert json.loads(registry.schemas[id]["schema"])["name"] == "Prediction"
    assert {one.value[:5] for one in encoded} == {b"\0" + id.to_bytes(4, "big")}
    assert [one.key for one in encoded] == [b"ann"] * 3
    assert len(registry.asked) == 1
    assert decode_outgoing(encoded[0].value, writer(registry)) == PREDICTION


def test_a_record_that_the_topic_is_not_for_has_a_subject_of_its_own(registry):
    format = writer(registry, records=["prediction"])
    bad = msgspec.structs.replace(PREDICTION, seen=2**70)
    encoded = Encoder(format)([PREDICTION, bad, REPORT, bad])
    back = [decode_outgoing(one.value, format) for one in encoded]
    assert back[0] == PREDICTION
    assert (back[1].reason, back[1].cause) == (Reason.UNWRITABLE, CAUSE)
    assert back[1] == back[3]
    assert back[2] == REPORT
    assert list(registry.subjects) == ["out-value", "out-okl_flow.Reject", "out-okl_flow.Report"]


@pytest.mark.parametrize(
    "record",
    [
        msgspec.structs.replace(PREDICTION, key="a\ud800"),
        msgspec.structs.replace(PREDICTION, score=object()),
        msgspec.structs.replace(PREDICTION, score="much"),
        msgspec.structs.replace(PREDICTION, seen=2**63),
        msgspec.structs.replace(PREDICTION, time=2**63),
        msgspec.structs.replace(PREDICTION, cause=Cause("\ud800", 3, 17)),
        msgspec.structs.replace(ALARM, values={"x": object()}),
        msgspec.structs.replace(REJECT, message="\ud800"),
        msgspec.structs.replace(REPORT, values={"\ud800": None}),
    ],
)
def test_what_cannot_be_written_is_rejected_in_its_place(record, format):
    encoded = Encoder(format)([REPORT, record, PREDICTION])
    before, reject, after = [decode_outgoing(one.value, format) for one in encoded]
    assert (before, after) == (REPORT, PREDICTION)
    assert reject.reason == Reason.UNWRITABLE
    kind = type(record).__name__.lower()
    assert reject.message.startswith(f"a {kind} cannot be written: ")


def test_numbers_are_as_they_are(format):
    odd = msgspec.structs.replace(PREDICTION, score=[math.nan, -math.inf], loss=math.inf)
    back = decode_outgoing(Encoder(format)([odd])[0].value, format)
    assert math.isnan(back.score[0])
    assert (back.score[1], back.loss) == (-math.inf, math.inf)
    given = msgspec.structs.replace(
        PREDICTION, score=np.array([0.5, 0.1]), predicted=np.float64(1.0), seen=np.int64(7)
    )
    expected = msgspec.structs.replace(PREDICTION, score=[0.5, 0.1])
    assert decode_outgoing(Encoder(format)([given])[0].value, format) == expected


@settings(deadline=None)
@given(st.lists(predictions, max_size=3))
def test_round_trips_are_exact(records):
    format = AvroWriter()
    records = [
        record
        for record in records
        if record.seen < 2**63
        and record.cause.offset < 2**63
        and (record.time is None or abs(record.time) < 2**63)
    ]
    back = [decode_outgoing(one.value, format) for one in Encoder(format)(records)]
    assert back == records
    assert [repr(record) for record in back] == [repr(record) for record in records]  # -0.0


def older(schema):
    """The schema as if fields with a default had not been there yet."""
    if isinstance(schema, list):
        return [older(one) for one in schema]
    fields = [field for field in schema["fields"] if field["name"] not in ("ordinal", "loss")]
    return {**schema, "fields": fields}


@pytest.mark.parametrize("kinds", [["reject"], list(KINDS)])
def test_a_schema_that_has_got_more_fields_follows_the_older_one(registry, kinds):
    before = older(avro_schema(kinds))
    id = registry.add(before, "out-value")
    format = writer(registry, records=kinds)
    encoded = Encoder(format)([REJECT])[0].value
    assert len(registry.subjects["out-value"]) == 2
    assert decode_outgoing(encoded, format) == REJECT
    fields = msgspec.to_builtins(REJECT, builtin_types=(bytes,))
    stream = BytesIO()
    value = fields if len(kinds) == 1 else ("okl_flow.Reject", fields)
    fastavro.schemaless_writer(stream, fastavro.parse_schema(before), value)
    old = b"\0" + id.to_bytes(4, "big") + stream.getvalue()
    assert decode_outgoing(old, format) == msgspec.structs.replace(REJECT, ordinal=0)


def test_what_is_not_compatible_stops_the_flow_when_it_is_built(registry):
    other = avro_schema(["reject"])
    other["fields"][1] = {"name": "message", "type": "long"}
    registry.add(other, "out-value")
    with pytest.raises(RegistryError, match="not compatible .* 'out-value': .*message has another"):
        Encoder(writer(registry, records=["reject"]))


def test_records_may_be_written_under_the_latest_schema(registry):
    with pytest.raises(RegistryError, match="no schema of the subject 'out-value'; register one,"):
        Encoder(writer(registry, register=False))
    latest = avro_schema(list(KINDS))
    latest[3]["fields"].append({"name": "region", "type": "string", "default": "eu"})
    id = registry.add(latest, "out-value")
    format = writer(registry, register=False)
    encoded = Encoder(format)(RECORDS)
    assert [decode_outgoing(one.value, format) for one in encoded] == RECORDS
    assert registry.subjects == {"out-value": [id]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda schema: schema[:3], "cannot hold our records: .*okl_flow.Reject"),
        (
            lambda schema: [
                *schema[:3],
                {**schema[3], "fields": [*schema[3]["fields"], {"name": "x", "type": "long"}]},
            ],
            "cannot hold our records: no value and no default for x",
        ),
        (
            lambda schema: json.loads(json.dumps(schema).replace("-millis", "-micros")),
            "cannot hold our records: the field time is not in milliseconds",
        ),
        (lambda _: "string", "cannot hold our records: "),
    ],
)
def test_a_latest_schema_that_does_not_fit_stops_the_flow_when_it_is_built(
    registry, change, message
):
    registry.add(json.dumps(change(avro_schema(list(KINDS)))), "out-value")
    with pytest.raises(RegistryError, match=message):
        Encoder(writer(registry, register=False))


def test_a_registry_in_trouble_stops_the_flow(registry):
    registry.faults = [(503, b"")]
    with pytest.raises(RegistryError, match="has not served us for 0 s, at last: "):
        Encoder(writer(registry))
    encoder = Encoder(writer(registry, records=["prediction"]))
    registry.faults = [(503, b"")]
    with pytest.raises(RegistryError, match="has not served us for 0 s, at last: "):
        encoder([REJECT])


@pytest.mark.parametrize("value", [b"", b"\x08", b"\0\0\0\0\1", b"{}", b"\0\0\0\0\7x"])
def test_what_is_no_record_of_ours(format, value):
    with pytest.raises(ValueError, match=r"\w"):
        decode_outgoing(value, format)


def test_a_record_of_somebody_else(registry):
    id = registry.add({"type": "record", "name": "Order", "fields": []})
    with pytest.raises(ValueError, match="expected one of okl_flow.Prediction, .* a record Order"):
        decode_outgoing(b"\0" + id.to_bytes(4, "big"), writer(registry))
    id = registry.add({"type": "string"})
    with pytest.raises(ValueError, match="expected one of okl_flow.Prediction, .* record string"):
        decode_outgoing(b"\0" + id.to_bytes(4, "big") + b"\2x", writer(registry))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topic": ""}, "ConfluentWriter: topic must be a name, not ''"),
        ({"records": []}, "records must be a list of some of prediction, report, alarm, reject"),
        ({"records": "reject"}, "records must be a list of some of .*, not 'reject'"),
        ({"records": ["rejct"]}, "no schema in Avro of 'rejct'; did you mean 'reject'"),
        ({"records": ["reject"] * 2}, "records must be a list of some of"),
        ({"register": "yes"}, "ConfluentWriter: register must be True or False, not 'yes'"),
        ({"registry": "http://r"}, "registry must be a SchemaRegistry, not 'http://r'"),
    ],
)
def test_what_a_writer_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        ConfluentWriter(**{"registry": SchemaRegistry("http://r"), "topic": "t", **options})


def test_the_schemas_follow_those_that_were_released():
    """A change that a registry would refuse is refused here first."""
    now, golden = avro_schema(list(KINDS)), json.loads(GOLDEN.read_text())
    assert incompatible(now, golden) is None
    assert incompatible(golden, now) is None
    now[3]["fields"].append({"name": "x", "type": "long"})
    assert incompatible(now, golden) == "Reject.x has no default"


def test_records_under_the_released_schema_come_back():
    schema = fastavro.parse_schema(
        {
            "type": "record",
            "name": "D",
            "fields": [{"name": "value", "type": json.loads(GOLDEN.read_text())}],
        }
    )
    for record in RECORDS:
        fields = msgspec.to_builtins(record, builtin_types=(bytes,))
        stream = BytesIO()
        name = f"okl_flow.{type(record).__name__}"
        fastavro.schemaless_writer(stream, schema, {"value": (name, fields)})
        assert decode_outgoing(stream.getvalue(), AvroWriter()) == record


def test_a_reject_has_all_reasons():
    for reason in Reason:
        reject = Reject(reason, "", CAUSE)
        value = Encoder(AvroWriter())([reject])[0].value
        assert decode_outgoing(value, AvroWriter()) == reject
