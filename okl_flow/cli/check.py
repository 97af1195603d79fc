"""`okl-flow check`: what is wrong with a job, and what holds in it."""

import os
from typing import Annotated

import typer

from okl_flow.cli.run import FlowName, SetValues, planned

__all__ = ["check"]

_WRONG = 1

Values = Annotated[bool, typer.Option("--values", help="Print what holds, and where it was said.")]
Settings = Annotated[
    bool, typer.Option("--settings", help="Print what can be set, by which names.")
]


def check(
    flow: FlowName,
    set_: SetValues = None,
    values: Values = False,
    settings: Settings = False,
) -> None:
    """Say all that is wrong with FLOW, a job.toml or module:flow.

    Neither brokers nor data are needed. The exit code is 1 if something is wrong, and 0 if not.
    Passwords are never shown.

    okl-flow check job.toml --values
    """
    from okl_flow.cli.render import print_table
    from okl_flow.job.checking import checked
    from okl_flow.job.table import rows_of
    from okl_flow.running.logs import masked, secrets_in

    plan = planned(flow, set_ or (), {})
    done = checked(plan, os.environ)
    secrets = secrets_in(os.environ)
    if settings:
        print_table(["setting", "variable", "by default", "what it says"], rows_of(plan.flow))
    if values:
        rows = [[one.path, masked(one.value, secrets), one.place] for one in done.effective]
        print_table(["setting", "value", "from"], rows)
    for problem in done.problems:
        typer.echo(masked(str(problem), secrets))
    for note in done.notes:
        typer.echo(masked(f"note: {note}", secrets))
    if done.problems:
        raise typer.Exit(_WRONG)
    typer.echo(f"{flow}: nothing is wrong")
