"""The schemas in Avro of what goes out, as the records themselves have their fields.

A schema that a new version derives reads what the older ones have written: a field that is
added has a default, and none changes its type or goes.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import inspect

from okl_flow.events import Alarm, Prediction, Reject, Report
from okl_flow.parameters import nearest

__all__ = ["KINDS", "avro_schema", "full_name"]

KINDS: dict[str, type] = {
    "prediction": Prediction,
    "report": Report,
    "alarm": Alarm,
    "reject": Reject,
}
"""What goes out, by the words for it."""

_SPACE = "okl_flow"
_TIME = {"type": "long", "logicalType": "timestamp-millis"}
_SIMPLE: dict[type, str] = {
    inspect.NoneType: "null",
    inspect.IntType: "long",
    inspect.FloatType: "double",
    inspect.StrType: "string",
    inspect.BytesType: "bytes",
    inspect.EnumType: "string",  # as a reader that knows fewer symbols would refuse an enum
}


def full_name(kind: type) -> str:
    """The name of a record in its schema.

    >>> full_name(Prediction)
    'okl_flow.Prediction'
    """
    return f"{_SPACE}.{kind.__name__}"


def avro_schema(records: Sequence[str]) -> Any:
    """The schema of a kind of records; of several kinds, a union of them.

    >>> avro_schema(["reject"])["fields"][0]
    {'name': 'reason', 'type': 'string'}
    """
    if isinstance(records, str) or not records or len(set(records)) < len(records):
        raise ValueError(f"records must be a list of some of {', '.join(KINDS)}, not {records!r}")
    for word in records:
        if word not in KINDS:
            hint = nearest(word, KINDS) if isinstance(word, str) else ""
            known = ", ".join(KINDS)
            raise ValueError(f"there is no schema in Avro of {word!r}{hint}; known: {known}")
    told: set[str] = set()
    schemas = [_schema(inspect.type_info(KINDS[word]), told) for word in records]
    return schemas if len(schemas) > 1 else schemas[0]


def _schema(kind: Any, told: set[str]) -> Any:
    """The schema of a type; `told` are the records that are in the schema already."""
    if type(kind) in _SIMPLE:
        return _SIMPLE[type(kind)]
    if isinstance(kind, inspect.ListType):
        return {"type": "array", "items": _schema(kind.item_type, told)}
    if isinstance(kind, inspect.DictType):
        return {"type": "map", "values": _schema(kind.value_type, told)}
    if isinstance(kind, inspect.UnionType):
        branches = [_schema(one, told) for one in kind.types]
        return sorted(branches, key=lambda one: (one != "null", str(one)))
    assert isinstance(kind, inspect.StructType), kind
    name = full_name(kind.cls)
    if name in told:
        return name
    told.add(name)
    fields = [_field(field, told) for field in kind.fields]
    return {"type": "record", "name": kind.cls.__name__, "namespace": _SPACE, "fields": fields}


def _field(field: inspect.Field, told: set[str]) -> dict[str, Any]:
    kind = _schema(field.type, told)
    if field.name == "time":
        kind = [_TIME if one == "long" else one for one in kind]
    declared = {"name": field.name, "type": kind}
    return declared if field.required else {**declared, "default": field.default}
