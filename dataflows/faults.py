"""What is wrong with settings that do not go together, though each is right for itself."""

import os
from collections.abc import Iterator
from typing import Any

from dataflows import formats
from okl_flow import make_learner
from okl_flow.job import Fault, declared, faults_of, line_of, parsed

__all__ = ["of"]

OF_TOPICS = (
    "delivery",
    "tail",
    "start",
    "on_lost_offsets",
    "kafka_config",
    "create_topics",
    "batch_size",
    "group",
    "output_format",
    "sink_partitions",
    "schema",
    "registry",
    "registry_user",
    "registry_password",
    "registry_ca",
)
OF_REGISTRY = ("registry_user", "registry_password", "registry_ca")


def of(settings: Any) -> Iterator[Fault]:
    """What does not go together in the settings of a flow."""
    yield from _useless(settings)
    yield from _needed(settings)
    yield from _taken(settings)
    yield from _format(settings) if settings.brokers else _file_format(settings)
    if settings.classes is not None:
        yield from _classes(settings)


def _named(settings: Any, name: str) -> str:
    """A setting as it can be said anywhere."""
    [found] = [one for one in declared(type(settings)) if one.name == name]
    return f"{found.path} ({found.variable})"


def _useless(settings: Any) -> Iterator[Fault]:
    """What is of no use without another thing."""
    for names, needed in ((OF_TOPICS, "brokers"), (OF_REGISTRY, "registry")):
        if getattr(settings, needed) is not None:
            continue
        words = f"is of no use without {_named(settings, needed)}; give both, or neither"
        for name in names:
            if getattr(settings, name) is not None and (needed == "brokers" or settings.brokers):
                yield Fault((name, needed), words)


def _needed(settings: Any) -> Iterator[Fault]:
    """What formats of topics need, and nothing else does."""
    if settings.brokers is None:
        return
    chosen = (_format_of(settings)[0], settings.output_format)
    for name, needed in (("schema", formats.AVRO), ("registry", formats.CONFLUENT)):
        users = ("format", "output_format")[: 1 + (needed == formats.CONFLUENT)]
        uses, given = needed in chosen[: len(users)], getattr(settings, name) is not None
        if given and not uses:
            words = " and ".join(_named(settings, one) for one in users)
            yield Fault((name, *users), f"is for the format {needed}, and {words} is not that")
        if uses and not given:
            yield Fault((name, *users), f"the format {needed} needs it, and it is not set")


def _taken(settings: Any) -> Iterator[Fault]:
    """What would write over what is read, or written by another sink."""

    def real(where: str) -> str:
        return where if settings.brokers else os.path.realpath(where)

    taken = list(map(real, settings.inputs))
    for kind, where in settings.outputs.items():
        if where == "-" and not settings.brokers:
            continue
        if real(where) in taken:
            what = f"the topic {where}" if settings.brokers else where
            yield Fault((kind, "events", "brokers"), f"{what} is read or written already")
        taken.append(real(where))


def _file_format(settings: Any) -> Iterator[Fault]:
    """What is wrong with the format of files."""
    blamed = "format" if settings.format else "events"
    try:
        formats.file_format(settings.format, settings.inputs[0])
    except ValueError as error:
        yield Fault((blamed, "brokers"), str(error))


def _format(settings: Any) -> Iterator[Fault]:
    """What is wrong with the format of topics, or does not fit the features."""
    name, parameters = _format_of(settings)
    used = (name, settings.output_format)
    missing = (formats.AVRO, settings.schema), (formats.CONFLUENT, settings.registry)
    if any(one in used and given is None for one, given in missing):
        return  # which is said already
    about = ("format", "features", "brokers", "schema", "registry", "registry_ca")
    try:
        registry = settings.schema_registry()
    except ValueError as error:
        yield Fault(("registry", *OF_REGISTRY), str(error))
        return

    def make(given: dict[str, Any]) -> None:
        line = line_of(name, given)
        try:
            made = formats.topic_format(line, settings.features, settings.schema, registry)
            made.parser(made.features() or formats.features_of(settings.features))
        except OSError as error:
            raise ValueError(f"{error.filename}: {error.strerror}") from None

    for parameter, message in faults_of(make, parameters)[0]:
        yield Fault(about, message, parameter)


def _format_of(settings: Any) -> tuple[str, dict[str, Any]]:
    return parsed(settings.format or formats.JSON)


def _classes(settings: Any) -> Iterator[Fault]:
    """Labels that do not fit the task of a learner."""
    count = len(settings.classes.split(","))
    for name, line in settings.learners_used:
        learner, parameters = parsed(line)
        task = make_learner(learner, **parameters).task
        wanted = getattr(task, "classes", 2)
        if task.name == "regression":
            message = f"{_named(settings, name)} learns numbers, which have no classes"
        elif count != wanted:
            message = f"{_named(settings, name)} learns {wanted} classes, found {count}"
        else:
            continue
        yield Fault(("classes", name), message)
