"""`okl-flow state`: looked at, taken out, put in, forgotten, verified."""

import json
import re
import subprocess
import sys

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

from okl_flow import make_learner, snapshot
from okl_flow.cli import app
from okl_flow.murmur import partition_of
from okl_flow.operators import rocks
from okl_flow.operators.inspection import record_of, records
from okl_flow.operators.journal import chunks
from okl_flow.operators.record import Record, RecordCodec
from okl_flow.operators.requests import left
from okl_flow.operators.store import StateDirectory
from tests.cli.states import DIM, KEYS, LEARNERS, directory_of, learned, some_records
from tests.conformance.cases import events_for
from tests.operators.changes import changes


def run(*words, code=0):
    result = CliRunner().invoke(app, ["state", *map(str, words)])
    assert result.exit_code == code, result.output
    return result


def refused(*words):
    result = run(*words, code=2)
    assert result.stdout == ""
    assert result.stderr.startswith("okl-flow: ") and result.stderr.count("\n") == 1
    return result.stderr.removeprefix("okl-flow: ").rstrip()


@pytest.fixture
def state(tmp_path):
    """A directory with six keys, each in three versions."""
    path = tmp_path / "state"
    directory_of(path, some_records(), versions=3)
    return path


def listed(*words):
    return [json.loads(line) for line in run("list", *words, "--json").stdout.splitlines()]


def test_keys_are_listed(state):
    keys = listed(state)
    assert [one["key"] for one in keys] == sorted(KEYS[:6])
    assert keys[1] == {
        "key": "user-1",
        "events": 6,
        "bytes": len(RecordCodec(LEARNERS).pack(some_records()["user-1"])),
        "last_seen": "2023-11-14T22:13:22.000+00:00",
        "partition": partition_of("user-1", 4),
    }
    lines = run("list", state).stdout.splitlines()
    assert lines[0].split() == ["key", "events", "bytes", "last", "seen"]
    assert lines[3].split()[:2] == ["user-1", "6"]
    assert re.fullmatch(r"6 of 6 keys; [\d,]+ bytes in all", lines[-1])


def test_lists_are_sorted_and_cut(state):
    for order in ("events", "bytes", "seen"):
        keys = [one["key"] for one in listed(state, "--sort", order, "--limit", "2")]
        assert keys == (["user-5", "user-4"] if order != "bytes" else keys)
    sizes = [one["bytes"] for one in listed(state, "--sort", "bytes", "--limit", "0")]
    assert sizes == sorted(sizes, reverse=True) and len(sizes) == 6
    assert "2 of 6 keys" in run("list", state, "--limit", "2").stdout


def test_a_key_without_a_time_was_never_seen(tmp_path):
    directory_of(tmp_path / "state", {"a": Record([], notes=b""), "b": Record([], time=10**17)})
    assert [one["last_seen"] for one in listed(tmp_path / "state")] == [None, f"{10**17} ms"]
    assert " -" in run("list", tmp_path / "state").stdout
    assert "has no learner yet" in refused("export", tmp_path / "state", "a", tmp_path / "x")


def test_a_key_is_shown(state):
    told = json.loads(run("show", state, "user-5", "--json").stdout)
    assert (told["events"], told["version"], told["requests"]) == (18, 4, [])
    [learner] = told["learners"]
    [expected] = some_records()["user-5"].states
    assert (learner["learner"], learner["budget"], learner["seen"]) == ("kogd", 8, 18)
    assert (learner["size"], learner["bandwidth"]) == (expected.size, 1.0)
    assert learner["norms"]["weights"] == pytest.approx(np.linalg.norm(expected.weights))
    assert learner["arrays"]["rows"] == [DIM, expected.size]
    lines = run("show", state, "user-5").stdout.splitlines()
    assert "events: 18" in lines and "  learner: kogd" in lines
    assert f"    rows: {DIM} x {expected.size}" in lines


def test_what_was_found_and_what_waits_is_shown(tmp_path):
    learners = [make_learner("kogd", bandwidth="auto", first_events=5, scale="standard")]
    notes = msgspec.msgpack.encode(([["id", b"", None, 0, 0.0]], [], []))
    directory_of(tmp_path, {"a": Record(learned(40, learners), 40, None, notes)}, learners)
    told = json.loads(run("show", tmp_path, "a", "--json").stdout)
    assert (told["waiting_events"], told["waiting_labels"]) == (1, 0)
    assert "bandwidth" in told["learners"][0]["chosen"][0]
    assert told["learners"][0]["inner.candidates.0.size"] >= 1


