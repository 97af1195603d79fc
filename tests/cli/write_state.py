"""A job that holds a state directory and commits without end.

    python -m tests.cli.write_state DIR

Every epoch writes all keys anew, so that all records at a commit have seen as many events.
"""

import sys

from okl_flow.murmur import partition_of
from okl_flow.operators.record import Record, RecordCodec
from okl_flow.operators.requests import answered
from okl_flow.operators.store import StateDirectory
from tests.cli.states import KEYS, LEARNERS, learned
from tests.operators.changes import changes


def main(path):
    directory = StateDirectory.open(path, step="flow.learn", partitions=4, learners=LEARNERS)
    codec = RecordCodec(LEARNERS)
    stores = [directory.store(partition, None) for partition in range(4)]
    states = learned(12)
    epoch = 0
    while True:
        epoch += 1
        for partition, store in enumerate(stores):
            keys = [key for key in KEYS if partition_of(key, 4) == partition]
            changed = {
                key: codec.pack(Record(states, epoch, 1000 * epoch, bytes(2000))) for key in keys
            }
            for request in store.requests():
                answer = answered(request, codec.unpack(changed[request.key]), LEARNERS)
                changed[request.key] = answer and codec.pack(answer)
            store.commit(*changes(changed))
        if epoch == 3:
            print("written", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
