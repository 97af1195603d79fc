"""Parameters from the command line: `--set key=value` and `--grid key=v1,v2`."""

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from okl_flow.cli.errors import CommandError
from okl_flow.factory import make_learner, wrapping_parameters
from okl_flow.learner import Learner
from okl_flow.parameters import choices_within, family_of, nearest, parameters_of
from okl_flow.registry import REGISTRY
from okl_flow.tuned import AUTO

__all__ = [
    "Candidate",
    "Choice",
    "MedianMultiple",
    "candidates",
    "check_choices",
    "parse_choices",
    "parse_missing",
    "parse_value",
]

_WHOLE = re.compile(r"[-+]?[0-9]+")
_WORDS = {"true": True, "false": False, "none": None}
_TASK = ("task", "classes")


@dataclass(frozen=True, slots=True)
class MedianMultiple:
    """A multiple of the median distance of two events."""

    factor: float

    def __str__(self) -> str:
        return "median" if self.factor == 1.0 else f"median*{self.factor:g}"


@dataclass(frozen=True, slots=True)
class Choice:
    """Values of a parameter, one from --set or several from --grid."""

    option: str
    learner: str | None  # the one that it is meant for; None for all that have the parameter
    key: str
    values: tuple[Any, ...]

    @property
    def place(self) -> str:
        """What it is called: with the learner's name if it is meant for one."""
        return f"{self.learner}.{self.key}" if self.learner else self.key


@dataclass(frozen=True, slots=True)
class Candidate:
    """A learner, and what was chosen of the grid for it: the value and how it was written."""

    learner: Learner
    chosen: dict[str, tuple[Any, str]]


def parse_value(text: str, *, key: str = "") -> Any:
    """The number, truth value, None or word that a text stands for.

    >>> [parse_value(text) for text in ("3", "0.5", "true", "none", "hinge")]
    [3, 0.5, True, None, 'hinge']
    >>> parse_value("median*0.5", key="bandwidth")
    MedianMultiple(factor=0.5)
    """
    if key == "bandwidth" and "median" in text:
        return _parse_median(text)
    if _WHOLE.fullmatch(text):
        return int(text)
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        return text if "_" in text else float(text)
    except ValueError:
        return text


def _parse_median(text: str) -> MedianMultiple:
    factors = text.split("*")
    factors.remove("median") if "median" in factors else factors.append("")
    try:
        factor = float(factors[0]) if factors else 1.0
        if len(factors) > 1 or not (math.isfinite(factor) and factor > 0.0):
            raise ValueError
    except ValueError:
        raise CommandError(
            f"expected median or median*0.5, say, as bandwidth, not {text!r}"
        ) from None
    return MedianMultiple(factor)


def parse_missing(text: str) -> bool:
    """Whether features may be missing."""
    if text not in ("refuse", "mean"):
        raise CommandError(f"--missing must be refuse or mean, not {text!r}")
    return text == "mean"


def parse_choices(
    sets: Sequence[str], grids: Sequence[str], learners: Sequence[str]
) -> tuple[Choice, ...]:
    """What all --set and --grid say.

    >>> parse_choices([], ["kogd.budget=5,10"], ["kogd"])
    (Choice(option='--grid', learner='kogd', key='budget', values=(5, 10)),)
    """
    given = [("--set", text) for text in sets] + [("--grid", text) for text in grids]
    return tuple(_parse_choice(option, text, learners) for option, text in given)


def _parse_choice(option: str, text: str, learners: Sequence[str]) -> Choice:
    place, equals, listed = text.partition("=")
    owner, dot, key = place.strip().rpartition(".")
    if not equals or not key or not listed.strip():
        raise CommandError(f"{option} expects key=value, not {text!r}")
    if dot and owner not in learners:
        known = ", ".join(learners)
        raise CommandError(f"{option} {text}: {owner!r} is none of the learners here: {known}")
    if key in _TASK:
        raise CommandError(f"{option} {text}: the task is set by --task and --labels")
    given = listed.split(",") if option == "--grid" else [listed]
    if not all(value.strip() for value in given):
        raise CommandError(f"{option} {text}: a value is missing")
    values = tuple(parse_value(value.strip(), key=key) for value in given)
    return Choice(option, owner or None, key, values)


