"""One process of a cluster: `python -m okl_flow.running.process SOCKET`, by the supervisor only.

It heeds no signals, since those of a terminal or of a service manager come to all processes at
once: the supervisor says through the socket when to drain. Where the socket ends, so does the
process, at once: nobody would start its cluster again.
"""

import logging
import os
import socket
import sys
import traceback
from datetime import timedelta
from pathlib import Path
from threading import Lock, Thread
from typing import IO, NoReturn

import msgspec
from prometheus_client import start_http_server

from okl_flow import draining, origins
from okl_flow.operators import engine
from okl_flow.operators.store import StoreError
from okl_flow.running.messages import (
    Failed,
    Finished,
    Logged,
    Refused,
    Running,
    Start,
    Taken,
    Told,
)

__all__ = ["main"]

_ENDED, _ORPHANED = 1, 3
_MENDABLE = (ConnectionError, TimeoutError, MemoryError)


class _Supervisor:
    """The other end of the socket."""

    def __init__(self, number: int) -> None:
        self._socket = socket.socket(fileno=number)
        self._socket.set_inheritable(False)
        self._lines: IO[bytes] = self._socket.makefile("rb")
        self._lock = Lock()

    def start(self) -> Start:
        """What is to be done; then a thread listens for what comes after it."""
        start = msgspec.json.decode(self._lines.readline(), type=Start)
        Thread(target=self._listen, daemon=True).start()
        return start

    def tell(self, told: Told) -> None:
        """Tell it something, at once."""
        with self._lock:
            self._socket.sendall(msgspec.json.encode(told) + b"\n")

    def _listen(self) -> None:
        while self._lines.readline():
            draining.request()
        os._exit(_ORPHANED)


class _Handler(logging.Handler):
    """Log records on their way to the supervisor, which writes them."""

    def __init__(self, supervisor: _Supervisor) -> None:
        super().__init__()
        self._supervisor = supervisor

    def emit(self, record: logging.LogRecord) -> None:
        """Hand a record over."""
        trace = None
        if record.exc_info and record.exc_info[1] is not None:
            trace = "".join(traceback.format_exception(record.exc_info[1]))
        level = record.levelname.lower()
        message = record.getMessage()
        self._supervisor.tell(Logged(record.created, level, record.name, message, trace))


def main() -> None:
    """Run a flow as the supervisor says, and tell it how that ended."""
    supervisor = _Supervisor(int(sys.argv[1]))
    start = supervisor.start()
    logging.basicConfig(level=logging.INFO, handlers=[_Handler(supervisor)], force=True)
    logging.captureWarnings(True)
    origins.note(start.origins)
    try:
        _run(supervisor, start)
    except BaseException as error:  # the engine's panics are no Exception
        _end(supervisor, Failed(_in_words(error)))


def _run(supervisor: _Supervisor, start: Start) -> None:
    def raised(error: BaseException) -> NoReturn:
        told = _refusal(error) or Failed(_in_words(error), _trace(error))
        _end(supervisor, told)

    try:
        flow = engine.flow_named(start.flow)
    except (Exception, SystemExit) as error:
        if isinstance(error, _MENDABLE):
            raised(error)
        _end(supervisor, Refused(_in_words(error), None if _is_plain(error) else _trace(error)))
    engine.watch(flow, raised)
    try:
        if start.metrics is not None:
            host, port = start.metrics
            start_http_server(port, addr=host)
        supervisor.tell(Running())
        engine.run(
            flow,
            addresses=start.addresses,
            number=start.number,
            epoch=timedelta(seconds=start.epoch),
            recovery=None if start.recovery is None else Path(start.recovery),
        )
    except engine.AddressTakenError:
        _end(supervisor, Taken())
    except Exception as error:  # of the engine itself, or of the port for metrics
        raised(error)
    supervisor.tell(Finished())


def _refusal(error: BaseException) -> Refused | None:
    """Whether an error of the flow would come again at every start.

    An error of a value is one of settings, or of input that a replay brings again. A store that
    refuses what it finds does so without a cause; with one, the disk may be well again later.
    """
    is_store = isinstance(error, StoreError) and error.__cause__ is None
    return Refused(_in_words(error)) if is_store or type(error) is ValueError else None


def _in_words(error: BaseException) -> str:
    return str(error) if _is_plain(error) else f"{type(error).__name__}: {error}"


def _is_plain(error: BaseException) -> bool:
    """Whether its message says all that one has to know."""
    plain = isinstance(error, SystemExit | StoreError | ModuleNotFoundError)
    return plain or type(error) is ValueError


def _trace(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def _end(supervisor: _Supervisor, told: Told) -> NoReturn:
    """Tell how it ended, and end without waiting for threads of the engine."""
    sys.stdout.flush()
    supervisor.tell(told)
    os._exit(_ENDED)


if __name__ == "__main__":
    main()
