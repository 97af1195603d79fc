"""The mistakes of the demonstration as a picture. Needs matplotlib, the extra `plot`."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from okl_flow.demo.script import Demo
from okl_flow.demo.stream import number_of
from okl_flow.native import Array
from okl_flow.plotting.style import TEXT, dress, line_style, new_figure, save

__all__ = ["drawn"]

_KILL = "#c0392b"
_CONFIG = "MPLCONFIGDIR"
_WINDOWS = 20  # that the events are as long as


def drawn(demo: Demo, suffix: str) -> bytes:
    """How many of the latest predictions were mistakes, of two groups of users: .png or .svg."""
    with TemporaryDirectory(dir=demo.folder) as own:
        before = os.environ.setdefault(_CONFIG, own)  # in place of a folder that would stay
        try:
            path = Path(own) / f"picture{suffix}"
            save(_figure(demo), "--plot", path)
            return path.read_bytes()
        finally:
            if before == own:
                del os.environ[_CONFIG]


def _figure(demo: Demo) -> Any:
    numbers, changing, mistakes = _points(demo)
    figure = new_figure(10.0, 5.0)
    axes: Any = figure.add_subplot()
    share = demo.stream.events / _WINDOWS
    groups = ((~changing, "users who stay as they are"), (changing, "users who change their ways"))
    for number, (chosen, words) in enumerate(groups):
        window = max(1, round(share * chosen.mean()))
        if chosen.sum() >= window:
            x, rates = _sliding(numbers[chosen], mistakes[chosen], window)
            style = {**line_style(number), "linestyle": "-"}
            label = f"{words} (their last {window:,} labels)"
            axes.plot(x, 100.0 * rates, linewidth=1.8, label=label, **style)
    _draw_baseline(axes, demo)
    _draw_moments(axes, demo)
    title = f"A model for each of {demo.play.keys:,} users, a process killed on the way"
    dress(axes, title, "events", "mistakes, %")
    axes.set_xlim(0, demo.play.events)
    axes.xaxis.set_major_formatter(lambda value, _place: f"{value:,.0f}")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, labelcolor=TEXT, fontsize=9)
    return figure


def _points(demo: Demo) -> tuple[NDArray[np.int64], NDArray[np.bool_], Array]:
    """Of each labelled prediction, by event: its number, whether its user changes, if a mistake."""
    changing = demo.stream.changing
    points = sorted(
        (number_of(one.id), one.key in changing, one.predicted != one.label)
        for one in demo.outputs.predictions.values()
        if one.id is not None and one.label is not None
    )
    numbers, are_changing, mistakes = zip(*points, strict=True) if points else ((), (), ())
    return np.array(numbers, int), np.array(are_changing, bool), np.array(mistakes, float)


def _sliding(
    numbers: NDArray[np.int64], mistakes: Array, window: int
) -> tuple[NDArray[np.int64], Array]:
    """The share of mistakes in each window, at its last event."""
    sums = np.cumsum(np.concatenate([[0.0], mistakes]))
    return numbers[window - 1 :], (sums[window:] - sums[:-window]) / window


def _draw_baseline(axes: Any, demo: Demo) -> None:
    report = demo.outputs.report
    level = None if report is None else report.values["baseline_mistake_rate"]
    if level is not None:
        label = f"always the commonest label, {100.0 * level:.1f} %"
        axes.axhline(100.0 * level, color=TEXT, linewidth=1.2, linestyle="--", label=label)


def _draw_moments(axes: Any, demo: Demo) -> None:
    """The kill, the change, and the alarms of users."""
    top = axes.get_ylim()[1]
    axes.set_ylim(0.0, 1.15 * top)
    half = demo.stream.events / 2
    for x, words, color in ((demo.killed_at, "kill -9", _KILL), (half, "some change", TEXT)):
        if x is not None:
            axes.axvline(x, color=color, linewidth=1.0, linestyle=":")
            axes.text(x, 1.14 * top, f" {words}", color=color, fontsize=9, va="top")
    ids = {one.cause: one.id for one in demo.outputs.predictions.values()}
    rung = [
        number_of(ids[one.cause] or "e0")
        for one in demo.outputs.alarms.values()
        if one.subject == "key" and one.cause in ids
    ]
    if rung:
        heights = [0.02 * top] * len(rung)
        axes.plot(rung, heights, "^", color=_KILL, label="drift alarm of a user", clip_on=False)
