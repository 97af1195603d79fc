"""What is known of single keys: of so many, those that were reported last."""

import math
from collections import OrderedDict
from collections.abc import Iterator
from heapq import nlargest
from operator import attrgetter
from typing import NamedTuple

import msgspec

from okl_flow.evaluating.intervals import wilson
from okl_flow.events import Report
from okl_flow.page.series import Series

__all__ = ["KEYS_MAX", "Figures", "Key", "Keys", "Lists", "curve_names", "error_name"]

KEYS_MAX = 20_000
"""Keys that are kept; evaluate keeps the figures of 16,384."""

NAMES_MAX = 4_000_000
"""Characters of their names together."""

_STEPS_MAX = 32
_PER_LEVEL = 12  # rows of a key's series
_DEVIATIONS = 4.0  # as evaluate has it: bad luck makes nobody the worst
_RANKS = ("rank_worst", "rank_busiest")

Figures = dict[str, float | None]

_decode = msgspec.msgpack.Decoder(Figures).decode
_encode = msgspec.msgpack.Encoder().encode
_by_badness = attrgetter("badness")
_by_events = attrgetter("events")


def error_name(values: Figures) -> str | None:
    """The figure that says how often, or how far, predictions are wrong."""
    return next((name for name in ("mistake_rate", "rmse") if name in values), None)


def curve_names(error: str) -> tuple[str, ...]:
    """What the curve of a key shows of its error."""
    ends, baseline = (error, f"{error}_low", f"{error}_high"), f"baseline_{error}"
    return (*ends, f"fading_{error}", baseline, f"fading_{baseline}")


class Key:
    """What is known of a key, in one step of the job."""

    __slots__ = (
        "_packed",
        "badness",
        "error",
        "events",
        "labelled",
        "name",
        "series",
        "step",
        "written",
    )

    def __init__(self, step: str, name: str) -> None:
        self.step = step
        self.name = name
        self.events = 0
        self.labelled = 0.0
        self.written = 0  # when the latest report was
        self.error: str | None = None  # the figure that is its error, if it was evaluated
        self.badness = -math.inf
        self.series: Series | None = None  # of the error
        self._packed = b""

    def take(self, events: int, values: Figures, written: int) -> None:
        """Take in a report."""
        self.events, self.written = events, written
        self._packed = _encode(values)
        self.error, labelled = error_name(values), values.get("labelled")
        if self.error is None or labelled is None:
            return
        self.labelled = labelled
        low, rate = values.get(f"{self.error}_low"), values[self.error]
        if self.error == "mistake_rate" and rate is not None:
            low = wilson(rate * labelled, labelled, _DEVIATIONS)[0]
        self.badness = -math.inf if low is None else low
        if self.series is None:
            self.series = Series(2 + len(curve_names(self.error)), _PER_LEVEL)
        figures = [values.get(name) for name in curve_names(self.error)]
        self.series.add([labelled, written, *(math.nan if one is None else one for one in figures)])

    @property
    def values(self) -> Figures:
        """Its latest figures."""
        return _decode(self._packed)


class Lists(NamedTuple):
    """The keys of a step: how many, and those to look at."""

    known: int
    listed: int | None  # when the step listed them; None if it does not
    worst: list[Key]
    busiest: list[Key]


class _Listing(NamedTuple):
    """The worst and the busiest keys of a step, as one of its reports lists them."""

    cause: object
    written: int
    ranks: dict[str, dict[int, Key]]


class Keys:
    """Keys by step and name, and which of them are the worst and the busiest.

    A step that lists its worst and busiest keys is believed. Of one that reports all of its keys
    they are found here: a key is as bad as the lower end of an interval around its error.

    Parameters:
        keys_max: keys that are kept; where there is no room the one reported longest ago goes.
        names_max: characters of their names together.
    """

    def __init__(self, keys_max: int = KEYS_MAX, names_max: int = NAMES_MAX) -> None:
        self.dropped = 0  # keys that went
        self._keys_max = keys_max
        self._names_max = names_max
        self._characters = 0
        self._known: OrderedDict[tuple[str, str], Key] = OrderedDict()
        self._steps: dict[str, None] = {}
        self._listings: dict[str, _Listing] = {}

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._known)

    def take(self, report: Report, written: int) -> bool:
        """Take in a report about a key; False if there is no room for its step."""
        if report.step not in self._steps:
            if len(self._steps) == _STEPS_MAX:
                return False
            self._steps[report.step] = None
        place = (report.step, report.name)
        key = self._known.get(place)
        if key is None:
            key = self._known[place] = Key(*place)
            self._characters += len(report.name)
            self._make_room()
        else:
            self._known.move_to_end(place)
        key.take(report.events, report.values, written)
        if _RANKS[0] in report.values or _RANKS[1] in report.values:
            self._list(key, report, written)
        return True

    def lists(self, count: int) -> dict[str, Lists]:
        """Of each step that evaluates keys: how many there are, the worst and the busiest."""
        by_step: dict[str, list[Key]] = {}
        for key in self._known.values():
            if key.series is not None:
                by_step.setdefault(key.step, []).append(key)
        found = {}
        for step, keys in by_step.items():
            listing = self._listings.get(step)
            if listing is None:
                worst = nlargest(count, keys, key=_by_badness)
                busiest = nlargest(count, keys, key=_by_events)
                found[step] = Lists(len(keys), None, worst, busiest)
            else:
                worst, busiest = (
                    [ranked[rank] for rank in sorted(ranked)[:count]]
                    for ranked in listing.ranks.values()
                )
                found[step] = Lists(len(keys), listing.written, worst, busiest)
        return found

    def found(self, step: str, text: str, count: int) -> tuple[list[Key], int]:
        """Evaluated keys with a text in their names, the busiest first, and how many there are.

        A key of just this name comes before all others.
        """
        wanted = text.casefold()
        matches = [key for key in self._evaluated(step) if wanted in key.name.casefold()]
        first = nlargest(count, matches, key=lambda key: (key.name == text, key.events))
        return first, len(matches)

    def named(self, name: str) -> list[Key]:
        """What is known of a key, in all steps."""
        return [self._known[step, name] for step in self._steps if (step, name) in self._known]

    def _make_room(self) -> None:
        while len(self._known) > self._keys_max or self._characters > self._names_max:
            _place, gone = self._known.popitem(last=False)
            self._characters -= len(gone.name)
            self.dropped += 1

    def _list(self, key: Key, report: Report, written: int) -> None:
        listing = self._listings.get(report.step)
        if listing is None or (report.cause != listing.cause and written >= listing.written):
            listing = _Listing(report.cause, written, {name: {} for name in _RANKS})
            self._listings[report.step] = listing
        if report.cause != listing.cause:
            return  # an older list, of which this is in another partition of the topic
        for name in _RANKS:
            rank = report.values.get(name)
            if rank is not None and len(listing.ranks[name]) < self._keys_max:
                listing.ranks[name][int(rank)] = key

    def _evaluated(self, step: str) -> Iterator[Key]:
        return (
            key
            for (whose, _name), key in self._known.items()
            if whose == step and key.series is not None
        )
