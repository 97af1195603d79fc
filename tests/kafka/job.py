"""A job over Kafka as its own process, to be killed: `python -m tests.kafka.job SETTINGS NUMBER`.

The settings may name a failpoint, where the process kills itself.
"""

import faulthandler
import json
import logging
import os
import signal
import sys
import time
from datetime import timedelta
from pathlib import Path

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig
from bytewax.testing import cluster_main

from okl_flow import draining, kafka, make_learner
from okl_flow.kafka.producer import PlainProducer, TransactionalProducer
from okl_flow.kafka.sink import _AtLeastOnce, _ExactlyOnce
from okl_flow.kafka.source import _SlotPartition
from okl_flow.operators import decode, encode, prequential
from okl_flow.recovery import discard_unclosed
from okl_flow.wire import Columns
from tests import failpoints

LEARNER = make_learner("bogd", budget=5, bandwidth=1.5)
DIM = 3


def flow_of(settings):
    folder = Path(settings["folder"])
    brokers, delivery = settings["brokers"], settings["delivery"]
    flow = Dataflow(settings["name"])

    def slowly(raws):
        time.sleep(settings["pause"] * len(raws))
        with (folder / "read").open("a") as log:
            for raw in raws:
                log.write(f"{os.getpid()} {raw.topic} {raw.partition} {raw.offset}\n")
        return raws

    raws = kafka.input(
        "read", flow, settings["inputs"], brokers=brokers, batch_size=20, tail=settings["tail"]
    )
    decoded = decode("decode", op.flat_map_batch("slowly", raws, slowly), features=Columns(DIM))
    out = prequential(
        "learn",
        decoded.events,
        LEARNER,
        partitions=8,
        state_dir=folder / "state",
        keys_in_memory=16,
        labels_wait_count=4,
        labels_wait=timedelta(milliseconds=700),
    )
    for name, stream in (
        ("predictions", out.predictions),
        ("rejects", op.merge("both", out.rejects, decoded.rejects)),
    ):
        kafka.output(
            f"write_{name}",
            encode(f"encode_{name}", stream),
            settings[name],
            brokers=brokers,
            delivery=delivery,
            partitions=settings["parts"],
        )
    return flow


FAILPOINTS = {
    "before_send": failpoints.failpoint(TransactionalProducer, "send", "before"),
    "after_send": failpoints.failpoint(TransactionalProducer, "send", "after"),
    "before_commit": failpoints.failpoint(TransactionalProducer, "commit", "before"),
    "after_commit": failpoints.failpoint(TransactionalProducer, "commit", "after"),
    "before_snapshot": failpoints.failpoint(_SlotPartition, "snapshot", "before"),
    "after_snapshot": failpoints.failpoint(_ExactlyOnce, "snapshot", "after"),
    "before_delivery": failpoints.failpoint(PlainProducer, "flush", "before"),
    "after_delivery": failpoints.failpoint(_AtLeastOnce, "snapshot", "after"),
    "before_opening": failpoints.failpoint(TransactionalProducer, "committed", "before"),
    "after_opening": failpoints.failpoint(TransactionalProducer, "committed", "after"),
}


def arm(name, is_due):
    """Let the process die at the failpoint, when it gets there and the time has come."""
    if name == "within_commit":  # after the offsets are sent, before the end of the transaction
        real_insist = TransactionalProducer._insist

        def insist(self, call, what):
            if what == "commit" and is_due():
                failpoints.die()
            real_insist(self, call, what)

        TransactionalProducer._insist = insist
        return
    failpoints.arm(FAILPOINTS[name], is_due)


def main():
    settings, number = json.loads(Path(sys.argv[1]).read_text()), int(sys.argv[2])
    faulthandler.dump_traceback_later(settings["patience"], exit=False)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(name)s %(message)s")
    signal.signal(signal.SIGTERM, lambda *_: draining.request())
    if number == settings.get("dies"):
        arm(settings["failpoint"], failpoints.countdown(settings["calls"]))
    if settings.get("discard", True):
        discard_unclosed(Path(settings["folder"]) / "recovery")
    cluster_main(
        flow_of(settings),
        settings["addresses"],
        number,
        epoch_interval=timedelta(milliseconds=settings["epoch"]),
        recovery_config=RecoveryConfig(
            str(Path(settings["folder"]) / "recovery"), backup_interval=timedelta(0)
        ),
    )


if __name__ == "__main__":
    main()
