"""`okl-flow doctor`: what is wrong with a job, before its start or while it runs."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from okl_flow.doctor import Finding, Job

__all__ = ["doctor"]

_FOUND = 1  # the exit code where there is a problem
_STYLES = {"ok": "green", "warning": "yellow", "problem": "bold red"}
_WIDTH = 8  # of the words above, and a space

Flow = Annotated[
    str,
    typer.Argument(
        metavar="FLOW", help="MODULE:FLOW, or a file of a run, FLOW.toml, as for okl-flow run."
    ),
]
Seconds = Annotated[
    float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="For an answer of a broker.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only what is wrong.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object per line.")]


def doctor(
    ctx: typer.Context,
    flow: Flow,
    timeout: Seconds = 10.0,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Look at a job: brokers, topics, records, directories, disks; say what to mend.

    Nothing is changed, and the job may run. Options of okl-flow run are taken besides, and its
    variables. Exits with 1 if there is a problem; warnings alone are no reason.

        okl-flow doctor job.toml
    """
    from okl_flow.cli.render import print_json
    from okl_flow.doctor import Level, examine
    from okl_flow.doctor.words import counted

    logging.getLogger("okl_flow").addHandler(logging.NullHandler())  # it is said once, here
    logging.getLogger("okl_flow").propagate = False
    job = _job(flow, ctx.args)
    counts = dict.fromkeys(Level, 0)
    for one in _masked(examine(job, timeout), job):
        counts[one.level] += 1
        if quiet and one.level == Level.OK:
            continue
        if json:
            print_json(_as_json(one))
        else:
            _print(one)
    if not json:
        found = (counted(counts[one], one.value) for one in (Level.PROBLEM, Level.WARNING))
        typer.echo(", ".join(found))
    if counts[Level.PROBLEM]:
        raise typer.Exit(_FOUND)


def _job(flow: str, words: list[str]) -> "Job":
    """The job that `okl-flow run` would run with these words."""
    from okl_flow.cli.errors import CommandError
    from okl_flow.cli.run import plan_of_run, run
    from okl_flow.doctor import Job

    app = typer.Typer(add_completion=False)
    app.command()(run)
    ctx: Any = typer.main.get_command(app).make_context("okl-flow run", [flow, *words])
    plan = plan_of_run(ctx)
    if plan.problems:
        raise CommandError("\n".join(map(str, plan.problems)))
    settings = plan.run
    port, recovery = settings.metrics_port, settings.recovery_dir
    return Job(
        flow=plan.flow,
        processes=settings.processes,
        epoch=settings.epoch,
        recovery=None if recovery is None else Path(recovery),
        metrics=None if port is None else (settings.metrics_host or "127.0.0.1", port),
        variables=plan.variables,
        origins=plan.origins,
    )


def _masked(found: "Iterator[Finding]", job: "Job") -> "Iterator[Finding]":
    """Findings without secrets, whoever has put them into a message."""
    import os

    import msgspec

    from okl_flow.running.logs import masked, secrets_in

    secrets = secrets_in({**os.environ, **job.variables})
    for one in found:
        yield msgspec.structs.replace(one, message=masked(one.message, secrets))


def _as_json(one: "Finding") -> dict[str, Any]:
    return {"check": one.check, "level": one.level, "message": one.message, "remedy": one.remedy}


def _print(one: "Finding") -> None:
    """A line for what was found, and one for the remedy; in colour on a terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    line = Text(one.level.ljust(_WIDTH), style=_STYLES[one.level])
    line.append(f"{one.check}: ", style="bold")
    line.append(one.message, style="default not bold")
    with console.capture() as captured:
        console.print(line)
        if one.remedy is not None:
            console.print(Text(f"{' ' * _WIDTH}remedy: {one.remedy}"))
    typer.echo(captured.get().rstrip("\n"), color=None)
