"""The engine's recovery directory, made ready for a resume.

Bytewax 0.21.1 writes the snapshots of an epoch before it notes that the epoch is closed. If it is
killed in between, the next run begins at that epoch again, but those snapshots stay. What is
snapshotted anew replaces them. A key without items in the repeated epoch is not, and the run after
that takes its old one, of a state that has seen more than the source's position says.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

__all__ = ["discard_unclosed"]

_WAIT_SECONDS = 30.0


def discard_unclosed(directory: Path | str) -> int:
    """Delete the snapshots of epochs that were never closed; says how many there were.

    Call it before each start of a flow with a recovery directory: in every process of a cluster,
    before it begins to run, or once before all of them.

    Parameters:
        directory: the recovery directory, with all its partitions.

    >>> from bytewax.recovery import init_db_dir
    >>> folder = getfixture("tmp_path")
    >>> init_db_dir(folder, 2)
    >>> discard_unclosed(folder)
    0
    """
    paths = sorted(Path(directory).glob("part-*.sqlite3"))
    if not paths:
        raise ValueError(
            f"{directory} is no recovery directory; make one by: "
            f"python -m bytewax.recovery {directory} 1"
        )
    executions: dict[int, tuple[int, int]] = {}
    fronts: dict[tuple[int, int], int] = {}
    for path in paths:
        with closing(_opened(path)) as database:
            for number, workers, resumed in database.execute(
                "SELECT ex_num, worker_count, resume_epoch FROM exs"
            ):
                executions[number] = (workers, resumed)
            for number, worker, front in database.execute(
                "SELECT ex_num, worker_index, worker_frontier FROM fronts"
            ):
                fronts[number, worker] = front
    if not executions:
        return 0
    last = max(executions)
    workers, resumed = executions[last]
    resume = min(fronts.get((last, worker), resumed) for worker in range(workers))
    found = 0
    for path in paths:
        with closing(_opened(path)) as database, database:
            rows = database.execute("DELETE FROM snaps WHERE snap_epoch >= ?", (resume,))
            found += rows.rowcount
    return found


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=_WAIT_SECONDS)
