"""Signals that end the demonstration, but never in the middle of setting up or of clearing away."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

__all__ = ["Interrupts"]

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """While it is entered, the first of these signals raises KeyboardInterrupt, where it is heeded.

    Elsewhere it waits; all later ones are ignored. It may have come within what swallows
    exceptions, such as the end of an object, so `check` raises it again.
    """

    def __init__(self) -> None:
        self.number: int | None = None  # of the signal that came first
        self._heeded = False

    def __enter__(self) -> Self:
        """Take note of the signals from now on."""
        self._before: list[Any] = [signal.signal(one, self._heard) for one in _ENDING]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let them do what they did before; or nothing, if one has come and all is to end."""
        for one, before in zip(_ENDING, self._before, strict=True):
            signal.signal(one, before if self.number is None else signal.SIG_IGN)

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Where a signal may come at any moment."""
        try:
            self._heeded = True
            self.check()
            yield
            self.check()
        finally:
            self._heeded = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within what heeds signals, where one has to wait."""
        before, self._heeded = self._heeded, False
        try:
            yield
        finally:
            self._heeded = before
        self.check()

    def check(self) -> None:
        """Raise, where signals are heeded, if one has come."""
        if self._heeded and self.number is not None:
            raise KeyboardInterrupt

    def _heard(self, number: int, _frame: FrameType | None) -> None:
        if self.number is None:
            self.number = number
            self.check()
