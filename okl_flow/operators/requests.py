"""What the command line asks of a job's state while the job holds it: to forget, to import.

A request is a file beside the stores, named so that the first comes first. The store that takes
it up notes it with the version in which it was answered. The file stays until that version can
no longer be undone: a job that resumes from before it answers once more.
"""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from okl_flow import snapshot
from okl_flow.learner import Learner
from okl_flow.operators.record import Record

__all__ = ["FORGET", "IMPORT", "Request", "answered", "leave", "left", "sync_folder", "write_whole"]

FORGET, IMPORT = "forget", "import"


@dataclass(frozen=True, slots=True)
class Request:
    """The wish that the record of a key be deleted, or one state in it be replaced."""

    kind: str  # FORGET or IMPORT
    key: str
    learner: int = 0  # whose state is imported, by its number among those of the operator
    snapshot: bytes = b""  # of that learner and its state
    id: str = ""  # given when it is left


def leave(folder: Path, request: Request) -> Path:
    """Leave a request for the partition whose folder this is."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{time.time_ns():020d}-{os.getpid()}.request"
    write_whole(path, msgspec.msgpack.encode(request))
    return path


def left(folder: Path) -> Iterator[Request]:
    """The requests that lie in a folder, the first first."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".request"))
    except FileNotFoundError:
        return
    for name in names:
        try:
            request = msgspec.msgpack.decode((folder / name).read_bytes(), type=Request)
        except FileNotFoundError:  # taken away since, as it is done with
            continue
        yield replace(request, id=name)


def answered(request: Request, record: Record | None, learners: Sequence[Learner]) -> Record | None:
    """The record of the key once the request is answered; None if there is to be none.

    An imported state brings its own count of events where the operator has one learner, or
    knows nothing of the key yet; the other learners of such a key begin with it.
    """
    if request.kind == FORGET:
        return None
    learner = learners[request.learner]
    state = snapshot.restore(learner, request.snapshot)
    if record is None or not record.states:
        states = [one.init(state.dim) for one in learners]
        record = Record(states, state.seen) if record is None else record
        record.states = states
    if len(learners) == 1:
        record.events = state.seen
    record.states[request.learner] = state
    return record


def write_whole(path: Path, contents: bytes) -> None:
    """Write a file that is there with all of its contents or not at all, even after a crash."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with beside.open("wb") as file:
        file.write(contents)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Let the names in a folder be on the disk."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
