"""`python -m tests.kafka.chaos`: hundreds of thousands of events through a job that is killed.

One job has events and labels in one topic, and is compared with the oracle to the bit; another,
with a sixth of the events, has labels on a topic of their own. Prints its progress and a verdict,
writes a page for each delivery into benchmarks/results/, and exits with 1 if the checker is not
satisfied.
"""

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from benchmarks.report import write
from tests.kafka.broker import Cluster
from tests.kafka.chaos.run import Chaos

DELIVERIES = ("exactly_once", "at_least_once")
APART = 6  # of so many events and kills, one goes to the job with labels apart
HEADER = [
    "labels",
    "delivery",
    "events",
    "records",
    "kills of one",
    "of all",
    "in a commit",
    "starts",
] + ["records read again", "outputs in the log", "visible", "s", "checker"]


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.kafka.chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--events", type=int, default=300_000)
    parser.add_argument("--keys", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delivery", choices=[*DELIVERIES, "both"], default="both")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    satisfied = True
    with tempfile.TemporaryDirectory(prefix="okl-flow-chaos-") as folder:
        cluster = Cluster(Path(folder) / "kafka", **{"broker.session.timeout.ms": 60_000})
        cluster.start()
        try:
            for delivery in DELIVERIES if asked.delivery == "both" else [asked.delivery]:
                satisfied &= _both(asked, Path(folder), cluster, delivery)
        finally:
            cluster.stop()
    sys.exit(0 if satisfied else 1)


def _both(asked, folder, cluster, delivery):
    """Both jobs with one delivery, and their page."""
    rows, complaints = [], []
    for apart in (False, True):
        outcome, row = _one(asked, folder, cluster, delivery, apart)
        complaints += outcome.complaints
        rows.append(row)
    verdict = "The checker is satisfied."
    if complaints:
        verdict = "\n\n    ".join(["The checker is NOT satisfied:", *complaints])
    _page(asked, delivery, rows, verdict)
    _say(verdict)
    return not complaints


def _one(asked, folder, cluster, delivery, apart):
    share = 1 / APART if apart else 1 - 1 / APART
    events, kills = round(asked.events * share), round(asked.kills * share)
    where = "on a topic of their own" if apart else "in the topic of the events"
    _say(f"{delivery}, labels {where}: {events:,} events, {kills} kills")
    job = Chaos(
        folder / f"{delivery}-{apart:d}",
        cluster.bootstrap,
        delivery=delivery,
        seed=asked.seed,
        events=events,
        keys=asked.keys,
        apart=apart,
        say=_say,
    )
    outcome = job.kill_and_check(kills)
    for error in outcome.errors:
        _say(f"  said by a process: {error[:400]}")
    for complaint in outcome.complaints:
        _say(f"  COMPLAINT: {complaint[:1000]}")
    numbers = [events, outcome.records, *outcome.kills.values(), outcome.starts]
    numbers += [outcome.read - outcome.records, outcome.in_log, outcome.visible]
    row = ["apart" if apart else "with the events", delivery, *map(str, numbers)]
    row += [f"{outcome.seconds:.0f}", "not satisfied" if outcome.complaints else "satisfied"]
    _say("  " + ", ".join(f"{name} {value}" for name, value in zip(HEADER, row, strict=True)))
    return outcome, row


def _page(asked, delivery, rows, verdict):
    text = (
        f"`python -m tests.kafka.chaos --kills {asked.kills} --events {asked.events} "
        f"--keys {asked.keys} --seed {asked.seed} --delivery {delivery}`: "
        "a job over Apache Kafka under `okl-flow run`, "
        "with kill -9 of one process, of all of them, or in the middle of a commit, at seeded "
        "moments, resumed with one to three processes. kafka-python then reads what readers with "
        f"`read_committed` see. {verdict}"
    )
    write(f"chaos_{delivery}", f"Kills, {delivery}", text, HEADER, rows)


def _say(line):
    print(line, flush=True)


if __name__ == "__main__":
    main()
