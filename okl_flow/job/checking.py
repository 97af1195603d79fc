"""All that is wrong with a job, as far as it can be known without its brokers and its data."""

import importlib
import pkgutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from okl_flow.job.names import is_of_run
from okl_flow.job.plan import Plan
from okl_flow.job.reading import Effective, Problem, read
from okl_flow.job.running import RunSettings
from okl_flow.job.settings import declared
from okl_flow.parameters import nearest

__all__ = ["Checked", "FlowError", "checked", "settings_in"]


class FlowError(ValueError):
    """A flow that is not there."""


@dataclass
class Checked:
    """What came of looking through a job."""

    problems: list[Problem]
    notes: list[Problem] = field(default_factory=list)  # what need not be wrong
    effective: list[Effective] = field(default_factory=list)


def settings_in(flow: str) -> type[Any] | None:
    """The class of the settings of a flow, by its name; None if it does not say."""
    module, colon, attribute = flow.partition(":")
    if not colon or not module or not attribute.isidentifier():
        raise FlowError(f"expected module:name, such as dataflows.per_user:flow, found {flow!r}")
    if "" not in sys.path:
        sys.path.insert(0, "")  # as the processes of a run have it
    try:
        imported = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise FlowError(f"{error}{_hint(module, error.name)}") from None
    except Exception as error:  # whatever a module does when it is imported
        raise FlowError(f"{module}: {type(error).__name__}: {error}") from None
    found = getattr(imported, attribute, None)
    if found is None:
        hint = nearest(attribute, vars(imported))
        raise FlowError(f"the module {module} has no {attribute!r}{hint}")
    settings: type[Any] | None = getattr(found, "settings", None)
    return settings if isinstance(settings, type) else None


def _hint(module: str, missing: str | None) -> str:
    """The module beside it that may have been meant."""
    package, _, _ = module.rpartition(".")
    if not package or missing != module:
        return ""
    beside = importlib.import_module(package)
    names = [f"{package}.{one.name}" for one in pkgutil.iter_modules(beside.__path__)]
    return nearest(module, names)


def checked(plan: Plan, environment: Mapping[str, str]) -> Checked:
    """Look through a plan, its flow imported but not built."""
    done = Checked(list(plan.problems))
    settings = None
    if plan.flow:
        try:
            settings = settings_in(plan.flow)
        except FlowError as error:
            line = plan.flow_line
            done.problems.append(Problem(plan.flow_place, str(error), line))
        else:
            if settings is None:
                words = "says nothing of its settings; they are handed on as they are"
                done.notes.append(Problem(plan.flow, words))
    if settings is not None:
        variables = {**environment, **plan.variables}
        of_flow = {name: value for name, value in variables.items() if not is_of_run(name)}
        others = declared(RunSettings)
        found = read(settings, of_flow, plan.origins, others, is_whole=plan.is_whole)
        done.problems += found.problems
        done.effective += found.effective
        if found.settings is not None:
            for name, message in getattr(found.settings, "missing", tuple)():
                [one] = [one for one in declared(settings) if one.name == name]
                done.notes.append(Problem(plan.place(one.path), message))
    done.problems.sort(key=lambda problem: problem.line)
    done.effective = [
        Effective("flow", plan.flow, plan.flow_place),
        *done.effective,
        *plan.effective,
    ]
    return done
