"""Sizes, times and lists for people."""

from collections.abc import Sequence

__all__ = ["counted", "listed", "size", "span"]

_KILO = 1024
_SPANS = ((86_400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))
_SHOWN = 3


def counted(count: int, name: str) -> str:
    """So many of something.

    >>> counted(1, "topic"), counted(2000, "record")
    ('1 topic', '2,000 records')
    """
    return f"{count:,} {name}{'s' * (count != 1)}"


def size(count: float) -> str:
    """A number of bytes.

    >>> size(3 * 1024**3), size(10)
    ('3.0 GiB', '10 bytes')
    """
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if count >= _KILO**power:
            return f"{count / _KILO**power:.1f} {unit}"
    return f"{count:.0f} bytes"


def span(seconds: float) -> str:
    """A length of time.

    >>> span(7 * 86_400), span(5400), span(0.25)
    ('7 days', '1.5 h', '250 ms')
    """
    for length, unit in _SPANS:
        if seconds >= length:
            return f"{seconds / length:.3g} {unit}"
    return f"{1000 * seconds:.3g} ms"


def listed(names: Sequence[str]) -> str:
    """The first of some names, and how many there are besides.

    >>> listed(["a", "b"]), listed(list("abcde"))
    ('a, b', 'a, b, c and 2 more')
    """
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
