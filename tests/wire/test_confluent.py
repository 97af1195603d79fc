"""Records in the Confluent wire format, under the schemas of a registry."""

import numpy as np
import pytest

from okl_flow.events import Event, Forget, Label, Reason
from okl_flow.wire import Columns, Confluent, Decoder, Names, Raw, RegistryError, SchemaRegistry
from tests.wire.avro_records import ARRAY, FULL, NAMED, VALUES, confluent, framed, record, written
from tests.wire.plain import one


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
