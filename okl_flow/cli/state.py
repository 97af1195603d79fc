"""`okl-flow state`: what a job keeps for its keys, while it runs or after."""

import heapq
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from okl_flow.cli.errors import CommandError

if TYPE_CHECKING:
    from okl_flow.learner import Learner
    from okl_flow.operators.inspection import Stored
    from okl_flow.operators.record import Record
    from okl_flow.operators.requests import Request
    from okl_flow.operators.store import StateDirectory

__all__ = ["state"]

state = typer.Typer(
    help="What a job keeps for its keys: to look at, take out, put in, forget, verify.\n\n"
    "okl-flow state list state --sort events",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_FOUND = 1  # the exit code of verify where something is wrong

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The state directory of a job.")]
Key = Annotated[str, typer.Argument(metavar="KEY", help="The key, as in the events.")]
Number = Annotated[
    int, typer.Option("--learner", min=0, help="Which, by number, where there are several.")
]


class Order(StrEnum):
    """What a list is sorted by."""

    KEY = "key"
    EVENTS = "events"
    BYTES = "bytes"
    SEEN = "seen"


@state.command("list")
def list_keys(
    directory: Directory,
    sort: Annotated[
        Order, typer.Option(help="By name, or most events, bytes or latest seen first.")
    ] = Order.KEY,
    limit: Annotated[int, typer.Option(min=0, help="So many at most; 0 for all.")] = 50,
    json: Annotated[bool, typer.Option("--json", help="One JSON object per key.")] = False,
) -> None:
    """List the keys: events seen, bytes, last seen, as of the last commit.

    okl-flow state list state --sort events --limit 20
    """
    from okl_flow.cli.render import print_json, print_table
    from okl_flow.operators.inspection import records
    from okl_flow.operators.record import RecordCodec

    with _explained():
        heads = (
            (one.key, *RecordCodec.head(one.packed), one.partition)
            for one in records(_find(directory))
        )
        kept, total, size = _first(heads, sort, limit)
    if json:
        for key, events, time, length, partition in kept:
            seen = {"events": events, "bytes": length, "last_seen": _moment(time)}
            print_json({"key": key, **seen, "partition": partition})
        return
    print_table(
        ["key", "events", "bytes", "last seen"],
        [
            [key, f"{events:,}", f"{length:,}", _moment(time) or "-"]
            for key, events, time, length, _ in kept
        ],
        numbers=2,
    )
    typer.echo(f"{len(kept):,} of {total:,} keys; {size:,} bytes in all")


@state.command()
def show(
    directory: Directory,
    key: Key,
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Show what is kept for a key, and what its learners say of themselves.

    okl-flow state show state user-000004 --json
    """
    from okl_flow.cli.render import print_json

    found = _find(directory)
    with _explained():
        from okl_flow.operators.inspection import pending
        from okl_flow.operators.notes import waiting_in

        stored, record, learners = _opened(found, key)
        events, labels = waiting_in(record.notes)
        told: dict[str, Any] = {
            "key": key,
            "partition": stored.partition,
            "version": stored.version,
            "bytes": len(stored.packed),
            "events": record.events,
            "last_seen": _moment(record.time),
            "waiting_events": events,
            "waiting_labels": labels,
            "requests": [one.kind for one in pending(found, stored.partition) if one.key == key],
            "learners": [
                _described(learner, one)
                for learner, one in zip(learners, record.states, strict=False)
            ],
        }
    if json:
        print_json(told)
    else:
        _print_lines(told)


@state.command()
def export(directory: Directory, key: Key, file: Path, learner: Number = 0) -> None:
    """Write the learner of a key to FILE, as a snapshot that any program of ours can load.

    okl-flow state export state user-000004 ann.okl
    """
    from okl_flow import snapshot
    from okl_flow.operators.requests import write_whole

    with _explained():
        _, record, learners = _opened(_find(directory), key)
        chosen = _chosen(learners, learner)
        if not record.states:
            raise CommandError(f"the key {key!r} has no learner yet: no event of it was scored")
        blob = snapshot.dumps(chosen, record.states[learner])
        write_whole(file.absolute(), blob)
    typer.echo(f"{file}: {chosen.name} of {key}, {record.events:,} events, {len(blob):,} bytes")


@state.command("import")
def import_(directory: Directory, key: Key, file: Path, learner: Number = 0) -> None:
    """Put the learner in FILE in the place of the one that a key has, or begin the key with it.

    okl-flow state import state user-000004 ann.okl
    """
    from okl_flow import snapshot
    from okl_flow.operators.inspection import learners_of, record_of
    from okl_flow.operators.record import RecordCodec
    from okl_flow.operators.requests import IMPORT, Request

    with _explained():
        found = _find(directory)
        learners = learners_of(found)
        blob = file.read_bytes()
        made = snapshot.restore(_chosen(learners, learner), blob)
        stored = record_of(found, key)
        if stored is not None:
            for other in RecordCodec(learners).unpack(stored.packed).states:
                if other.dim != made.dim:
                    raise CommandError(
                        f"{file} is for {made.dim} features, and the key {key!r} has {other.dim}"
                    )
        request = Request(IMPORT, key, learner, blob)
        _ask(found, request, "imported")


@state.command()
def forget(directory: Directory, key: Key) -> None:
    """Delete everything that is kept for a key.

    okl-flow state forget state user-000004
    """
    from okl_flow.operators.requests import FORGET, Request

    with _explained():
        _ask(_find(directory), Request(FORGET, key), "forgotten")


@state.command()
def verify(directory: Directory) -> None:
    """Check every record, and that the journals are whole; exit with 1 if they are not.

    okl-flow state verify state
    """
    from okl_flow.operators.inspection import findings, learners_of, records
    from okl_flow.operators.store import StoreError

    with _explained():
        found = _find(directory)
        learners, wrong = None, 0
        try:
            learners = learners_of(found)
        except StoreError as error:
            typer.echo(f"states are not unpacked: {error}", err=True)
        for finding in findings(found, learners):
            typer.echo(finding)
            wrong += 1
        if wrong:
            typer.echo(f"{wrong:,} findings", err=True)
            raise typer.Exit(_FOUND)
        count = sum(1 for _ in records(found))
    typer.echo(f"{count:,} keys in {found.partitions} partitions: nothing is wrong")


def _find(directory: Path) -> "StateDirectory":
    from okl_flow.operators.store import StateDirectory

    with _explained():
        return StateDirectory.find(directory)


@contextmanager
def _explained() -> Iterator[None]:
    """What stores, records, snapshots and files raise, as messages for the user."""
    from okl_flow.operators.record import RecordError
    from okl_flow.operators.store import StoreError
    from okl_flow.snapshot import SnapshotError

    try:
        yield
    except (StoreError, RecordError, SnapshotError) as error:
        raise CommandError(str(error)) from error
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CommandError(f"{error.filename}: {error.strerror}") from error


def _first(
    heads: Iterator[tuple[Any, ...]], sort: Order, limit: int
) -> tuple[list[tuple[Any, ...]], int, int]:
    """The first heads in an order, how many there are in all, and their bytes."""
    total = size = 0

    def counted() -> Iterator[tuple[Any, ...]]:
        nonlocal total, size
        for head in heads:
            total += 1
            size += head[3]
            yield head

    at = {Order.EVENTS: 1, Order.SEEN: 2, Order.BYTES: 3}.get(sort)

    def place(head: tuple[Any, ...]) -> tuple[Any, ...]:
        return (head[0],) if at is None else (-(head[at] or 0), head[0])

    if limit:
        return heapq.nsmallest(limit, counted(), key=place), total, size
    return sorted(counted(), key=place), total, size


def _opened(directory: "StateDirectory", key: str) -> "tuple[Stored, Record, list[Learner]]":
    """The record of a key, and the learners of the directory."""
    from okl_flow.operators.inspection import learners_of, record_of
    from okl_flow.operators.record import RecordCodec

    learners = learners_of(directory)
    stored = record_of(directory, key)
    if stored is None:
        raise CommandError(f"there is nothing about the key {key!r} in {directory.path}")
    return stored, RecordCodec(learners).unpack(stored.packed), learners


def _chosen(learners: "list[Learner]", number: int) -> "Learner":
    if number >= len(learners):
        raise CommandError(
            f"--learner must be below {len(learners)}, as there are so many; it is {number}"
        )
    return learners[number]


def _ask(directory: "StateDirectory", request: "Request", done: str) -> None:
    from okl_flow.operators.inspection import ask

    if ask(directory, request):
        typer.echo(f"{request.key}: {done}")
    else:
        typer.echo(f"{request.key}: will be {done} with the next commit of the job that is running")


def _described(learner: "Learner", held: Any) -> dict[str, Any]:
    """What there is to say about one learner of a key."""
    import numpy as np

    from okl_flow import snapshot
    from okl_flow.state import inner_states
    from okl_flow.tuned import Tuned, TunedState

    told = snapshot.inspect(snapshot.dumps(learner, held))
    del told["format_version"]
    parts = list(inner_states(held))
    norms = {
        f"{path}weights": float(np.linalg.norm(part.weights))
        for path, part in parts
        if hasattr(part, "weights")
    }
    tuned = next((part for _, part in parts if isinstance(part, TunedState)), None)
    behind = learner if isinstance(learner, Tuned) else getattr(learner, "learner", None)
    chosen = behind.chosen(tuned) if isinstance(behind, Tuned) and tuned is not None else None
    return {**told, "norms": norms, **({"chosen": chosen} if chosen else {})}


def _moment(time: int | None) -> str | None:
    """Milliseconds since 1970 as a date and a time of day."""
    if time is None:
        return None
    try:
        return datetime.fromtimestamp(time / 1000, UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return f"{time} ms"


def _print_lines(told: dict[str, Any], indent: str = "") -> None:
    """Names and values, a line each; those of parts indented."""
    for name, value in told.items():
        words = name.replace("_", " ")
        if isinstance(value, list) and value and isinstance(value[0], dict):
            for number, one in enumerate(value):
                typer.echo(f"{indent}{words} {number}")
                _print_lines(one, indent + "  ")
        elif isinstance(value, dict):
            typer.echo(f"{indent}{words}")
            _print_lines(value, indent + "  ")
        elif value not in (None, []):
            typer.echo(f"{indent}{words}: {_words(value)}")


def _words(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple | list):
        return " x ".join(map(str, value)) if isinstance(value, tuple) else ", ".join(value)
    return str(value)
