"""Keyed jobs, run in processes of their own, and what they say of themselves."""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from bytewax.recovery import init_db_dir

from benchmarks.speed.keyed_job import Settings

__all__ = ["folder", "said_by"]

PATIENCE = 300.0  # seconds that one job may take


@contextmanager
def folder() -> Iterator[Path]:
    """A folder for recovery and state."""
    path = Path(tempfile.mkdtemp(prefix="okl-flow-bench-"))
    (path / "recovery").mkdir()
    init_db_dir(path / "recovery", 1)
    try:
        yield path
    finally:
        shutil.rmtree(path)


def said_by(settings: Settings) -> dict[str, float] | None:
    """What a job, in one process, says at its end; None if it takes too long."""
    settings = replace(settings, launched=time.perf_counter())
    command = [
        sys.executable,
        "-m",
        "benchmarks.speed.keyed_job",
        json.dumps(asdict(settings)),
        "0",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        try:
            said = started.communicate(timeout=PATIENCE)[0]
        except subprocess.TimeoutExpired:
            started.kill()
            return None
    found: dict[str, float] = json.loads(said.splitlines()[-1])
    return found
