"""What the engine would go on from: its recovery directory, looked into and left as it is."""

import io
import pickle
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

__all__ = ["Recovered", "recovered", "version_in"]

_PARTS = "part-*.sqlite3"
_POINTER = tuple[int, str, int, int]


@dataclass
class Recovered:
    """The last execution, and the snapshots that a resume would begin with."""

    numbers: list[int] = field(default_factory=list)  # of the parts that are there
    counts: set[int] = field(default_factory=set)  # how many each says that there are
    executions: int = 0
    epoch: int | None = None  # that a resume begins with
    closed: dict[int, int] = field(default_factory=dict)  # of each part, its last closed epoch
    unclosed: int = 0  # snapshots of epochs that were not
    states: dict[tuple[str, str], Any] = field(default_factory=dict)  # of step and key

    def of_step(self, step_id: str) -> dict[str, Any]:
        """The states of a step, by their keys."""
        return {key: state for (step, key), state in self.states.items() if step == step_id}


def recovered(directory: Path, steps: set[str]) -> Recovered:
    """What a directory holds; a ValueError names a part that cannot be read.

    States are those of the steps named, as far as they are of plain types.
    """
    found = Recovered()
    executions: dict[int, tuple[int, int]] = {}
    fronts: dict[tuple[int, int], int] = {}
    for path in sorted(directory.glob(_PARTS)):
        with closing(_opened(path)) as database:
            try:
                [(number, count)] = database.execute("SELECT part_index, part_count FROM parts")
                found.numbers.append(number)
                found.counts.add(count)
                rows = database.execute("SELECT ex_num, worker_count, resume_epoch FROM exs")
                executions |= {ex: (workers, epoch) for ex, workers, epoch in rows}
                rows = database.execute("SELECT ex_num, worker_index, worker_frontier FROM fronts")
                fronts |= {(ex, worker): front for ex, worker, front in rows}
                for part, epoch in database.execute("SELECT part_index, commit_epoch FROM commits"):
                    found.closed[part] = epoch
            except (sqlite3.Error, ValueError) as error:
                raise ValueError(f"{path}: {error}") from None
    if not executions:
        return found
    last = max(executions)
    workers, begun = executions[last]
    found.executions = len(executions)
    found.epoch = min(fronts.get((last, worker), begun) for worker in range(workers))
    for path in sorted(directory.glob(_PARTS)):
        with closing(_opened(path)) as database:
            _read_states(database, found, found.epoch, steps)
    return found


def _read_states(
    database: sqlite3.Connection, found: Recovered, epoch: int, steps: set[str]
) -> None:
    [(count,)] = database.execute("SELECT count(*) FROM snaps WHERE snap_epoch >= ?", (epoch,))
    found.unclosed += count
    rows = database.execute(
        "SELECT step_id, state_key, ser_change, max(snap_epoch) FROM snaps WHERE snap_epoch < ? "
        "GROUP BY step_id, state_key",
        (epoch,),
    )
    for step, key, change, _epoch in rows:
        if step in steps and change is not None:
            try:
                found.states[step, key] = _Plain(io.BytesIO(change)).load()
            except (pickle.UnpicklingError, EOFError):
                continue  # of no plain type: nothing is said about it


def version_in(state: Any) -> tuple[str, int, int] | None:
    """Of a state partition's state: its state directory's id, its number, and the version.

    None if the engine keeps the models themselves.
    """
    if not isinstance(state, bytes):
        return None
    try:
        _number, pointer, *_figures = msgspec.msgpack.decode(state, type=list[Any])
        _form, store, partition, version = msgspec.msgpack.decode(pointer, type=_POINTER)
    except (msgspec.MsgspecError, TypeError, ValueError):
        return None
    return store, partition, version


class _Plain(pickle.Unpickler):
    """Only what needs no class, but that of bytes: a `Snapshot` asks for it."""

    def find_class(self, module: str, name: str) -> type[bytes]:
        """Refuse all others."""
        if (module, name) == ("builtins", "bytes"):
            return bytes
        raise pickle.UnpicklingError(f"{module}.{name}")


def _opened(path: Path) -> sqlite3.Connection:
    """A part, to read it only: nothing is put beside one that no process has open."""
    is_open = path.with_name(f"{path.name}-wal").exists()
    how = "mode=ro" if is_open else "immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=5.0)
