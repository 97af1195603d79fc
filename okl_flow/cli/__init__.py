"""The command line `okl-flow`. One file per command; this one puts them together."""

from importlib.metadata import version as version_of
from typing import Annotated

import typer

from okl_flow.cli.check import check
from okl_flow.cli.dashboard import VARIABLES as OF_DASHBOARD
from okl_flow.cli.dashboard import dashboard
from okl_flow.cli.demo import demo
from okl_flow.cli.doctor import doctor
from okl_flow.cli.errors import Commands
from okl_flow.cli.eval import evaluate
from okl_flow.cli.init import init
from okl_flow.cli.learners import learners
from okl_flow.cli.make_stream import make_stream
from okl_flow.cli.plot import plot
from okl_flow.cli.produce import produce
from okl_flow.cli.run import run
from okl_flow.cli.schema import schema
from okl_flow.cli.state import state

__all__ = ["app", "main"]

HELP = """\b
okl-flow init job.toml     write a job's file
okl-flow check job.toml    what is wrong with it
okl-flow run job.toml      run it: online kernel learning on streams
"""

app = typer.Typer(
    cls=Commands,
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("check")(check)
app.command("dashboard", context_settings={"auto_envvar_prefix": OF_DASHBOARD})(dashboard)
app.command("demo")(demo)
app.command("doctor", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(
    doctor
)
app.command("eval")(evaluate)
app.command("init")(init)
app.command("learners")(learners)
app.command("make-stream")(make_stream)
app.command("plot")(plot)
app.command("produce")(produce)
app.command("run")(run)
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
    pass


def main() -> None:
    """Run the command line and exit with its code."""
    app(prog_name="okl-flow")
