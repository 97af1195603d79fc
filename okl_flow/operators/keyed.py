"""What the operators that learn per key have in common: partitions, their stores, their settings.

The engine's key is not the event's key but its state partition. A partition keeps the models of
its keys in a store, or without a state directory in the engine's snapshot, and goes on from the
version of the store that the engine resumes at.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

import bytewax.operators as op
import msgspec
from bytewax.dataflow import Stream
from bytewax.operators import KeyedStream, StatefulBatchLogic

from okl_flow import looking, meters, snapshot
from okl_flow.contest import Terms
from okl_flow.crossing import Crossing
from okl_flow.events import Incoming, Label
from okl_flow.learner import Learner
from okl_flow.murmur import partition_of, partitions_of
from okl_flow.operators.admission import Rules
from okl_flow.operators.disk import JOURNAL_MAX
from okl_flow.operators.models import Models
from okl_flow.operators.partition import Output, Partition
from okl_flow.operators.store import MemoryStore, StateDirectory, Store
from okl_flow.packing import packer_of
from okl_flow.placing import engine_key, partition_name
from okl_flow.waiting import Limits

__all__ = ["Kept", "Settings", "Snapshot", "keyed", "picked"]

_WAITING = 4  # changed records that wait for their place on disk, to each key in memory


@dataclass(frozen=True, slots=True)
class Kept:
    """What an operator keeps, and where, for whoever looks at a flow."""

    step_id: str
    partitions: int
    path: Path | None  # of its state directory, if it has one
    open: Callable[[], StateDirectory]  # which raises a StoreError if it is another job's


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of an operator that learns per key; a ValueError tells what cannot be."""

    step_id: str
    learners: Mapping[str, Learner]  # by the names that they are reported with
    dim: int | None
    labels_wait: timedelta | None
    labels_wait_count: int
    partitions: int
    state_dir: Path | str | None
    keys_in_memory: int
    forget_after: timedelta | None
    warm_start: Mapping[str, Path | str]  # by the names of learners
    report_every: int
    allow_unbounded: bool
    terms: Terms | None = None  # of the contest between several learners

    def __post_init__(self) -> None:
        for name, learner in self.learners.items():
            if learner.state_bytes_max(self.dim or 1) is None and not self.allow_unbounded:
                raise ValueError(
                    f"{self.step_id}: the memory of {name} has no bound as it is configured, and "
                    "streams have no end: give it a budget, or say allow_unbounded=True"
                )
        for name in self.warm_start:
            if name not in self.learners:
                raise ValueError(
                    f"{self.step_id}: warm_start must be by the names of the learners "
                    f"{list(self.learners)}, not {name!r}"
                )
        for name, least in (
            ("partitions", 1),
            ("keys_in_memory", 1),
            ("report_every", 1),
            ("labels_wait_count", 0),
        ):
            value = getattr(self, name)
            if value < least:
                raise ValueError(f"{self.step_id}: {name} must be at least {least}, not {value}")

    @property
    def names(self) -> list[str]:
        """The names of the learners, where there are several."""
        return [] if self.terms is None else list(self.learners)

    def rules(self) -> tuple[Rules, list[bytes | None]]:
        """How partitions deal with their keys, and what new keys begin with, packed."""
        dim, warm = self.dim, {}
        for name, path in self.warm_start.items():
            state = snapshot.restore(self.learners[name], Path(path).read_bytes())
            if dim is not None and state.dim != dim:
                raise ValueError(
                    f"{self.step_id}: {path} holds a state for {state.dim} features, and this "
                    f"flow has {dim} of them"
                )
            dim = state.dim
            warm[name] = packer_of(self.learners[name]).pack(state)
        rules = Rules(
            learners=tuple(self.learners.values()),
            names=tuple(self.learners),
            dim=dim,
            limits=Limits(self.labels_wait_count, self._milliseconds("labels_wait")),
            forget_after=self._milliseconds("forget_after"),
            terms=self.terms,
        )
        return rules, [warm.get(name) for name in self.learners]

    def _milliseconds(self, name: str) -> int | None:
        time: timedelta | None = getattr(self, name)
        if time is None:
            return None
        if time <= timedelta(0):
            raise ValueError(f"{self.step_id}: {name} must be above 0, not {time}")
        return round(time / timedelta(milliseconds=1))


