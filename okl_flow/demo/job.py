"""`okl-flow run` as a process of the demonstration, with what it tells."""

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

import msgspec

from okl_flow.page import IS_AT

__all__ = ["Job"]

FLOW = "dataflows.per_user:flow"
_RUNNING, _KILLED, _AGAIN = "running, as ", " was killed by signal ", "starting again in "
_LEVELS = ("warning", "error")
_PREFIX = "OKL_"


@dataclass
class Job:
    """A run of the flow `dataflows.per_user`, and its processes, in a group of their own.

    Parameters:
        words: options of `okl-flow run`.
        variables: settings of the flow, by the names of their variables.
    """

    words: list[str]
    variables: Mapping[str, str]
    starts: int = 0  # how often the cluster has begun to run
    pids: list[int] = field(default_factory=list)  # of its processes, those that run now
    page: str | None = None  # where its live page is, if it has one
    told: deque[str] = field(default_factory=deque)  # what is worth telling, to be taken from here
    problems: deque[str] = field(default_factory=lambda: deque(maxlen=3))  # the latest

    def __post_init__(self) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(_PREFIX)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "okl_flow.cli", "run", FLOW, "--log", "json", *self.words],
            env={**clean, **self.variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # what a terminal sends is for the demonstration alone
        )
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def code(self) -> int | None:
        """How it has ended; None while it runs."""
        return self._process.poll()

    def kill_one(self) -> int:
        """Kill a process of the flow, the last one, with SIGKILL; says which."""
        pid = self.pids[-1]
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        return pid

    def drain(self) -> None:
        """Ask it to come to an end in good order."""
        self._process.send_signal(signal.SIGTERM)

    def end(self) -> None:
        """End what still runs of it, and wait until all of it is gone."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.read()  # ends with the last process that has it open
        self._reader.join()
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for line in lines:
                self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            record: dict[str, Any] = msgspec.json.decode(line)
        except msgspec.DecodeError:  # of a program that could not even begin
            self.problems.append(line.decode("utf-8", "backslashreplace").rstrip())
            return
        message = record["message"]
        if message.startswith(IS_AT):
            self.page = message.removeprefix(IS_AT).strip()
        if message.startswith(_RUNNING):
            self.pids = [int(pid) for pid in message.removeprefix(_RUNNING).split(", ")]
            self.starts += 1
        if record["logger"].startswith("okl_flow.running") and (
            message.startswith((_RUNNING, _AGAIN)) or _KILLED in message
        ):
            self.told.append(message)
        elif record["level"] in _LEVELS:
            self.problems.append(message)
