"""JSON Schemas of all records: what comes in, and what goes out."""

from typing import Any

import msgspec

from okl_flow.events import Alarm, Prediction, Reject, Report
from okl_flow.parameters import nearest
from okl_flow.wire.features import Sparse, Value
from okl_flow.wire.formats import Label, Name, Time

__all__ = ["RECORDS", "schema_of"]

_OUTGOING: dict[str, type] = {
    "prediction": Prediction,
    "report": Report,
    "alarm": Alarm,
    "reject": Reject,
}
RECORDS = ("event", "label", "forget", *_OUTGOING)
"""The names of the records that have a schema."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REF = "#/$defs/{name}"
_KEY = "Whose record it is. By default the key of the Kafka record, or the fixed key of the job."
_MEMBERS: dict[str, tuple[Any, str]] = {
    "key": (Name, _KEY),
    "id": (Name, "By which a label finds its event. A whole number stands for its digits."),
    "time": (Time, "Milliseconds since 1970, or a date and time with a zone (RFC 3339)."),
    "label": (Label, "A number, a class, or one of the texts that the job names; null for none."),
    "features": (
        list[float | None],
        "A list by position, an object by name, or a sparse list: as the job is configured. "
        "null is a missing feature.",
    ),
}
_INCOMING = {
    "event": (("key", "id", "time", "features", "label"), ["features"]),
    "label": (("key", "id", "time", "label"), ["type", "id", "label"]),
    "forget": (("key", "time"), ["type"]),
}
_TITLES = {
    "event": "Something that happened to a key, to be scored, and learned if it has a label.",
    "label": "The label of an event of the same key and id.",
    "forget": "The wish that everything kept for a key be deleted.",
}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of a record, or of any of them for "all".

    In MessagePack records have the same members, with two differences: numbers may be NaN or
    infinite, and `original` of a reject is bytes.

    >>> schema_of("forget")["properties"]["type"]
    {'const': 'forget'}
    """
    definitions: dict[str, Any] = {}
    if name == "all":
        for record in RECORDS:
            schema = _schema(record, definitions)
            definitions[record] = schema
        refs = [{"$ref": _REF.format(name=record)} for record in RECORDS]
        return {"$schema": _DIALECT, "anyOf": refs, "$defs": definitions}
    if name not in RECORDS:
        known = ", ".join((*RECORDS, "all"))
        raise ValueError(f"there is no record {name!r}{nearest(name, RECORDS)}; known: {known}")
    schema = {"$schema": _DIALECT, **_schema(name, definitions)}
    return {**schema, "$defs": definitions} if definitions else schema


def _schema(name: str, definitions: dict[str, Any]) -> dict[str, Any]:
    """The schema of one record; those of its members that have names go to the definitions."""
    if name in _INCOMING:
        return _incoming(name)
    kind = _OUTGOING[name]
    _refs, found = msgspec.json.schema_components([kind], ref_template=_REF)
    schema: dict[str, Any] = found.pop(kind.__name__)
    definitions.update(found)
    properties = schema["properties"]
    schema["required"] = list(properties)
    for each in properties.values():
        each.pop("default", None)
    properties["type"] = {"const": name}
    schema["title"] = name
    if name == "prediction":  # in which what is not finite is null
        numbers: dict[str, Any] = properties["score"]
        for option in numbers["anyOf"]:
            if option["type"] == "array":
                option["items"] = {"type": ["number", "null"]}
        numbers["anyOf"].append({"type": "null"})
        properties["predicted"] = {"anyOf": [properties["predicted"], {"type": "null"}]}
    return schema


def _incoming(name: str) -> dict[str, Any]:
    members, required = _INCOMING[name]
    properties: dict[str, Any] = {}
    for member in members:
        kind, description = _MEMBERS[member]
        properties[member] = {**_form(member, kind), "description": description}
    if name == "label":
        # Those that must be there, and so may not be null.
        for member in ("id", "label"):
            options = properties[member]["anyOf"]
            properties[member]["anyOf"] = [one for one in options if one != {"type": "null"}]
    properties["type"] = {"const": name}
    return {
        "title": name,
        "description": _TITLES[name],
        "type": "object",
        "properties": properties,
        "required": required,
    }


def _form(member: str, kind: Any) -> dict[str, Any]:
    """The schema of a member: for features, of any that may be configured."""
    if member != "features":
        schema = msgspec.json.schema(kind)
        if member == "time":
            schema["anyOf"][schema["anyOf"].index({"type": "string"})]["format"] = "date-time"
        return schema
    _refs, found = msgspec.json.schema_components([Sparse], ref_template=_REF)
    forms = [msgspec.json.schema(kind), msgspec.json.schema(dict[str, Value]), found["Sparse"]]
    return {"anyOf": forms}