def check_choices(names: Sequence[str], choices: Sequence[Choice]) -> None:
    """Refuse unknown learners, and parameters that none of the learners has or that come twice."""
    for name in names:
        if name not in REGISTRY:
            known = ", ".join(REGISTRY)
            raise CommandError(
                f"there is no learner {name!r}{nearest(name, REGISTRY)}; known: {known}"
            )
        if names.count(name) > 1:
            raise CommandError(f"learner {name} is given twice")
    places = [choice.place for choice in choices]
    for choice in choices:
        if places.count(choice.place) > 1:
            raise CommandError(
                f"{choice.place} is given twice; all values of a parameter go into one --grid"
            )
        concerned = names if choice.learner is None else [choice.learner]
        if not any(choice.key in _all_names(name) for name in concerned):
            raise CommandError(f"{choice.option} {choice.place}: {_why_unused(choice, concerned)}")


def candidates(
    names: Sequence[str],
    choices: Sequence[Choice],
    task: dict[str, Any],
    median: Callable[[], float],
) -> list[list[Candidate]]:
    """For each learner all combinations of the choices that concern it.

    `task` is what makes each learner do the task; `median` is asked if a choice needs it.
    """
    used: set[Choice] = set()
    made = [_candidates(name, choices, task, median, used) for name in names]
    for choice in choices:
        if choice not in used:
            raise CommandError(f"{choice.option} {choice.place}: {_why_unused(choice, names)}")
    return made


def _candidates(
    name: str,
    choices: Sequence[Choice],
    task: dict[str, Any],
    median: Callable[[], float],
    used: set[Choice],
) -> list[Candidate]:
    known = set(_all_names(name))
    own: dict[str, Choice] = {}
    # What is meant for this learner comes last and takes the place of what is meant for all.
    for choice in sorted(choices, key=lambda choice: choice.learner is not None):
        if choice.learner == name or (choice.learner is None and choice.key in known):
            if choice.key in own:
                used.add(own[choice.key])
            own[choice.key] = choice
    found: list[Candidate] = []
    descriptions = []
    for values in itertools.product(*(choice.values for choice in own.values())):
        asked = dict(zip(own, values, strict=True))
        fitting = set(_names_under(REGISTRY[name].learner, asked))
        finding = AUTO in asked.values()
        fitting.update(key for key, needed in wrapping_parameters() if finding or not needed)
        settings, chosen = {}, {}
        for key, value in asked.items():
            if key not in fitting and own[key].learner is None:
                continue  # such as the degree, where the kernel is not polynomial
            used.add(own[key])
            settings[key] = value.factor * median() if isinstance(value, MedianMultiple) else value
            if own[key].option == "--grid":
                chosen[key] = (settings[key], str(value))
        learner = _made(name, settings, task)
        if learner.describe() not in descriptions:
            descriptions.append(learner.describe())
            found.append(Candidate(learner, chosen))
    return found


def _made(name: str, settings: dict[str, Any], task: dict[str, Any]) -> Learner:
    row = REGISTRY[name]
    if task["task"] not in row.tasks:
        raise CommandError(f"{name} does not do {task['task']}, only {', '.join(row.tasks)}")
    if not any(parameter.name == "task" for parameter in parameters_of(row.learner)):
        task = {}
    try:
        return make_learner(name, **settings, **task)
    except (ValueError, TypeError) as error:
        raise CommandError(str(error)) from None


def _names_under(owner: Any, settings: dict[str, Any]) -> Iterator[str]:
    """The parameters that a learner or a part of it has under these settings."""
    for parameter in parameters_of(owner):
        yield parameter.name
        family = family_of(parameter)
        if family is not None:
            given = settings.get(parameter.name, parameter.default)
            member = family.members.get(given) if isinstance(given, str) else type(given)
            if member in family.members.values():
                yield from _names_under(member, settings)


def _all_choices(name: str) -> Iterator[tuple[str, str]]:
    """The parameters that a learner has under any settings, each with the choice it needs."""
    yield from choices_within(REGISTRY[name].learner)
    yield from wrapping_parameters()


def _all_names(name: str) -> Iterator[str]:
    return (key for key, _choice in _all_choices(name))


def _why_unused(choice: Choice, names: Sequence[str]) -> str:
    """Why no learner has a parameter, and which may have been meant."""
    for name in names:
        for key, needed in _all_choices(name):
            if key == choice.key and needed:
                return f"{name} has it with {needed} only, which is not chosen here"
    known = dict.fromkeys(key for name in names for key in _all_names(name) if key not in _TASK)
    hint = nearest(choice.key, known) or f"; known: {', '.join(known)}"
    whose = f"{names[0]} has no" if len(names) == 1 else "none of the learners has a"
    return f"{whose} parameter {choice.key!r}{hint}"
