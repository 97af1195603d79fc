"""The pictures: curves over each other, a panel per key, learners side by side, error and cost."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from okl_flow.native import Array
from okl_flow.plotting.curves import Curve
from okl_flow.plotting.labels import name_points
from okl_flow.plotting.results import Point
from okl_flow.plotting.style import TEXT, dress, line_style, new_figure

__all__ = ["draw_cost", "draw_curves", "draw_errors", "draw_keys"]

_ACROSS = 3  # panels
_FEW = 3  # points, of which a line alone would show little or nothing
_LABELS = "labelled events"
_QUIET = {"frameon": False, "labelcolor": TEXT, "fontsize": 9}
_BESIDE = {"loc": "outside right upper", **_QUIET}
_BELOW = {"loc": "outside lower center", "ncols": 2, **_QUIET}


def draw_curves(curves: Sequence[Curve], title: str) -> Any:
    """Curves over each other, with intervals and a baseline; of one alone also the error lately."""
    figure = new_figure(10.0, 5.0)
    axes = figure.add_subplot()
    for number, curve in enumerate(curves):
        _draw(axes, curve, line_style(number), _named(curve))
    if len(curves) == 1:
        _draw_lately(axes, curves[0])
    _draw_baseline(axes, curves[0])
    _scale(axes, curves)
    dress(axes, title, _LABELS, _unit(curves[0].is_rate))
    figure.legend(**_BESIDE)
    return figure


def draw_keys(curves: Sequence[Curve], title: str) -> Any:
    """A panel for each key, all of one scale."""
    across = min(_ACROSS, len(curves))
    down = -(-len(curves) // across)
    figure = new_figure(3.6 * across + 1.6, 2.6 * down + 0.6)
    panels = list(figure.subplots(down, across, sharey=True, squeeze=False).flat)
    for panel, curve in zip(panels, curves, strict=False):
        _draw(panel, curve, line_style(0), "so far")
        _draw_lately(panel, curve)
        _draw_baseline(panel, curve)
        dress(panel, _named(curve), "", "")
    for panel in panels[len(curves) :]:
        panel.set_visible(False)
    _scale(panels[0], curves)
    figure.suptitle(title, x=0.01, ha="left", color=TEXT, fontsize=11)
    figure.supxlabel(_LABELS, color=TEXT, fontsize=10)
    figure.supylabel(_unit(curves[0].is_rate), color=TEXT, fontsize=10)
    figure.legend(*panels[0].get_legend_handles_labels(), **_BESIDE)
    return figure


def draw_errors(points: Sequence[Point], title: str) -> Any:
    """Learners below each other, the best on top, with deviations and the constant answer."""
    ordered = sorted(points, key=lambda one: -one.error)
    figure = new_figure(10.0, 1.4 + 0.32 * len(ordered))
    axes = figure.add_subplot()
    factor = 100.0 if ordered[0].is_rate else 1.0
    places = np.arange(len(ordered))
    axes.errorbar(
        [factor * one.error for one in ordered],
        places,
        xerr=[factor * one.deviation for one in ordered],
        fmt="o",
        color=line_style(0)["color"],
        capsize=3,
    )
    for place, one in zip(places, ordered, strict=True):
        text = _amount(one.error, one.is_rate)
        axes.annotate(
            text, (factor * (one.error + one.deviation), place),
            xytext=(8, 0), textcoords="offset points", va="center", fontsize=9, color=TEXT,
        )  # fmt: skip
    baseline = ordered[0].baseline
    axes.axvline(
        factor * baseline, color=TEXT, linestyle="--", linewidth=1.2,
        label=f"{_constant(ordered[0])} {_amount(baseline, ordered[0].is_rate)}",
    )  # fmt: skip
    dress(axes, title, _unit(ordered[0].is_rate), "")
    axes.set_yticks(places, [one.name for one in ordered])
    widest = max(baseline, *(one.error + one.deviation for one in ordered))
    axes.set_xlim(0.0, factor * 1.15 * widest)
    figure.legend(**_BELOW)
    return figure


def draw_cost(points: Sequence[Point], title: str) -> Any:
    """Each learner's error against its time per event; the best for its time stand on the line."""
    figure = new_figure(10.0, 5.5)
    axes = figure.add_subplot()
    factor = 100.0 if points[0].is_rate else 1.0
    ordered = sorted(points, key=lambda one: (one.microseconds, one.error))
    front: list[Point] = []
    for one in ordered:
        if not front or one.error < front[-1].error:
            front.append(one)
    axes.plot(
        [one.microseconds for one in front], [factor * one.error for one in front],
        drawstyle="steps-post", color=line_style(1)["color"], linewidth=1.2,
        label="least error for the time",
    )  # fmt: skip
    axes.scatter(
        [one.microseconds for one in ordered],
        [factor * one.error for one in ordered],
        color=line_style(0)["color"],
        zorder=3,
    )
    baseline = points[0].baseline
    axes.axhline(
        factor * baseline, color=TEXT, linestyle="--", linewidth=1.2,
        label=f"{_constant(points[0])} {_amount(baseline, points[0].is_rate)}",
    )  # fmt: skip
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _place: f"{value:g}")
    axes.margins(x=0.1)
    axes.set_ylim(bottom=0.0)
    dress(axes, title, "µs per event, scored and learned", _unit(points[0].is_rate))
    figure.legend(**_BELOW)
    places = [(one.microseconds, factor * one.error) for one in ordered]
    name_points(axes, places, [one.name for one in ordered])
    return figure


