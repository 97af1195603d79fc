"""Pictures of the live page for the documents: `python -m tests.kafka.screenshot`.

A broker, the flow `dataflows.per_user` and the page run for a minute, over users some of whom
change their ways half-way through, with some records that cannot be used.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

from confluent_kafka import Producer

from tests.kafka.broker import Cluster
from tests.kafka.browser import PHONE, ROOT, Browser, Dashboard
from tests.kafka.judge import make_topic

IMAGES = ROOT / "docs" / "images"
DESK = (1280, 1180)
SECONDS = 60
PARTITIONS = 4
BAD = (
    b'{"key": "user-000003", "features": [0.5]}',
    b'{"key": "user-000011", "features": [0.5, "2,5"]}',
    b'{"key": "user-000002", "features": [0.1, 0.2], "label": 3}',
    b"user-000008;0.25;0.75",
)


def okl_flow(*words):
    """The command line, with this tree's code."""
    return [sys.executable, "-m", "okl_flow.cli", *map(str, words)]


def events():
    """Records by their keys, some of which cannot be used."""
    made = okl_flow("make-stream", "users", "--keys", 60, "--events", 30_000, "--delay", 5)
    lines = subprocess.run(made, capture_output=True, check=True).stdout.splitlines()
    for number, line in enumerate(lines):
        yield json.loads(line)["key"], line
        if number % 900 == 899:
            yield "nobody", BAD[number // 900 % len(BAD)]


def feed(bootstrap, seconds):
    """Write the events at a steady pace."""
    records, begun = list(events()), time.monotonic()
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20})
    for number, (key, value) in enumerate(records):
        place = zlib.crc32(key.encode()) % PARTITIONS
        producer.produce("incoming", value, key.encode(), partition=place)
        if number % 50 == 0:
            producer.poll(0)
            due = begun + seconds * number / len(records)
            time.sleep(max(0.0, due - time.monotonic()))
    producer.flush()


def pictures(folder):
    """Run everything, and take the pictures."""
    cluster = Cluster(folder / "kafka").start()
    for topic in ("incoming", *(f"incoming.{kind}" for kind in ("reports", "alarms", "rejects"))):
        make_topic(cluster.bootstrap, topic, PARTITIONS)
    command = okl_flow("run", "dataflows.per_user:flow", "--brokers", cluster.bootstrap)
    command += ["--create-topics", "4", "--recovery-dir", str(folder / "recovery"), "--epoch", "1"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OKL_")}
    with (folder / "log").open("wb") as log:
        job = subprocess.Popen(
            command, env={**clean, "OKL_EVENTS": "incoming"}, cwd=folder, stdout=log, stderr=log
        )
    page = Dashboard("--brokers", cluster.bootstrap, "--events", "incoming")
    browser = Browser(DESK)
    try:
        browser.open(page.address)
        feed(cluster.bootstrap, SECONDS)
        browser.says("drift", "#alarms")
        browser.click("#alarms .key")
        browser.says("Figures", "#key")
        browser.run("document.activeElement.blur(); scrollTo(0, 0)")
        time.sleep(2)
        IMAGES.mkdir(exist_ok=True)
        browser.picture(IMAGES / "page.png", DESK, whole=False)
        browser.picture(IMAGES / "page-phone.png", PHONE, dark=True, whole=False)
    finally:
        browser.close()
        page.stop()
        job.terminate()
        job.wait()
        cluster.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        pictures(Path(folder))
    print(f"page.png and page-phone.png are in {IMAGES}")
