"""The picture of where the time goes, from the figures of the part `profile`."""

from pathlib import Path

from benchmarks.speed.figures import Figures
from benchmarks.speed.profile import COST, JOB, SHARE, STAGES
from okl_flow.plotting.style import TEXT, dress, line_style, new_figure, save

__all__ = ["draw_profile"]


def draw_profile(figures: Figures, path: Path) -> None:
    """A bar per stage, the first on top, with what the rounds said."""
    found = [figures.get(stage, COST) for stage in STAGES]
    bars = [one for one in found if one is not None]
    figure = new_figure(8.0, 0.32 * len(bars) + 1.2)
    axes = figure.add_subplot()
    ends = [[one.value - one.low for one in bars], [one.high - one.value for one in bars]]
    axes.barh(
        [one.case for one in bars],
        [one.value for one in bars],
        xerr=ends,
        color=line_style(0)["color"],
        ecolor=TEXT,
        height=0.7,
    )
    for place, one in enumerate(bars):
        share = f"  {figures.value(one.case, SHARE):.0f} %"
        axes.text(one.high, place, share, va="center", color=TEXT, fontsize=9)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    title = f"An event from topic to topic: {figures.text(JOB, COST)} µs"
    dress(axes, title, "µs per event, by stage; lines: from the least round to the greatest", "")
    axes.grid(axis="y", visible=False)
    save(figure, "the profile", path)