def keyed(
    settings: Settings, events: Stream[Incoming], labels: Stream[Label] | None
) -> KeyedStream[Output]:
    """The steps of an operator that learns per key, up to the outputs of the partitions."""
    partitions, learners = settings.partitions, list(settings.learners.values())
    rules, warm_starts = settings.rules()
    live_max = max(1, settings.keys_in_memory // partitions)

    @cache
    def folder() -> StateDirectory:
        assert settings.state_dir is not None
        return StateDirectory.open(
            Path(settings.state_dir),
            step=settings.step_id,
            partitions=partitions,
            learners=learners,
            names=settings.names,
            journal_max=min(JOURNAL_MAX, _WAITING * live_max),
        )

    if looking.is_only():
        place = None if settings.state_dir is None else Path(settings.state_dir)
        looking.note(Kept(settings.step_id, partitions, place, folder))
    elif settings.state_dir is not None and Path(settings.state_dir).exists():
        folder()  # so that another job's directory is refused before the flow begins

    def opened(number: int, pointer: bytes | None, figures: bytes | None) -> Partition:
        begun = time.perf_counter()
        store: Store
        if settings.state_dir is None:
            store = MemoryStore(pointer, partitions, learners, settings.names)
        else:
            store = folder().store(number, pointer)
        if pointer is not None:
            meters.RESUMED.labels(settings.step_id).inc(time.perf_counter() - begun)
        models = Models(store, learners, live_max, rules.terms, warm_starts)
        name, every = partition_name(number), settings.report_every
        return Partition(name, settings.step_id, rules, models, every, figures)

    def by_partition(items: list[Incoming]) -> list[tuple[str, list[Incoming]]]:
        numbers = partitions_of([item.key for item in items], partitions).tolist()
        # One item of the engine's for each partition: it costs as much as one event would.
        found: dict[int, list[Incoming]] = {}
        for number, item in zip(numbers, items, strict=True):
            found.setdefault(number, []).append(item)
        return [(engine_key(number), Crossing(some)) for number, some in found.items()]

    def logic(resumed: bytes | None) -> _Logic:
        return _Logic(opened, partitions, resumed)

    every = events if labels is None else op.merge("merge", events, labels)
    return op.stateful_batch("learn", op.flat_map_batch("key", every, by_partition), logic)


def picked(field: str, outputs: KeyedStream[Output]) -> Stream[Any]:
    """Of the outputs of partitions, all records of one kind, by a step of that name."""
    kind = attrgetter(field)

    def all_of(outputs: list[tuple[str, Output]]) -> list[Any]:
        return [record for _partition, output in outputs for record in kind(output)]

    return op.flat_map_batch(field, outputs, all_of)


class _Logic(StatefulBatchLogic[list[Incoming], Output, bytes]):
    """A state partition, as the engine drives it."""

    def __init__(
        self,
        opened: Callable[[int, bytes | None, bytes | None], Partition],
        partitions: int,
        resumed: bytes | None,
    ) -> None:
        self._opened = opened
        self._partitions = partitions
        self._number = -1
        self._partition: Partition | None = None
        if resumed is not None:
            self._number, pointer, figures = msgspec.msgpack.decode(resumed)
            self._partition = opened(self._number, pointer, figures)

    def on_batch(self, values: list[list[Incoming]]) -> tuple[list[Output], bool]:
        """Let the partition process the items. The first ones tell which partition it is."""
        items = list(chain.from_iterable(values))
        if self._partition is None:
            self._number = partition_of(items[0].key, self._partitions)
            self._partition = self._opened(self._number, None, None)
        return self._partition.process(items), StatefulBatchLogic.RETAIN

    def snapshot(self) -> bytes:
        """What to go on from."""
        assert self._partition is not None
        packed = msgspec.msgpack.encode((self._number, *self._partition.snapshot()))
        return Snapshot(packed, self._partition.settle)


class Snapshot(bytes):
    """What the engine keeps of a partition; when that is pickled, the store has it on its disk.

    The engine takes the snapshots of all partitions before it pickles the first of them. So the
    disk is at work on one while the next is packed.
    """

    _settle: Callable[[], None]

    def __new__(cls, packed: bytes, settle: Callable[[], None]) -> "Snapshot":
        """`settle` waits for the disk."""
        made = super().__new__(cls, packed)
        made._settle = settle
        return made

    def __reduce__(self) -> tuple[type[bytes], tuple[bytes]]:
        self._settle()
        return bytes, (bytes(self),)
