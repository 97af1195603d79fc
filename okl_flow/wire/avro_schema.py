"""Schemas in Avro, and what reads records that were written under one of them.

Logical types are as good as the numbers and texts that they stand for, but for decimals, which
are numbers, and for the time of a record, whose unit is heeded.
"""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import msgspec
from fastavro import parse_schema, schemaless_reader

__all__ = ["AvroReader", "SchemaError", "parsed"]

_DATUM = "okl_flow_datum"  # without a namespace, which the names within would have too
_UNITS = {"timestamp-millis": 1, "timestamp-micros": 1_000, "timestamp-nanos": 1_000_000}
_RECORDS = ("record", "error")


class SchemaError(ValueError):
    """A schema under which nothing can be read."""


class AvroReader:
    """Reads records that were written under one schema."""

    def __init__(self, documents: Sequence[str]) -> None:
        """`documents` are schemas as JSON: those that the last one refers to, and the last one."""
        try:
            schemas = [msgspec.json.decode(document) for document in documents]
            self._schema = parsed([_without_logical(schema) for schema in schemas])
            self.unit = _unit_of_time(schemas)
        except SchemaError:
            raise
        except Exception as error:  # of many kinds, as a schema may be anything
            raise SchemaError(f"{type(error).__name__}: {error}") from None

    def read(self, octets: bytes) -> Any:
        """The record that the bytes are; a ValueError if they are none."""
        record = self._read(octets)
        if self.unit != 1 and isinstance(record, dict) and isinstance(record.get("time"), int):
            record["time"] //= self.unit
        return record

    def read_named(self, octets: bytes) -> tuple[str, Any]:
        """The name of a record in the schema, and the record; a ValueError if there is none."""
        found = self._read(octets, named=True)
        if isinstance(found, tuple):
            name, record = found
            return name, record
        top = self._schema["fields"][0]["type"]
        return str(top.get("name", top["type"]) if isinstance(top, dict) else top), found

    def _read(self, octets: bytes, named: bool = False) -> Any:
        stream = BytesIO(octets)
        try:
            datum: Any = schemaless_reader(
                stream,
                self._schema,
                None,
                return_record_name=named,
                return_record_name_override=named,
            )
        except EOFError:  # its text has the address of the stream, another one in each run
            raise ValueError("they end too soon") from None
        except Exception as error:  # of many kinds, as bytes may be anything
            raise ValueError(str(error) or type(error).__name__) from None
        rest = len(octets) - stream.tell()
        if rest:
            raise ValueError(f"{rest} bytes are left after it")
        return datum["value"]


def parsed(schemas: Sequence[Any]) -> dict[str, Any]:
    """The last of the schemas, as the one field of a record, after those that it refers to.

    A record of one field is written as the field alone is.
    """
    named: dict[str, Any] = {}
    for schema in schemas[:-1]:
        parse_schema(schema, named)
    field = {"name": "value", "type": schemas[-1]}
    whole: Any = parse_schema({"type": "record", "name": _DATUM, "fields": [field]}, named)
    _bytes_at_least(whole, named, ())
    found: dict[str, Any] = whole
    return found


def _without_logical(schema: Any) -> Any:
    """The schema with what its logical types stand for in their place, but for decimals."""
    if isinstance(schema, list):
        return [_without_logical(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: value if name in ("default", "doc") else _without_logical(value)
        for name, value in schema.items()
        if name != "logicalType" or value == "decimal"
    }


def _bytes_at_least(schema: Any, named: Mapping[str, Any], within: tuple[str, ...]) -> int:
    """The fewest bytes that a value takes; an error about a schema that is not safe to read.

    A few bytes that are not of it may pass for a list of any length of what takes no bytes, or
    for a record in itself so deep that the process dies of it.
    """
    if isinstance(schema, list):
        return 1 + min([_bytes_at_least(one, named, within) for one in schema], default=0)
    if isinstance(schema, str) and schema not in named:
        return 0 if schema == "null" else 1
    full = named[schema] if isinstance(schema, str) else schema
    kind = full["type"]
    if kind in _RECORDS:
        name = full["name"]
        if name in within:
            raise SchemaError(f"{name} has itself within it, which is not read")
        inner = (*within, name)
        return sum(_bytes_at_least(one["type"], named, inner) for one in full["fields"])
    if kind == "array" and not _bytes_at_least(full["items"], named, within):
        raise SchemaError("a list in it has items that take no bytes, which is not read")
    if kind == "map":
        _bytes_at_least(full["values"], named, within)
    if kind == "fixed":
        return int(full["size"])
    return 0 if kind == "null" else 1


def _unit_of_time(schemas: Sequence[Any]) -> int:
    """How many of the units of the field `time` are a millisecond."""
    tops = {
        ".".join(filter(None, (schema.get("namespace"), schema["name"]))): schema
        for schema in schemas
        if isinstance(schema, dict) and "name" in schema
    }
    last = schemas[-1]
    units = set()
    for branch in last if isinstance(last, list) else [last]:
        record = tops.get(branch) if isinstance(branch, str) else branch
        for field in record.get("fields", ()) if isinstance(record, dict) else ():
            if field["name"] == "time":
                units |= _units(field["type"])
    if len(units) > 1:
        raise SchemaError("the field time has one unit in one record and another in another")
    return units.pop() if units else 1


def _units(kind: Any) -> set[int]:
    """The units of a type of times; none of a text."""
    if isinstance(kind, list):
        return {unit for one in kind for unit in _units(one)}
    if isinstance(kind, str):
        return {1} if kind in ("int", "long") else set()
    logical = kind.get("logicalType")
    if logical is None:
        return _units(kind["type"])
    if logical not in _UNITS:
        known = ", ".join(_UNITS)
        raise SchemaError(f"the field time is a {logical}, and must be one of {known}")
    return {_UNITS[logical]}
