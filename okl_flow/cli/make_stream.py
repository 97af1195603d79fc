"""`okl-flow make-stream`: seeded events on standard output, for flows and first attempts."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from okl_flow.cli.errors import CommandError

if TYPE_CHECKING:
    from okl_flow.native import Array
    from okl_flow.streams import DelayedUsers

__all__ = ["make_stream"]

FORMATS = ("jsonl", "csv", "libsvm")
PLAIN = ("rings", "rotating", "abrupt", "wandering", "waves")
USERS = "users"
_CHUNK = 10_000

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        hidden=True,  # the help says it
    ),
]
Events = Annotated[int, typer.Option(min=1, metavar="N", help="How many events.")]
Dim = Annotated[int, typer.Option(min=2, metavar="D", help="Features of an event.")]
Noise = Annotated[
    float,
    typer.Option(min=0.0, metavar="SHARE", help="Of wrong labels; of waves a deviation."),
]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Decides all that is random.")]
FormatName = Annotated[
    str, typer.Option("--format", metavar="FORMAT", help="jsonl, csv or libsvm.")
]
Keys = Annotated[
    int,
    typer.Option(min=1, metavar="K", help="Users; number n sends a share of 1/n."),
]
Drifting = Annotated[
    float,
    typer.Option(min=0.0, max=1.0, metavar="SHARE", help="Of users that change."),
]
DriftAt = Annotated[
    float,
    typer.Option(min=0.0, max=1.0, metavar="SHARE", help="Of events, and then they do."),
]
Delayed = Annotated[
    float,
    typer.Option(min=0.0, max=1.0, metavar="SHARE", help="Of labels that come later."),
]
Delay = Annotated[
    float,
    typer.Option(min=0.0, metavar="SECONDS", help="That these take; an event is one."),
]
Missing = Annotated[
    float,
    typer.Option(min=0.0, max=1.0, metavar="SHARE", help="Of labels that never come."),
]


def make_stream(
    ctx: typer.Context,
    name: Name,
    events: Events = 20_000,
    dim: Dim = 2,
    noise: Noise = 0.05,
    seed: Seed = 0,
    format_name: FormatName = "jsonl",
    keys: Keys = 100,
    drifting: Drifting = 0.2,
    drift_at: DriftAt = 0.5,
    delayed: Delayed = 0.5,
    delay: Delay = 60.0,
    missing: Missing = 0.1,
) -> None:
    """Make a stream of events, the same on every machine.

    NAME: rings, rotating, abrupt, wandering, waves (of numbers); or users, for --keys and the rest.

    okl-flow make-stream users --keys 20 --seed 7 > events.jsonl
    """
    _check(ctx, name, format_name, noise)
    # What computes is imported here, so that --help does without it.
    from okl_flow import streams
    from okl_flow.cli.progress import progress_bars

    if name == USERS:
        made = streams.delayed_users(
            events,
            users=keys,
            dim=dim,
            noise=noise,
            drifting=drifting,
            drift_at=drift_at,
            delayed=delayed,
            delay=delay,
            missing=missing,
            seed=seed,
        )
        lines = _lines_of_users(made)
    else:
        X, y = getattr(streams, name)(events, dim=dim, noise=noise, seed=seed)
        lines = _lines(X, y, format_name, is_number=name == "waves")
    with progress_bars() as steps:
        tell = steps("writing", events)
        for count, chunk in lines:
            typer.echo(chunk, nl=False)
            tell(count)


def _check(ctx: typer.Context, name: str, format_name: str, noise: float) -> None:
    """Refuse what there is not, and options that would change nothing."""
    from okl_flow.parameters import nearest

    for what, word, known in (
        ("stream", name, (*PLAIN, USERS)),
        ("format", format_name, FORMATS),
    ):
        if word not in known:
            hint = nearest(word, known)
            raise CommandError(f"there is no {what} {word!r}{hint}; known: {', '.join(known)}")
    if name != "waves" and noise > 1.0:
        raise CommandError(f"--noise is a share of the labels, at most 1, not {noise}")
    if name == USERS:
        if format_name != "jsonl":
            raise CommandError(f"users come with labels of their own, which {format_name} lacks")
        return
    for option in ("keys", "drifting", "drift_at", "delayed", "delay", "missing"):
        source = ctx.get_parameter_source(option)
        if source is not None and source.name == "COMMANDLINE":
            raise CommandError(f"--{option.replace('_', '-')} is for users only, not for {name}")


Chunks = Iterator[tuple[int, bytes]]
"""So many events, and their lines."""


def _lines(X: "Array", y: "Array", format_name: str, *, is_number: bool) -> Chunks:
    """Events with their labels, in a format."""
    labels = y.tolist() if is_number else y.astype(int).tolist()
    write = {"jsonl": _json_lines, "csv": _csv_lines, "libsvm": _libsvm_lines}[format_name]
    if format_name == "csv":
        yield 0, ",".join([*(f"x{at}" for at in range(X.shape[1])), "label\n"]).encode()
    for begin in range(0, len(labels), _CHUNK):
        here = slice(begin, begin + _CHUNK)
        rows = X[here].tolist()
        yield len(rows), b"\n".join([*write(rows, labels[here], begin), b""])


Lines = list[bytes]
Rows = Sequence[Sequence[float]]


def _json_lines(rows: Rows, labels: Sequence[float], begin: int) -> Lines:
    encode = _encoder()
    return [
        encode({"id": f"e{number}", "features": row, "label": label})
        for number, (row, label) in enumerate(zip(rows, labels, strict=True), begin + 1)
    ]


def _csv_lines(rows: Rows, labels: Sequence[float], _begin: int) -> Lines:
    return [
        ",".join(map(repr, (*row, label))).encode() for row, label in zip(rows, labels, strict=True)
    ]


def _libsvm_lines(rows: Rows, labels: Sequence[float], _begin: int) -> Lines:
    return [
        " ".join([str(label), *(f"{at}:{x!r}" for at, x in enumerate(row, 1))]).encode()
        for row, label in zip(rows, labels, strict=True)
    ]


def _lines_of_users(made: "DelayedUsers") -> Chunks:
    """Events and labels in the order of their times."""
    from okl_flow.user_records import messages_of_users

    for count, messages in messages_of_users(made, _CHUNK):
        yield count, b"\n".join([*(message.value for message in messages), b""])


def _encoder() -> Callable[[object], bytes]:
    import msgspec

    return msgspec.json.Encoder().encode
