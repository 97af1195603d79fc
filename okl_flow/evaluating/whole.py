"""Figures of the whole stream, merged from what its partitions tell.

Cumulative figures are the sums of the partitions' last rows, in the order of their numbers. The
window and the fading past are made of chunks, ordered by the time of their last record, then
its offset, then the partition: whichever order they arrive in, the latest ones are the same.
So all figures depend on how far each partition has come, and on nothing else.
"""

import math
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from okl_flow.evaluating import blob
from okl_flow.evaluating.drift import FINDINGS, NativeDrift, watch
from okl_flow.evaluating.keys import SEEN, Listed, listed_width
from okl_flow.evaluating.partition import Chunks, Tail
from okl_flow.evaluating.recent import STAMP, Recent
from okl_flow.evaluating.reporting import stream_values
from okl_flow.evaluating.settings import FADES_OUT, Settings
from okl_flow.evaluating.sums import COUNT, ENTRY, add_entries, area_under_curve, merge_all
from okl_flow.events import Cause
from okl_flow.native import Array, native
from okl_flow.tasks import Binary

__all__ = ["Moment", "WholeFigures"]


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
        self.recent = Recent(settings.chunks_kept, settings.chunk)

    def take(self, parts: Sequence[Chunks]) -> Iterator[Moment]:
        """Take in chunks, in their order, and stop when something is to be said."""
        settings = self.settings
        rows = parts[0].rows if len(parts) == 1 else np.concatenate([one.rows for one in parts])
        causes = [cause for one in parts for cause in one.causes]
        times = [time for one in parts for time in one.times]
        whose = np.array([one.partition for one in parts for _cause in one.causes])
        listed, ends = [], 0
        for one in parts:
            ends += len(one.causes)
            if one.listed is not None:
                listed.append((ends, one.partition, one.listed))
        stamps = np.empty((len(causes), STAMP), dtype=np.int64)
        stamps[:, 0] = [-1 if time is None else time for time in times]
        stamps[:, 1] = [cause.offset for cause in causes]
        stamps[:, 2] = whose
        stamps[:, 3] = rows[:, 1 + COUNT]
        begin = 0
        while begin < len(causes):
            left = settings.report_every - self.labelled % settings.report_every
            end = min(len(causes), begin + left // settings.chunk)
            for at, found in self._watched(rows[begin:end]).items():
                yield Moment(causes[begin + at], times[begin + at], findings=found)
            self.recent.put(stamps[begin:end], rows[begin:end, 1 + settings.width :])
            _put(rows[begin:end], whose[begin:end], self.events, self.sums)
            self.labelled += (end - begin) * settings.chunk
            while listed and listed[0][0] <= end:
                _ends, partition, keys = listed.pop(0)
                self.listed[partition] = keys
            if self.labelled % settings.report_every == 0:
                yield self._moment(causes[end - 1], times[end - 1], {})
            begin = end

    def last_moment(self, tails: dict[int, Tail]) -> Moment | None:
        """What is to be said at the end of the input; nothing is changed by it."""
        ends = [tail for tail in tails.values() if tail.cause is not None]
        if not ends:
            return None
        last = max(ends, key=lambda tail: (_stamp_of(tail.cause, tail.time), tail.partition))
        return self._moment(last.cause, last.time, tails)

    def _watched(self, rows: Array) -> dict[int, list[list[float]]]:
        """What the detector found, by the chunk in which it rang."""
        if self.settings.drift is None:
            return {}
        entries = rows[:, 1 + self.settings.width :].reshape(-1, ENTRY)
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
            at = int(rung_at[i]) // self.settings.chunk
            by_chunk.setdefault(at, []).append(findings[i].tolist())
        return by_chunk

    def _moment(self, cause: Cause | None, time: int | None, tails: dict[int, Tail]) -> Moment:
        settings = self.settings
        rows, events, listed = self.sums, self.events, self.listed
        merged, window, fading = np.zeros((3, settings.width))
        if tails:
            rows, events, listed = rows.copy(), events.copy(), dict(listed)
            for tail in tails.values():
                rows[tail.partition] = tail.sums
                events[tail.partition] = tail.events
                if tail.listed is not None:
                    listed[tail.partition] = tail.listed
            entries = self._with_tails(tails)
            latest = entries[-settings.window :]
            faded = entries[-FADES_OUT * settings.fading :]
            add_entries(fading, settings.classes, 1.0, settings.keep, faded)
        else:
            latest = self.recent.latest(settings.window)
            self.recent.fill_faded(settings.classes, settings.keep, fading)
        merge_all(rows, settings.classes, merged)
        add_entries(window, settings.classes, 1.0, 1.0, latest)
        area = area_under_curve(latest) if isinstance(settings.task, Binary) else math.nan
        values = stream_values(settings, merged, window, fading, area)
        lists = tails or self.labelled % (settings.report_every * settings.key_lists_every) == 0
        ranked = self._worst_and_busiest(listed) if lists else []
        return Moment(cause, time, int(events.sum()), values, ranked)

    def _with_tails(self, tails: dict[int, Tail]) -> Array:
        """The entries kept, and those of the chunks that are not full, where they belong."""
        chunks = self.recent.entries.reshape(-1, self.settings.chunk, ENTRY)
        parts = [
            (tuple(stamp), entries)
            for stamp, entries in zip(self.recent.stamps.tolist(), chunks, strict=True)
        ]
        for tail in tails.values():
            stamp = (*_stamp_of(tail.cause, tail.time), tail.partition, int(tail.sums[COUNT]))
            parts.append((stamp, tail.entries))
        return np.concatenate([entries for _stamp, entries in sorted(parts, key=itemgetter(0))])

    def _worst_and_busiest(
        self, listed: dict[int, Listed]
    ) -> list[tuple[str, Array, dict[str, float | None]]]:
        """Keys with their rows and ranks: of all that the partitions list, the first ones."""
        parts = [listed[partition] for partition in sorted(listed)]
        if not parts:
            return []
        most = self.settings.keys_reported
        ranks: dict[int, dict[str, float | None]] = {}
        for rank_name, measure in (
            ("rank_worst", np.concatenate([part.badness for part in parts])),
            ("rank_busiest", np.concatenate([part.rows[:, SEEN] for part in parts])),
        ):
            for rank, i in enumerate(np.argsort(-measure, kind="stable")[:most].tolist()):
                known = ranks.setdefault(i, {"rank_worst": None, "rank_busiest": None})
                known[rank_name] = rank + 1.0
        ends = list(accumulate(len(part.names) for part in parts))
        ranked = []
        for i in sorted(ranks):
            number = bisect(ends, i)
            part, place = parts[number], i - ends[number] + len(parts[number].names)
            ranked.append((part.names[place], part.rows[place], ranks[i]))
        return ranked

    def packed(self) -> bytes:
        """The figures as bytes."""
        width = listed_width(self.settings)
        partitions = sorted(self.listed)
        parts = [self.listed[partition] for partition in partitions]
        arrays: dict[str, NDArray[Any]] = {
            "sums": self.sums,
            "events": self.events,
            "drift": self.drift,
            "stamps": self.recent.stamps,
            "entries": self.recent.entries,
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
        chunks = arrays["entries"].reshape(-1, settings.chunk * ENTRY)
        whole.recent.put(arrays["stamps"], chunks)
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
def _put(rows: Array, whose: NDArray[np.int64], events: Array, sums: Array) -> None:
    """The last row of each partition takes the place of what was known."""
    for i in range(rows.shape[0]):
        events[whose[i]] = rows[i, 0]
        sums[whose[i]] = rows[i, 1 : 1 + sums.shape[1]]


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
