"""The flow of the big run, for `okl-flow run tests.kafka.chaos.flows:flow`.

The variable CHAOS names its settings. A process dies in the middle of a commit when it finds the
file `die-FAILPOINT`, which one process alone can take.
"""

import json
import os
import time
from datetime import timedelta
from pathlib import Path

import bytewax.operators as op
from bytewax.dataflow import Dataflow

from okl_flow import kafka, make_learner
from okl_flow.operators import decode, encode, evaluate, prequential
from okl_flow.wire import Columns
from tests.kafka import job
from tests.kafka.chaos.stream import DIM

LEARNER = make_learner("bogd", budget=10, bandwidth=1.5)
WAIT_MS = 20_000
WAIT_COUNT = 8
WIDE_MS, WIDE_COUNT = 10**9, 10_000
"""Limits for labels on a topic of their own: which ones miss a limit would be by chance."""
REPORT_EVERY = 20
PARTITIONS = 16
OUTPUTS = ("predictions", "rejects", "reports")
COMMIT = {
    "exactly_once": ("after_send", "before_commit", "within_commit", "after_commit"),
    "at_least_once": ("before_delivery", "after_delivery"),
}
"""The failpoints in the middle of a commit."""


def flow():
    settings = json.loads(Path(os.environ["CHAOS"]).read_text())
    folder, brokers = Path(settings["folder"]), settings["brokers"]
    for name in COMMIT[settings["delivery"]]:
        job.arm(name, _taker(folder, name))
    made = Dataflow(settings["name"])
    read = (folder / "read").open("a", buffering=1)

    def slowly(raws):
        time.sleep(settings["pause"] * len(raws))
        read.write(f"{os.getpid()} {len(raws)}\n")
        return raws

    raws = kafka.input(
        "read",
        made,
        settings["inputs"],
        brokers=brokers,
        batch_size=200,
        tail=settings.get("tail", False),
    )
    decoded = decode("decode", op.flat_map_batch("slowly", raws, slowly), features=Columns(DIM))
    out = prequential(
        "learn",
        decoded.events,
        LEARNER,
        partitions=PARTITIONS,
        state_dir=os.environ["OKL_STATE"],
        keys_in_memory=settings["keys_in_memory"],
        labels_wait_count=settings["wait_count"],
        labels_wait=timedelta(milliseconds=settings["wait_ms"]),
    )
    judged = evaluate(
        "evaluate",
        out.predictions,
        keys="all",
        key_report_every=REPORT_EVERY,
        window=100,
        drift=None,
        partitions=PARTITIONS,
    )
    outputs = {
        "predictions": out.predictions,
        "rejects": op.merge("both", out.rejects, decoded.rejects),
        "reports": op.filter("of_keys", judged.reports, lambda one: one.subject == "key"),
    }
    for name, stream in outputs.items():
        kafka.output(
            f"write_{name}",
            encode(f"encode_{name}", stream),
            settings[name],
            brokers=brokers,
            delivery=settings["delivery"],
            partitions=3,
        )
    return made


def _taker(folder, name):
    def take():
        try:
            (folder / f"die-{name}").rename(folder / f"died-{name}")
        except FileNotFoundError:
            return False
        return True

    return take
