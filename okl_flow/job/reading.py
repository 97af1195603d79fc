"""From variables to settings: all that is wrong is found, and each said where it stands."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from okl_flow.job.kinds import TEXT, Kind
from okl_flow.job.lines import Learner, Learners, Line, lines_of, parsed, parted
from okl_flow.job.names import OF_PAGE, PREFIX, nearest_path
from okl_flow.job.settings import Fault, Setting, declared
from okl_flow.origins import ENVIRONMENT, Origin, placed
from okl_flow.parameters import nearest

__all__ = ["Effective", "Problem", "Read", "read", "refusal"]

Made = TypeVar("Made")

_MASK = "***"
_ABSENT: Any = object()


@dataclass(frozen=True)
class Problem:
    """Something that has to be mended, and where."""

    place: str
    message: str
    line: int = 0  # of the file

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


@dataclass(frozen=True)
class Effective:
    """A value that holds, and where it comes from; in words."""

    path: str
    value: str
    place: str


@dataclass(frozen=True)
class Read(Generic[Made]):
    """What came of reading."""

    settings: Made | None  # None if there are problems
    problems: list[Problem]
    effective: list[Effective]


def read(
    settings: type[Made],
    variables: Mapping[str, str],
    origins: Mapping[str, Origin],
    others: Sequence[Setting] = (),
    *,
    is_whole: bool = True,
) -> Read[Made]:
    """Settings of a class from the variables that are for it.

    `others` are settings of something else, which may have been meant by a name that is unknown.
    What does not go together is told if these are all the variables, `is_whole`. An empty
    variable is none.
    """
    return _Reading(settings, variables, origins, others).read(is_whole)


def refusal(problems: Iterable[Problem]) -> ValueError:
    """Problems, a line each, as an error."""
    return ValueError("\n".join(map(str, problems)))


class _Reading:
    """Variables on their way to settings."""

    def __init__(
        self,
        settings: type[Any],
        variables: Mapping[str, str],
        origins: Mapping[str, Origin],
        others: Sequence[Setting],
    ) -> None:
        self._class = settings
        self._declared = declared(settings)
        self._others = others
        self._given = {
            name: value
            for name, value in variables.items()
            if name.startswith(PREFIX) and not name.startswith(OF_PAGE) and value
        }
        self._origins = origins
        self._known = {one.variable: one for one in self._declared}
        self._used: dict[str, str] = {}  # variables, and the settings that they were used for
        self._problems: list[Problem] = []
        self._faulty: set[str] = set()

    def read(self, is_whole: bool) -> Read[Any]:
        """The settings, or what is wrong with them."""
        self._refuse_other_sections()
        values = {one.name: self._value(one) for one in self._declared}
        values = {name: value for name, value in values.items() if value is not _ABSENT}
        for variable in self._given:
            if variable not in self._used:
                self._say(variable, f"there is no such setting{self._hint(variable)}")
        self._place_paths(values)
        made: Any = None
        try:
            made = self._class(**values)
        except ValueError as error:  # of a class that checks itself
            self._problems.append(Problem(self._class.__name__, str(error)))
        for fault in made.faults() if is_whole and hasattr(made, "faults") else ():
            if not self._faulty.intersection(fault.names):
                self._say_fault(fault)
        self._problems.sort(key=lambda problem: problem.line)
        shown = [self._effective(one, values) for one in self._declared]
        return Read(None if self._problems else made, self._problems, shown)

    def _refuse_other_sections(self) -> None:
        """Leave away what stands in another section, though its variable is the same."""
        for variable, one in self._known.items():
            origin = self._origins.get(variable)
            path = None if origin is None or variable not in self._given else origin.path
            if path not in (None, one.path, f"{one.path}.name"):
                self._say(variable, f"there is no such setting; did you mean {one.path!r}?")
                self._faulty.add(one.name)
                del self._given[variable]

    def _value(self, one: Setting) -> Any:
        """The value of a setting, if one is given that is right."""
        given = one.variable in self._given
        if given:
            self._used[one.variable] = one.name
        try:
            if isinstance(one.kind, Line):
                return self._line(one, one.kind, one.variable, one.default)
            if isinstance(one.kind, Learners):
                return self._lines(one)
            if not given:
                return _ABSENT
            self._check_type(one.variable, one.kind)
            return one.kind.value(self._given[one.variable])
        except ValueError as error:
            self._say(one.variable, self._safe(one, str(error)))
            self._faulty.add(one.name)
            return _ABSENT

    def _line(
        self, one: Setting, kind: Line, variable: str, base: str | None, layer: int = -1
    ) -> Any:
        """A name and its parameters, from the variable of the name and those of parameters."""
        if is_given := variable in self._given and self._layer(variable) >= layer:
            self._check_type(variable, kind)
            base, layer = self._given[variable], self._layer(variable)
        changes = {}
        for name in self._parts(variable):
            self._used[name] = one.name
            if self._layer(name) >= layer:
                changes[name.removeprefix(f"{variable}_").lower()] = self._given[name]
        if not is_given and not changes and layer < 0:
            return _ABSENT
        if base is None:
            raise ValueError(f"expected {kind.expected} by its name, found parameters only")
        line = kind.merged(base, changes)
        faults = list(kind.faults(*parsed(line, kind.example)))
        for parameter, message in faults:
            self._say(self._blamed(variable, parameter, layer) or one.variable, message)
            self._faulty.add(one.name)
        return _ABSENT if faults else line

    def _lines(self, one: Setting) -> Any:
        """Learners by names, each of which may be changed for itself."""
        variable, layer, base = one.variable, -1, one.default
        if variable in self._given:
            self._check_type(variable, one.kind)
            base, layer = self._given[variable], self._layer(variable)
        found = {}
        for name, line in sorted(parted(base).items(), key=lambda item: -len(item[0])):
            own = f"{variable}_{name.upper()}"
            if own in self._given:
                self._used[own] = one.name
            changed = self._line(one, Learner(), own, line, layer)
            found[name] = line if changed is _ABSENT else changed
        if one.name in self._faulty or (layer < 0 and found == parted(base)):
            return _ABSENT
        return lines_of({name: found[name] for name in parted(base)})

    def _parts(self, variable: str) -> list[str]:
        """The variables of parameters, which are none of another setting."""
        return [
            name
            for name in self._given
            if name.startswith(f"{variable}_")
            and name not in self._known
            and name not in self._used
        ]

    def _blamed(self, variable: str, parameter: str, layer: int) -> str | None:
        """The variable that a fault of a line is said of: that of a parameter, if there is one.

        Where a line was put together from a table, its parameters are no variables, but their
        places are known.
        """
        part = f"{variable}_{parameter}".upper()
        for name in (part, variable) if parameter else (variable,):
            origin = self._origins.get(name)
            if name in self._given or (origin is not None and origin.layer == layer):
                return name
        return None

    def _layer(self, variable: str) -> int:
        origin = self._origins.get(variable)
        return ENVIRONMENT if origin is None else origin.layer

    def _check_type(self, variable: str, kind: Kind) -> None:
        """Refuse a value whose type in the file is another."""
        origin = self._origins.get(variable)
        if origin is None or origin.type is None or origin.type in kind.types:
            return
        found = self._given[variable]
        shown = repr(found) if origin.type == TEXT else found
        raise ValueError(f"expected {kind.expected}, found the {origin.type} {shown:.80}")

    def _place_paths(self, values: dict[str, Any]) -> None:
        """Let paths start from the folder of the file that they stand in."""
        for one in self._declared:
            is_path = one.files == "always" or (one.files == "files" and not values.get("brokers"))
            if is_path and one.name in values:
                origin = self._origins.get(one.variable)
                values[one.name] = ",".join(
                    path if path == "-" else placed(path, origin)
                    for path in values[one.name].split(",")
                )

    def _hint(self, variable: str) -> str:
        """What a variable that nothing is known of may have been meant to be."""
        origin = self._origins.get(variable)
        path = origin.path if origin else None
        known = [*self._declared, *self._others]
        if path:
            return nearest_path(path, [one.path for one in known])
        return nearest(variable, [one.variable for one in known])

    def _safe(self, one: Setting, message: str) -> str:
        """A message without a value that is secret, or was filled in from the environment."""
        found, origin = self._given.get(one.variable, ""), self._origins.get(one.variable)
        for shown in (repr(found)[:80], found):
            if one.is_secret:
                message = message.replace(shown, _MASK)
            elif origin is not None and origin.raw is not None:
                message = message.replace(shown, origin.raw)
        return message

    def _say(self, variable: str, message: str) -> None:
        origin = self._origins.get(variable)
        place, line = (variable, 0) if origin is None else (origin.place, origin.line)
        self._problems.append(Problem(place, message, line))

    def _say_fault(self, fault: Fault) -> None:
        [blamed] = [one for one in self._declared if one.name == fault.names[0]]
        layer = self._layer(blamed.variable)
        variable = self._blamed(blamed.variable, fault.parameter, layer) or blamed.variable
        self._say(variable, self._safe(blamed, fault.message))

    def _effective(self, one: Setting, values: Mapping[str, Any]) -> Effective:
        """What holds, and where it comes from."""
        used = [name for name, owner in self._used.items() if owner == one.name]
        places = [self._origins[name].place if name in self._origins else name for name in used]
        value = values.get(one.name, one.default)
        text = self._in_words(one, value)
        return Effective(one.path, text, ", ".join(sorted(places)) or "default")

    def _in_words(self, one: Setting, value: Any) -> str:
        origin = self._origins.get(one.variable)
        if one.name in self._faulty:
            return "?"
        if value is None:
            return self._given.get(one.variable) or one.otherwise or "-"
        if one.is_secret:
            return _MASK
        if origin is not None and origin.raw is not None:
            return origin.raw
        if isinstance(value, bool):
            return "true" if value else "false"
        return f"{value:g}" if isinstance(value, float) else str(value)
