"""Whether this process has been asked to come to an end.

Sources look at it before each batch, and report the end of their input: then the engine takes a
last snapshot of everything, which no signal makes it do. Who asks, and by which signal, is the
affair of whoever runs the process.
"""

from threading import Event

__all__ = ["request", "requested", "reset"]

_asked = Event()


def request() -> None:
    """Ask the sources of this process to end.

    >>> request()
    >>> requested()
    True
    >>> reset()
    >>> requested()
    False
    """
    _asked.set()


def requested() -> bool:
    """Whether the sources of this process shall end."""
    return _asked.is_set()


def reset() -> None:
    """Take the request back, for the next flow of this process."""
    _asked.clear()
