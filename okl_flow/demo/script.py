"""What happens in the demonstration, from its beginning to its end."""

import secrets
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from okl_flow.demo.checker import Verdict, judged
from okl_flow.demo.feeder import Feeder
from okl_flow.demo.interrupts import Interrupts
from okl_flow.demo.job import Job
from okl_flow.demo.outputs import Outputs
from okl_flow.demo.screen import Figures, Screen
from okl_flow.demo.stream import Stream, number_of
from okl_flow.kafka import embedded
from okl_flow.kafka.clearing import clear
from okl_flow.kafka.onlooker import Onlooker
from okl_flow.kafka.opening import Opening
from okl_flow.kafka.topics import Topics

__all__ = ["Demo", "DemoError", "Play"]

KINDS = ("predictions", "reports", "alarms", "rejects")
_PARTITIONS = 4
_KILL_AT = 0.35  # the share of the records that is answered; then half an epoch later
_HOLD_AT, _KILL_WITHIN = (
    0.5,
    0.85,
)  # shares of which no more are sent until then, and until the kill
_EPOCH, _PAUSE = 1.0, 0.5  # seconds
_STARTS = 2  # of the flow, when it has recovered
_DRAINED = 143  # the exit code of a run that was asked to end
_PAGE_NEEDS = ("starlette", "uvicorn")
_TICK = 0.1
_SPEED_OVER = 2.0
_REST_SECONDS = 30.0
_CLEAR_SECONDS = 5.0
_PATIENCE_SECONDS = 60.0  # without an answer; then there will be none


class DemoError(RuntimeError):
    """Why the demonstration cannot go on."""


@dataclass(frozen=True, kw_only=True)
class Play:
    """What is to be shown."""

    brokers: str | None = None  # None is the embedded one
    config: Mapping[str, str] = field(default_factory=dict)  # of the clients
    config_file: Path | None = None  # where the flow finds it
    keep: Path | None = None  # a folder for all files, which stays
    events: int = 20_000
    keys: int = 100
    rate: float = 2000.0  # records a second
    processes: int = 2
    seed: int = 0


