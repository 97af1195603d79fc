"""Flows for the supervisor's tests to run, as processes of their own."""

import os
import time
from pathlib import Path

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource

from dataflows import per_user
from okl_flow.operators import files


def slow():
    """dataflows.per_user at a slow pace, which notes what it reads in the file READ."""
    real = files._FileLines.next_batch

    def slowly(self):
        time.sleep(float(os.environ["PAUSE"]))
        raws = real(self)
        with Path(os.environ["READ"]).open("a") as log:
            log.write(f"{os.getpid()} {raws[0].offset} {raws[-1].offset}\n")
        return raws

    files._FileLines.next_batch = slowly
    return per_user.flow()


def _of(items, function):
    flow = Dataflow("flow")
    op.output("out", op.map("map", op.input("in", flow, items), function), TestingSink([]))
    return flow


def _raised(error):
    def fail(_item):
        raise error

    return _of(TestingSource([1]), fail)


def broken():
    return _raised(RuntimeError("the oven is cold, password=hunter2"))


def refused():
    return _raised(ValueError("the oven has no number 7"))


def faulty():
    return 1 / 0


def imports():
    import ovens  # noqa: F401, PLC0415


def _endlessly():
    while True:
        time.sleep(0.05)
        yield 1


def endless():
    """A flow whose source heeds no wish to end."""
    print("stirring", flush=True)
    return _of(TestingSource(_endlessly()), lambda item: item)


not_a_flow = 7
