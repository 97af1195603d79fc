"""Records on disk: what is deleted is gone, and what does not belong together is refused."""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from okl_flow import make_learner
from okl_flow.operators import rocks
from okl_flow.operators.requests import FORGET, Request, leave, left
from okl_flow.operators.store import StateDirectory, StoreError


def rows(store):
    return [rocks.split_record_key(row) for row, _ in rocks.rows_from(store._database, rocks.FIRST)]


def idle(store, commits=3):
    for _ in range(commits):
        pointer = store.commit([])
    return pointer


def test_versions_that_are_too_old_are_deleted(folder):
    store = folder.store()
    for version, record in enumerate([b"one", b"two", b"three", b"four", b"five"]):
        store.commit([("a", record, version and version + 1), (f"b{version}", record, 0)])
    assert [version for key, version in rows(store) if key == "a"] == [6, 5, 4]
    idle(store)
    assert sorted(rows(store)) == [("a", 6), *((f"b{at}", at + 2) for at in range(5))]
    assert list(rocks.lists(store._database)) == []


def test_a_deleted_record_leaves_nothing(folder):
    store = folder.store()
    store.commit([("a", b"one", 0)])
    store.commit([("a", None, 2)])
    assert store.read(["a"]) == [None]
    assert store.sweep(9) == []
    idle(store)
    assert rows(store) == []


def test_what_was_spilled_and_deleted_leaves_nothing(folder):
    store = folder.store()
    version = store.spill([("a", b"one", 0)])
    store.commit([("a", None, version)])
    idle(store)
    assert rows(store) == []


@pytest.mark.parametrize("told", ["none", "own"])
def test_a_key_that_began_anew_at_once_stays(folder, told):
    """Deleted and learned again within one version, that is not taken for deleted."""
    store = folder.store()
    store.commit([("a", b"one", 0)])
    version = store.spill([("a", None, 2)])
    store.commit([("a", b"two", 0 if told == "none" else version)])
    idle(store)
    assert store.read(["a"]) == [(3, b"two")]
    assert rows(store) == [("a", 3)]


def test_a_key_spilled_deleted_and_spilled_stays(folder):
    store = folder.store()
    version = store.spill([("a", b"one", 0)])
    store.spill([("a", None, version)])
    store.commit([("a", b"two", version)])
    idle(store)
    assert store.read(["a"]) == [(2, b"two")]


def test_a_key_that_was_never_stored_is_not_deleted(folder):
    store = folder.store()
    store.commit([("a", None, 0)])
    assert rows(store) == []


def test_many_spills_are_undone(folder):
    store = folder.store()
    pointer = store.commit([("a", b"one", 0), ("b", b"one", 0)])
    version = store.spill([("a", b"two", 2)])
    store.spill([("b", None, 2), ("c", b"two", 0)])
    store.spill([("a", b"three", version), ("d", b"two", 0)])
    assert store.read(["a", "b", "c", "d"]) == [(3, b"three"), None, (3, b"two"), (3, b"two")]
    store = folder.store(pointer)
    assert store.read(["a", "b", "c", "d"]) == [(2, b"one"), (2, b"one"), None, None]
    assert list(rocks.lists(store._database, 3)) == []


def test_going_back_may_itself_be_interrupted(folder):
    """After any of its writes the next start finds what it needs."""
    store = folder.store()
    pointers = [store.commit([("a", b"%d" % at, at and at + 1)]) for at in range(3)]
    store.spill([("a", b"spilled", 4)])
    head = store._undo(store._head, 5)
    store._undo(head, 4)
    assert folder.store(pointers[0]).read(["a"]) == [(2, b"0")]
    assert folder.store(pointers[0]).read(["a"]) == [(2, b"0")]
    with pytest.raises(StoreError, match="resumes at version 4, but .* versions 2 to 2"):
        folder.store(pointers[2])


def test_a_request_is_answered_again_if_the_answer_was_undone(folder):
    store = folder.store()
    place = folder.directory().place(0)
    pointer = store.commit([("a", b"one", 0), ("b", b"one", 0)])
    leave(place.requests, Request(FORGET, "a"))
    [request] = store.requests()
    assert (request.kind, request.key) == (FORGET, "a")
    later = store.commit([("a", None, 2)])
    assert folder.store(later).requests() == []
    store = folder.store(pointer)
    assert store.read(["a", "b"]) == [None, (2, b"one")]  # it is gone from older versions too
    assert store.requests() == [request]
    store.commit([])
    assert list(left(place.requests)) == [request]
    idle(store, 2)
    assert list(left(place.requests)) == []
    assert rocks.answered_requests(store._database) == {}
    assert store.requests() == []


