"""The live page beside a run: a process of its own, which ends with the run."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from okl_flow.cli.dashboard import OF_JOB
from okl_flow.cli.errors import CommandError
from okl_flow.origins import Origin, placed
from okl_flow.page import IS_AT

__all__ = ["beside"]

_BROKERS, _CONFIG = "OKL_BROKERS", "OKL_KAFKA_CONFIG"


@contextmanager
def beside(
    variables: Mapping[str, str], origins: Mapping[str, Origin], told: Callable[[str], None]
) -> Iterator[None]:
    """The page of a job for the length of a `with`.

    It holds the other end of a pipe, so that it ends with this process, whatever becomes of it.

    Parameters:
        variables: those of the job, beside those of the environment.
        origins: where they come from, for paths that start elsewhere.
        told: gets what the page says, line by line.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "okl_flow.cli", "dashboard", "--attached"],
        env={**os.environ, **_resolved(variables, origins)},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C drains the job, and the page shows that
    )
    assert process.stdin is not None and process.stderr is not None
    lines = process.stderr

    def tell() -> None:
        for line in lines:
            told(line.strip())

    try:
        first = lines.readline().strip()
        if not first.startswith(IS_AT):
            raise CommandError(f"--dashboard: {first.removeprefix('okl-flow: ')}")
        told(first.partition(";")[0])
        reader = threading.Thread(target=tell, daemon=True)
        reader.start()
        yield
    finally:
        process.stdin.close()
        process.wait()
    reader.join()


def _resolved(variables: Mapping[str, str], origins: Mapping[str, Origin]) -> dict[str, str]:
    """The variables that the page wants, with paths that start from the working directory."""
    wanted = {name: variables[name] for name in OF_JOB if name in variables}
    has_topics = variables.get(_BROKERS) or os.environ.get(_BROKERS)
    for name, value in wanted.items():
        is_path = name == _CONFIG or not has_topics
        if is_path and value != "-":
            wanted[name] = placed(value, origins.get(name))
    return wanted
