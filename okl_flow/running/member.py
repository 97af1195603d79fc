"""One process of a cluster, as its supervisor sees it."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from okl_flow.running.logs import Log
from okl_flow.running.messages import Failed, Finished, Logged, Refused, Running, Start, Told

__all__ = ["Member"]

STOPPING = (signal.SIGINT, signal.SIGTERM)
_CHUNK = 1 << 16
_DRAIN = b"drain\n"


class Member:
    """A process that was started, what it has told, and how it has ended.

    Parameters:
        start: what it is to do.
        variables: its environment.
        held: file descriptors that it keeps open as long as it lives.
        log: where its records go.
    """

    def __init__(
        self, start: Start, variables: Mapping[str, str], held: Sequence[int], log: Log
    ) -> None:
        self.number = start.number
        self.told: Told | None = None  # the last thing that was no log record
        self.has_run = False
        self.is_killed = False  # by us
        self._log = log
        self._told = self._printed = b""  # unfinished lines
        self._socket, theirs = socket.socketpair()
        # What a terminal or a service manager sends to all processes is for the supervisor alone.
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "okl_flow.running.process", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno(), *held],
                env=dict(variables),
            )
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
            theirs.close()
        assert self._process.stderr is not None
        self._stderr = self._process.stderr
        os.set_blocking(self._stderr.fileno(), False)
        self.files = [self._socket.fileno(), self._stderr.fileno()]  # which tell of it
        self._send(msgspec.json.encode(start) + b"\n")

    @property
    def has_ended(self) -> bool:
        """Whether it has ended, and all that it told was read."""
        return not self.files

    @property
    def has_finished(self) -> bool:
        """Whether it has ended as it should."""
        return isinstance(self.told, Finished) and self._process.returncode == 0

    @property
    def process_id(self) -> int:
        """The number that the system knows it by."""
        return self._process.pid

    def read(self, file: int) -> None:
        """Read what has come, log what is to be logged, and take note of the rest."""
        if file == self._stderr.fileno():
            self._read_stderr()
            return
        try:
            read = os.read(file, _CHUNK)
        except ConnectionResetError:  # it died with something unread
            read = b""
        *lines, self._told = (self._told + read).split(b"\n")
        for line in lines:
            self._take(line)
        if not read:
            self._process.wait()
            while self._read_stderr():
                pass
            self._end()

    def _read_stderr(self) -> bool:
        """Pass on what it printed; False if there is no more for now."""
        try:
            read = os.read(self._stderr.fileno(), _CHUNK)
        except BlockingIOError:  # what it has started in its turn may have it open still
            return False
        *lines, self._printed = (self._printed + read).split(b"\n")
        for line in lines:
            self._log.pass_on(line.decode("utf-8", "backslashreplace"), self.number)
        if not read and self._stderr.fileno() in self.files:
            self.files.remove(self._stderr.fileno())
        return bool(read)

    def _end(self) -> None:
        if self._printed:
            self._log.pass_on(self._printed.decode("utf-8", "backslashreplace"), self.number)
        self.files.clear()
        self._socket.close()
        self._stderr.close()

    def drain(self) -> None:
        """Ask it to come to an end in good order."""
        self._send(_DRAIN)

    def kill(self) -> None:
        """End it at once."""
        if self._process.poll() is None:
            self.is_killed = True
            self._process.kill()

    def failure(self) -> tuple[int, str, str | None]:
        """How it ended, in words: how much that explains, the less the more, and the trace."""
        who = f"process {self.number}"
        if isinstance(self.told, Refused):
            return 0, self.told.message, self.told.trace
        if isinstance(self.told, Failed) and self.told.trace is not None:
            return 1, f"{who}: {self.told.message}", self.told.trace
        code = self._process.returncode
        if code < 0 and not self.is_killed:
            return 2, f"{who} was killed by signal {-code}", None
        if isinstance(self.told, Failed):
            why = f"{self.told.message}; --processes 1 may tell more"
            return 3, f"{who}: the engine stopped without a reason: {why}", None
        return 4, f"{who} ended with code {code}", None

    def _take(self, line: bytes) -> None:
        told: Any = msgspec.json.decode(line, type=Told)
        if isinstance(told, Logged):
            self._log.write(told, self.number)
            return
        self.has_run = self.has_run or isinstance(told, Running)
        self.told = told

    def _send(self, line: bytes) -> None:
        try:
            self._socket.sendall(line)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has ended, and that is seen soon
