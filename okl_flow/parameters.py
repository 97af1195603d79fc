"""How a configuration declares and checks its parameters.

A learner, a kernel, a loss and a task are frozen dataclasses. Their fields are declared with
`whole`, `real`, `flag`, `choice` and `part`, which say what values are allowed; `check` enforces
it and names the parameter and its value when it refuses.
"""

import difflib
import math
from abc import ABC
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, ClassVar

__all__ = [
    "Part",
    "changed",
    "check",
    "choice",
    "choices_within",
    "difference",
    "family_of",
    "flag",
    "flat",
    "nearest",
    "options_of",
    "parameters_of",
    "part",
    "parts_within",
    "real",
    "whole",
]


class Part(ABC):
    """A named choice inside a configuration, with parameters of its own: a kernel, say.

    A family of parts is a direct subclass; its members register under their `name`.
    """

    name: ClassVar[str]
    members: ClassVar[dict[str, type[Any]]]

    def __init_subclass__(cls, *, name: str | None = None) -> None:
        if name is None:
            cls.members = {}
        else:
            cls.name = name
            cls.members[name] = cls


@dataclass(frozen=True)
class _Rule:
    """What one parameter may be."""

    kind: str
    low: float = -math.inf
    high: float = math.inf
    above: float = -math.inf
    below: float = math.inf
    options: tuple[str, ...] = ()
    optional: bool = False
    family: type[Part] | None = None

    def refusal(self, value: Any) -> str | None:
        """What was expected instead of `value`, or None if it is allowed."""
        if value is None and self.optional:
            return None
        if self.family is not None:
            expected = f"one of {', '.join(self.family.members)}"
            return None if isinstance(value, self.family) else expected
        if self.options:
            return None if value in self.options else f"one of {', '.join(self.options)}"
        if self.kind == "flag":
            return None if isinstance(value, bool) else "True or False"
        expected = f"a {self.kind} number" + self._range() + (" or None" if self.optional else "")
        allowed = isinstance(value, int) or (self.kind == "real" and isinstance(value, float))
        if isinstance(value, bool) or not allowed or not math.isfinite(value):
            return expected
        inside = self.low <= value <= self.high and self.above < value < self.below
        return None if inside else expected

    def _range(self) -> str:
        bounds = []
        if self.low > -math.inf:
            bounds.append(f"at least {self.low:g}")
        if self.above > -math.inf:
            bounds.append(f"above {self.above:g}")
        if self.high < math.inf:
            bounds.append(f"at most {self.high:g}")
        if self.below < math.inf:
            bounds.append(f"below {self.below:g}")
        return " " + " and ".join(bounds) if bounds else ""


def whole(default: int | None, *, low: int, optional: bool = False) -> Any:
    """A parameter that is a whole number, at least `low`; None too if it is optional."""
    return field(default=default, metadata={"rule": _Rule("whole", low=low, optional=optional)})


def real(default: float | None, *, optional: bool = False, **bounds: float) -> Any:
    """A parameter that is a finite real number within `low`, `high`, `above`, `below`."""
    rule = _Rule("real", optional=optional, **bounds)  # type: ignore[arg-type]
    return field(default=default, metadata={"rule": rule})


def flag(default: bool) -> Any:
    """A parameter that is True or False."""
    return field(default=default, metadata={"rule": _Rule("flag")})


def choice(default: str, *others: str) -> Any:
    """A parameter that is one of a few words, the first of them by default."""
    return field(default=default, metadata={"rule": _Rule("word", options=(default, *others))})


def part(family: type[Part], default: Part | None) -> Any:
    """A parameter that is a part; a default of None is filled in by the owner."""
    rule = _Rule("part", family=family, optional=default is None)
    return field(default=default, metadata={"rule": rule})


def parameters_of(owner: Any) -> "tuple[Field[Any], ...]":
    """The declared parameters of a configuration or of its class."""
    return tuple(item for item in fields(owner) if "rule" in item.metadata)


def family_of(parameter: "Field[Any]") -> type[Part] | None:
    """The family of parts that a field is chosen from, if it is a part."""
    rule: _Rule = parameter.metadata["rule"]
    return rule.family


def options_of(parameter: "Field[Any]") -> tuple[str, ...]:
    """The words that a field is chosen from, if it is a choice."""
    rule: _Rule = parameter.metadata["rule"]
    return rule.options


def check(owner: Any) -> None:
    """Refuse the first parameter of `owner` that is not what its declaration allows."""
    for parameter in parameters_of(owner):
        value = getattr(owner, parameter.name)
        expected = parameter.metadata["rule"].refusal(value)
        if expected is not None:
            raise ValueError(
                f"{type(owner).__name__}: {parameter.name} must be {expected}, not {value!r}"
            )


def flat(owner: Any) -> dict[str, Any]:
    """The parameters of `owner` as names, numbers and words, those of its parts among them."""
    settings: dict[str, Any] = {}
    for parameter in parameters_of(owner):
        value = getattr(owner, parameter.name)
        if isinstance(value, Part):
            settings[parameter.name] = value.name
            settings.update(flat(value))
        else:
            settings[parameter.name] = value
    return settings


def difference(asked: Mapping[str, Any], held: Mapping[str, Any]) -> str | None:
    """The first parameter in which two descriptions are not the same; None if there is none."""
    for name in (*asked, *held):
        if asked.get(name) != held.get(name) or (name in asked) != (name in held):
            return name
    return None


def choices_within(owner: Any, choice: str = "") -> Iterator[tuple[str, str]]:
    """The parameters of a class and of all parts that it may have, each with its part's choice.

    A parameter of the class itself comes with an empty choice, that of a part with, say,
    "kernel=gaussian".
    """
    for parameter in parameters_of(owner):
        yield parameter.name, choice
        family = family_of(parameter)
        for member in family.members.values() if family else ():
            yield from choices_within(member, f"{parameter.name}={member.name}")


def parts_within(owner: Any) -> list[Any]:
    """The parts of a configuration, and theirs."""
    values = [getattr(owner, parameter.name) for parameter in parameters_of(owner)]
    parts = [value for value in values if isinstance(value, Part)]
    return parts + [inner for part in parts for inner in parts_within(part)]


def changed(owner: Any, changes: Mapping[str, Any]) -> Any:
    """The configuration with other values of some parameters, its own or those of its parts."""
    values: dict[str, Any] = {}
    for parameter in parameters_of(owner):
        value = getattr(owner, parameter.name)
        if parameter.name in changes:
            values[parameter.name] = changes[parameter.name]
        elif isinstance(value, Part):
            values[parameter.name] = changed(value, changes)
    return replace(owner, **values)


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint at the known word that `word` may have been meant to be, or an empty string."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