class Demo:
    """The demonstration, and what came out of it.

    With the stack everything ends that was begun, and files and topics are deleted.

    Parameters:
        play: what is to be shown.
        screen: where.
        interrupts: none of them comes while something is begun.
        stack: what ends all that was begun.
    """

    def __init__(
        self, play: Play, screen: Screen, interrupts: Interrupts, stack: ExitStack
    ) -> None:
        self.play, self._screen = play, screen
        self.interrupts, self._stack = interrupts, stack
        self.stream = Stream(events=play.events, keys=play.keys, seed=play.seed)
        self.outputs = Outputs()
        self.killed_at: int | None = None  # the number of the event that had come last
        self._name = "demo" if play.brokers is None else f"okl-flow-demo-{secrets.token_hex(4)}"
        self._topics = {kind: f"{self._name}.{kind}" for kind in ("events", *KINDS)}
        self._flow_does = "starts"
        self._killed_seconds = 0.0
        self._answered_before: int | None = None  # when the flow began to run again
        self._is_back = False
        self._lately: deque[tuple[float, int]] = deque()  # times, and records answered by then

    def show(self) -> Verdict:
        """All of it."""
        self._begin()
        for what, where in self._places():
            self._screen.say(f"{what}: {where}")
        self._write_events()
        undisturbed = self._undisturbed()
        self._run_the_flow()
        hides_aborted = self.play.brokers is not None
        return judged(self.outputs, undisturbed, self.stream.ids, hides_aborted=hides_aborted)

    def _begin(self) -> None:
        """Folder, brokers and topics."""
        play = self.play
        with self.interrupts.held():
            if play.keep is None:
                self.folder = Path(tempfile.mkdtemp(prefix="okl-flow-demo-"))
                self._stack.callback(shutil.rmtree, self.folder)
            else:
                self.folder = play.keep.resolve()
                self.folder.mkdir(parents=True, exist_ok=True)
            if play.brokers is None:
                self._brokers = self._stack.enter_context(embedded()).brokers
            else:
                self._brokers = play.brokers
        topics, names = Topics(self._brokers, play.config), list(self._topics.values())
        missing = Opening(lambda: topics.missing(names)).result()  # which can be interrupted
        if missing:  # the embedded broker makes them when it is asked for them
            with self.interrupts.held():
                if play.keep is None:
                    self._stack.callback(self._clear)
                topics.make(missing, _PARTITIONS)

    def _places(self) -> Iterator[tuple[str, str]]:
        """Where one can look on while it runs."""
        mock = ", a mock within this process" if self.play.brokers is None else ""
        yield "broker", f"{self._brokers}{mock}"
        yield "topics", f"{self._topics['events']}, {self._topics['predictions']} and so on"
        yield "files", str(self.folder)

    def _clear(self) -> None:
        """Take topics and groups away from brokers that go on."""
        names = list(self._topics.values())
        for complaint in clear(
            self._brokers, names, self._name, self.play.config, seconds=_CLEAR_SECONDS
        ):
            self._screen.say(f"could not be deleted: {complaint}")

    def _write_events(self) -> None:
        messages = self.stream.messages
        lines = b"\n".join([*(message.value for message in messages), b""])
        (self.folder / "events.jsonl").write_bytes(lines)
        play = self.play
        self._screen.say(
            f"{play.events:,} events of {play.keys:,} users; with the labels that come later, and "
            f"some damage, {len(messages):,} records"
        )

    def _undisturbed(self) -> Outputs:
        """The same flow over the same records in a file, by one process that nobody kills."""
        there = self.folder / "undisturbed"
        files = {f"OKL_{kind.upper()}": str(there / f"{kind}.jsonl") for kind in KINDS}
        job = self._job([], {"OKL_EVENTS": str(self.folder / "events.jsonl"), **files})
        words = "a run that nobody disturbs, over a file, to compare with"
        self._screen.wait(
            f"{words} (the first one on a machine compiles its loops)",
            lambda: self._has_ended(job),
        )
        if job.code:
            raise _failed("the run over a file", job)
        outputs = Outputs()
        for kind in ("predictions", "rejects"):
            outputs.take((there / f"{kind}.jsonl").read_bytes().splitlines())
        made = f"{len(outputs.predictions):,} predictions, {len(outputs.rejects):,} rejects"
        self._screen.say(f"{words}: {made}")
        return outputs

    def _run_the_flow(self) -> None:
        """From topic to topic, with a kill on the way, to the last answer."""
        play, config = self.play, self.play.config
        job = self._job(*self._flow())
        with self.interrupts.held():
            onlooker = Onlooker(self._brokers, [self._topics[kind] for kind in KINDS], config)
            self._stack.callback(onlooker.close)
        self._screen.wait(
            f"okl-flow run dataflows.per_user:flow --processes {play.processes}",
            lambda: self._is_up(job),
        )
        if job.page is not None:
            self._screen.say(f"live page, until the flow ends: {job.page}", "bold")
        with self.interrupts.held():
            feeder = Feeder(
                self._brokers,
                self._topics["events"],
                config,
                self.stream.messages,
                rate=play.rate,
                limit=int(_HOLD_AT * len(self.stream.messages)),
            )
            self._stack.callback(feeder.stop)
        with self._screen.shown():
            self._watch(job, feeder, onlooker)
            self._drain(job, feeder, onlooker)

    def _flow(self) -> tuple[list[str], dict[str, str]]:
        """Options of `okl-flow run`, and settings of the flow."""
        play, folder = self.play, self.folder
        topics = {f"OKL_{kind.upper()}": topic for kind, topic in self._topics.items()}
        settings = {"OKL_NAME": self._name, "OKL_DELIVERY": "exactly_once", **topics}
        if play.config_file is not None:
            settings["OKL_KAFKA_CONFIG"] = str(play.config_file.resolve())
        options = {
            "--brokers": self._brokers,
            "--processes": play.processes,
            "--recovery-dir": folder / "recovery",
            "--state-dir": folder / "state",
            "--epoch": _EPOCH,
            "--pause": _PAUSE,
        }
        words = [str(word) for option in options.items() for word in option]
        if all(find_spec(needed) is not None for needed in _PAGE_NEEDS):
            words.append("--dashboard")
            settings["OKL_DASHBOARD_PORT"] = "0"
        return words, settings

    def _job(self, words: list[str], variables: Mapping[str, str]) -> Job:
        with self.interrupts.held():
            job = Job(words, variables)
            self._stack.callback(job.end)
        return job

    def _has_ended(self, job: Job) -> bool:
        self.interrupts.check()
        return job.code is not None

    def _is_up(self, job: Job) -> bool:
        if self._has_ended(job):
            raise _failed("the flow", job)
        self._listen(job)
        return job.starts > 0

    def _watch(self, job: Job, feeder: Feeder, onlooker: Onlooker) -> None:
        """Look on until all is answered; kill a process on the way."""
        total = len(self.stream.messages)
        answered, seen, moved = 0, (0, 0), time.monotonic()
        kill_at: float | None = None  # in the middle of an epoch, when there is something to lose
        while answered < total:
            self._look(job, feeder, onlooker)
            if self._has_ended(job):
                raise _failed("the flow", job)
            feeder.check()
            answered, now = len(self.outputs.causes), time.monotonic()
            if answered >= _KILL_AT * total and kill_at is None:
                kill_at, feeder.limit = now + _EPOCH / 2, int(_KILL_WITHIN * total)
            if kill_at is not None and now >= kill_at and self.killed_at is None:
                self._kill(job)
                feeder.limit = total
            self._tell_of_recovery(job, answered)
            if seen != (answered, job.starts):
                seen, moved = (answered, job.starts), now
            elif now > moved + _PATIENCE_SECONDS:
                self._screen.say(f"no answer for {_PATIENCE_SECONDS:g} s: giving up", "red")
                break

    def _kill(self, job: Job) -> None:
        ids = (one.id for one in self.outputs.predictions.values())
        self.killed_at = max((number_of(id) for id in ids if id), default=0)
        self._flow_does = f"kill -9 {job.pids[-1]}"
        self._screen.say(f"kill -9 {job.kill_one()}: a process of the flow is dead", "bold red")
        self._killed_seconds = self._screen.seconds

    def _tell_of_recovery(self, job: Job, answered: int) -> None:
        """Say, once, that there are new answers after the kill."""
        if job.starts < _STARTS or self._is_back:
            return
        if self._answered_before is None:
            self._answered_before = answered
        elif answered > self._answered_before:
            self._is_back = True
            seconds = self._screen.seconds - self._killed_seconds
            self._screen.say(f"it goes on, {seconds:.1f} s after the kill", "green")

    def _drain(self, job: Job, feeder: Feeder, onlooker: Onlooker) -> None:
        """Let the flow come to its end, and take in what is left."""
        job.drain()
        while not self._has_ended(job):
            self._look(job, feeder, onlooker)
        if job.code != _DRAINED:
            raise _failed("the flow", job)
        self.outputs.take(raw.value for raw in onlooker.rest(_REST_SECONDS))
        self._look(job, feeder, onlooker)

    def _look(self, job: Job, feeder: Feeder, onlooker: Onlooker) -> None:
        self.outputs.take(raw.value for raw in onlooker.take(_TICK))
        self._listen(job)
        now, answered = time.monotonic(), len(self.outputs.causes)
        self._lately.append((now, answered))
        while self._lately[0][0] < now - _SPEED_OVER:
            self._lately.popleft()
        since, then = self._lately[0]
        self._screen.show(
            Figures(
                flow=self._flow_does,
                records=len(self.stream.messages),
                sent=feeder.sent,
                rate=(answered - then) / max(now - since, _TICK),
                outputs=self.outputs,
            )
        )

    def _listen(self, job: Job) -> None:
        """Pass on what the supervisor tells."""
        while job.told:
            self._flow_does = job.told.popleft()
            self._screen.say(f"okl-flow run: {self._flow_does}", "cyan")


def _failed(what: str, job: Job) -> DemoError:
    told = "; ".join(job.problems) or "it told nothing"
    return DemoError(f"{what} ended with {job.code}: {told}")
