"""A name and its parameters in one line, such as `kogd budget=50`; and several with names."""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from okl_flow.job.kinds import Kind
from okl_flow.parameters import nearest, parameters_of

__all__ = [
    "Drifts",
    "Learner",
    "Learners",
    "Line",
    "Named",
    "faults_of",
    "line_of",
    "lines_of",
    "parsed",
    "parted",
    "unknown_of",
]

Faults = list[tuple[str, str]]
"""What is wrong, with the parameter that it is about; empty for the whole."""

Parameters = dict[str, Any]


def parsed(line: str, example: str = "kogd budget=50") -> tuple[str, Parameters]:
    """The name and the parameters that are in one line.

    >>> parsed("kogd budget=50 loss=logistic")
    ('kogd', {'budget': 50, 'loss': 'logistic'})
    """
    name, *words = line.split() or [""]
    parameters = {}
    for word in words:
        parameter, equals, value = word.partition("=")
        if not equals or not parameter:
            raise ValueError(f"expected a name and parameters such as {example!r}, found {word!r}")
        if parameter in parameters:
            raise ValueError(f"expected each parameter once, found {parameter!r} twice")
        try:
            parameters[parameter] = msgspec.json.decode(value)
        except msgspec.DecodeError:
            parameters[parameter] = value
    if not name or "=" in name:
        raise ValueError(f"expected a name and parameters such as {example!r}, found {line!r:.80}")
    return name, parameters


def line_of(name: str, parameters: Mapping[str, Any]) -> str:
    """A name and its parameters in one line.

    >>> line_of("kogd", {"budget": 50, "loss": "logistic", "seed": "5"})
    'kogd budget=50 loss=logistic seed="5"'
    """
    return " ".join([name, *(f"{one}={_word(value)}" for one, value in parameters.items())])


def _word(value: Any) -> str:
    encoded = msgspec.json.encode(value).decode()
    if not isinstance(value, str):
        return encoded
    try:
        msgspec.json.decode(value)  # which would be taken for another thing
    except msgspec.DecodeError:
        return value
    return encoded


def parted(text: str) -> dict[str, str]:
    """Lines by their names.

    >>> parted("one: kogd budget=50; other: arow")
    {'one': 'kogd budget=50', 'other': 'arow'}
    """
    found: dict[str, str] = {}
    for part in text.split(";"):
        name, colon, line = (one.strip() for one in part.partition(":"))
        if not colon or not re.fullmatch(r"[A-Za-z0-9_-]+", name) or name in found or not line:
            raise ValueError(
                'expected learners by their names, such as "one: kogd budget=50; other: arow", '
                f"each name once, found {text!r:.80}"
            )
        found[name] = line
    return found


def lines_of(lines: Mapping[str, str]) -> str:
    """Lines with their names, as one text."""
    return "; ".join(f"{name}: {line}" for name, line in lines.items())


class Line(Kind):
    """Something that goes by a name, and has parameters."""

    example: str

    def value(self, text: str) -> str:
        """The line."""
        name, parameters = parsed(text, self.example)
        return line_of(name, parameters)

    @abstractmethod
    def faults(self, name: str, parameters: Parameters) -> Iterator[tuple[str, str]]:
        """What is wrong with a line, and which parameter that is about."""

    def merged(self, line: str, changes: Mapping[str, str]) -> str:
        """A line with other values of some parameters, given as texts."""
        name, parameters = parsed(line, self.example)
        words = " ".join(f"{one}={value}" for one, value in changes.items())
        return line_of(name, {**parameters, **parsed(f"{name} {words}")[1]})


class Learner(Line):
    """A learner, whose memory is bounded."""

    expected = "a learner"
    example = "kogd budget=50"

    def faults(self, name: str, parameters: Parameters) -> Iterator[tuple[str, str]]:
        """What is wrong with a learner."""
        from okl_flow.factory import make_learner
        from okl_flow.registry import REGISTRY

        if name not in REGISTRY:
            hint = nearest(name, REGISTRY)
            yield "", f"there is no learner {name!r}{hint}; known: {', '.join(REGISTRY)}"
            return
        found, left = faults_of(lambda given: make_learner(name, **given), parameters)
        yield from found
        if not found and make_learner(name, **left).state_bytes_max(1) is None:
            yield (
                "",
                f"the memory of {name} has no bound as it is configured, and streams have no end: "
                "give it a budget",
            )


class Named(Line):
    """One of a few names, with parameters that are checked by whoever uses them."""

    def __init__(self, example: str, *names: str) -> None:
        self.example = example
        self._names = names
        self.expected = f"one of {', '.join(names)}"

    def faults(self, name: str, parameters: Parameters) -> Iterator[tuple[str, str]]:
        """What is wrong with the name."""
        if name not in self._names:
            yield "", f"expected {self.expected}, found {name!r}{nearest(name, self._names)}"


class Drifts(Line):
    """A detector of drift, or none."""

    expected = "a detector of drift"
    example = "page_hinkley threshold=60"

    def faults(self, name: str, parameters: Parameters) -> Iterator[tuple[str, str]]:
        """What is wrong with a detector."""
        from okl_flow.evaluating.drift import Drift

        if name == "none":
            yield from unknown_of(name, parameters, [])
            return
        if name not in Drift.members:
            known = [*Drift.members, "none"]
            yield "", f"expected one of {', '.join(known)}, found {name!r}{nearest(name, known)}"
            return
        member: Any = Drift.members[name]
        known = [one.name for one in parameters_of(member)]
        yield from unknown_of(name, parameters, known)
        left = {one: value for one, value in parameters.items() if one in known}
        yield from faults_of(lambda given: member(**given), left)[0]


class Learners(Kind):
    """Learners by names of one's own."""

    expected = "learners by their names"

    def value(self, text: str) -> str:
        """The learners, in one text."""
        return lines_of({name: Learner().value(line) for name, line in parted(text).items()})


def unknown_of(
    name: str, parameters: Parameters, known: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """What is said about parameters that something does not have."""
    for one in parameters:
        if one not in known:
            hint = nearest(one, known) or f"; known: {', '.join(known) or 'none'}"
            yield one, f"{name} has no parameter {one!r}{hint}"


def faults_of(make: Callable[[Parameters], Any], given: Parameters) -> tuple[Faults, Parameters]:
    """All that is wrong with parameters, and those that nothing is wrong with.

    What makes the thing stops at the first fault. So the parameter that this is about is left
    away, and it is tried again. What then belongs to the one left away is no fault of its own.
    """
    found: Faults = []
    left = dict(given)
    while (message := _message(make, left)) is not None:
        guilty = _guilty(make, left, message)
        if not any(one and f"{one}=" in message for one, _said in found):
            found.append((guilty, message))
        if not guilty:
            break
        del left[guilty]
    return found, left


def _guilty(make: Callable[[Parameters], Any], given: Parameters, message: str) -> str:
    """The parameter without which a message is not the same: one that it names, if there is."""
    named: list[str] = re.findall(r"\w+", message)
    for one in dict.fromkeys([*filter(given.__contains__, named), *given]):
        others = {name: value for name, value in given.items() if name != one}
        if _message(make, others) != message:
            return one
    return ""


def _message(make: Callable[[Parameters], Any], given: Parameters) -> str | None:
    try:
        make(given)
    except (ValueError, TypeError) as error:
        return str(error)
    return None
