"""Keyed jobs and the bare store beside them."""

from contextlib import closing

import numpy as np

from benchmarks.speed import bare_store
from benchmarks.speed.jobs import folder, said_by
from benchmarks.speed.keyed_job import Settings
from okl_flow.operators import rocks

LEARNER = {"learner": "bogd", "budget": 4}


def test_a_job_says_how_soon_it_was_at_work():
    with folder() as path:
        settings = Settings("prequential", 3, 2_000, LEARNER, first=1_000, folder=str(path))
        said = said_by(settings)
    assert said["seconds"] > 0.0 and said["processor"] > 0.0 and said["megabytes"] > 50
    assert said["to_first_output"] > said["to_first_event"] > 0.0


def test_the_bare_store_holds_a_record_per_key(tmp_path, monkeypatch):
    monkeypatch.setattr(bare_store, "PARTITIONS", 2)
    monkeypatch.setattr(bare_store, "VARIANTS", 3)
    assert bare_store.microseconds(tmp_path, LEARNER, 8, 300, 900) > 0.0
    stored = []
    for number in range(2):
        with closing(rocks.open_to_read(tmp_path / f"p{number:03}")) as database:
            assert rocks.HEAD in database
            stored += [(key, record) for key, _version, record in rocks.table(database)]
    assert sorted(key for key, _ in stored) == sorted(f"user-{number}" for number in range(300))
    assert {record for _, record in stored} <= set(bare_store.packed_records(LEARNER, 8))


def test_writes_are_committed_once_a_second(tmp_path, monkeypatch):
    monkeypatch.setattr(bare_store, "EPOCH", 0.0)  # so that each write is followed by one
    commits = []
    monkeypatch.setattr(bare_store, "commit", lambda databases, batches: commits.append(batches))
    with closing(rocks.open_database(tmp_path, "here", create=True)) as database:
        monkeypatch.setattr(bare_store, "PARTITIONS", 1)
        monkeypatch.setattr(bare_store, "VARIANTS", 1)
        bare_store.write([database], [b"record"], np.arange(5))
    assert len(commits) == 5 + 1
