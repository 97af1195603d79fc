"""A bare write of the bytes that a keyed job writes: RocksDB alone, no learning, no engine.

The same databases with the same options, records of the same bytes under the same keys, batches
of as many records, a synced write per database and second; each record is written over the one
before it. No journal, nothing that one could go back to, nothing read.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rocksdict import Rdict, WriteBatch

from okl_flow import make_learner, streams
from okl_flow.murmur import partitions_of
from okl_flow.operators import rocks
from okl_flow.operators.disk import synced
from okl_flow.operators.models import AHEAD
from okl_flow.operators.record import Record, RecordCodec

__all__ = ["microseconds"]

PARTITIONS = 64
VARIANTS = 500
LEARNED = 2  # events of a key: one to begin with, and one of those that are measured
EPOCH = 1.0  # seconds
SOME = 50_000  # keys whose places are worked out before the clock runs

Place = tuple[int, bytes]


def microseconds(path: Path, learner: dict[str, Any], dim: int, keys: int, events: int) -> float:
    """Of a record, over keys drawn at random, each of which has one already."""
    records = [rocks.stamp(1) + record for record in packed_records(learner, dim)]
    databases = []
    for number in range(PARTITIONS):
        place = path / f"p{number:03}"
        place.mkdir()
        databases.append(rocks.open_database(place, "the bare store", create=True))
    try:
        write(databases, records, np.arange(keys))
        drawn = np.random.default_rng(0).integers(0, keys, events)
        return 1e6 * write(databases, records, drawn) / events
    finally:
        for database in databases:
            database.close()


def packed_records(settings: dict[str, Any], dim: int) -> list[bytes]:
    """Records of models that have learned their second event, as most of the job's have."""
    learner = make_learner(**settings)
    codec, found = RecordCodec([learner]), []
    for seed in range(VARIANTS):
        state = learner.init(dim, seed)
        learner.step(state, *streams.rings(LEARNED, dim=dim, seed=seed))
        found.append(codec.pack(Record([state], LEARNED, 0)))
    return found


def write(databases: list[Rdict], records: list[bytes], numbers: np.ndarray) -> float:
    """Write a record for each key; the seconds that the writes alone have taken."""
    took, commit_at = 0.0, EPOCH
    batches: dict[int, WriteBatch] = {}
    for places in placed(numbers):
        begin = time.perf_counter()
        for count, (partition, row) in enumerate(places):
            batch = batches.get(partition)
            if batch is None:
                batch = batches[partition] = WriteBatch(raw_mode=True)
            batch.put(row, records[count % VARIANTS])
            if len(batch) >= AHEAD:
                databases[partition].write(batch)
                del batches[partition]
            if took + time.perf_counter() - begin > commit_at:
                commit(databases, batches)
                commit_at += EPOCH
        took += time.perf_counter() - begin
    begin = time.perf_counter()
    commit(databases, batches)
    return took + time.perf_counter() - begin


def placed(numbers: np.ndarray) -> Iterator[list[Place]]:
    """Keys as partitions and rows, some at a time."""
    for begin in range(0, len(numbers), SOME):
        keys = [f"user-{number}" for number in numbers[begin : begin + SOME].tolist()]
        rows = map(rocks.record_key, keys)
        yield list(zip(partitions_of(keys, PARTITIONS).tolist(), rows, strict=True))


def commit(databases: list[Rdict], batches: dict[int, WriteBatch]) -> None:
    """Write what is left, synced, in every database."""
    for number, database in enumerate(databases):
        batch = batches.pop(number, None) or WriteBatch(raw_mode=True)
        batch.put(rocks.HEAD, b"")
        database.write(batch, synced())
