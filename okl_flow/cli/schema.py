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


def schema(record: Record = "all") -> None:
    """Print the JSON Schema of a record, for JSON and MessagePack."""
    import msgspec

    from okl_flow.wire.schema import schema_of

    try:
        found = schema_of(record)
    except ValueError as error:
        raise CommandError(str(error)) from None
    typer.echo(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
