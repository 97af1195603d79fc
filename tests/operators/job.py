"""A job as its own process, to be killed: `python -m tests.operators.job SETTINGS.json NUMBER`.

It reads a file of events at a slow pace, learns, and writes predictions and rejects. The
settings may name a failpoint, where the process kills itself.
"""

import json
import os
import sys
import time
from datetime import timedelta
from pathlib import Path

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig
from bytewax.testing import cluster_main

from okl_flow import make_learner
from okl_flow.operators import compare, decode, encode, lines, prequential, write_lines
from okl_flow.operators.disk import DiskStore
from okl_flow.operators.journal import Journal
from okl_flow.operators.partition import Partition
from okl_flow.recovery import discard_unclosed
from okl_flow.wire import Columns
from tests.failpoints import arm, countdown, failpoint

LEARNER = make_learner("bogd", budget=5, bandwidth=1.5)
DIM = 3
STEP = "learn"
PARTITIONS = 8


def flow_of(settings):
    folder = Path(settings["folder"])
    flow = Dataflow("job")

    def slowly(raws):
        time.sleep(settings["pause"])
        with (folder / "read").open("a") as log:
            log.write(f"{os.getpid()} {raws[0].partition} {raws[0].offset} {len(raws)}\n")
        return raws

    raws = lines("read", flow, settings["inputs"], batch_size=settings["batch"])
    decoded = decode("decode", op.flat_map_batch("slowly", raws, slowly), features=Columns(DIM))
    kept = {
        "partitions": PARTITIONS,
        "state_dir": folder / "state",
        "keys_in_memory": 16,
        "labels_wait_count": 4,
        "labels_wait": timedelta(milliseconds=700),
    }
    if "learners" in settings:
        out = compare(
            STEP,
            decoded.events,
            {name: make_learner(**one) for name, one in settings["learners"].items()},
            settings["champion"],
            promote="significant",
            confidence=settings["confidence"],
            **kept,
        )
        write_lines("alarms", encode("encode_alarms", out.alarms), folder / "alarms")
    else:
        out = prequential(STEP, decoded.events, make_learner(**settings["learner"]), **kept)
    write_lines("predictions", encode("encode", out.predictions), folder / "predictions")
    rejects = op.merge("both", out.rejects, decoded.rejects)
    write_lines("rejects", encode("encode_rejects", rejects), folder / "rejects")
    return flow


FAILPOINTS = {
    "before_commit": failpoint(DiskStore, "commit", "before"),
    "after_commit": failpoint(DiskStore, "commit", "after"),
    "after_spill": failpoint(DiskStore, "spill", "after"),
    "before_settling": failpoint(DiskStore, "settle", "before"),
    "after_settling": failpoint(DiskStore, "settle", "after"),
    "before_merge": failpoint(Journal, "_merge", "before"),
    "after_merge": failpoint(Journal, "_merge", "after"),
    "before_resuming": failpoint(DiskStore, "_resumed", "before"),
    "after_resuming": failpoint(DiskStore, "_resumed", "after"),
    "after_snapshot": failpoint(Partition, "snapshot", "after"),
}


def main():
    settings, number = json.loads(Path(sys.argv[1]).read_text()), int(sys.argv[2])
    if number == settings.get("dies"):
        arm(FAILPOINTS[settings["failpoint"]], countdown(settings["calls"]))
    recovery = Path(settings["folder"]) / "recovery"
    discard_unclosed(recovery)
    cluster_main(
        flow_of(settings),
        settings["addresses"],
        number,
        epoch_interval=timedelta(milliseconds=settings["epoch"]),
        recovery_config=RecoveryConfig(str(recovery), backup_interval=timedelta(0)),
    )


if __name__ == "__main__":
    main()
