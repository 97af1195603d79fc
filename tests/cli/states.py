"""State directories for the command line to look into."""

from okl_flow import make_learner
from okl_flow.murmur import partition_of
from okl_flow.operators.record import Record, RecordCodec
from okl_flow.operators.store import StateDirectory
from tests.conformance.cases import events_for
from tests.operators.changes import changes

KEYS = [f"user-{at}" for at in range(20)]
LEARNERS = [make_learner("kogd", budget=8)]
DIM = 5


def learned(count, learners=LEARNERS):
    """A state of each learner that has seen so many events."""
    X, y = events_for("binary", 60, dim=DIM)
    states = [learner.init(DIM) for learner in learners]
    for learner, state in zip(learners, states, strict=True):
        learner.step(state, X[:count], y[:count])
    return states


def directory_of(path, records, learners=LEARNERS, versions=1):
    """A directory with these records, in so many versions; and the pointers to the last."""
    directory = StateDirectory.open(path, step="flow.learn", partitions=4, learners=learners)
    codec = RecordCodec(learners)
    pointers = {}
    for partition in range(4):
        store = directory.store(partition, None)
        keys = [key for key in records if partition_of(key, 4) == partition]
        for _ in range(versions):
            packed = {key: codec.pack(records[key]) for key in keys}
            pointers[partition] = store.commit(*changes(packed))
        store.close()
    return directory, pointers


def some_records(learners=LEARNERS):
    """Keys that have seen 3, 6, 9 ... events, one second apart."""
    return {
        key: Record(learned(3 * at, learners), 3 * at, 1_700_000_000_000 + 1000 * at)
        for at, key in enumerate(KEYS[:6], 1)
    }
