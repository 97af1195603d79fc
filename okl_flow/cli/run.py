"""`okl-flow run`: a flow kept running, by as many processes as it is to have."""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from okl_flow.cli.beside import beside
from okl_flow.cli.errors import CommandError

if TYPE_CHECKING:
    from okl_flow.job import Given, Plan

__all__ = ["OPTIONS", "FlowName", "SetValues", "given_by", "plan_of_run", "planned", "run"]

OPTIONS = {
    "processes": "run.processes",
    "recovery_dir": "run.recovery_dir",
    "state_dir": "state.dir",
    "brokers": "source.brokers",
    "events": "source.events",
    "learner": "learner",
    "create_topics": "source.create_topics",
    "epoch": "run.epoch",
    "grace": "run.grace",
    "failures": "run.failures",
    "within": "run.within",
    "pause": "run.pause",
    "healthy": "run.healthy",
    "log": "run.log",
    "metrics_port": "metrics.port",
    "metrics_host": "metrics.host",
}
"""What options are short for: `--processes 2` is `--set run.processes=2`, and checked as that."""

_number: Any = partial(typer.Option, metavar="N")
_seconds: Any = partial(typer.Option, metavar="SECONDS")
_folder: Any = partial(typer.Option, metavar="DIR")

FlowName = Annotated[
    str, typer.Argument(metavar="FLOW", hidden=True)  # the first line of the help says it
]
SetValues = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any setting; again for more of them."),
]
Processes = Annotated[str | None, _number(help="Processes of the cluster. (1)")]
RecoveryDir = Annotated[str | None, _folder(help="Where the engine keeps what to go on from.")]
StateDir = Annotated[str | None, _folder(help="Where models are kept.")]
Brokers = Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Topics in place of files.")]
CreateTopics = Annotated[str | None, _number(help="Make missing topics, of N partitions.")]
Epoch = Annotated[str | None, _seconds(help="How often all is snapshotted. (10)")]
Grace = Annotated[str | None, _seconds(help="To drain, at SIGTERM and Ctrl-C. (30)")]
Failures = Annotated[str | None, _number(help="So many failures ... (5)")]
Within = Annotated[str | None, _seconds(help="... within this time are too many. (600)")]
Pause = Annotated[str | None, _seconds(help="Before the first start again. (1)")]
Healthy = Annotated[str | None, _seconds(help="After so long a run, as at first. (60)")]
LogForm = Annotated[str | None, typer.Option(metavar="FORM", help="text or json.")]
MetricsPort = Annotated[
    str | None, typer.Option(metavar="PORT", help="For Prometheus; then one per process.")
]
MetricsHost = Annotated[str | None, typer.Option(metavar="HOST", help="Of these. (127.0.0.1)")]
Dashboard = Annotated[bool, typer.Option("--dashboard", help="The live page, meanwhile.")]


def run(
    ctx: typer.Context,
    flow: FlowName,
    set_: SetValues = None,
    processes: Processes = None,
    recovery_dir: RecoveryDir = None,
    state_dir: StateDir = None,
    brokers: Brokers = None,
    create_topics: CreateTopics = None,
    epoch: Epoch = None,
    grace: Grace = None,
    failures: Failures = None,
    within: Within = None,
    pause: Pause = None,
    healthy: Healthy = None,
    log: LogForm = None,
    metrics_port: MetricsPort = None,
    metrics_host: MetricsHost = None,
    dashboard: Dashboard = False,
) -> None:
    """Run FLOW, a job.toml or module:flow, and start it again when it fails.

    okl-flow run job.toml --processes 2 --set learner.budget=50
    """
    from okl_flow.job.checking import checked
    from okl_flow.running.logs import Log, masked, secrets_in
    from okl_flow.running.patience import Policy
    from okl_flow.running.supervisor import Job, Supervisor

    plan = plan_of_run(ctx)
    if plan.problems:  # and then those of the flow as well, which its processes would tell
        secrets = secrets_in(os.environ)
        told = [masked(str(one), secrets) for one in checked(plan, os.environ).problems]
        raise CommandError("\n".join(told))
    settings = plan.run
    recovery = None if settings.recovery_dir is None else Path(settings.recovery_dir)
    held = [] if recovery is None else [_prepare(recovery, plan.place("run.recovery_dir"))]
    metrics = None
    if settings.metrics_port is not None:
        metrics = (settings.metrics_host or "127.0.0.1", settings.metrics_port)
        _serve_metrics(*metrics, settings.processes, plan.place("metrics.port"))
    job = Job(
        flow=plan.flow,
        processes=settings.processes,
        epoch=settings.epoch,
        recovery=recovery,
        variables=plan.variables,
        origins=plan.origins,
        metrics=metrics,
        grace=settings.grace,
    )
    policy = Policy(
        failures=settings.failures,
        within=settings.within,
        pause=settings.pause,
        healthy=settings.healthy,
    )
    form: Any = settings.log or ("text" if sys.stderr.isatty() else "json")
    records = Log(sys.stderr, form, plan.variables)
    tell = partial(records.say, "info")
    with beside(plan.variables, plan.origins, tell) if dashboard else nullcontext():
        code = Supervisor(job, policy, records, held).run()
    raise typer.Exit(code)


def plan_of_run(ctx: typer.Context) -> "Plan":
    """The job that the words of this command speak of."""
    options = {name: value for name, value in ctx.params.items() if name in OPTIONS}
    return planned(ctx.params["flow"], ctx.params["set_"] or (), options)


def planned(flow: str, set_: Sequence[str], options: Mapping[str, str | None]) -> "Plan":
    """The job that a command line speaks of, with all that is known to be wrong with it."""
    from okl_flow.job import TextError, plan_of

    try:
        return plan_of(flow, given_by(set_, options), os.environ)
    except TextError as error:
        raise CommandError(str(error)) from None


def given_by(set_: Sequence[str], options: Mapping[str, str | None]) -> "list[Given]":
    """The settings of a command line."""
    from okl_flow.job import Given

    given = []
    for text in set_:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise CommandError(f"--set: expected KEY=VALUE, as learner.budget=50, found {text!r}")
        given.append(Given(path.strip(), value.strip(), f"--set {path.strip()}"))
    for name, option in options.items():
        if option is not None:
            given.append(Given(OPTIONS[name], option, f"--{name.replace('_', '-')}"))
    return given


def _prepare(directory: Path, place: str) -> int:
    """Make or check the recovery directory, and hold it."""
    from okl_flow.operators.engine import prepare_recovery
    from okl_flow.running.lock import hold

    try:
        directory.mkdir(parents=True, exist_ok=True)
        held = hold(directory)
        prepare_recovery(directory)
    except OSError as error:
        raise CommandError(f"{place}: {error.filename}: {error.strerror}") from error
    except ValueError as error:
        raise CommandError(f"{place}: {error}") from error
    return held


def _serve_metrics(host: str, port: int, processes: int, place: str) -> None:
    """Serve the run's own metrics; the ports of the processes have to be free as well."""
    import socket

    from prometheus_client import start_http_server

    for one in range(port + 1, port + 1 + processes):
        try:
            socket.create_server((host, one)).close()
        except OSError as error:
            raise CommandError(f"{place}: {host}:{one}: {error.strerror}") from error
    try:
        start_http_server(port, addr=host)
    except OSError as error:
        raise CommandError(f"{place}: {host}:{port}: {error.strerror}") from error
