"""`okl-flow dashboard`: the live page of a job."""

import logging
import os
import sys
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from okl_flow.cli.errors import CommandError
from okl_flow.page import IS_AT

if TYPE_CHECKING:
    from okl_flow.page.server import Server
    from okl_flow.page.watching import Source

__all__ = ["OF_JOB", "PORT", "VARIABLES", "dashboard"]

VARIABLES = "OKL_DASHBOARD"
"""What the variables of its own options begin with, before an underscore."""

PORT = 8765
"""Where the page is, if nobody says otherwise."""

_PREFIX = "OKL_"
_KINDS = ("reports", "alarms", "rejects")
_INPUTS = ("events", "labels")
_SHARED = ("brokers", *_INPUTS, *_KINDS, "kafka_config")

OF_JOB = tuple(_PREFIX + name.upper() for name in _SHARED)
"""Variables of a job that say what its page is to read."""

_Option: Any = partial(typer.Option, show_envvar=False)
_PORT_MAX = 65535
_TOKEN_MIN = 8  # characters

JobFile = Annotated[
    Path | None,
    typer.Argument(metavar="JOB.toml", hidden=True),
]
Brokers = Annotated[
    str | None,
    _Option(metavar="HOST:PORT", help="Of the job; without them it writes files."),
]
Events = Annotated[
    str | None, _Option(metavar="TOPIC", help="That the job reads: others are named after it.")
]
Reports = Annotated[str | None, _Option(metavar="TOPIC", help="Where its reports are.")]
Alarms = Annotated[str | None, _Option(metavar="TOPIC", help="Where its alarms are.")]
Rejects = Annotated[str | None, _Option(metavar="TOPIC", help="Where its rejects are.")]
Group = Annotated[str | None, _Option(metavar="NAME", help="Its consumer group, for the lag.")]
Config = Annotated[
    Path | None,
    _Option(metavar="FILE", help="librdkafka's settings, a line name=value for each."),
]
Host = Annotated[str, _Option(metavar="HOST", help="Address to bind to.")]
Port = Annotated[
    int,
    _Option(min=0, max=_PORT_MAX, metavar="PORT", help="0 is any that is free."),
]
Token = Annotated[
    str | None,
    _Option(
        metavar="TEXT",
        help=f"What browsers have to know; better as {VARIABLES}_TOKEN.",
    ),
]
Attached = Annotated[bool, _Option("--attached", hidden=True)]  # ends when standard input does


def dashboard(
    job: JobFile = None,
    brokers: Brokers = None,
    events: Events = None,
    reports: Reports = None,
    alarms: Alarms = None,
    rejects: Rejects = None,
    group: Group = None,
    config: Config = None,
    host: Host = "127.0.0.1",
    port: Port = PORT,
    token: Token = None,
    attached: Attached = False,
) -> None:
    """Show a running job in the browser: errors, keys, alarms, rejects, lag.

    What no option says is in the variables of the job, as OKL_BROKERS, or in its file.

    okl-flow dashboard --brokers localhost:9092 --events incoming
    """
    given = {
        "brokers": brokers,
        "events": events,
        "reports": reports,
        "alarms": alarms,
        "rejects": rejects,
        "kafka_config": None if config is None else str(config),
    }
    source = _source(given, job, group)
    _check_token(token)
    _serve(source, host, port, token, attached)


def _source(given: dict[str, str | None], job: Path | None, group: str | None) -> "Source":
    """Where to read: options go before variables, and these before the file."""
    from okl_flow.job.names import sink_of
    from okl_flow.kafka.properties import read_properties
    from okl_flow.page.watching import Source

    settings = {} if job is None else _settings(job)
    settings |= {
        name: os.environ[_PREFIX + name.upper()]
        for name in _SHARED
        if os.environ.get(_PREFIX + name.upper())
    }
    for name, value in given.items():
        if value == "":
            raise CommandError(f"--{name}: expected a value, found an empty text")
        if value is not None:
            settings[name] = value
    brokers = settings.get("brokers")
    first = settings.get("events", "events").partition(",")[0]
    names = [settings.get(kind) or sink_of(kind, first, is_topic=bool(brokers)) for kind in _KINDS]
    if brokers is None and group is not None:
        raise CommandError("--group needs --brokers: files have no consumer groups")
    if "-" in names:
        raise CommandError("the job writes to its terminal, where nobody else can read it")
    try:
        config = read_properties(settings["kafka_config"]) if "kafka_config" in settings else {}
    except ValueError as error:
        raise CommandError(f"--config: {error}") from None
    inputs = [name for key in _INPUTS for name in settings.get(key, "").split(",") if name]
    return Source(list(dict.fromkeys(names)), brokers, config, group, inputs)


def _settings(path: Path) -> dict[str, str]:
    """Of the settings in a job's file those that matter here."""
    from okl_flow.job import TextError, plan_of
    from okl_flow.job.plan import SUFFIX
    from okl_flow.origins import placed

    if path.suffix != SUFFIX:
        raise CommandError(f"expected the file of a job, as job{SUFFIX}, found {str(path)!r}")
    try:
        plan = plan_of(str(path), [], os.environ)
    except TextError as error:
        raise CommandError(str(error)) from None
    if plan.problems:
        raise CommandError("\n".join(map(str, plan.problems)))
    found = {
        name: plan.variables[variable]
        for name, variable in zip(_SHARED, OF_JOB, strict=True)
        if variable in plan.variables
    }
    paths = ("kafka_config",) if "brokers" in found or os.environ.get("OKL_BROKERS") else _KINDS
    for name in paths:
        if name in found and found[name] != "-":
            found[name] = placed(found[name], plan.origins.get(_PREFIX + name.upper()))
    return found


def _check_token(token: str | None) -> None:
    if token is not None and len(token) < _TOKEN_MIN:
        found = len(token)
        raise CommandError(f"--token: expected at least {_TOKEN_MIN} characters, found {found}")


def _serve(source: "Source", host: str, port: int, token: str | None, attached: bool) -> None:
    try:
        from okl_flow.page.gate import is_loopback
        from okl_flow.page.server import Server
    except ModuleNotFoundError as error:
        raise CommandError(
            f"the page needs {error.name}, which is not installed: pip install 'okl-flow[page]'"
        ) from None
    from okl_flow.kafka import BrokerError
    from okl_flow.page.watching import Watching

    logging.getLogger("okl_flow.kafka").addHandler(logging.NullHandler())  # the page tells it
    try:
        watching = Watching(source)
    except (BrokerError, ValueError) as error:
        raise CommandError(str(error)) from None
    try:
        server = Server(watching, host, port, token)
    except OSError as error:
        number = error.errno or 0
        reason = os.strerror(number) if number > 0 else error.strerror  # of a name's look-up
        raise CommandError(f"{host}:{port}: {reason}; --port 0 takes one that is free") from None
    name = "localhost" if is_loopback(host) else host
    shown = f"[{name}]" if ":" in name else name
    typer.echo(f"{IS_AT} http://{shown}:{server.port}/; Ctrl-C ends it", err=True)
    if token is None and not is_loopback(host):
        typer.echo(f"anybody who reaches {host} can see it: --token asks who it is", err=True)
    watching.start()
    if attached:
        threading.Thread(target=_ends_with_input, args=(server,), daemon=True).start()
    try:
        server.run()
    finally:
        watching.stop()


def _ends_with_input(server: "Server") -> None:
    """Whoever started the page holds its standard input open."""
    sys.stdin.buffer.read()
    server.stop()
