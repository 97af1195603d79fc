"""The supervisor of a cluster: starts its processes, starts them again, drains them, gives up."""

import os
import select
import signal
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from okl_flow.origins import Origin
from okl_flow.recovery import discard_unclosed
from okl_flow.running.gauges import PROCESSES, RESTARTS, UP
from okl_flow.running.logs import Log
from okl_flow.running.member import Member
from okl_flow.running.messages import Refused, Start, Taken
from okl_flow.running.patience import Patience, Policy
from okl_flow.running.signals import Signals

__all__ = ["Code", "Job", "Supervisor", "free_addresses"]

_SETTLE = 1.0  # seconds in which the others may tell more about a failure
_TAKEN_MAX = 20  # times in a row that addresses may be taken
_LOOPBACK = "127.0.0.1"


class Code(IntEnum):
    """How a run ended, as an exit code."""

    FINISHED = 0
    REFUSED = 2
    GAVE_UP = 3
    CUT_SHORT = 4
    INTERRUPTED = 130
    TERMINATED = 143


def free_addresses(count: int) -> list[str]:
    """Addresses of this machine that were free a moment ago; none for a single process."""
    held = [socket.socket() for _ in range(count if count > 1 else 0)]
    for one in held:
        one.bind((_LOOPBACK, 0))
    found = [f"{_LOOPBACK}:{one.getsockname()[1]}" for one in held]
    for one in held:
        one.close()
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is to be kept running."""

    flow: str  # module:name
    processes: int = 1
    epoch: float = 10.0  # seconds
    recovery: Path | None = None
    variables: dict[str, str] = field(default_factory=dict)  # beside those of the environment
    origins: dict[str, Origin] = field(default_factory=dict)  # of these
    metrics: tuple[str, int] | None = None  # host, and port of the supervisor; the next are theirs
    grace: float = 30.0  # seconds to drain


class Supervisor:
    """Keeps a job running.

    Parameters:
        job: what is to run.
        policy: when to start again.
        log: where all records go.
        held: file descriptors that every process keeps open.
        addresses: makes addresses for so many processes.
    """

    def __init__(
        self,
        job: Job,
        policy: Policy,
        log: Log,
        held: Sequence[int] = (),
        addresses: Callable[[int], list[str]] = free_addresses,
    ) -> None:
        self._job = job
        self._patience = Patience(policy)
        self._log = log
        self._held = held
        self._addresses = addresses
        self._members: list[Member] = []
        self._asked: int | None = None  # the signal that asked for the end
        self._asked_at = 0.0
        self._is_cut = False

    def run(self) -> Code:
        """Run the job until it has finished, or cannot go on, or is asked to end."""
        PROCESSES.set(self._job.processes)
        with Signals() as self._signals:
            taken = 0
            while True:
                begun = time.monotonic()
                self._start()
                self._watch()
                UP.set(0)
                code = self._verdict()
                if code is not None:
                    return code
                taken = (
                    taken + 1 if any(isinstance(one.told, Taken) for one in self._members) else 0
                )
                if 0 < taken <= _TAKEN_MAX and self._asked is None:
                    self._log.say("info", "an address was taken; choosing others")
                    continue
                code = self._after_failure(time.monotonic() - begun)
                if code is not None:
                    return code

    def _start(self) -> None:
        job, count = self._job, self._job.processes
        self._log.say("info", f"starting {count} process{'es' * (count > 1)} of {job.flow}")
        if job.recovery is not None:
            discard_unclosed(job.recovery)
        addresses, variables = self._addresses(count), {**os.environ, **job.variables}
        self._members = []
        for number in range(count):
            start = Start(
                flow=job.flow,
                number=number,
                addresses=addresses,
                epoch=job.epoch,
                recovery=None if job.recovery is None else str(job.recovery),
                metrics=job.metrics and (job.metrics[0], job.metrics[1] + 1 + number),
                origins=job.origins,
            )
            self._members.append(Member(start, variables, self._held, self._log))

    def _watch(self) -> None:
        """See to the processes until all have ended."""
        failed_at: float | None = None
        is_said = False
        while not all(one.has_ended for one in self._members):
            self._wait(failed_at)
            now = time.monotonic()
            if not is_said and all(one.has_run for one in self._members):
                is_said = True
                UP.set(1)
                numbers = ", ".join(str(one.process_id) for one in self._members)
                self._log.say("info", f"running, as {numbers}")
            if self._asked is not None and now > self._asked_at + self._job.grace:
                self._cut(f"not drained within {self._job.grace:g} s")
            if any(one.has_ended and not one.has_finished for one in self._members):
                failed_at = failed_at or now
            refused = any(isinstance(one.told, Refused) for one in self._members)
            if refused or (failed_at is not None and now > failed_at + _SETTLE):
                self._kill()

    def _wait(self, failed_at: float | None) -> None:
        """Wait until something comes, or a time is up; read what has come."""
        limits = [] if failed_at is None else [failed_at + _SETTLE]
        if self._asked is not None and not self._is_cut:
            limits.append(self._asked_at + self._job.grace)
        waiting = max(0.0, min(limits) - time.monotonic()) + 0.01 if limits else None
        by_file = {file: one for one in self._members for file in one.files}
        poll = select.poll()
        for file in (self._signals.file, *by_file):
            poll.register(file, select.POLLIN)
        for file, _event in poll.poll(None if waiting is None else 1000.0 * waiting):
            if file not in by_file:
                self._heed(self._signals.read())
            elif file in by_file[file].files:  # its other one may just have told of its end
                by_file[file].read(file)

    def _heed(self, numbers: Sequence[int]) -> None:
        """The first signal drains, the second ends everything at once."""
        for number in numbers:
            if self._asked is None:
                self._asked, self._asked_at = number, time.monotonic()
                name = signal.Signals(number).name
                self._log.say("info", f"{name}: draining; once more ends it at once")
                for one in self._members:
                    one.drain()
            else:
                self._cut(f"{signal.Signals(number).name} again")

    def _cut(self, why: str) -> None:
        if not self._is_cut:
            self._is_cut = True
            self._log.say("warning", f"{why}: ending at once")
        self._kill()

    def _kill(self) -> None:
        for one in self._members:
            one.kill()

    def _verdict(self) -> Code | None:
        """How the job ended; None if that was a failure."""
        if all(one.has_finished for one in self._members):
            if self._asked is None:
                self._log.say("info", "finished: all sources came to their end")
                return Code.FINISHED
            self._log.say("info", "drained: everything is in the last snapshot")
            return Code.INTERRUPTED if self._asked == signal.SIGINT else Code.TERMINATED
        if self._is_cut:
            return Code.CUT_SHORT
        if any(isinstance(one.told, Refused) for one in self._members):
            self._log.say("error", *self._reason())
            return Code.REFUSED
        return None

    def _reason(self) -> tuple[str, str | None]:
        """What explains the failure best, with its trace."""
        bad = [one.failure() for one in self._members if not one.has_finished]
        _, message, trace = min(bad, key=lambda one: one[0])
        return message, trace

    def _after_failure(self, lasted: float) -> Code | None:
        """Wait before the next start; or the code to end with."""
        message, trace = self._reason()
        self._log.say("error", message, trace)
        if self._asked is not None:
            self._log.say("error", "failed while draining: the next start repeats the last epoch")
            return Code.CUT_SHORT
        if self._job.recovery is None:
            self._log.say(
                "error",
                "gave up: without --recovery-dir there is nothing to start again from",
            )
            return Code.GAVE_UP
        policy = self._patience.policy
        pause = self._patience.fail(time.monotonic(), lasted)
        count = self._patience.lately
        lately = f"{count} failure{'s' * (count != 1)} within {policy.within:g} s"
        if pause is None:
            self._log.say("error", f"gave up after {lately}; mend the cause and start again")
            return Code.GAVE_UP
        self._log.say("warning", f"starting again in {pause:.1f} s, after {lately}")
        RESTARTS.inc()
        return self._pause(pause)

    def _pause(self, seconds: float) -> Code | None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            ready, _, _ = select.select([self._signals.file], [], [], left)
            if ready and (numbers := self._signals.read()):
                name = signal.Signals(numbers[0]).name
                self._log.say("info", f"{name}: not starting again; the next start goes on")
                return Code.CUT_SHORT
        return None
