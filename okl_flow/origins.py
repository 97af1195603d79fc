"""Where settings come from that reach a flow as variables of its environment.

`okl-flow run` hands settings of its options and of a file on to its processes as variables. What
is said about one of them names the option, or the line of the file, where it is to be mended.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

__all__ = ["COMMAND", "ENVIRONMENT", "FILE", "Origin", "called", "note", "noted", "placed"]

FILE, ENVIRONMENT, COMMAND = range(3)
"""The layers that settings come from; a later one goes before an earlier one."""


class Origin(msgspec.Struct, frozen=True):
    """Where a variable's value stands."""

    place: str  # in words: --brokers, or "a.toml, line 3: source.brokers"
    folder: str | None = None  # what paths in it start from, if not the working directory
    layer: int = COMMAND
    line: int = 0  # of the file
    type: str | None = None  # that the value has in the file: text, number, flag or list
    raw: str | None = None  # how it stands there, if variables of the environment filled it in
    path: str | None = None  # section and key by which it was set, if it was so


_noted: dict[str, Origin] = {}


def note(origins: Mapping[str, Origin]) -> None:
    """Take note of where variables come from, in place of what was noted."""
    _noted.clear()
    _noted.update(origins)


def noted() -> Mapping[str, Origin]:
    """Where variables come from, as it was noted."""
    return _noted


def called(variable: str) -> str:
    """What a variable is called where it was set.

    >>> called("OKL_EVENTS")
    'OKL_EVENTS'
    >>> note({"OKL_EVENTS": Origin("a.toml, line 3: source.events")})
    >>> called("OKL_EVENTS")
    'a.toml, line 3: source.events'
    >>> note({})
    """
    return _noted[variable].place if variable in _noted else variable


def placed(path: str, origin: Origin | None) -> str:
    """A path, from the folder that it is relative to where it was set.

    >>> placed("a.jsonl", Origin("a.toml, line 3: source.events", "/jobs")), placed("state", None)
    ('/jobs/a.jsonl', 'state')
    """
    return path if origin is None or origin.folder is None else str(Path(origin.folder) / path)
