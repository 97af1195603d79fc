"""dataflows.per_user over topics at a slow pace, for `okl-flow run` in a test."""

import os
import time
from functools import partial
from pathlib import Path

from dataflows import per_user
from okl_flow import kafka
from okl_flow.kafka import source


def flow():
    """The flow, which notes in the file READ what it reads."""
    real = source._SlotPartition.next_batch

    def slowly(self):
        raws = real(self)
        if raws:
            time.sleep(float(os.environ["PAUSE"]) * len(raws))
            with Path(os.environ["READ"]).open("a") as log:
                log.writelines(f"{os.getpid()} {one.partition} {one.offset}\n" for one in raws)
        return raws

    source._SlotPartition.next_batch = slowly
    kafka.input = partial(kafka.input, batch_size=20)  # so that an epoch may end between them
    return per_user.flow()
