"""One job per recovery directory."""

import fcntl
import os
import time
from pathlib import Path

__all__ = ["hold"]

_NAME = "lock"
_PATIENCE = 5.0  # seconds, in which the processes of a supervisor that was killed end
_PAUSE = 0.05


def hold(directory: Path) -> int:
    """Hold a directory for this process, and for those that inherit the returned file.

    It is free again when the last of them has ended, in whatever way.
    """
    held = os.open(directory / _NAME, os.O_RDWR | os.O_CREAT, 0o666)
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(held)
                raise ValueError(
                    f"{directory} is held by another job that runs: stop that first, or give "
                    "this one a recovery directory of its own"
                ) from None
            time.sleep(_PAUSE)
        else:
            return held
