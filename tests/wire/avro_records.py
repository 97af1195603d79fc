"""Records in Avro, their schemas, and a decoder of a registry's."""

from decimal import Decimal
from io import BytesIO

import fastavro

from okl_flow.wire import Columns, Confluent, Decoder, SchemaRegistry

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


def framed(id, octets):
    return b"\0" + id.to_bytes(4, "big") + octets


def confluent(registry, features=None, **options):
    settings = SchemaRegistry(registry.url, patience=0.0)
    return Decoder(Confluent(settings), features or Columns(2), **options)


ARRAY = {"type": "array", "items": "double"}
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
