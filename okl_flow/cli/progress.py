"""How far a command has come, on standard error, if that is a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["Steps", "progress_bars"]

Steps = Callable[[str, int | None], Callable[[int], None]]
"""Begins a step of a name and a length, and gives what is to be told of each further event."""


@contextmanager
def progress_bars() -> Iterator[Steps]:
    """Bars on standard error, if it is a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns,
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bars:

        def begin(name: str, total: int | None) -> Any:
            bar = bars.add_task(name, total=total)
            return lambda count: bars.advance(bar, count)

        yield begin
