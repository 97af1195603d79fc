"""What is reported: sums and judged predictions turned into figures by name."""

import math
from functools import cache

import numpy as np

from okl_flow.evaluating.intervals import (
    mean_sequence,
    normal_quantile,
    rate_sequence,
    wilson,
)
from okl_flow.evaluating.keys import EVENTS, HEAD, OVER, SEEN
from okl_flow.evaluating.settings import Settings
from okl_flow.evaluating.sums import (
    ABSOLUTE,
    COUNT,
    ERROR,
    FOURTH,
    LOSS,
    LOSS_SQUARED,
    LOSSES,
    figure_names,
    fill_figures,
)
from okl_flow.native import Array, native
from okl_flow.tasks import Binary

__all__ = ["Values", "key_events", "key_values", "stream_values"]

Values = dict[str, float | None]


def stream_values(
    settings: Settings, sums: Array, window: Array, fading: Array, area: float
) -> Values:
    """The figures of the whole stream, from three rows of sums and the area under the curve."""
    names = _stream_names(settings.classes, isinstance(settings.task, Binary))
    figures = np.full(len(names), math.nan)
    quantile = normal_quantile(settings.confidence)
    at = _fill_cumulative(sums, settings.classes, 1.0 - settings.confidence, figures)
    at = _fill_recent(window, settings.classes, figures, at)
    if settings.classes:
        figures[at], figures[at + 1] = wilson(window[ERROR], window[COUNT], quantile)
        at += 2
    at = _fill_recent(fading, settings.classes, figures, at)
    figures[at] = window[COUNT]
    figures[at + 1 :] = area
    return _named(names, figures)


def key_values(settings: Settings, row: Array) -> Values:
    """The figures of a key, from its row."""
    names = _key_names(settings.classes)
    figures = np.empty(len(names))
    sums = row[HEAD : HEAD + settings.width]
    fading = row[HEAD + settings.width : HEAD + 2 * settings.width]
    at = _fill_cumulative(sums, settings.classes, 1.0 - settings.confidence, figures)
    _fill_recent(fading, settings.classes, figures, at)
    figures[-2:] = row[SEEN], row[SEEN] - row[OVER]
    return _named(names, figures)


def key_events(row: Array) -> int:
    """Predictions that the figures of a key cover."""
    return int(row[EVENTS])


def _named(names: tuple[str, ...], figures: Array) -> Values:
    """Figures by name; None for what is not known, or not finite."""
    values = figures.tolist()
    return {
        name: value if -math.inf < value < math.inf else None
        for name, value in zip(names, values, strict=True)
    }


def _cumulative_names(classes: int) -> tuple[str, ...]:
    ends = ("mistake_rate", "loss") if classes else ("rmse", "mae", "loss")
    sides = tuple(f"{name}_{side}" for name in ends for side in ("low", "high"))
    return ("labelled", *figure_names(classes), *sides)


@cache
def _stream_names(classes: int, binary: bool) -> tuple[str, ...]:
    """In the order of `stream_values`."""
    rate = ("window_mistake_rate_low", "window_mistake_rate_high") if classes else ()
    return (
        *_cumulative_names(classes),
        *figure_names(classes, "window_"),
        *rate,
        *figure_names(classes, "fading_"),
        "window_labelled",
        *(("window_auc",) if binary else ()),
    )


@cache
def _key_names(classes: int) -> tuple[str, ...]:
    """In the order of `key_values`."""
    return (
        *_cumulative_names(classes),
        *figure_names(classes, "fading_"),
        "events_at_most",
        "events_at_least",
    )


@native
def _fill_cumulative(sums: Array, classes: int, alpha: float, out: Array) -> int:
    """Figures of all labelled predictions so far, with their intervals; where to go on."""
    count = sums[COUNT]
    out[0] = count
    fill_figures(sums, classes, out[1:7])
    at = 7
    if classes:
        out[at], out[at + 1] = rate_sequence(sums[ERROR], count, alpha)
    else:
        low, high = mean_sequence(sums[ERROR], sums[FOURTH], count, alpha)
        out[at], out[at + 1] = math.sqrt(max(0.0, low)), math.sqrt(max(0.0, high))
        at += 2
        out[at], out[at + 1] = mean_sequence(sums[ABSOLUTE], sums[ERROR], count, alpha)
    at += 2
    out[at], out[at + 1] = mean_sequence(sums[LOSS], sums[LOSS_SQUARED], sums[LOSSES], alpha)
    return at + 2


@native
def _fill_recent(sums: Array, classes: int, out: Array, at: int) -> int:
    fill_figures(sums, classes, out[at : at + 6])
    return at + 6
