"""What the live page costs: processor time and memory with ten thousand keys reporting.

It starts a broker, the page and a browser's requests, and writes reports of 10,000 keys at a steady
pace. How soon the page tells of a report is measured too, from the write to the answer that has it.
"""

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Producer

from benchmarks.report import markdown
from benchmarks.speed.figures import Figures
from benchmarks.speed.report import Report as PartReport
from okl_flow.events import Cause, Report
from okl_flow.wire import Encoder
from tests.kafka.broker import Cluster
from tests.kafka.judge import make_topic

KEYS = 10_000
RATES = (0, 100, 1_000, 3_000)
SECONDS, QUICK_SECONDS = 20.0, 8.0  # of each pace
SHARE, HELD, LATE = "share of a core", "memory", "from the write to the answer"
ASKED_EVERY = 0.75  # seconds, as a browser does
_CLOCK = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Page:
    """The page's process, and what it has used."""

    process: int
    port: int

    def seconds(self) -> float:
        """Processor time so far."""
        with open(f"/proc/{self.process}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _CLOCK

    def megabytes(self) -> float:
        """Memory that is resident."""
        with open(f"/proc/{self.process}/statm") as file:
            return int(file.read().split()[1]) * _PAGE_BYTES / 1e6

    def ask(self, path: str) -> Any:
        """An answer of it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path, headers={"Host": "localhost"})
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()


class Browser(threading.Thread):
    """Asks as a browser does, and takes note of the moment when a figure was there."""

    def __init__(self, page: Page) -> None:
        super().__init__(daemon=True)
        self._page = page
        self._query = ""
        self._end = threading.Event()
        self.seen: dict[float, float] = {}  # by labels of the stream's report

    def run(self) -> None:
        """Until it is stopped."""
        while not self._end.wait(ASKED_EVERY):
            now = self._page.ask(f"/api/now?{self._query}")
            self._query = f"instance={now['instance']}&since={now['revision']}"
            for stream in now.get("streams", ()):
                self.seen.setdefault(stream["values"]["labelled"], time.monotonic())
                self._page.ask(f"/api/curves?of=stream&step={stream['step']}&figure=mistake_rate")

    def told(self, labelled: float) -> float:
        """When a report was there, or one that came after it."""
        return min(moment for at, moment in self.seen.items() if at >= labelled)

    def stop(self) -> None:
        """End it."""
        self._end.set()
        self.join()


def report(subject: str, name: str, labelled: int) -> Report:
    """A report such as `evaluate` makes."""
    figures = ("mistake_rate", "baseline_mistake_rate", "loss", "balanced_accuracy", "f1", "kappa")
    values: dict[str, float | None] = {"labelled": float(labelled)}
    for over in ("", "fading_") if subject == "key" else ("", "window_", "fading_"):
        values |= {over + figure: 1.0 / (3.0 + labelled % 7) for figure in figures}
    values |= {"mistake_rate_low": 0.05, "mistake_rate_high": 0.4, "loss_low": 0.1}
    return Report("shop.evaluate", subject, name, labelled, values, Cause("e", 0, labelled), 1)


@contextmanager
def started(brokers: str) -> Iterator[Page]:
    """The page as a process of its own."""
    command = [sys.executable, "-m", "okl_flow.cli", "dashboard", "--port", "0"]
    command += ["--brokers", brokers, "--events", "e"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    found = re.search(r"localhost:(\d+)", process.stderr.readline())
    assert found is not None, "the page did not start"
    try:
        yield Page(process.pid, int(found[1]))
    finally:
        process.terminate()
        process.communicate()


class Reports:
    """Reports of keys, one after the other, and of the stream once in two seconds."""

    def __init__(self, brokers: str, page: Page) -> None:
        self._producer = Producer({"bootstrap.servers": brokers, "linger.ms": 20})
        self._encode = Encoder()
        self._page = page
        self._round = 0
        self._written = 0

    def produce(self, rate: int, seconds: float) -> dict[float, float]:
        """So many a second; when each of the stream's was written, by its labels."""
        begun, sent, written, said = time.monotonic(), 0, {}, 0
        while (now := time.monotonic() - begun) < seconds:
            due = int(rate * now) - sent
            self._send([self._next() for _ in range(due)])
            sent += due
            if now >= 2 * (said + 1):
                said += 1
                self._round += 1
                labelled = 1_000 * self._round
                self._send([report("stream", "", labelled)])
                written[float(labelled)] = time.monotonic()
            self._producer.poll(0.02)
        self._producer.flush()
        return written

    def _next(self) -> Report:
        self._written += 1
        turn, key = divmod(self._written, KEYS)
        return report("key", f"user-{key:06d}", 100 * (turn + 1))

    def _send(self, reports: list[Report]) -> None:
        for one in self._encode(reports):
            self._producer.produce("e.reports", one.value, one.key)


def measure(figures: Figures, seconds: float) -> None:
    """The figures of each pace of reports."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(f"{folder}/kafka").start()
        try:
            for kind in ("reports", "alarms", "rejects"):
                make_topic(cluster.bootstrap, f"e.{kind}", 4)
            with started(cluster.bootstrap) as page:
                reports = Reports(cluster.bootstrap, page)
                reports.produce(4 * KEYS // 10, 10.0)  # so that all keys are known
                wait_for_rest(page)
                browser = Browser(page)
                browser.start()
                time.sleep(3)
                for rate in RATES:
                    before, begun = page.seconds(), time.monotonic()
                    written = reports.produce(rate, seconds)
                    share = (page.seconds() - before) / (time.monotonic() - begun)
                    time.sleep(5)
                    late = [browser.told(at) - moment for at, moment in written.items()]
                    figures.add(case_of(rate), SHARE, "%", [100 * share])
                    figures.add(case_of(rate), HELD, "MB", [page.megabytes()])
                    figures.add(case_of(rate), LATE, "s", late)
                browser.stop()
        finally:
            cluster.stop()


def wait_for_rest(page: Page) -> None:
    """Until the page has read what there is."""
    known = -1
    while known != (known := page.ask("/api/now")["records"]) or known < KEYS:
        time.sleep(1.0)


def case_of(rate: int) -> str:
    """What a pace is called."""
    return f"{rate:,} reports a second"


def measured(*, quick: bool) -> PartReport:
    """The page under each pace."""
    seconds = QUICK_SECONDS if quick else SECONDS
    figures = Figures("page")
    measure(figures, seconds)
    text = (
        f"{KEYS:,} keys whose reports come round in turn, a report of the whole stream every two "
        f"seconds, and one browser; {seconds:.0f} s of each pace, on a "
        "real broker. A core is 100 %. Seconds are from the moment when a report of the stream "
        "was written to the answer that has it."
    )
    header = ["pace", "% of a core", "memory, MB", "seconds, median", "from and to"]
    lines = [
        [
            case,
            *(figures.text(case, what) for what in (SHARE, HELD, LATE)),
            figures.spread(case, LATE),
        ]
        for case in map(case_of, RATES)
    ]
    versions = ("confluent-kafka", "starlette", "uvicorn", "msgspec")
    sections = [text, markdown(header, lines)]
    return PartReport(figures, "What the live page costs", sections, versions)
