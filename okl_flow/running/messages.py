"""What supervisor and processes tell each other: JSON objects, one per line."""

import msgspec

from okl_flow.origins import Origin

__all__ = [
    "Failed",
    "Finished",
    "Logged",
    "Refused",
    "Running",
    "Start",
    "Taken",
    "Told",
]


class Start(msgspec.Struct, frozen=True):
    """What a process is to do. Whatever comes after it asks the process to drain."""

    flow: str  # module:name
    number: int
    addresses: list[str]  # of all processes; none where there is but one
    epoch: float  # seconds
    recovery: str | None  # directory
    metrics: tuple[str, int] | None  # host and port
    origins: dict[str, Origin]  # of variables in its environment


class Logged(msgspec.Struct, tag="logged", frozen=True):
    """A log record of a process, or what it printed."""

    time: float  # seconds since 1970
    level: str
    logger: str
    message: str
    trace: str | None = None


class Running(msgspec.Struct, tag="running", frozen=True):
    """The flow is built, and the engine about to run it."""


class Finished(msgspec.Struct, tag="finished", frozen=True):
    """The flow has come to its end, and everything is in the last snapshot."""


class Failed(msgspec.Struct, tag="failed", frozen=True):
    """The process ends with an error that may not come again."""

    message: str
    trace: str | None = None  # None where the engine tells of another process's end


class Refused(msgspec.Struct, tag="refused", frozen=True):
    """The process ends with an error that would come again at every start."""

    message: str
    trace: str | None = None  # where the message alone does not say enough


class Taken(msgspec.Struct, tag="taken", frozen=True):
    """An address of the cluster was taken in the meantime."""


Told = Logged | Running | Finished | Failed | Refused | Taken
