"""`okl-flow produce`: a data file, or a stream from a pipe, into a topic."""

import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from okl_flow.cli.errors import INTERRUPTED, CommandError

if TYPE_CHECKING:
    from okl_flow.kafka.producing import Producing
    from okl_flow.replay import Message, Replay

__all__ = ["produce"]

_UNDELIVERED = 1
_KEY, _LABEL = "key", "label"
_TOLD_EVERY = 100  # messages

Data = Annotated[
    str, typer.Argument(metavar="DATA", hidden=True)  # the first line of the help says it
]
Brokers = Annotated[str, typer.Option(metavar="HOST:PORT", help="Brokers, with commas.")]
Topic = Annotated[str, typer.Option(metavar="NAME", help="The topic, which must be there.")]
Create = Annotated[
    int | None,
    typer.Option(min=1, metavar="PARTITIONS", help="Make it with so many, if it is not."),
]
Rate = Annotated[
    float | None, typer.Option(min=0.001, metavar="R", help="Records a second, at most.")
]
Loop = Annotated[bool, typer.Option("--loop", help="Again and again, until interrupted.")]
FormatName = Annotated[
    str | None,
    typer.Option("--format", metavar="FORMAT", help="jsonl, csv or libsvm, if no suffix says it."),
]
KeyColumn = Annotated[
    str, typer.Option(metavar="NAME", help="Column or member by which records are placed.")
]
LabelColumn = Annotated[str, typer.Option(metavar="NAME", help="Column or member of the label.")]
Config = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="librdkafka's settings, a line name=value for each."),
]
Timeout = Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="For each answer.")]


def produce(
    data: Data,
    brokers: Brokers,
    topic: Topic,
    create: Create = None,
    rate: Rate = None,
    loop: Loop = False,
    format_name: FormatName = None,
    key_column: KeyColumn = _KEY,
    label_column: LabelColumn = _LABEL,
    config: Config = None,
    timeout: Timeout = 30.0,
) -> None:
    """Write the events of DATA, a file or -, into a topic; exit with 1 if some were not delivered.

    okl-flow produce clicks.csv --brokers localhost:9092 --topic events
    """
    from okl_flow.files import DataError
    from okl_flow.kafka.producing import Producing, ProducingError

    try:
        replay = _replay(data, format_name, key_column, label_column)
        if loop and data == "-":
            raise CommandError("--loop needs a file, as standard input goes by once")
        messages = _messages(replay, loop)
        first = next(messages, None)  # before a topic is made for what cannot be read
        if first is None:
            raise CommandError(f"{data}: there are no events in it")
        producing = Producing(brokers, topic, _settings(config), timeout)
        producing.prepare(create)
        code = _produce(producing, chain([first], messages), topic, rate)
    except (DataError, ProducingError) as error:
        raise CommandError(str(error)) from None
    raise typer.Exit(code)


def _replay(data: str, format_name: str | None, key: str, label: str) -> "Replay":
    from okl_flow.files import FORMATS
    from okl_flow.parameters import nearest
    from okl_flow.replay import Replay

    if format_name is not None and format_name not in FORMATS:
        known = ", ".join(FORMATS)
        hint = nearest(format_name, FORMATS)
        raise CommandError(f"there is no format {format_name!r}{hint}; known: {known}")
    if data == "-" and format_name is None:
        format_name = "jsonl"  # which make-stream writes
    return Replay(path=data, format=format_name, key=key, label=label)


def _messages(replay: "Replay", loop: bool) -> "Iterator[Message]":
    yield from replay.messages()
    while loop:
        yield from replay.messages()


def _settings(path: Path | None) -> dict[str, str]:
    from okl_flow.kafka.properties import read_properties

    try:
        return {} if path is None else read_properties(path)
    except ValueError as error:
        raise CommandError(f"--config: {error}") from None


def _produce(
    producing: "Producing", messages: "Iterator[Message]", topic: str, rate: float | None
) -> int:
    """Send messages and say what has become of them; the exit code."""
    from okl_flow.cli.progress import progress_bars

    begun, code = time.monotonic(), 0
    try:
        with progress_bars() as steps:
            tell = steps(f"to {topic}", None)

            def told() -> "Iterator[Message]":
                for number, message in enumerate(messages, 1):
                    yield message
                    if number % _TOLD_EVERY == 0:
                        tell(_TOLD_EVERY)

            producing.send(told(), rate)
    except KeyboardInterrupt:
        code = INTERRUPTED
    finally:  # also of what was sent before a line that cannot be read
        delivered = producing.finish()
        seconds = time.monotonic() - begun
        typer.echo(f"{delivered:,} records to topic {topic} in {seconds:.1f} s", err=True)
        for reason, count in producing.undelivered.most_common():
            typer.echo(f"not delivered: {count:,}: {reason}", err=True)
    return code or (_UNDELIVERED if producing.undelivered else 0)
