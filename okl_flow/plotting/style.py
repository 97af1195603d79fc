"""How pictures look: colours that all eyes tell apart, quiet axes, PNG or SVG."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["FAINT", "TEXT", "check_picture", "dress", "line_style", "new_figure", "save"]

TEXT = "#333333"
FAINT = "#e4e4e4"
_SUFFIXES = (".png", ".svg")
# Of Okabe and Ito, without those that are pale on white. Lines differ as well, for print in grey.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_LINES = ("-", "-.", ":", "--")


def check_picture(option: str, path: Path) -> None:
    """Refuse a picture that could not be written, before anything is done for it."""
    if find_spec("matplotlib") is None:
        raise ValueError(f"{option} needs matplotlib: pip install 'okl-flow[plot]'")
    if path.suffix.lower() not in _SUFFIXES:
        raise ValueError(f"{option} {path}: the picture must be a {' or a '.join(_SUFFIXES)}")
    if not path.parent.is_dir():
        raise ValueError(f"{option} {path}: there is no directory {path.parent}")
    if path.is_dir():
        raise ValueError(f"{option} {path}: it is a directory")


def line_style(number: int) -> dict[str, str]:
    """Colour and line of the curve of this number, counted from 0."""
    lines = number + number // len(_COLORS) if number >= len(_COLORS) else number
    return {"color": _COLORS[number % len(_COLORS)], "linestyle": _LINES[lines % len(_LINES)]}


def new_figure(width: float, height: float) -> Any:
    """An empty figure, which no window shows."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def dress(axes: Any, title: str, x: str, y: str) -> None:
    """Title, labels and grid."""
    axes.set_title(title, loc="left", color=TEXT, fontsize=11)
    axes.set_xlabel(x, color=TEXT)
    axes.set_ylabel(y, color=TEXT)
    axes.grid(color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=TEXT, length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)


def save(figure: Any, option: str, path: Path) -> None:
    """Write the picture, in the format that its suffix says."""
    import matplotlib as mpl

    kind = path.suffix.lower().removeprefix(".")
    undated = {"metadata": {"Date": None}} if kind == "svg" else {}
    try:
        # Text stays text; and without a salt no two files would be the same.
        with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "okl_flow"}):
            figure.savefig(path, format=kind, **undated)
    except OSError as error:
        raise ValueError(f"{option} {path}: {error.strerror}") from None
