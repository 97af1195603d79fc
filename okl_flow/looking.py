"""Whether a flow is built only to be looked at, and what it says of itself while it is built.

Then nothing is made or asked for it: no topic, no directory. What a flow is to read, decode and
keep is noted where it says so, and whoever looks finds it in a list.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["is_only", "note", "only"]

_lists: list[list[Any]] = []


@contextmanager
def only() -> Iterator[list[Any]]:
    """Only look, for the length of a `with`; the list gets what is noted.

    >>> with only() as seen:
    ...     note("a topic")
    ...     is_only(), seen
    (True, ['a topic'])
    >>> is_only()
    False
    """
    _lists.append([])
    try:
        yield _lists[-1]
    finally:
        _lists.pop()


def is_only() -> bool:
    """Whether the flow that is being built is only looked at."""
    return bool(_lists)


def note(thing: Any) -> None:
    """Take note of something, if somebody looks."""
    if _lists:
        _lists[-1].append(thing)