def _draw(axes: Any, curve: Curve, style: dict[str, str], name: str) -> None:
    """The error so far, in its interval."""
    low, high = _shown(curve, curve.low), _shown(curve, curve.high)
    if np.isfinite(low).any():
        axes.fill_between(curve.labels, low, high, color=style["color"], alpha=0.18, linewidth=0.0)
    axes.plot(
        curve.labels, _shown(curve, curve.error), linewidth=2.0, label=name, **style, **_dots(curve)
    )
    axes.xaxis.set_major_formatter(lambda value, _place: f"{value:,.0f}")


def _draw_lately(axes: Any, curve: Curve) -> None:
    lately, color = _shown(curve, curve.lately), line_style(1)["color"]
    if np.isfinite(lately).any():
        axes.plot(
            curve.labels, lately, linewidth=1.0, color=color, label=curve.span, **_dots(curve)
        )


def _draw_baseline(axes: Any, curve: Curve) -> None:
    baseline = _shown(curve, curve.baseline)
    if np.isfinite(baseline).any():
        axes.plot(
            curve.labels, baseline, color=TEXT, linestyle="--", linewidth=1.2, label="baseline",
            **_dots(curve),
        )  # fmt: skip


def _shown(curve: Curve, values: Sequence[float]) -> Array:
    """Rates in percent, and roots as they are."""
    return np.array(values) * (100.0 if curve.is_rate else 1.0)


def _dots(curve: Curve) -> dict[str, Any]:
    return {"marker": "o", "markersize": 4} if len(curve.labels) < _FEW else {}


def _scale(axes: Any, curves: Sequence[Curve]) -> None:
    """From 0 to above all errors and baselines; wide intervals of the beginning may stick out."""
    drawn = [values for one in curves for values in (one.error, one.lately, one.baseline)]
    values = np.concatenate([_shown(curves[0], one) for one in drawn])
    top = 1.1 * np.nanmax(values)
    axes.set_ylim(0.0, top if np.isfinite(top) and top > 0.0 else 1.0)


def _named(curve: Curve) -> str:
    return f"{curve.name} {_amount(curve.error[-1], curve.is_rate)}"


def _unit(is_rate: bool) -> str:
    return "mistakes, %" if is_rate else "RMSE"


def _amount(value: float, is_rate: bool) -> str:
    return f"{100.0 * value:.2f} %" if is_rate else f"{value:.4g}"


def _constant(point: Point) -> str:
    return "always the largest class" if point.is_rate else "running mean of the labels"
