"""What one sees: a story, and figures; a live table on a terminal, and else plain lines."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import typer
from rich import box
from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from okl_flow.demo.outputs import Outputs

__all__ = ["Figures", "Screen"]

_LINES_EVERY = 2.0  # seconds, where there is no terminal
_WAITING_EVERY = 10.0
_LOOK_SECONDS = 0.05
_BLOCKS = "▁▂▃▄▅▆▇█"
_CURVE_LONGEST = 40
_UNKNOWN = "-"


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What the table shows."""

    flow: str  # what it does at the moment
    records: int  # that there are to be
    sent: int
    rate: float  # answered in a second
    outputs: Outputs

    def rows(self) -> Iterator[tuple[str, str]]:
        """Names and values, in words."""
        outputs = self.outputs
        answered = len(outputs.causes)
        yield "flow", self.flow
        yield "records", f"{self.sent:,} of {self.records:,} sent, {answered:,} answered"
        yield "lag", f"{self.sent - answered:,} records"
        yield "speed", f"{self.rate:,.0f} records/s"
        yield "users", f"{len(outputs.keys):,}, a model for each"
        yield from self._errors()
        of_users = [one.name for one in outputs.alarms.values() if one.subject == "key"]
        last = f", lately {of_users[-1]}" if of_users else ""
        of_stream = len(outputs.alarms) - len(of_users)
        yield "drift alarms", f"{len(of_users)} of users{last}; {of_stream} of the stream"
        reasons = ", ".join(f"{name} {count:,}" for name, count in sorted(outputs.reasons.items()))
        yield "rejects", f"{len(outputs.rejects):,}{f': {reasons}' if reasons else ''}"

    def in_short(self) -> str:
        """The most important ones, in a line."""
        outputs, report = self.outputs, self.outputs.report
        words = f"{self.sent:,} sent, {len(outputs.causes):,} answered, {self.rate:,.0f} a second"
        if report is not None:
            lately = _percent(report.values["window_mistake_rate"])
            words += f"; {_percent(report.values['mistake_rate'])} % mistakes, lately {lately} %"
        return f"{words}; {len(outputs.alarms)} drift alarms, {len(outputs.rejects):,} rejects"

    def _errors(self) -> Iterator[tuple[str, str]]:
        report = self.outputs.report
        if report is None:
            for name in ("mistakes", "commonest label", "mistakes, lately"):
                yield name, _UNKNOWN
            return
        value = report.values
        low, high = _percent(value["mistake_rate_low"]), _percent(value["mistake_rate_high"])
        yield "mistakes", f"{_percent(value['mistake_rate'])} % (95 %: {low} to {high})"
        yield "commonest label", f"{_percent(value['baseline_mistake_rate'])} % if predicted always"
        lately = f"{_percent(value['window_mistake_rate'])} %"
        yield "mistakes, lately", f"{lately}  {_curve(self._rates())}"

    def _rates(self) -> list[float]:
        return [rate for _labels, rate in sorted(self.outputs.rates.items())]


class Screen:
    """The story on a console.

    Parameters:
        console: where to.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._begun = self._told_at = time.monotonic()
        self._figures: Figures | None = None

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._begun

    def say(self, text: str, style: str = "") -> None:
        """A line of the story, with its time."""
        self.write(text, style, mark=f"{self.seconds:5.1f} s")

    def write(self, text: str, style: str = "", mark: str = "") -> None:
        """A line, behind a mark if there is one."""
        if not self._console.is_terminal:
            typer.echo(f"{mark}  {text}" if mark else text)
        elif mark:
            line = Table.grid(padding=(0, 2))
            line.add_row(Text(mark, style or "dim", no_wrap=True), Text(text, style))
            self._console.print(line)
        else:
            self._console.print(Text(text, style), soft_wrap=True)  # to be copied as it is

    @contextmanager
    def shown(self) -> Iterator[None]:
        """A place for figures below the story; they stay at its end."""
        if not self._console.is_terminal:
            yield
            for name, value in self._figures.rows() if self._figures is not None else ():
                self.write(f"{name:>18}  {value}")
            return
        with Live(console=self._console, auto_refresh=False, transient=True) as live:
            self._live = live
            try:
                yield
            finally:
                self._live = None
        if self._figures is not None:
            self._console.print(_table(self._figures))

    def wait(self, text: str, reached: Callable[[], bool]) -> None:
        """Wait for something, and say for how long already."""
        since = told = time.monotonic()
        if not self._console.is_terminal:
            self.say(f"{text} ...")
        with self.shown():
            while not reached():
                now = time.monotonic()
                if self._live is not None:
                    self._live.update(Text(f"{now - since:5.1f} s  {text}", "dim"), refresh=True)
                elif now - told > _WAITING_EVERY:
                    told = now
                    self.say(f"... {now - since:.0f} s")
                time.sleep(_LOOK_SECONDS)

    def show(self, figures: Figures) -> None:
        """The figures as they are now."""
        self._figures = figures
        if self._live is not None:
            self._live.update(_table(figures), refresh=True)
        elif not self._console.is_terminal and time.monotonic() - self._told_at > _LINES_EVERY:
            self._told_at = time.monotonic()
            self.say(figures.in_short())


def _table(figures: Figures) -> RenderableType:
    rows = list(figures.rows())
    table = Table(box=box.ROUNDED, show_header=False, border_style="dim")
    table.add_column(style="bold", min_width=max(len(name) for name, _value in rows))
    table.add_column(no_wrap=True, overflow="ellipsis")
    for name, value in rows:
        table.add_row(name, value)
    return table


def _curve(rates: Sequence[float]) -> str:
    """The latest rates as blocks, of which the highest is the highest rate.

    >>> _curve([0.5, 0.25, 0.1])
    '█▅▂'
    """
    shown = rates[-_CURVE_LONGEST:]
    top = max(shown, default=0.0)
    if top <= 0.0:
        return ""
    last = len(_BLOCKS) - 1
    return "".join(_BLOCKS[min(last, round(last * rate / top))] for rate in shown)


def _percent(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{100.0 * value:.1f}"
