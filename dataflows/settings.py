"""Settings of the flows, from environment variables whose names begin with OKL_."""

import gc
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from bytewax.dataflow import Dataflow

from okl_flow import make_learner
from okl_flow.learner import Learner
from okl_flow.operators.store import StoreError
from okl_flow.parameters import nearest

__all__ = ["PREFIX", "Settings", "learner_of", "runnable", "settings_of"]

PREFIX = "OKL_"
_NUMBERS = {int: "a whole number", float: "a number"}

Chosen = TypeVar("Chosen", bound="Settings")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What every flow can be told; a field `events` is the variable OKL_EVENTS."""

    events: str = "events.jsonl"  # files to read, with commas between them
    format: str | None = None  # jsonl, csv or libsvm; by default what the suffix says
    features: str = "2"  # how many in a list, or their names with commas; CSV has its header
    labels: str | None = None  # such as ham,spam or 0,1, if they are not -1 and 1
    predictions: str = "out/predictions.jsonl"  # files to write, or - for the terminal
    reports: str = "out/reports.jsonl"
    alarms: str = "out/alarms.jsonl"
    rejects: str = "out/rejects.jsonl"

    @property
    def paths(self) -> list[str]:
        """The files to read, which must be there."""
        paths = self.events.split(",")
        for path in paths:
            if not Path(path).is_file():
                raise ValueError(
                    f"{PREFIX}EVENTS: there is no file {path!r} here; "
                    "okl-flow make-stream --help tells how to make one"
                )
        return paths


def settings_of(settings: type[Chosen], variables: Mapping[str, str] | None = None) -> Chosen:
    """The settings in the environment, or in other variables.

    >>> settings_of(Settings, {"OKL_FEATURES": "age,country", "HOME": "/root"}).features
    'age,country'
    >>> settings_of(Settings, {"OKL_EVENT": "a.jsonl"})
    Traceback (most recent call last):
    ValueError: OKL_EVENT is no setting of this flow; did you mean 'OKL_EVENTS'?
    """
    given = os.environ if variables is None else variables
    known = [PREFIX + field.name.upper() for field in fields(settings)]
    chosen = {name: value for name, value in given.items() if name.startswith(PREFIX)}
    for name in chosen:
        if name not in known:
            hint = nearest(name, known) or f"; known: {', '.join(known)}"
            raise ValueError(f"{name} is no setting of this flow{hint}")
    values = {name.removeprefix(PREFIX).lower(): value for name, value in chosen.items() if value}
    for field in fields(settings):
        if field.name in values:
            values[field.name] = _converted(field.name, values[field.name], field.type)
    return settings(**values)


def _converted(name: str, text: str, kind: Any) -> Any:
    if kind not in _NUMBERS:
        return text
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError:
        expected = _NUMBERS[kind]
        raise ValueError(f"{PREFIX}{name.upper()}: expected {expected}, found {text!r}") from None


def learner_of(text: str) -> Learner:
    """A learner by its name and parameters, in one line.

    >>> learner_of("kogd budget=50 bandwidth=0.5 loss=logistic")
    KOGD(budget=50, kernel=Gaussian(bandwidth=0.5), loss=Logistic(), ...)
    """
    name, *words = text.split()
    parameters = {}
    for word in words:
        parameter, equals, value = word.partition("=")
        if not equals:
            raise ValueError(
                f"{PREFIX}LEARNER: expected a name and parameters such as 'kogd budget=50', "
                f"found {word!r}"
            )
        try:
            parameters[parameter] = msgspec.json.decode(value)
        except msgspec.DecodeError:
            parameters[parameter] = value
    return make_learner(name, **parameters)


def runnable(build: Callable[[], Dataflow]) -> Callable[[], Dataflow]:
    """A flow for `python -m bytewax.run`: what is wrong with its settings is said in one line."""

    @wraps(build)
    def built() -> Dataflow:
        try:
            flow = build()
        except (ValueError, OSError, StoreError) as error:
            sys.exit(f"{build.__module__}: {error}")
        # What is there by now stays: the collector need not look through it again and again.
        gc.collect()
        gc.freeze()
        return flow

    return built
