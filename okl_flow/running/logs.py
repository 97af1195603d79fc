"""Logs, a line for each record: for people on a terminal, JSON lines for everything else."""

import os
import re
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import IO, Literal

import msgspec

from okl_flow.running.messages import Logged

__all__ = ["Form", "Log", "masked", "secrets_in"]

Form = Literal["text", "json"]

_MASK = "***"
_SECRET = r"(?:password|passwd|secret|token|credential|api[._-]?key|jaas[._-]?config)"
_NAME = re.compile(_SECRET + "$", re.IGNORECASE)
_NAMED = re.compile(
    rf"""((?:\w|[.-])*{_SECRET}["']?\s*(?:=|:)\s*)("[^"]*"|'[^']*'|[^\s,;}}]+)""",
    re.IGNORECASE,
)
_IN_ADDRESS = re.compile(r"(\w://[^/\s:@]*:)[^/\s@]+@")
_SHORTEST = 4  # of a secret that is looked for wherever it stands


def secrets_in(variables: Mapping[str, str]) -> list[str]:
    """The values of variables whose names end with a word for a secret.

    >>> secrets_in({"OKL_PASSWORD": "hunter2", "TOKENIZERS": "true", "HOME": "/root"})
    ['hunter2']
    """
    return [
        value for name, value in variables.items() if len(value) >= _SHORTEST and _NAME.search(name)
    ]


def masked(text: str, secrets: Iterable[str] = ()) -> str:
    """A text without secrets: those given, what stands behind a name of one, those in addresses.

    >>> masked("sasl.password=hunter2, user ann; http://ann:hunter2@host")
    'sasl.password=***, user ann; http://ann:***@host'
    >>> masked("refused: hunter2", ["hunter2"])
    'refused: ***'
    """
    for secret in secrets:
        text = text.replace(secret, _MASK)
    return _IN_ADDRESS.sub(rf"\1{_MASK}@", _NAMED.sub(rf"\1{_MASK}", text))


class Log:
    """Where the records of the supervisor and of all processes come together.

    Parameters:
        file: what is written to.
        form: "text" or "json".
        variables: of the processes, besides those of the environment, where secrets may be.
    """

    def __init__(
        self, file: IO[str], form: Form, variables: Mapping[str, str] | None = None
    ) -> None:
        self._file = file
        self._form = form
        self._secrets = secrets_in({**os.environ, **(variables or {})})

    def say(self, level: str, message: str, trace: str | None = None) -> None:
        """A record of the supervisor."""
        self.write(Logged(time.time(), level, "okl_flow.running", message, trace), None)

    def write(self, record: Logged, process: int | None) -> None:
        """A record of a process; None is the supervisor."""
        trace = None if record.trace is None else masked(record.trace, self._secrets)
        message = masked(record.message, self._secrets)
        safe = msgspec.structs.replace(record, message=message, trace=trace)
        self._put((_as_json if self._form == "json" else _as_text)(safe, process))

    def pass_on(self, line: str, process: int) -> None:
        """What a process printed: for people as it is, a record in JSON."""
        if self._form == "json":
            self.write(Logged(time.time(), "info", "stderr", line), process)
        else:
            self._put(masked(line, self._secrets))

    def _put(self, line: str) -> None:
        try:
            self._file.write(line + "\n")
            self._file.flush()
        except (BrokenPipeError, ValueError):  # nobody reads; that is no reason to stop a job
            pass


def _as_json(record: Logged, process: int | None) -> str:
    values = {
        "time": datetime.fromtimestamp(record.time, UTC).isoformat(timespec="milliseconds"),
        "level": record.level,
        "process": process,
        "logger": record.logger,
        "message": record.message,
    }
    if record.trace is not None:
        values["trace"] = record.trace
    return msgspec.json.encode(values).decode()


def _as_text(record: Logged, process: int | None) -> str:
    moment = datetime.fromtimestamp(record.time).astimezone().strftime("%H:%M:%S")
    who = "" if process is None else f" process {process}"
    where = "" if record.logger.startswith("okl_flow.running") else f" {record.logger}"
    line = f"{moment} {record.level}{who}{where}: {' '.join(record.message.split())}"
    if record.trace is None:
        return line
    return "\n".join([line, *(f"    {one}" for one in record.trace.rstrip().splitlines())])