def test_a_learner_taken_out_can_be_used(state, tmp_path):
    file = tmp_path / "user-5.oklf"
    assert run("export", state, "user-5", file).stdout.startswith(f"{file}: kogd of user-5, 18 ev")
    learner, restored = snapshot.loads(file.read_bytes())
    assert learner == LEARNERS[0]
    X, y = events_for("binary", 60, dim=DIM)
    [expected] = learned(18)
    np.testing.assert_array_equal(learner.score(restored, X), learner.score(expected, X))
    np.testing.assert_array_equal(learner.step(restored, X, y), learner.step(expected, X, y))


def newest(path, key):
    stored = record_of(StateDirectory.find(path), key)
    return stored and RecordCodec(LEARNERS).unpack(stored.packed)


def every_version(path, pointers, key):
    """The record of a key in whatever version a job may resume at, with what follows."""
    partition = partition_of(key, 4)
    for pointer in pointers[::-1]:
        store = StateDirectory.find(path).store(partition, pointer)
        [found] = store.read([key])
        store.close()
        yield found and RecordCodec(LEARNERS).unpack(found[1])


def resumable(path, key):
    """A directory in which a job wrote a key in three versions; and its pointers."""
    directory = StateDirectory.open(path, step="flow.learn", partitions=4, learners=LEARNERS)
    store = directory.store(partition_of(key, 4), None)
    codec = RecordCodec(LEARNERS)
    pointers = [
        store.commit(*changes({key: codec.pack(Record(learned(9), at, 5)), "z": b"z"}))
        for at in range(6)
    ]
    store.spill(*changes({key: codec.pack(Record(learned(9), 7, 5))}))
    store.close()
    return pointers[-4:]


def test_what_is_not_committed_is_not_told(tmp_path):
    resumable(tmp_path, "user-1")
    assert newest(tmp_path, "user-1").events == 5
    assert {one.version for one in records(StateDirectory.find(tmp_path))} == {7}


def test_a_file_that_the_job_has_just_taken_away_is_looked_for_once_more(state, monkeypatch):
    opened = rocks.open_to_read
    failures = iter([True, True])

    def failing(path):
        if next(failures, False):
            raise OSError("no such file")
        return opened(path)

    monkeypatch.setattr(rocks, "open_to_read", failing)
    assert len(listed(state)) == 6


def test_forgotten_at_once_in_all_versions(tmp_path):
    pointers = resumable(tmp_path, "user-1")
    assert run("forget", tmp_path, "user-1").stdout == "user-1: forgotten\n"
    assert newest(tmp_path, "user-1") is None
    assert list(every_version(tmp_path, pointers, "user-1")) == [None] * 4


def test_forgotten_from_what_a_crashed_job_wrote_ahead_too(tmp_path):
    pointers = resumable(tmp_path, "user-1")
    place = StateDirectory.find(tmp_path).place(partition_of("user-1", 4))
    store = StateDirectory.find(tmp_path).store(place.partition, pointers[-1])
    store.spill(*changes({"user-1": b"ahead", "user-2": b"ahead"}))
    store.close()
    assert run("forget", tmp_path, "user-1").stdout == "user-1: forgotten\n"
    database = rocks.open_database(place.path, "")
    held = {key for _, chunk in chunks(database) for key in chunk.keys}
    database.close()
    assert (held & {"user-1", "user-2"}) == {"user-2"}


def test_imported_at_once_in_all_versions(tmp_path):
    pointers = resumable(tmp_path / "state", "user-1")
    file = tmp_path / "trained.oklf"
    file.write_bytes(snapshot.dumps(LEARNERS[0], *learned(30)))
    assert run("import", tmp_path / "state", "user-1", file).stdout == "user-1: imported\n"
    for record in [
        newest(tmp_path / "state", "user-1"),
        *every_version(tmp_path / "state", pointers, "user-1"),
    ]:
        assert (record.events, record.time, record.states[0].seen) == (30, 5, 30)


