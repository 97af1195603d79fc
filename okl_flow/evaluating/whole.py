"""Figures of the whole stream, merged from what its partitions tell.

Cumulative figures are the sums of the partitions' last rows, in the order of their numbers. The
window and the fading past are made of chunks, ordered by the time of their last record, then
its offset, then the partition: whichever order they arrive in, the latest ones are the same.
So all figures depend on how far each partition has come, and on nothing else.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from okl_flow.evaluating import blob
from okl_flow.evaluating.drift import FINDINGS, NativeDrift, watch
from okl_flow.evaluating.keys import Listed, listed_width
from okl_flow.evaluating.partition import Chunks, Tail
from okl_flow.evaluating.reporting import stream_values
from okl_flow.evaluating.settings import Settings
from okl_flow.evaluating.sums import COUNT, ENTRY, merge_all
from okl_flow.events import Cause
from okl_flow.native import Array, native

__all__ = ["Moment", "WholeFigures"]

_STAMP = 4  # time, offset, partition, number of the chunk in its partition


@dataclass(slots=True)
class Moment:
    """A moment at which the whole stream has something to say."""

    cause: Cause | None
    time: int | None
    events: int = 0
    values: dict[str, float | None] = field(default_factory=dict)
    listed: "list[tuple[str, Array, dict[str, float | None]]]" = field(default_factory=list)
    findings: list[list[float]] = field(default_factory=list)  # of alarms; then nothing else


class WholeFigures:
    """The figures of the whole stream."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.sums = np.zeros((settings.partitions, settings.width))
        self.events = np.zeros(settings.partitions)
        self.labelled = 0
        self.drift = np.zeros(settings.drift_size)
        self.listed: dict[int, Listed] = {}
        # The latest chunks, and as many again before the others are sorted out.
        self._room = 2 * settings.chunks_kept
        self._stamps = np.zeros((self._room, _STAMP), dtype=np.int64)
        self._entries = np.zeros((self._room, settings.chunk, ENTRY))
        self._held = 0

    def take(self, told: Chunks) -> Iterator[Moment]:
        """Take in chunks of a partition, and stop at the moments when something is to be said."""
        settings = self.settings
        count, begin = len(told.causes), 0
        while begin < count:
            left = settings.report_every - self.labelled % settings.report_every
            end = min(count, begin + left // settings.chunk)
            yield from self._watched(told, begin, end)
            self._keep(told, begin, end)
            self.sums[told.partition] = told.sums[end - 1]
            self.events[told.partition] = told.events[end - 1]
            self.labelled += (end - begin) * settings.chunk
            if end == count and told.listed is not None:
                self.listed[told.partition] = told.listed
            if self.labelled % settings.report_every == 0:
                yield self._moment(told.causes[end - 1], told.times[end - 1], {})
            begin = end

    def last_moment(self, tails: dict[int, Tail]) -> Moment | None:
        """What is to be said at the end of the input; nothing is changed by it."""
        ends = [tail for tail in tails.values() if tail.cause is not None]
        if not ends:
            return None
        last = max(ends, key=lambda tail: (_stamp_of(tail.cause, tail.time), tail.partition))
        return self._moment(last.cause, last.time, tails)

    def _watched(self, told: Chunks, begin: int, end: int) -> Iterator[Moment]:
        """Alarms, at the ends of the chunks in which they rang."""
        if self.settings.drift is None:
            return
        entries = told.entries[begin:end].reshape(-1, ENTRY)
        rung_at = np.empty(entries.shape[0], dtype=np.int64)
        findings = np.empty((entries.shape[0] + 1, len(FINDINGS)))
        rung = _watch_entries(
            self.settings.native_drift,
            self.drift,
            entries,
            self.settings.classes,
            rung_at,
            findings,
        )
        by_chunk: dict[int, list[list[float]]] = {}
        for i in range(rung):
            at = begin + int(rung_at[i]) // self.settings.chunk
            by_chunk.setdefault(at, []).append(findings[i].tolist())
        for at, found in by_chunk.items():
            yield Moment(told.causes[at], told.times[at], findings=found)

    def _keep(self, told: Chunks, begin: int, end: int) -> None:
        """Keep the entries of chunks, as long as they are among the latest."""
        while begin < end:
            stop = min(end, begin + self._room - self._held)
            places = slice(self._held, self._held + stop - begin)
            chunk = self.settings.chunk
            self._entries[places] = told.entries[begin:stop]
            self._stamps[places] = [
                (*_stamp_of(told.causes[i], told.times[i]), told.partition, number)
                for i, number in zip(
                    range(begin, stop),
                    (told.sums[begin:stop, COUNT] / chunk).astype(int).tolist(),
                    strict=True,
                )
            ]
            self._held += stop - begin
            begin = stop
            if self._held == self._room:
                self._sort_out()

    def _sort_out(self) -> None:
        """Put the chunks in order, and let go of those that are no longer needed."""
        stamps = self._stamps[: self._held]
        order = np.lexsort(stamps.T[::-1])[-self.settings.chunks_kept :]
        self._stamps[: len(order)] = stamps[order]
        self._entries[: len(order)] = self._entries[order]
        self._held = len(order)

    def _moment(self, cause: Cause | None, time: int | None, tails: dict[int, Tail]) -> Moment:
        self._sort_out()
        entries = self._entries[: self._held].reshape(-1, ENTRY)
        rows, events, listed = self.sums, self.events, self.listed
        if tails:
            rows, events, listed = rows.copy(), events.copy(), dict(listed)
            for tail in tails.values():
                rows[tail.partition] = tail.sums
                events[tail.partition] = tail.events
                if tail.listed is not None:
                    listed[tail.partition] = tail.listed
            entries = self._with_tails(tails)
        merged = np.zeros(self.settings.width)
        merge_all(rows, self.settings.classes, merged)
        values = stream_values(self.settings, merged, entries)
        return Moment(cause, time, int(events.sum()), values, self._worst_and_busiest(listed))

    def _with_tails(self, tails: dict[int, Tail]) -> Array:
        """The entries kept, and those of the chunks that are not full, where they belong."""
        parts = [
            (tuple(stamp), entries)
            for stamp, entries in zip(
                self._stamps[: self._held].tolist(), self._entries[: self._held], strict=True
            )
        ]
        for tail in tails.values():
            number = int(tail.sums[COUNT]) // self.settings.chunk + 1
            stamp = (*_stamp_of(tail.cause, tail.time), tail.partition, number)
            parts.append((stamp, tail.entries))
        return np.concatenate([entries for _stamp, entries in sorted(parts, key=itemgetter(0))])

    def _worst_and_busiest(
        self, listed: dict[int, Listed]
    ) -> list[tuple[str, Array, dict[str, float | None]]]:
        """Keys with their rows and ranks: of all that the partitions list, the first ones."""
        parts = [listed[partition] for partition in sorted(listed)]
        if not parts:
            return []
        names = [name for part in parts for name in part.names]
        most = self.settings.keys_reported
        ranks: dict[int, dict[str, float | None]] = {}
        for rank_name, measure in (
            ("rank_worst", np.concatenate([part.badness for part in parts])),
            ("rank_busiest", np.concatenate([part.rows[:, 0] for part in parts])),
        ):
            for rank, i in enumerate(np.argsort(-measure, kind="stable")[:most].tolist()):
                known = ranks.setdefault(i, {"rank_worst": None, "rank_busiest": None})
                known[rank_name] = rank + 1.0
        rows = np.concatenate([part.rows for part in parts])
        return [(names[i], rows[i], ranks[i]) for i in sorted(ranks)]

    def packed(self) -> bytes:
        """The figures as bytes."""
        self._sort_out()
        width = listed_width(self.settings)
        partitions = sorted(self.listed)
        parts = [self.listed[partition] for partition in partitions]
        arrays: dict[str, NDArray[Any]] = {
            "sums": self.sums,
            "events": self.events,
            "drift": self.drift,
            "stamps": self._stamps[: self._held],
            "entries": self._entries[: self._held],
            "listed_rows": np.concatenate([np.zeros((0, width)), *(part.rows for part in parts)]),
            "listed_badness": np.concatenate([np.zeros(0), *(part.badness for part in parts)]),
        }
        names = [part.names for part in parts]
        return blob.pack(
            self.settings.described,
            arrays,
            labelled=self.labelled,
            listed=list(zip(partitions, names, strict=True)),
        )

    @classmethod
    def restored(cls, settings: Settings, packed: bytes) -> "WholeFigures":
        """The figures that `packed` gave, under the same settings."""
        arrays, plain = blob.unpack(packed, settings.described)
        whole = cls(settings)
        whole.sums, whole.events = arrays["sums"], arrays["events"]
        whole.drift = arrays["drift"]
        whole.labelled = plain["labelled"]
        whole._held = arrays["stamps"].shape[0]
        whole._stamps[: whole._held] = arrays["stamps"]
        whole._entries[: whole._held] = arrays["entries"]
        begin = 0
        for partition, names in plain["listed"]:
            end = begin + len(names)
            rows, badness = arrays["listed_rows"][begin:end], arrays["listed_badness"][begin:end]
            whole.listed[partition] = Listed(names, rows, badness)
            begin = end
        return whole


def _stamp_of(cause: Cause | None, time: int | None) -> tuple[int, int]:
    """What orders chunks: without a time they come first."""
    return (-1 if time is None else time), (-1 if cause is None else cause.offset)


@native
def _watch_entries(
    drift: NativeDrift,
    row: Array,
    entries: Array,
    classes: int,
    rung_at: NDArray[np.int64],
    findings: Array,
) -> int:
    rung = 0
    for i in range(entries.shape[0]):
        error = abs(entries[i, 1] - entries[i, 0])
        if classes:
            error = 0.0 if entries[i, 1] == entries[i, 0] else 1.0
        if watch(drift, row, error, findings[rung]):
            rung_at[rung] = i
            rung += 1
    return rung