def bytes_of(path):
    found = []
    for file in path.rglob("*"):
        if file.is_file():
            with suppress(FileNotFoundError):  # deleted since it was listed, as it is obsolete
                found.append(file.read_bytes())
    return b"".join(found)


def test_a_forgotten_record_is_on_no_disk(folder):
    store = folder.store()
    secret, other = os.urandom(40), os.urandom(40)
    version = 0
    for at in range(4):
        store.commit([("a", secret, version), (f"b{at}", other, 0)])
        version = at + 2
        store._database.flush()
    pointer = store.commit([("a", secret, version)])
    assert secret in bytes_of(folder.path)
    leave(folder.directory().place(0).requests, Request(FORGET, "a"))
    store.requests()
    store.commit([("a", None, 6)])
    assert secret not in bytes_of(folder.path)
    assert other in bytes_of(folder.path)
    assert folder.store(pointer).read(["a", "b3"]) == [None, (5, other)]


def test_a_crash_before_the_tables_were_written_anew_is_made_good(folder, monkeypatch):
    store = folder.store()
    secret = os.urandom(40)
    store.commit([("a", secret, 0)])
    store._database.flush()
    leave(folder.directory().place(0).requests, Request(FORGET, "a"))
    store.requests()
    monkeypatch.setattr(rocks, "compact", lambda *_: 1 / 0)
    with pytest.raises(StoreError, match="division by zero"):
        store.commit([("a", None, 2)])
    monkeypatch.undo()
    pointer = msgspec.msgpack.encode((1, folder.directory().about["id"], 0, 3))
    anew = []
    monkeypatch.setattr(rocks, "compact", lambda *given: anew.append(given[1]))
    store = folder.store(pointer)
    assert anew == [None]
    monkeypatch.undo()
    assert not rocks.head_of(store._database).erased
    assert store.read(["a"]) == [None]
    rocks.compact(store._database)
    folder.close()
    assert secret not in bytes_of(folder.path)


def test_an_engine_that_lost_its_own_store_is_refused(folder, caplog):
    store = folder.store()
    assert caplog.messages == []
    pointers = [store.commit([("a", b"%d" % at, at and at + 1)]) for at in range(2)]
    assert folder.store(None).read(["a"]) == [None]  # both can still be undone
    assert "begins anew" in caplog.text and "versions up to 3 are undone" in caplog.text
    store = folder.store(None)
    pointers = [store.commit([("a", b"%d" % at, at and at + 1)]) for at in range(4)]
    with pytest.raises(StoreError, match="resumes from nothing, but .* holds versions 3 to 5"):
        folder.store(None)
    with pytest.raises(StoreError, match="at version 2, but .* holds versions 3 to 5: its recov"):
        folder.store(pointers[0])
    assert folder.store(pointers[3]).read(["a"]) == [(5, b"3")]


def test_a_store_that_is_behind_or_missing_is_refused(folder):
    store = folder.store()
    store.commit([])
    folder.close()
    shutil.copytree(folder.path / "p000", folder.path / "copy")
    store = folder.store(msgspec.msgpack.encode((1, folder.directory().about["id"], 0, 2)))
    pointer = store.commit([("a", b"one", 0)])
    folder.close()
    shutil.rmtree(folder.path / "p000")
    with pytest.raises(StoreError, match="missing or damaged: there is no .*CURRENT"):
        folder.store(pointer)
    assert not (folder.path / "p000").exists()
    shutil.copytree(folder.path / "copy", folder.path / "p000")
    with pytest.raises(StoreError, match="at version 3, but .* holds versions 1 to 2"):
        folder.store(pointer)


def test_the_pointer_of_another_store_is_refused(folder, tmp_path):
    pointer = folder.store().commit([])
    with pytest.raises(StoreError, match="with partition 0 .* and this is partition 1"):
        folder.store(pointer, partition=1)
    with pytest.raises(StoreError, match="points to no version .* without a state directory"):
        folder.store(b"\x93all the records")
    own = folder.directory().about["id"]
    with pytest.raises(StoreError, match="has format 9; this version of okl_flow reads 1"):
        folder.store(msgspec.msgpack.encode((9, own, 0, 1)))
    with pytest.raises(StoreError, match=f"id elsewhere, and this is .* with id {own}"):
        folder.store(msgspec.msgpack.encode((1, "elsewhere", 0, 1)))
    folder.close()
    other = StateDirectory.open(tmp_path, **folder.settings)
    shutil.copytree(folder.path / "p000", tmp_path / "p000")
    with pytest.raises(StoreError, match="was copied from another one"):
        other.store(0, None)


