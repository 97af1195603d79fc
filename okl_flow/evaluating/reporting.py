"""What is reported: sums and judged predictions turned into figures by name."""

import math

import numpy as np

from okl_flow.evaluating.intervals import (
    mean_sequence,
    normal_quantile,
    rate_sequence,
    wilson,
)
from okl_flow.evaluating.keys import EVENTS, HEAD, OVER, SEEN
from okl_flow.evaluating.settings import FADES_OUT, Settings
from okl_flow.evaluating.sums import (
    ABSOLUTE,
    COUNT,
    ERROR,
    FOURTH,
    LOSS,
    LOSS_SQUARED,
    LOSSES,
    add_entries,
    area_under_curve,
    figure_names,
    fill_figures,
    named,
)
from okl_flow.native import Array
from okl_flow.tasks import Binary

__all__ = ["Values", "key_events", "key_values", "stream_values"]

Values = dict[str, float | None]

_FIGURES = 6


def stream_values(settings: Settings, sums: Array, entries: Array) -> Values:
    """The figures of the whole stream, from its sums and its latest judged predictions."""
    classes = settings.classes
    values = _cumulative(settings, sums)
    latest = entries[-settings.window :]
    row = np.zeros(settings.width)
    add_entries(row, classes, 1.0, latest)
    values["window_labelled"] = float(row[COUNT])
    values.update(_figures(classes, "window_", row))
    if classes:
        low, high = wilson(row[ERROR], row[COUNT], normal_quantile(settings.confidence))
        values["window_mistake_rate_low"], values["window_mistake_rate_high"] = low, high
    if isinstance(settings.task, Binary):
        values.update(named(("window_auc",), np.array([area_under_curve(latest)])))
    row[:] = 0.0
    add_entries(row, classes, settings.keep, entries[-FADES_OUT * settings.fading :])
    values.update(_figures(classes, "fading_", row))
    return values


def key_values(settings: Settings, row: Array) -> Values:
    """The figures of a key, from its row."""
    sums = row[HEAD : HEAD + settings.width]
    fading = row[HEAD + settings.width : HEAD + 2 * settings.width]
    return {
        "events_at_most": float(row[SEEN]),
        "events_at_least": float(row[SEEN] - row[OVER]),
        **_cumulative(settings, sums),
        **_figures(settings.classes, "fading_", fading),
    }


def key_events(row: Array) -> int:
    """Predictions that the figures of a key cover."""
    return int(row[EVENTS])


def _figures(classes: int, prefix: str, row: Array) -> Values:
    figures = np.empty(_FIGURES)
    fill_figures(row, classes, figures)
    return named(figure_names(classes, prefix), figures)


def _cumulative(settings: Settings, sums: Array) -> Values:
    """The figures of all labelled predictions so far, with their intervals."""
    alpha = 1.0 - settings.confidence
    values: Values = {"labelled": float(sums[COUNT])}
    values.update(_figures(settings.classes, "", sums))
    if settings.classes:
        low, high = rate_sequence(sums[ERROR], sums[COUNT], alpha)
        values["mistake_rate_low"], values["mistake_rate_high"] = low, high
    else:
        low, high = mean_sequence(sums[ERROR], sums[FOURTH], sums[COUNT], alpha)
        ends = (math.sqrt(max(0.0, low)), math.sqrt(max(0.0, high)))
        values.update(named(("rmse_low", "rmse_high"), np.array(ends)))
        low, high = mean_sequence(sums[ABSOLUTE], sums[ERROR], sums[COUNT], alpha)
        values.update(named(("mae_low", "mae_high"), np.array([low, high])))
    low, high = mean_sequence(sums[LOSS], sums[LOSS_SQUARED], sums[LOSSES], alpha)
    values.update(named(("loss_low", "loss_high"), np.array([low, high])))
    return values
