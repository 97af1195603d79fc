"""Settings of the flows: what each is, what is said about wrong ones, and reading them."""

import gc
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from bytewax.dataflow import Dataflow

from dataflows import faults, formats
from dataflows.sections import KINDS, Evaluation, Labels, Sinks, Source, State
from okl_flow import make_learner
from okl_flow.job import Fault, RunSettings, Text, declared, parsed, parted, read, refusal, setting
from okl_flow.job.names import PREFIX, is_of_run, sink_of
from okl_flow.learner import Learner
from okl_flow.operators.store import StoreError
from okl_flow.origins import called, noted

__all__ = [
    "KINDS",
    "PREFIX",
    "Keyed",
    "Settings",
    "known_as",
    "learner_of",
    "learners_of",
    "runnable",
    "settings_of",
]

Chosen = TypeVar("Chosen", bound="Settings")


@dataclass(frozen=True, kw_only=True)
class Settings(Source, Labels, Evaluation, Sinks):
    """What every flow can be told: its name, and the sections that all of them have.

    With `brokers` a flow reads and writes topics, and without it files.
    """

    name: str = setting(
        "flow", "name of the job; two jobs on the same brokers need two", Text(), section=""
    )

    def faults(self) -> Iterator[Fault]:
        """What does not go together; a flow of one's own may add to it."""
        yield from faults.of(self)

    @property
    def learners_used(self) -> list[tuple[str, str]]:
        """The learners of the flow, each with the name of its setting."""
        line = getattr(self, "learner", None)
        return [] if line is None else [("learner", line)]

    @property
    def inputs(self) -> list[str]:
        """The files or topics to read."""
        events = self.events or ("events" if self.brokers else "events.jsonl")
        return [*events.split(","), *(self.labels.split(",") if self.labels else ())]

    @property
    def outputs(self) -> dict[str, str]:
        """The file or topic of each kind of records that is written."""
        first = self.inputs[0]
        return {
            kind: getattr(self, kind) or sink_of(kind, first, is_topic=bool(self.brokers))
            for kind in KINDS
        }

    @property
    def paths(self) -> list[str]:
        """The files to read, which must be there."""
        for name, message in self.missing():
            raise ValueError(f"{known_as(name)}: {message}")
        return self.inputs

    def missing(self) -> Iterator[tuple[str, str]]:
        """The files that are not there, each with its setting and what is said about it."""
        count = len((self.events or "events.jsonl").split(","))
        for number, path in enumerate([] if self.brokers else self.inputs):
            if not Path(path).is_file():
                which, hint = (
                    ("events", "okl-flow make-stream --help tells how to make one")
                    if number < count
                    else ("labels", "the words that are labels are labels.classes")
                )
                yield which, f"there is no file {path!r} here; {hint}"

    def schema_registry(self) -> Any:
        """The registry of the schemas, if there is one."""
        if self.registry is None:
            return None
        return formats.SchemaRegistry(
            self.registry,
            user=self.registry_user,
            password=self.registry_password,
            ca=self.registry_ca,
        )


@dataclass(frozen=True, kw_only=True)
class Keyed(Settings, State):
    """Of flows with a model for every key."""

    evaluation_keys: str = "worst"


def known_as(setting: str) -> str:
    """What a setting is called where it was set: by its variable, if nowhere else."""
    [found] = [one for one in declared(Settings) if one.name == setting]
    return called(found.variable)


def settings_of(settings: type[Chosen], variables: Mapping[str, str] | None = None) -> Chosen:
    """The settings in the environment, or in other variables.

    >>> settings_of(Settings, {"OKL_FEATURES": "age,country", "HOME": "/root"}).features
    'age,country'
    >>> settings_of(Settings, {"OKL_EVENT": "a.jsonl"})
    Traceback (most recent call last):
    ValueError: OKL_EVENT: there is no such setting; did you mean 'OKL_EVENTS'?
    """
    given = os.environ if variables is None else variables
    of_flow = {name: value for name, value in given.items() if not is_of_run(name)}
    found = read(settings, of_flow, noted(), declared(RunSettings))
    if found.settings is None:
        raise refusal(found.problems)
    return found.settings


def learner_of(line: str) -> Learner:
    """A learner by its name and parameters, in one line.

    >>> learner_of("kogd budget=50 bandwidth=0.5 loss=logistic")
    KOGD(budget=50, kernel=Gaussian(bandwidth=0.5), loss=Logistic(), ...)
    """
    name, parameters = parsed(line)
    return make_learner(name, **parameters)


def learners_of(lines: str) -> dict[str, Learner]:
    """Learners by names of one's own.

    >>> list(learners_of("one: kogd budget=50; other: arow"))
    ['one', 'other']
    """
    return {name: learner_of(line) for name, line in parted(lines).items()}


def runnable(settings: type[Chosen]) -> Callable[[Callable[[], Dataflow]], Callable[[], Dataflow]]:
    """A flow for `python -m bytewax.run` and `okl-flow`, which has these settings.

    What is wrong with them is said in a line for each.
    """

    def decorate(build: Callable[[], Dataflow]) -> Callable[[], Dataflow]:
        @wraps(build)
        def built() -> Dataflow:
            try:
                flow = build()
            except ConnectionError:  # which may be mended by the time of another start
                raise
            except (ValueError, OSError, StoreError) as error:
                sys.exit("\n".join(f"{build.__module__}: {one}" for one in _lines(error)))
            # What is there by now stays: the collector need not look through it again and again.
            gc.collect()
            gc.freeze()
            return flow

        built.__dict__["settings"] = settings
        return built

    return decorate


def _lines(error: Exception) -> list[str]:
    return str(error).splitlines() or [type(error).__name__]
