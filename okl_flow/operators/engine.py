"""The engine, for those who run flows: a flow by its name, its recovery directory, one process.

Where several processes run a flow, the engine loses what was raised in it: a process that fails
takes its connections with it, and tells of those. So every function of the flow that the engine
calls is watched, and what it raises is told before the engine hears of it.
"""

import importlib
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from shutil import rmtree
from typing import Any

from bytewax import recovery as engines_recovery
from bytewax import testing as engines_testing
from bytewax.dataflow import Dataflow, Operator
from bytewax.inputs import AbortExecution

__all__ = ["AddressTakenError", "flow_named", "prepare_recovery", "run", "watch"]

RECOVERY_PARTITIONS = 4
"""Of a new recovery directory: each epoch writes to all of them."""

_PARTS = "part-*.sqlite3"
_UNFINISHED = "unfinished"
_MAKERS = ("build", "build_part", "list_parts")
_METHODS = (
    "next_batch",
    "next_awake",
    "write_batch",
    "on_batch",
    "on_notify",
    "on_eof",
    "notify_at",
    "snapshot",
    "close",
)
_TAKEN = "Address already in use"

_recovery: Any = engines_recovery  # without types
_running: Any = engines_testing

_UNUSABLE = (
    engines_recovery.InconsistentPartitionsError,
    engines_recovery.MissingPartitionsError,
    engines_recovery.NoPartitionsError,
)

Tell = Callable[[BaseException], None]


class AddressTakenError(RuntimeError):
    """An address of the cluster that something else listens at."""


def flow_named(name: str) -> Dataflow:
    """The flow of a name such as `dataflows.per_user:flow`: a Dataflow, or what makes one."""
    module, colon, attribute = name.partition(":")
    if not colon or not module or not attribute.isidentifier():
        raise ValueError(
            f"a flow is named by its module and its name in it, such as "
            f"dataflows.per_user:flow, not {name!r}"
        )
    found = getattr(importlib.import_module(module), attribute, None)
    if found is None:
        raise ValueError(f"{name}: the module {module} has no {attribute!r}")
    flow = found() if callable(found) else found
    if not isinstance(flow, Dataflow):
        raise ValueError(f"{name} is no Dataflow and makes none, but {type(flow).__name__}")
    return flow


def prepare_recovery(directory: Path) -> None:
    """Make a recovery directory, or check that one is whole.

    A new one is made aside and then moved in, so that one cut short is made again.
    """
    unfinished = directory / _UNFINISHED
    parts = sorted(directory.glob(_PARTS))
    if not parts:
        if unfinished.exists():
            rmtree(unfinished)
        unfinished.mkdir(parents=True)
        _recovery.init_db_dir(unfinished, RECOVERY_PARTITIONS)
    if unfinished.exists():
        for part in sorted(unfinished.glob(_PARTS)):
            part.rename(directory / part.name)
        rmtree(unfinished)
    _check_whole(directory)


def _check_whole(directory: Path) -> None:
    """Refuse a recovery directory of which a part is missing, or comes from another one."""
    parts = sorted(directory.glob(_PARTS))
    numbers, counts = [], set()
    for part in parts:
        try:
            with sqlite3.connect(part) as database:
                [(number, count)] = database.execute("SELECT part_index, part_count FROM parts")
        except (sqlite3.Error, ValueError) as error:
            raise ValueError(
                f"{part} is no part of a recovery directory, or damaged ({error}): put the "
                "directory back from a copy, or begin anew with an empty one"
            ) from None
        finally:
            database.close()
        numbers.append(number)
        counts.add(count)
    if len(counts) > 1 or sorted(numbers) != list(range(max(counts))):
        raise ValueError(
            f"{directory} has the parts {sorted(numbers)} of {' or '.join(map(str, counts))}: put "
            "all of them back from a copy of one moment, or begin anew with an empty directory"
        )


def run(
    flow: Dataflow,
    *,
    addresses: Sequence[str],
    number: int,
    epoch: timedelta,
    recovery: Path | None,
) -> None:
    """Run a flow to its end, as one process of a cluster; without addresses as the only one."""
    config = None if recovery is None else _recovery.RecoveryConfig(str(recovery), timedelta(0))
    try:
        _running.cluster_main(
            flow, list(addresses), number, epoch_interval=epoch, recovery_config=config
        )
    except _UNUSABLE as error:
        raise ValueError(
            f"{recovery} cannot be gone on from: {error} Put all of it back from a copy of one "
            "moment, or begin anew with an empty directory"
        ) from error
    except RuntimeError as error:
        if _TAKEN in str(error):
            raise AddressTakenError(f"one of {', '.join(addresses)} is taken") from error
        raise


def watch(flow: Dataflow, tell: Tell) -> None:
    """Let `tell` know what a function of the flow raises, at once and in the same thread."""
    for step in flow.substeps:
        _watch_step(step, tell)


def _watch_step(step: Operator, tell: Tell) -> None:
    if step.substeps:  # the engine looks at the innermost only
        for inner in step.substeps:
            _watch_step(inner, tell)
        return
    for name, value in list(vars(step).items()):
        if name in ("source", "sink"):
            _watch_methods(value, _MAKERS, _made, tell)
        elif name in _WATCHED:
            # Steps are frozen, and there is no other place to come between.
            object.__setattr__(step, name, _WATCHED[name](value, tell))


def _watch_methods(
    owner: Any, names: Sequence[str], watched: Callable[[Any, Tell], Any], tell: Tell
) -> None:
    for name in names:
        method = getattr(owner, name, None)
        if method is not None:
            object.__setattr__(owner, name, watched(method, tell))


def _made(maker: Callable[..., Any], tell: Tell) -> Callable[..., Any]:
    """What makes a thing whose methods are watched too."""
    make = _told(maker, tell)

    def made(*given: Any) -> Any:
        thing = make(*given)
        if not isinstance(thing, list):
            _watch_methods(thing, _METHODS, _told, tell)
        return thing

    return made


def _at_once(mapper: Callable[[list[Any]], Iterable[Any]]) -> Callable[[list[Any]], list[Any]]:
    """A mapper that raises what it has to raise when it is called, not when one looks through."""

    def mapped(batch: list[Any]) -> list[Any]:
        found = mapper(batch)
        return found if isinstance(found, list) else list(found)

    return mapped


def _told(function: Callable[..., Any], tell: Tell) -> Callable[..., Any]:
    def told(*given: Any) -> Any:
        try:
            return function(*given)
        except (StopIteration, AbortExecution):  # by which sources tell the engine something
            raise
        except Exception as error:
            tell(error)
            raise

    return told


_WATCHED: dict[str, Callable[[Any, Tell], Any]] = {
    "builder": _made,
    "inspector": _told,
    "mapper": lambda mapper, tell: _told(_at_once(mapper), tell),
    "predicate": _told,
}
