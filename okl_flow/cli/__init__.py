"""The command line `okl-flow`. One file per command; this one puts them together."""

from importlib.metadata import version as version_of
from typing import Annotated

import typer

from okl_flow.cli.errors import Commands
from okl_flow.cli.eval import evaluate
from okl_flow.cli.learners import learners
from okl_flow.cli.make_stream import make_stream
from okl_flow.cli.schema import schema
from okl_flow.cli.state import state

__all__ = ["app", "main"]

app = typer.Typer(
    cls=Commands,
    help="Online kernel learning on streams.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("eval")(evaluate)
app.command("learners")(learners)
app.command("make-stream")(make_stream)
app.command("schema")(schema)
app.add_typer(state, name="state")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"okl-flow {version_of('okl-flow')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Online kernel learning on streams."""


def main() -> None:
    """Run the command line and exit with its code."""
    app(prog_name="okl-flow")
