"""`okl-flow schema`: what the records on the wire look like."""

from typing import Annotated

import typer

from okl_flow.cli.errors import CommandError

__all__ = ["schema"]

Record = Annotated[
    str,
    typer.Argument(
        metavar="RECORD",
        help="event, label or forget, which come in; prediction, report, alarm or reject, which "
        "go out; or all.",
    ),
]
InAvro = Annotated[
    bool,
    typer.Option("--avro", help="The schema in Avro, of what goes out; all is a union."),
]


def schema(record: Record = "all", avro: InAvro = False) -> None:
    """Print the JSON Schema of a record, for JSON and MessagePack, or its schema in Avro.

    okl-flow schema prediction --avro
    """
    import msgspec

    from okl_flow.wire.avro_records import KINDS, avro_schema
    from okl_flow.wire.schema import schema_of

    try:
        if avro:
            found = avro_schema(list(KINDS) if record == "all" else [record])
        else:
            found = schema_of(record)
    except ValueError as error:
        raise CommandError(str(error)) from None
    typer.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
