"""A job that is killed, over and over, at seeded moments."""

import json
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from tests.kafka.chaos.checker import check_labels_apart, check_one_topic, found
from tests.kafka.chaos.flows import COMMIT, OUTPUTS, WAIT_COUNT, WAIT_MS, WIDE_COUNT, WIDE_MS
from tests.kafka.chaos.stream import stream
from tests.kafka.flows import unique
from tests.kafka.judge import make_topic, write
from tests.running.conftest import Run

FLOW = "tests.kafka.chaos.flows:flow"
INPUT_PARTITIONS = 4
PATIENCE = 240.0  # seconds for a start, or for a failpoint that is not met
FINISH = 1800.0
EPOCH = 0.2
PAUSE = 0.0001  # seconds for a record, so that kills come in the middle


@dataclass
class Outcome:
    """What happened, and what the checker says."""

    records: int = 0  # of the input
    kills: dict[str, int] = field(default_factory=lambda: {"one": 0, "all": 0, "commit": 0})
    starts: int = 0  # of a cluster
    read: int = 0  # records, again and again
    errors: list[str] = field(default_factory=list)  # that no kill of ours explains
    visible: int = 0
    in_log: int = 0
    complaints: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Chaos:
    """A job in a folder, with topics of its own, and what is done to it."""

    def __init__(self, folder, bootstrap, *, delivery, seed, events, keys, apart, say=print):
        name = unique("chaos")
        self.folder, self.bootstrap, self.apart, self._say = folder, bootstrap, apart, say
        self.settings = {
            "name": name,
            "folder": str(folder),
            "brokers": bootstrap,
            "delivery": delivery,
            "inputs": [f"{name}-events", f"{name}-labels"][: 1 + apart],
            "pause": PAUSE,
            "keys_in_memory": max(16, keys // 2),
            "wait_count": WIDE_COUNT if apart else WAIT_COUNT,
            "wait_ms": WIDE_MS if apart else WAIT_MS,
            **{output: f"{name}-{output}" for output in OUTPUTS},
        }
        folder.mkdir(parents=True)
        for topic in self.settings["inputs"]:
            make_topic(bootstrap, topic, INPUT_PARTITIONS)
        for output in OUTPUTS:
            make_topic(bootstrap, self.settings[output], 2)
        made = stream(seed, events, keys, INPUT_PARTITIONS, apart=apart)
        for topic, records in zip(
            self.settings["inputs"], (made.events, made.labels), strict=False
        ):
            write(bootstrap, topic, records)
        self.outcome = Outcome(records=len(made.events) + len(made.labels))
        self._rng = np.random.default_rng([13, seed])
        self._runs = []
        self._place = 0

    def kill_and_check(self, kills):
        """Run it with so many kills, let it finish, and judge what is there."""
        begun = time.monotonic()
        try:
            self.start()
            for number in range(1, kills + 1):
                self._kill_once(2 * self.outcome.records // (3 * kills))
                if number % 5 == 0 or number == kills:
                    self._say(f"  {number} kills, {self.reads():,} records read")
            code = self._run.end(FINISH)
        finally:
            self.stop()
        outcome = self.outcome
        outcome.seconds = time.monotonic() - begun
        self._account(kills, code)
        self._say("  finished; now the checker")
        outcome.complaints += self.check()
        return outcome

    def reads(self):
        """Records that were read so far."""
        path = self.folder / "read"
        if not path.exists():
            return 0
        with path.open() as log:
            log.seek(self._place)
            lines = log.readlines()
        whole = [line for line in lines if line.endswith("\n")]
        self._place += sum(map(len, whole))
        self.outcome.read += sum(int(line.split()[1]) for line in whole)
        return self.outcome.read

    def start(self, processes=None, *, failures=1_000_000, **changed):
        """Run it with so many processes, at once or after a kill; settings may be changed."""
        path = self.folder / "settings.json"
        path.write_text(json.dumps({**self.settings, **changed}))
        processes = processes or int(self._rng.integers(1, 4))
        words = ["--processes", processes, "--recovery-dir", "recovery", "--state-dir", "state"]
        words += ["--epoch", EPOCH, "--failures", failures, "--pause", 0.05, "--healthy", 0]
        self._run = Run(self.folder, FLOW, *words, CHAOS=str(path))
        self._runs.append(self._run)
        return self._run

    def stop(self):
        """End what still runs."""
        for run in self._runs:
            run.stop()

    def check(self):
        """What the checker says of what is there now."""
        one = found(self.bootstrap, self.settings)
        self.outcome.visible, self.outcome.in_log = one.visible, one.in_log
        check = check_labels_apart if self.apart else check_one_topic
        return check(one, exact=self.settings["delivery"] == "exactly_once")

    def _kill_once(self, most):
        """Let it run for a while, at times for none, and kill one process, or all."""
        how = str(self._rng.choice(["one", "all", "commit"], p=[0.35, 0.3, 0.35]))
        wanted = int(self._rng.integers(2 * most)) if self._rng.random() < 0.9 else 0
        chosen, point = self._rng.random(), str(self._rng.choice(COMMIT[self.settings["delivery"]]))
        seen = len(self._running())
        seen = seen - 1 if seen else 0
        pids = self._wait(lambda: self._alive(seen))
        aim = self.reads() + wanted
        self._wait(lambda: self.reads() >= aim)
        if self._has_ended():
            return
        before = len(self._running())
        pids = self._alive(0) or pids
        if how == "commit":
            (self.folder / f"die-{point}").touch()
            self._wait(lambda: not (self.folder / f"die-{point}").exists())
            (self.folder / f"die-{point}").unlink(missing_ok=True)
        elif how == "one":
            _kill(pids[int(chosen * len(pids))])
        else:
            _kill(self._run.process.pid)  # the others would end with it; now they do at once
            for pid in pids:
                _kill(pid)
            self._run.end()
        if self._has_ended() and how != "all":
            return
        self.outcome.kills[how] += 1
        if how == "all":
            self.start()
            before = 0
        self._wait(lambda: len(self._running()) > before)

    def _running(self):
        return [one for one in self._run.messages("info") if one.startswith("running, as ")]

    def _alive(self, after):
        """The processes of the latest start."""
        told = self._running()[after:]
        return (
            [int(pid) for pid in told[-1].removeprefix("running, as ").split(", ")] if told else []
        )

    def _has_ended(self):
        return self._run.process.poll() is not None

    def _wait(self, reached):
        end = time.monotonic() + PATIENCE
        while not (got := reached()) and not self._has_ended():
            assert time.monotonic() < end, self._run.text[-6000:]
            time.sleep(0.01)
        return got

    def _account(self, kills, code):
        """What the runs told, and what was not as it was meant to be."""
        outcome = self.outcome
        self.reads()
        done = sum(outcome.kills.values())
        if code != 0:
            outcome.complaints.append(f"the run ended with {code}: {self._run.text[-2000:]}")
        if done < kills:
            outcome.complaints.append(f"only {done} of {kills} kills came before the end")
        for run in self._runs:
            outcome.starts += sum(one.startswith("starting ") for one in run.messages("info"))
            outcome.errors += [
                one for one in run.messages("error") if "was killed by signal 9" not in one
            ]


def _kill(pid):
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
