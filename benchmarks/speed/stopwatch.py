"""A clock that is handed from stage to stage of a job, so that each moment counts for one stage.

Stages are functions that a job calls for many events at once, and the clock is read where one of
them begins and ends. What a stage calls that is a stage itself counts for that one alone. (To look
at the job from another thread, now and then, would be of no use: such a thread needs the
interpreter's lock, and gets it where a stage lets go of it. That stage would be seen for others.)
"""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

__all__ = ["ELSEWHERE", "Stopwatch"]

ELSEWHERE = "the engine"


class Stopwatch:
    """The seconds of each stage, in the one thread that works at a flow."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.seconds: Counter[str] = Counter()
        self._clock = clock
        self._under_way = [ELSEWHERE]
        self._since: float | None = None

    def start(self) -> None:
        """Count from now on."""
        self.seconds.clear()
        self._since = self._clock()

    def stop(self) -> None:
        """Count no more."""
        self._pass()
        self._since = None

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, during which the clock runs for a stage."""

        def run(*args: Any) -> Any:
            self._pass()
            self._under_way.append(stage)
            try:
                return function(*args)
            finally:
                self._pass()
                self._under_way.pop()

        return run

    def _pass(self) -> None:
        """What has passed counts for the stage that is under way."""
        if self._since is not None:
            now = self._clock()
            self.seconds[self._under_way[-1]] += now - self._since
            self._since = now
