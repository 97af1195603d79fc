"""What a job is to do: from a file, the environment and the command line, in that order.

What is for the flow becomes variables of its processes, and is checked where the flow is known: by
the flow itself, or by `okl-flow check`. What is for the run is checked here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from okl_flow.job.kinds import FLAG, LIST, NUMBER, TEXT
from okl_flow.job.lines import line_of, lines_of
from okl_flow.job.names import OF_RUN, SHORT, is_of_run, variable_of
from okl_flow.job.reading import Effective, Problem, read
from okl_flow.job.running import PORT_MAX, RunSettings
from okl_flow.job.settings import declared
from okl_flow.job.text import JobText
from okl_flow.origins import COMMAND, FILE, Origin
from okl_flow.placeholders import filled

__all__ = ["SUFFIX", "Given", "Plan", "plan_of"]

SUFFIX = ".toml"
"""Of a job's file; whatever does not end so is the name of a flow."""

_LEARNERS = "learners"
_STATE, _PARTITIONS = variable_of("state.dir"), variable_of("state.partitions")


@dataclass(frozen=True)
class Given:
    """A setting of the command line."""

    path: str
    value: str
    place: str  # in words


@dataclass
class Plan:
    """A job, as far as it can be known without its flow."""

    flow: str = ""
    run: RunSettings = field(default_factory=RunSettings)
    variables: dict[str, str] = field(default_factory=dict)  # besides those of the environment
    origins: dict[str, Origin] = field(default_factory=dict)  # of all that the environment has not
    problems: list[Problem] = field(default_factory=list)
    effective: list[Effective] = field(default_factory=list)  # of the run
    is_whole: bool = True  # whether all of the file could be read
    flow_place: str = "FLOW"  # in words
    flow_line: int = 0

    def place(self, path: str) -> str:
        """Where a setting was set, in words."""
        variable = variable_of(path)
        return self.origins[variable].place if variable in self.origins else variable


def plan_of(flow: str, given: Sequence[Given], environment: Mapping[str, str]) -> Plan:
    """The plan of a job: its file or its flow, with what the command line says besides."""
    plan = Plan(flow)
    if flow.endswith(SUFFIX):
        _File(JobText(Path(flow)), plan, environment).take()
    for one in given:
        variable = variable_of(one.path)
        origin = Origin(one.place, layer=COMMAND, path=one.path)
        if not one.value:
            plan.problems.append(Problem(one.place, "expected a value, found an empty text"))
        plan.variables[variable], plan.origins[variable] = one.value, origin
    everything = {**environment, **plan.variables}
    of_run = {name: value for name, value in everything.items() if is_of_run(name)}
    found = read(RunSettings, of_run, plan.origins)
    plan.problems += found.problems
    plan.effective = found.effective
    if found.settings is not None:
        plan.run = found.settings
        plan.problems += _contradictions(plan, everything)
    plan.problems.sort(key=lambda problem: problem.line)
    return plan


def _contradictions(plan: Plan, variables: Mapping[str, str]) -> list[Problem]:
    """What does not go together, of the run and of what every flow calls the same."""
    run, found = plan.run, []

    def blame(path: str, message: str) -> None:
        origin = plan.origins.get(variable_of(path))
        found.append(Problem(plan.place(path), message, origin.line if origin else 0))

    if variables.get(_STATE) and run.recovery_dir is None:
        blame(
            "state.dir",
            "needs run.recovery_dir, or --recovery-dir: one without the other is of no use",
        )
    if run.metrics_host is not None and run.metrics_port is None:
        blame("metrics.host", "needs metrics.port, or --metrics-port")
    if run.metrics_port is not None and run.metrics_port + run.processes > PORT_MAX:
        blame("metrics.port", f"{run.metrics_port} leaves no ports for {run.processes} processes")
    partitions = variables.get(_PARTITIONS, "")
    if partitions.isdecimal() and 0 < int(partitions) < run.processes:
        blame(
            "state.partitions",
            f"expected at least as many as there are processes, which are {run.processes}, "
            f"found {partitions}",
        )
    return found


