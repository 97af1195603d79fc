"""Signals as something that can be waited for, beside everything else that comes."""

import os
import signal
import socket
from types import TracebackType
from typing import Any, Self

from okl_flow.running.member import STOPPING

__all__ = ["Signals"]

_CHUNK = 256


class Signals:
    """SIGINT and SIGTERM of this process, while it is entered: they do nothing but come here."""

    def __enter__(self) -> Self:
        """Catch them from now on."""
        self._reading, self._writing = socket.socketpair()
        self._reading.setblocking(False)
        self._writing.setblocking(False)
        self._before: list[Any] = [signal.signal(one, _heard) for one in STOPPING]
        self._wakeup = signal.set_wakeup_fd(self._writing.fileno(), warn_on_full_buffer=False)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let them do what they did before."""
        signal.set_wakeup_fd(self._wakeup)
        for one, before in zip(STOPPING, self._before, strict=True):
            signal.signal(one, before)
        self._reading.close()
        self._writing.close()

    @property
    def file(self) -> int:
        """The file descriptor that tells of them."""
        return self._reading.fileno()

    def read(self) -> list[int]:
        """Those that have come."""
        try:
            return [one for one in os.read(self.file, _CHUNK) if one in STOPPING]
        except BlockingIOError:
            return []


def _heard(_number: int, _frame: object) -> None:
    """The wakeup file has it already."""
