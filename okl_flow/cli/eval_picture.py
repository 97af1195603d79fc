"""Error curves as a picture. Needs matplotlib, which comes with the extra `plot`."""

from pathlib import Path
from typing import Any

import numpy as np

from okl_flow.cli.plan import Outcome, Report
from okl_flow.native import Array
from okl_flow.plotting.style import TEXT, dress, line_style, new_figure, save

__all__ = ["draw"]


def draw(report: Report, path: Path) -> None:
    """Draw each learner's error so far, its error in the window, and that without learning."""
    figure = new_figure(10.0, 5.0)
    axes: Any = figure.add_subplot()
    highest = [
        _draw_learner(axes, outcome, report, **line_style(at))
        for at, outcome in enumerate(report.outcomes)
    ]
    level = _draw_baseline(axes, report)
    # The first few events swing between none and all wrong; they do not set the scale.
    top = 1.1 * np.nanmax([*highest, level])
    axes.set_ylim(0.0, top if np.isfinite(top) and top > 0.0 else 1.0)
    _dress(axes, report)
    save(figure, "--plot", path)


def _draw_learner(axes: Any, outcome: Outcome, report: Report, **style: Any) -> float:
    """Draw both curves of a learner; the highest error once the window is full."""
    curves = outcome.result.curves
    events = np.array(curves[0].events)
    whole = _averaged([curve.cumulative for curve in curves], report)
    sliding = _averaged([curve.sliding for curve in curves], report)
    full = events >= min(report.window or 0, events[-1])
    axes.plot(events[full], sliding[full], linewidth=0.9, alpha=0.45, **style)
    measures = outcome.result.measures
    if report.task == "regression":
        level = measures["rmse"].mean
    else:
        level = 100.0 * measures["mistake_rate"].mean
    label = f"{outcome.result.learner.name} {_amount(level, report)}"
    axes.plot(events, whole, linewidth=2.0, label=label, **style)
    return float(np.nanmax([*sliding[full], *whole[full]]))


def _averaged(curves: list[list[float]], report: Report) -> Array:
    """The mean over runs: of rates in percent, or of roots of squared errors."""
    errors = np.array(curves)
    shown: Array = np.sqrt(errors) if report.task == "regression" else 100.0 * errors
    mean: Array = shown.mean(axis=0)
    return mean


def _draw_baseline(axes: Any, report: Report) -> float:
    """Draw what needs no learning; its level."""
    measures = report.outcomes[0].result.measures
    if report.task == "regression":
        level, name = measures["rmse_of_running_mean"].mean, "running mean of the labels"
    else:
        level, name = 100.0 * measures["majority_rate"].mean, "always the largest class"
    label = f"{name} {_amount(level, report)}"
    axes.axhline(level, color=TEXT, linewidth=1.2, linestyle="--", label=label, zorder=1.5)
    return level


def _amount(value: float, report: Report) -> str:
    return f"{value:.4g}" if report.task == "regression" else f"{value:.2f} %"


def _dress(axes: Any, report: Report) -> None:
    """Title, axes, grid and legend."""
    asked = report.request
    runs = f"mean of {asked.permutations} permutations" if asked.permutations > 1 else ""
    name = "standard input" if asked.data.path == "-" else Path(asked.data.path).name
    error = "RMSE" if report.task == "regression" else "mistakes, %"
    dress(axes, ", ".join(filter(None, [name, runs])), "events", error)
    axes.set_xlim(0, report.outcomes[0].result.events)
    axes.xaxis.set_major_formatter(lambda value, _place: f"{value:,.0f}")
    axes.plot([], [], color="grey", linewidth=0.9, label=f"thin: last {report.window:,} events")
    # Beside the axes, where any number of learners hides no curve.
    axes.figure.legend(loc="outside right upper", frameon=False, labelcolor=TEXT, fontsize=9)
