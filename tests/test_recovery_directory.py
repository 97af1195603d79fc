"""Snapshots of an epoch that never closed are found and deleted, and no others."""

import sqlite3
from contextlib import closing

import pytest
from bytewax.recovery import init_db_dir

from okl_flow.recovery import discard_unclosed


def put(folder, part, sql, *rows):
    with closing(sqlite3.connect(folder / f"part-{part}.sqlite3")) as database, database:
        database.executemany(sql, rows)


def executions(folder, part, *rows):
    sql = "INSERT INTO exs (ex_num, worker_count, resume_epoch) VALUES (?, ?, ?)"
    put(folder, part, sql, *rows)


def fronts(folder, part, *rows):
    sql = "INSERT INTO fronts (ex_num, worker_index, worker_frontier) VALUES (?, ?, ?)"
    put(folder, part, sql, *rows)


def snapshots(folder, part, *epochs):
    sql = "INSERT INTO snaps (step_id, state_key, snap_epoch, ser_change) VALUES ('s', 'k', ?, '')"
    put(folder, part, sql.replace("''", "x''"), *[(epoch,) for epoch in epochs])


def left(folder):
    found = []
    for path in sorted(folder.glob("*.sqlite3")):
        with closing(sqlite3.connect(path)) as database:
            rows = database.execute("SELECT snap_epoch FROM snaps ORDER BY 1").fetchall()
            found.append([epoch for (epoch,) in rows])
    return found


@pytest.fixture
def folder(tmp_path):
    init_db_dir(tmp_path, 2)
    return tmp_path


def test_an_epoch_that_one_worker_has_not_closed(folder):
    executions(folder, 0, (0, 2, 1))
    executions(folder, 1, (1, 2, 4))
    fronts(folder, 0, (0, 0, 9), (0, 1, 9), (1, 0, 7))
    fronts(folder, 1, (1, 1, 6))
    snapshots(folder, 0, 3, 5, 6, 7)
    snapshots(folder, 1, 4, 6)
    assert discard_unclosed(folder) == 3
    assert left(folder) == [[3, 5], [4]]
    assert discard_unclosed(folder) == 0


def test_an_execution_that_closed_nothing_was_where_it_had_begun(folder):
    executions(folder, 0, (0, 1, 1), (1, 3, 5))
    fronts(folder, 1, (0, 0, 5), (1, 2, 8))
    snapshots(folder, 0, 4, 5, 6)
    assert discard_unclosed(folder) == 2
    assert left(folder) == [[4], []]


def test_a_directory_that_is_none_is_refused(tmp_path):
    with pytest.raises(ValueError, match="is no recovery directory"):
        discard_unclosed(tmp_path)