def damages(path):
    """What may happen to a file, as functions."""
    size = path.stat().st_size
    yield path.unlink
    yield lambda: os.truncate(path, size // 2)
    yield lambda: os.truncate(path, 0)
    yield lambda: path.write_bytes(bytes(byte ^ 0x55 for byte in path.read_bytes()))


FILES = ("*.log", "MANIFEST-*", "CURRENT")
DAMAGED = [*((False, which) for which in FILES), *((True, which) for which in ("*.sst", *FILES))]


@pytest.mark.parametrize(("flushed", "which"), DAMAGED)
@pytest.mark.parametrize("damage", range(4))
def test_damage_is_found(folder, flushed, which, damage):
    """Every damaged file is refused, or it was of no account: nothing is half-loaded."""
    store = folder.store()
    keys = [f"key {at}" for at in range(200)]
    for version in range(2):
        store.commit([(key, os.urandom(100), version and 2) for key in keys])
    if flushed:
        store._database.flush()
    pointer = store.commit([("last", b"one", 0)])
    expected = store.read([*keys, "last"])
    folder.close()
    list(damages(max((folder.path / "p000").glob(which))))[damage]()
    try:
        store = folder.store(pointer)
        assert store.read([*keys, "last"]) == expected
    except StoreError as error:
        assert str(folder.path) in str(error)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"partitions": 8}, "begun with partitions 4, and is opened with 8: go on with"),
        ({"step": "flow.other"}, "begun with step 'flow.learn', and is opened with 'flow.other'"),
        (
            {"learners": [make_learner("kogd", budget=5)]},
            "the budget of learner 0 was 4, and is 5 now",
        ),
        ({"learners": [make_learner("kogd", budget=4)] * 2}, "with 1 learners, .* with 2: go on"),
    ],
)
def test_another_job_is_refused_by_what_differs(folder, changes, message):
    folder.directory()
    folder.directory()
    with pytest.raises(StoreError, match=message):
        folder.directory(**changes)


def test_states_with_other_fields_are_refused(folder):
    folder.directory()
    about = folder.path / "state.json"
    about.write_text(about.read_text().replace('"oldest"', '"eldest"'))
    with pytest.raises(StoreError, match="version of okl_flow whose states have other fields"):
        folder.directory()


@pytest.mark.parametrize("contents", [b"", b"{}", b"[", b'{"id": "x", "step": "s"}'])
def test_a_damaged_description_is_refused(folder, contents):
    folder.store()
    folder.close()
    (folder.path / "state.json").write_bytes(contents)
    with pytest.raises(StoreError, match=r"state.json (cannot be read|is damaged)"):
        folder.directory()
    (folder.path / "state.json").unlink()
    with pytest.raises(StoreError, match="has lost its state.json"):
        folder.directory()


def test_two_processes_may_begin_a_directory_at_once(folder, monkeypatch):
    """The other one has begun all of it, partitions too, before this one looks again."""
    exists, looks = Path.exists, iter([False])

    def as_it_was(path):
        return exists(path) if path.name != "state.json" else next(looks, True)

    folder.store()
    folder.close()
    about = (folder.path / "state.json").read_bytes()
    monkeypatch.setattr(Path, "exists", as_it_was)
    folder.directory()
    assert (folder.path / "state.json").read_bytes() == about
    assert next(looks, None) is None, "it was not looked at"


def test_partitions_are_numbered(folder):
    with pytest.raises(StoreError, match="has 4 partitions, from 0 on: .* no partition 4"):
        folder.store(partition=4)
    with pytest.raises(ValueError, match="versions_kept must be at least 2.*not 1"):
        folder.directory(versions_kept=1)


OPENING = """
import sys
from okl_flow import make_learner
from okl_flow.operators.store import StateDirectory
learners = [make_learner("kogd", budget=4)]
found = StateDirectory.open(sys.argv[1], step="flow.learn", partitions=4, learners=learners)
print(found.about["id"])
"""


def test_several_processes_may_begin_at_once(folder):
    command = [sys.executable, "-c", OPENING, str(folder.path)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    ids = {process.communicate(timeout=120)[0] for process in running}
    assert ids == {folder.directory().about["id"].encode() + b"\n"}
    assert [path.name for path in folder.path.iterdir()] == ["state.json"]


def test_a_partition_that_is_held_is_waited_for(folder, monkeypatch):
    monkeypatch.setattr(rocks, "_LOCK_SECONDS", 0.2)
    store = folder.directory().store(0, None)
    with pytest.raises(StoreError, match="held by another process: .* Stop the job"):
        folder.store(None)
    waited = []
    monkeypatch.setattr(rocks.time, "sleep", lambda _: waited.append(store.close()))
    folder.store(None)
    assert waited
