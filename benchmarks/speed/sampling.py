"""A thread that looks, many times a second, at what the others are at, and counts.

What it sees is a stack of Python frames; each stack is put down to a stage by the innermost frame
that a rule knows. A look needs the interpreter's lock. Native loops and RocksDB let go of it, so
that they are seen as they run; a call into C that keeps it is seen when it ends, in the frame that
called it, which is the same stage. What is under way in threads that run no Python, those of the
client library and of RocksDB, is not seen at all.
"""

import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType

__all__ = ["ELSEWHERE", "Rule", "Sampler", "stage_of"]

EVERY = 0.002  # seconds
SWITCH = 0.0002  # seconds after which a thread has to let others have the lock
ELSEWHERE = "the engine"


@dataclass(frozen=True)
class Rule:
    """A stage, and by what a frame of it is known: the end of its file's path, and its name."""

    stage: str
    file: str
    function: str | None = None  # any

    def knows(self, frame: FrameType) -> bool:
        """Whether the frame is of this stage."""
        code = frame.f_code
        named = self.function is None or code.co_name == self.function
        return named and self.file in code.co_filename


def stage_of(frame: FrameType | None, rules: Sequence[Rule]) -> str:
    """The stage of a stack by its innermost frame that a rule knows; the first such rule counts."""
    while frame is not None:
        for rule in rules:
            if rule.knows(frame):
                return rule.stage
        frame = frame.f_back
    return ELSEWHERE


class Sampler(threading.Thread):
    """Looks at all other threads from its start to its stop."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        super().__init__(daemon=True)
        self._rules = rules
        self._end = threading.Event()
        self.seen: Counter[str] = Counter()

    def run(self) -> None:
        """Look until it is stopped."""
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        due = time.perf_counter()
        while not self._end.wait(max(0.0, due - time.perf_counter())):
            self.seen[self._look()] += 1
            due = max(due + EVERY, time.perf_counter())
        sys.setswitchinterval(before)

    def stop(self) -> None:
        """End it."""
        self._end.set()
        self.join()

    def _look(self) -> str:
        """The stage that one of the others is at; no more than one of them works at a flow."""
        own = threading.get_ident()
        stacks = (stack for thread, stack in sys._current_frames().items() if thread != own)
        stages = (stage_of(stack, self._rules) for stack in stacks)
        return next((stage for stage in stages if stage != ELSEWHERE), ELSEWHERE)