def test_a_job_goes_on_after_what_was_done_at_once(tmp_path):
    """What was imported is replaced, and collected, like what the job wrote itself."""
    pointers = resumable(tmp_path / "state", "user-1")
    file = tmp_path / "trained.oklf"
    file.write_bytes(snapshot.dumps(LEARNERS[0], *learned(30)))
    run("import", tmp_path / "state", "user-1", file)
    store = StateDirectory.find(tmp_path / "state").store(partition_of("user-1", 4), pointers[0])
    store.commit(*changes({"user-1": b"later"}))
    [(_, packed)] = store.read(["user-1"])
    assert packed == b"later"
    store.commit(*changes({"user-1": None}))
    assert store.read(["user-1"]) == [None]
    store.close()
    assert newest(tmp_path / "state", "user-1") is None


def test_requests_are_answered_in_their_order(tmp_path):
    """Those that a job left unanswered come first, and are not answered again."""
    path, file = tmp_path / "state", tmp_path / "trained.oklf"
    pointers = resumable(path, "user-1")
    file.write_bytes(snapshot.dumps(LEARNERS[0], *learned(30)))
    place = StateDirectory.find(path).place(partition_of("user-1", 4))
    job = StateDirectory.find(path).store(place.partition, pointers[-1])
    other = next(key for key in KEYS[2:] if partition_of(key, 4) == place.partition)
    assert "next commit" in run("forget", path, "user-1").stdout
    assert "next commit" in run("import", path, other, file).stdout
    told = json.loads(run("show", path, "user-1", "--json").stdout)
    assert (told["requests"], told["events"]) == (["forget"], 5)
    job.close()
    assert run("import", path, "user-1", file).stdout == "user-1: imported\n"
    assert newest(path, other).events == 30
    assert [record.events for record in every_version(path, pointers, "user-1")] == [30] * 4
    assert list(left(place.requests)) == []


def test_a_new_key_may_begin_with_a_learner(tmp_path):
    path, file = tmp_path / "state", tmp_path / "trained.oklf"
    StateDirectory.open(path, step="flow.learn", partitions=4, learners=LEARNERS)
    file.write_bytes(snapshot.dumps(LEARNERS[0], *learned(30)))
    run("import", path, "user-1", file)
    assert [one["key"] for one in listed(path)] == ["user-1"]
    store = StateDirectory.find(path).store(partition_of("user-1", 4), None)
    [(_, packed)] = store.read(["user-1"])
    assert RecordCodec(LEARNERS).unpack(packed).events == 30
    store.close()
    run("forget", path, "user-1")
    assert listed(path) == []
    run("forget", path, "nobody")


def test_one_of_several_learners(tmp_path):
    learners = [*LEARNERS, make_learner("bpa_s", budget=5)]
    path, file = tmp_path / "state", tmp_path / "trained.oklf"
    directory_of(path, {"a": Record(learned(9, learners), 9)}, learners)
    run("export", path, "a", file, "--learner", "1")
    assert snapshot.loads(file.read_bytes())[0] == learners[1]
    assert "learner is 'bpa_s', the learner's is 'kogd'" in refused("import", path, "a", file)
    file.write_bytes(snapshot.dumps(learners[1], learned(20, learners)[1]))
    run("import", path, "a", file, "--learner", "1")
    record = RecordCodec(learners).unpack(record_of(StateDirectory.find(path), "a").packed)
    assert [state.seen for state in record.states] == [9, 20]
    assert record.events == 9
    assert "--learner must be below 2" in refused("export", path, "a", file, "--learner", "2")


def test_what_cannot_be_is_refused(state, tmp_path):
    assert "no state directory: there is no state.json" in refused("list", tmp_path)
    assert "nothing about the key 'nobody'" in refused("show", state, "nobody")
    assert "absent: No such file" in refused("import", state, "a", tmp_path / "absent")
    file = tmp_path / "other.oklf"
    file.write_bytes(b"no snapshot")
    assert "does not begin with OKLF" in refused("import", state, "a", file)
    other = make_learner("kogd", budget=9)
    file.write_bytes(snapshot.dumps(other, other.init(DIM)))
    assert "its budget is 9, the learner's is 8" in refused("import", state, "a", file)
    file.write_bytes(snapshot.dumps(LEARNERS[0], LEARNERS[0].init(DIM + 1)))
    assert "is for 6 features, and the key 'user-1' has 5" in refused(
        "import", state, "user-1", file
    )
    assert newest(state, "user-1").events == 6


def test_a_sound_directory_is_verified(state):
    assert run("verify", state).stdout == "6 keys in 4 partitions: nothing is wrong\n"


