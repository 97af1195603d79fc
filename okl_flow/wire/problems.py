"""What is wrong with a record, in words: where, what was expected, what was found."""

import re
from dataclasses import dataclass
from typing import Any

from okl_flow.events import Reason
from okl_flow.formats.base import found
from okl_flow.parameters import nearest

__all__ = ["Problem", "explained", "problem_at", "seen"]

_AT = re.compile(r" - at `(?:key` in `)?\$\.?(?P<place>.*)`", re.DOTALL)
_EXPECTED = re.compile(r"Expected `(?P<kinds>[^`]*)`(?P<bounds>.*?)(?:, got `[^`]*`)?", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`", re.DOTALL)
_STEP = re.compile(r"(?P<name>\w*)\[(?P<index>\d+)\]")
_KINDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "null": "null",
    "object": "an object",
    "str": "a text",
}
_REASONS = {"key": Reason.KEY, "features": Reason.FEATURES, "label": Reason.LABEL}
_SCALARS = (bool, int, float, str, type(None))
_ABSENT = object()


@dataclass(slots=True)
class Problem:
    """Why a record is rejected, and whose it is, as far as that could be read."""

    reason: Reason
    message: str
    key: str | None = None
    id: str | None = None


def seen(value: Any) -> str:
    """A value as a message shows it, whatever it is.

    >>> seen("spam"), seen([1]), seen([object])
    ("found 'spam'", 'found [1]', 'found a value of the type list')
    """
    try:
        return found(value)
    except (TypeError, ValueError, RecursionError, OverflowError):
        return f"found a value of the type {type(value).__name__}"


def problem_at(place: str, message: str) -> Problem:
    """A problem with a member of a record; the first word of the place gives the reason.

    >>> problem_at("features.height", "expected a number").reason.value
    'features'
    """
    member = re.match(r"\w*", place)
    reason = _REASONS.get(member[0] if member else "", Reason.MALFORMED)
    return Problem(reason, f"{place}: {message}" if place else message)


def explained(error: Exception, record: Any, expected: dict[str, str], known: Any) -> Problem:
    """The problem that a typed decoder has found in a record that is well-formed.

    `record` is what an untyped decoder makes of it, None if that fails too. `expected` says what
    a place should hold where the decoder's own words are too plain, and `known` which names
    the features may have, if they are fixed.
    """
    text = str(error)
    at = _AT.search(text)
    place = at["place"] if at else ""
    text = text[: at.start()] if at else text
    if unknown := _UNKNOWN.fullmatch(text):
        name = unknown["name"]
        return problem_at(
            f"{place}.{name}" if place else name,
            f"expected no member of this name{nearest(name, known if place else expected)}",
        )
    place, value = _looked_up(record, place)
    if place in expected:
        text = f"expected {expected[place]}"
    elif match := _EXPECTED.fullmatch(text):
        kinds = [_KINDS.get(kind, kind) for kind in match["kinds"].split(" | ")]
        text = "expected " + " or ".join(kinds) + match["bounds"]
    else:
        text = text[:1].lower() + text[1:]
    return problem_at(place, text if value is _ABSENT else f"{text}, {seen(value)}")


def _looked_up(record: Any, place: str) -> tuple[str, Any]:
    """A place as the decoder names it, made definite, and what the record has there."""
    head, dot, rest = place.removesuffix("[...]").partition(".")
    if place.endswith("[...]") and not dot:
        rest = _first_unfit(record.get(head)) if isinstance(record, dict) else ""
        dot = "." if rest else ""
    if not place:
        return "", record
    value: Any = record
    for name in (head, rest) if dot else (head,):
        value = _member(value, name)
    return head + dot + rest, value


def _first_unfit(features: Any) -> str:
    """The name of the first feature that is no number, text, truth value or null."""
    items = features.items() if isinstance(features, dict) else ()
    return next((str(name) for name, value in items if not isinstance(value, _SCALARS)), "")


def _member(value: Any, name: str) -> Any:
    """A member of an object, or an element of a list in it; `_ABSENT` if there is none."""
    if isinstance(value, dict) and name in value:
        return value[name]
    step = _STEP.fullmatch(name)
    if step is None:
        return _ABSENT
    inner = _member(value, step["name"]) if step["name"] else value
    index = int(step["index"])
    return inner[index] if isinstance(inner, list) and index < len(inner) else _ABSENT
