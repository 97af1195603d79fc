"""Small flows over Kafka, run in the process of the test."""

import threading
import uuid
from datetime import timedelta

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, TestingSource, run_main

from okl_flow import draining, kafka

EPOCH = timedelta(milliseconds=100)
PATIENCE = 60.0


def unique(name):
    """A name for a topic, or a flow, that no other test has."""
    return f"{name}-{uuid.uuid4().hex[:8]}"


def recovery(folder):
    """A recovery store to begin with and to resume from."""
    if not (folder / "recovery").exists():
        (folder / "recovery").mkdir()
        init_db_dir(folder / "recovery", 1)
    return RecoveryConfig(str(folder / "recovery"), backup_interval=timedelta(0))


def take(bootstrap, topics, *, each=None, name="flow", store=None, tail=False, **settings):
    """What `kafka.input` brings, to its end; `each` sees every record on its way."""
    flow, out = Dataflow(name), []
    raws = kafka.input("read", flow, topics, brokers=bootstrap, tail=tail, **settings)
    if each is not None:
        raws = op.inspect("each", raws, lambda _step, raw: each(raw))
    op.output("out", raws, TestingSink(out))
    limit = threading.Timer(PATIENCE, draining.request)
    limit.start()
    try:
        run_main(flow, epoch_interval=EPOCH, recovery_config=store)
        assert not limit.finished.is_set(), "the flow did not end by itself"
    finally:
        limit.cancel()
        draining.reset()
    return out


def give(bootstrap, topic, records, *, name="flow", store=None, batch_size=10, **settings):
    """Write encoded records with `kafka.output`."""
    flow = Dataflow(name)
    up = op.input("in", flow, TestingSource(records, batch_size))
    kafka.output("write", up, topic, brokers=bootstrap, **settings)
    run_main(flow, epoch_interval=EPOCH, recovery_config=store)