class _File:
    """A file on its way to variables."""

    def __init__(self, text: JobText, plan: Plan, environment: Mapping[str, str]) -> None:
        self._text = text
        self._plan = plan
        self._environment = environment
        self._folder = str(text.path.resolve().parent)
        self._plan.is_whole = not text.errors

    def take(self) -> None:
        """Take in what the file says."""
        path = self._text.path
        for line, message in self._text.errors:
            where = f"{path}, line {line}" if line else str(path)
            self._plan.problems.append(Problem(where, f"expected TOML: {message}", line))
        values = dict(self._text.values)
        flow = values.pop("flow", None)
        self._plan.flow_place = self._text.place("flow")
        self._plan.flow_line = self._text.line("flow")
        if isinstance(flow, str) and flow.strip():
            self._plan.flow = flow
        else:
            self._plan.flow = ""
            if flow is not None or self._plan.is_whole:
                found = "nothing" if flow is None or flow == "" else f"{flow!r:.80}"
                self._say("flow", f"expected module:name, found {found}")
        of_run = {one.key: one.path for one in declared(RunSettings)}
        for name, value in values.items():
            if isinstance(value, dict):
                self._take_table(name, value)
            elif name in of_run:
                meant = of_run[name]
                self._say(name, f"there is no such setting; did you mean {meant!r}?")
            elif isinstance(value, list) and value and isinstance(value[0], dict):
                self._say(name, f"expected one table, [{name}], found [[{name}]]")
            else:
                self._take_value(name, value)

    def _take_table(self, path: str, table: Mapping[str, Any]) -> None:
        """A section, or something that has a name and parameters, or several of those."""
        if path not in (*SHORT, *OF_RUN) and _is_named(table):
            line = self._line(path, table)
            if line:
                self._take_text(path, line)
        elif path == _LEARNERS and table and all(map(_is_named, table.values())):
            lines = {one: self._line(f"{path}.{one}", inner) for one, inner in table.items()}
            if all(lines.values()):
                self._take_text(path, lines_of(lines))
        else:
            for key, value in table.items():
                if isinstance(value, dict):
                    self._take_table(f"{path}.{key}", value)
                else:
                    self._take_value(f"{path}.{key}", value)

    def _line(self, path: str, table: Mapping[str, Any]) -> str:
        """A name and its parameters in one line, or nothing if they cannot be in one.

        The lines of the file are kept in mind.
        """
        parameters = {}
        for key, value in table.items():
            place = f"{path}.{key}"
            variable = variable_of(place)
            if variable not in self._environment:
                self._plan.origins[variable] = self._origin(place)
            if key != "name":
                parameters[key] = self._parameter(place, value)
        if None in parameters.values():
            return ""
        return line_of(str(table["name"]).strip() or "-", parameters)

    def _parameter(self, path: str, value: Any) -> Any:
        """A parameter of something with a name, which may be a list of numbers too."""
        if isinstance(value, str):
            return self._filled(path, value)
        if isinstance(value, bool | int | float) or (
            isinstance(value, list) and all(isinstance(one, int | float | str) for one in value)
        ):
            return value
        self._say(path, f"expected a text, a number, true, false or a list, found {value!r:.80}")
        return None

    def _take_value(self, path: str, value: Any) -> None:
        """A value that is no table."""
        if isinstance(value, bool):
            self._take_text(path, "true" if value else "false", FLAG)
        elif isinstance(value, int | float):
            self._take_text(path, str(value), NUMBER)
        elif isinstance(value, str):
            text = self._filled(path, value)
            if text:
                self._take_text(path, text, TEXT, None if text == value else value)
            elif text is not None:
                self._say(path, "expected a value, found an empty text")
        elif (
            isinstance(value, list)
            and value
            and all(isinstance(one, str | int | float) for one in value)
        ):
            words = [self._filled(path, str(one)) or "" for one in value]
            self._take_text(path, ",".join(words), LIST)
        else:
            self._say(
                path,
                f"expected a text, a number, true, false or a list of texts, found {value!r:.80}",
            )

    def _take_text(
        self, path: str, text: str, type: str | None = None, raw: str | None = None
    ) -> None:
        variable = variable_of(path)
        if variable in self._plan.variables:
            other = self._plan.origins[variable].place
            self._say(path, f"is the same as what is said at {other}")
        elif not self._environment.get(variable):
            self._plan.variables[variable] = text
            self._plan.origins[variable] = self._origin(path, type, raw)

    def _origin(self, path: str, type: str | None = None, raw: str | None = None) -> Origin:
        place, line = self._text.place(path), self._text.line(path)
        return Origin(place, self._folder, FILE, line, type, raw, path)

    def _filled(self, path: str, text: str) -> str | None:
        """A text with variables of the environment in the places of their names."""
        try:
            return filled(text, "", self._environment)
        except ValueError as error:
            self._say(path, str(error).removeprefix(": "))
            return None

    def _say(self, path: str, message: str) -> None:
        place, line = self._text.place(path), self._text.line(path)
        self._plan.problems.append(Problem(place, message, line))


def _is_named(value: Any) -> bool:
    """Whether a table is something that has a name and parameters."""
    return isinstance(value, dict) and isinstance(value.get("name"), str)