def broken(path, key, change):
    """Change something behind the back of the store, and give what verify says."""
    place = StateDirectory.find(path).place(partition_of(key, 4))
    database = rocks.open_database(place.path, "")
    change(database)
    database.close()
    result = run("verify", path, code=1)
    count = len(result.stdout.splitlines())
    assert result.stderr == f"{count} findings\n"
    assert result.stdout.startswith(f"{place.path.name}: ")
    return result.stdout


def test_everything_that_may_be_wrong_is_found(state):
    at, in_table = rocks.position(4, 0), rocks.record_key("user-1")

    def flipped(database):
        record = bytearray(database[rocks.JOURNAL + at])
        record[-30] ^= 1
        database[rocks.JOURNAL + at] = bytes(record)

    def moved(database):
        for prefix in (rocks.INDEX, rocks.JOURNAL):
            database[prefix + rocks.position(4, 2)] = database[prefix + at]

    def recounted(database):
        size, listed = msgspec.msgpack.decode(database[rocks.INDEX + at])
        database[rocks.INDEX + at] = msgspec.msgpack.encode((size + 1, listed))

    def shortened(database):
        sizes, content = msgspec.msgpack.decode(database[rocks.JOURNAL + at])
        database[rocks.JOURNAL + at] = msgspec.msgpack.encode((sizes, content[:-1]))

    def put(row, value):
        return lambda database: database.put(row, value)

    assert "in version 4: the record is damaged" in broken(state, "user-1", flipped)
    other = RecordCodec([make_learner("bpa_s")]).pack(Record([make_learner("bpa_s").init(3)]))
    assert "'user-1' in version 1: the record does not fit the learners" in broken(
        state, "user-1", put(in_table, rocks.stamp(1) + other)
    )
    assert "is of version 2, and not among those that one can go back to" in broken(
        state, "user-1", put(in_table, rocks.stamp(2) + other)
    )
    strange = next(key for key in KEYS if partition_of(key, 4) != partition_of("user-1", 4))
    assert "in the wrong partition" in broken(
        state, "user-1", put(rocks.record_key(strange), rocks.stamp(1))
    )
    assert "records of version 4 are missing" in broken(state, "user-1", moved)
    assert "there are records that no index knows" in broken(
        state, "user-1", put(rocks.JOURNAL + rocks.position(9, 0), b"")
    )
    assert "the records of version 4 are longer or shorter than the index says" in broken(
        state, "user-1", recounted
    )
    assert "part 0 of version 4 is missing or damaged" in broken(state, "user-1", shortened)
    assert "part 0 of version 4 is missing or damaged" in broken(
        state, "user-1", lambda database: database.delete(rocks.JOURNAL + at)
    )
    assert "cannot be read or written: " in broken(
        state, "user-1", put(rocks.INDEX + at, b"nonsense")
    )


def test_damaged_files_are_found(state):
    tables = state / f"p{partition_of('user-1', 4):03d}"
    (tables / "CURRENT").write_bytes(b"nonsense")
    assert "cannot be read or written" in run("verify", state, code=1).stdout
    assert "cannot be read or written" in refused("show", state, "user-1")


@pytest.fixture
def job(tmp_path):
    """A process that commits all the time, and its directory."""
    path = tmp_path / "state"
    command = [sys.executable, "-m", "tests.cli.write_state", path]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"written\n"
            yield path
        finally:
            process.kill()


def test_a_job_is_read_while_it_writes(job):
    """What is read is what was there at one commit: all keys of a partition are as old."""
    seen = []
    for _ in range(12):
        keys = listed(job, "--limit", "0")
        assert sorted(one["key"] for one in keys) == sorted(KEYS)
        ages = {}
        for one in keys:
            ages.setdefault(one["partition"], set()).add(one["events"])
        assert all(len(age) == 1 for age in ages.values())
        seen.append(keys[0]["events"])
        assert "nothing is wrong" in run("verify", job).stdout
    assert seen == sorted(seen) and seen[-1] > seen[0]


def test_a_job_answers_requests(job, tmp_path):
    file = tmp_path / "trained.oklf"
    file.write_bytes(snapshot.dumps(LEARNERS[0], *learned(30)))
    assert "with the next commit of the job" in run("import", job, "user-3", file).stdout
    assert "with the next commit of the job" in run("forget", job, "user-4").stdout
    folders = [StateDirectory.find(job).place(partition_of(key, 4)).requests for key in KEYS]
    for _ in range(200):
        if not any(list(left(folder)) for folder in folders):
            break
        run("list", job)
    else:
        raise AssertionError("the requests were not answered")
    assert "nothing is wrong" in run("verify", job).stdout
