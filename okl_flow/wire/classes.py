"""Labels on the wire, and the numbers that they are for learners."""

import math
from collections.abc import Sequence
from typing import cast

from okl_flow.labels import canonical, shown
from okl_flow.wire.problems import Problem, problem_at, seen

__all__ = ["Classes", "Value"]

Value = float | bool | str | None
"""A label as the formats have it; a text if the format has nothing but texts."""

_TWO = 2
_TRUTH = {"false": False, "true": True}


class Classes:
    """Makes numbers of labels.

    Without names, a number is itself, and false and true are -1 and +1. With two names, the
    first is -1 and the second +1; with more they are 0, 1, 2 and so on.

    >>> Classes(["ham", "spam"]).codes(["spam", None, "ham"])
    ([1.0, None, -1.0], {})
    >>> Classes([0, 1]).codes([0.0, 1.0])
    ([-1.0, 1.0], {})
    """

    def __init__(self, names: Sequence[str | float | bool] | None = None) -> None:
        """`names` are all the labels that may come, in the order of their numbers."""
        self._names = None if names is None else _checked(names)
        count = len(self._names or ())
        self._expected = shown([_shown_as(name) for name in self._names or ()])
        self._codes = {
            _kind_and(name): (2.0 * at - 1.0 if count == _TWO else float(at))
            for at, name in enumerate(self._names or ())
        }

    def codes(
        self, values: list[Value], texts: bool = False
    ) -> tuple[list[float | None], dict[int, Problem]]:
        """The number of each label, None where there is none, and the problems, by number.

        `texts` says that the format has texts only, in which numbers and truth values are words.
        """
        if self._names is None and not texts and set(map(type, values)) <= {float, type(None)}:
            numbers = cast(list[float | None], values)
            # A comparison with an infinity or NaN fails, and nothing else does.
            if all([one is None or -math.inf < one < math.inf for one in numbers]):
                return numbers, {}
        codes: list[float | None] = []
        problems: dict[int, Problem] = {}
        for at, value in enumerate(values):
            code = self._code(value, texts)
            if isinstance(code, Problem):
                problems[at] = code
                code = None
            codes.append(code)
        return codes, problems

    def _code(self, value: Value, texts: bool) -> float | None | Problem:
        """The number of a label, None if it says that there is none, or what is wrong with it."""
        if texts and isinstance(value, str):
            word = value.strip()
            if (str, word) in self._codes:
                return self._codes[str, word]
            value = _TRUTH[word.lower()] if word.lower() in _TRUTH else canonical(word)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return None
        if self._names is None:
            return _number(value)
        code = self._codes.get(_kind_and(value))
        if code is None:
            return problem_at("label", f"expected one of {self._expected}, {seen(value)}")
        return code


def _number(value: str | float | bool) -> float | Problem:
    """The number that a label without names is."""
    if isinstance(value, bool):
        return 1.0 if value else -1.0
    if isinstance(value, float) and math.isfinite(value):
        return value
    hint = "; give labels=(...) if labels are texts" if isinstance(value, str) else ""
    return problem_at("label", f"expected a finite number, {seen(value)}{hint}")


def _shown_as(name: str | float | bool) -> str | float:
    """A name as messages show it."""
    if isinstance(name, bool):
        return str(name).lower()
    return name if isinstance(name, str) else float(name)


def _kind_and(name: str | float | bool) -> tuple[type, str | float | bool]:
    """A name and its kind: true is not the number 1, but 1 and 1.0 are one."""
    kind = type(name) if isinstance(name, (bool, str)) else float
    return kind, name


def _checked(names: Sequence[str | float | bool]) -> Sequence[str | float | bool]:
    listed = [] if isinstance(names, str) else list(names)
    fit = all(
        isinstance(name, (bool, str)) or (isinstance(name, (int, float)) and math.isfinite(name))
        for name in listed
    )
    if not fit or len(set(map(_kind_and, listed))) < max(_TWO, len(listed)):
        raise ValueError(
            "labels must be two or more distinct texts, numbers or truth values, such as "
            f"('ham', 'spam') or (0, 1), not {names!r:.80}"
        )
    return tuple(listed)
