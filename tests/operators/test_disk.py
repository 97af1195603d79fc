"""Records on disk: what is deleted is gone, and what does not belong together is refused."""

import os
import shutil
from contextlib import suppress

import msgspec
import pytest

from okl_flow.operators import disk, journal, rocks
from okl_flow.operators.journal import chunks
from okl_flow.operators.requests import FORGET, Request, leave, left
from okl_flow.operators.store import StateDirectory, StoreError
from tests.operators.changes import NOTHING, changes, idle


def rows(store):
    """Of the table and the journal, keys with their versions, a deleted one too."""
    held = [(key, version) for key, version, _ in rocks.table(store._database)]
    for at, chunk in chunks(store._database):
        held += [(key, rocks.version_of(at)) for key in chunk.keys]
    return held


def test_versions_that_nobody_can_go_back_behind_are_taken_into_the_table(folder):
    store = folder.store(journal_max=0)
    for version, record in enumerate([b"one", b"two", b"three", b"four", b"five"]):
        store.commit(*changes({"a": record, f"b{version}": record}))
    assert [version for key, version in rows(store) if key == "a"] == [4, 5, 6]
    idle(store)
    assert sorted(rows(store)) == [("a", 6), *((f"b{at}", at + 2) for at in range(5))]
    assert list(chunks(store._database)) == []
    assert store.read(["a", "b1", "b9"]) == [(6, b"five"), (3, b"two"), None]


@pytest.mark.parametrize("why", ["records", "bytes", "versions"])
def test_the_journal_has_an_end(folder, monkeypatch, why):
    """Half is left of the records, bytes or versions that wait and are too old to go back to."""
    monkeypatch.setattr(journal, "_BYTES_MAX", 60 if why == "bytes" else 10**9)
    monkeypatch.setattr(journal, "_VERSIONS_MAX", 6 if why == "versions" else 10**9)
    store = folder.store(journal_max=6 if why == "records" else 10**9)
    for version in range(8):
        store.commit(*changes({f"k{version}": b"0123456789"}))
        assert list(rocks.table(store._database)) == [], version
    store.commit(*changes({"k8": b"0123456789"}))  # k6, the seventh, is now among them
    assert [one[0] for one in rocks.table(store._database)] == ["k0", "k1", "k2", "k3"]
    assert [version for key, version in rows(store) if key > "k3"] == [6, 7, 8, 9, 10]
    assert store.read(["k3", "k4"]) == [(5, b"0123456789"), (6, b"0123456789")]


def test_what_the_journal_has_a_newer_record_of_is_not_taken_into_the_table(folder):
    store = folder.store(journal_max=6)
    for at in range(3):
        store.commit(*changes({"a": b"%d" % at, "b": None, f"c{at}": b"one"}))
    pointer = idle(store, 2)
    assert list(rocks.table(store._database)) == [("c0", 2, b"one"), ("c1", 3, b"one")]
    expected = [(4, b"2"), None, (2, b"one"), (4, b"one")]
    assert store.read(["a", "b", "c0", "c2"]) == expected
    assert folder.store(pointer).read(["a", "b", "c0", "c2"]) == expected


def test_partitions_do_not_merge_at_one_moment(folder):
    first = []
    for partition in range(4):
        store = folder.store(partition=partition, journal_max=8)
        first.append(0)
        while not list(rocks.table(store._database)):
            store.commit(*changes({f"k{first[-1]}": b"one"}))
            first[-1] += 1
    assert first == [11, 11, 12, 12]


def test_the_journal_is_merged_in_pieces(folder, monkeypatch):
    """Each piece leaves nothing behind that the next start would take for newer."""
    monkeypatch.setattr(journal, "_MERGED_BYTES", 20)
    store = folder.store(journal_max=2)
    kept = []
    for version in range(6):
        kept.append(store.commit(*changes({f"k{version % 3}": b"%d" % version * 30})))
    assert [one[0] for one in rocks.table(store._database)] == ["k0", "k1"]
    assert store.read(["k0", "k1", "k2"]) == [(5, b"3" * 30), (6, b"4" * 30), (7, b"5" * 30)]
    assert folder.store(kept[-3]).read(["k0"]) == [(5, b"3" * 30)]


def test_a_deleted_record_leaves_nothing(folder):
    store = folder.store(journal_max=0)
    store.commit(*changes({"a": b"one"}))
    store.commit(*changes({"a": None}))
    assert store.read(["a"]) == [None]
    assert store.sweep(9) == []
    idle(store)
    assert rows(store) == []


def test_what_was_spilled_and_deleted_leaves_nothing(folder):
    store = folder.store(journal_max=0)
    store.spill(*changes({"a": b"one"}))
    store.commit(*changes({"a": None}))
    idle(store)
    assert rows(store) == []


def test_a_key_that_began_anew_at_once_stays(folder):
    """Deleted and learned again within one version, that is not taken for deleted."""
    store = folder.store(journal_max=0)
    store.commit(*changes({"a": b"one"}))
    store.spill(*changes({"a": None}))
    store.commit(*changes({"a": b"two"}))
    idle(store)
    assert store.read(["a"]) == [(3, b"two")]
    assert rows(store) == [("a", 3)]


def test_many_spills_are_undone(folder):
    store = folder.store()
    pointer = store.commit(*changes({"a": b"one", "b": b"one"}))
    store.spill(*changes({"a": b"two"}))
    store.spill(*changes({"b": None, "c": b"two"}))
    store.spill(*changes({"a": b"three", "d": b"two"}))
    assert store.read(["a", "b", "c", "d"]) == [(3, b"three"), None, (3, b"two"), (3, b"two")]
    store = folder.store(pointer)
    assert store.read(["a", "b", "c", "d"]) == [(2, b"one"), (2, b"one"), None, None]
    assert sorted(rows(store)) == [("a", 2), ("b", 2)]


def test_records_lie_together_up_to_a_length(folder):
    store = folder.store()
    given = {f"key {at}": os.urandom(size) for at, size in enumerate([9] * 70 + [18_000] * 3 + [1])}
    store.commit(*changes(given))
    store.commit(*changes({"key 7": b"later"}))
    found = list(chunks(store._database))
    assert [len(chunk.keys) for _, chunk in found] == [64, 7, 1, 2, 1]
    assert [(rocks.version_of(at), rocks.chunk_of(at)) for at, _ in found] == [
        *((2, at) for at in range(4)),
        (3, 0),
    ]
    given["key 7"] = b"later"
    assert [packed for _, packed in store.read(list(given))] == list(given.values())


def test_going_back_may_itself_be_interrupted(folder, monkeypatch):
    store = folder.store()
    pointers = [store.commit(*changes({"a": b"%d" % at})) for at in range(3)]
    store.spill(*changes({"a": b"spilled"}))
    monkeypatch.setattr(disk, "Journal", lambda *_: 1 / 0)
    with pytest.raises(StoreError, match="division by zero"):  # when it has just gone back
        folder.store(pointers[0])
    monkeypatch.undo()
    assert folder.store(pointers[0]).read(["a"]) == [(2, b"0")]
    assert folder.store(pointers[0]).read(["a"]) == [(2, b"0")]
    with pytest.raises(StoreError, match="resumes at version 4, but .* versions 2 to 2"):
        folder.store(pointers[2])


def test_a_sweep_goes_round_what_has_not_changed_lately(folder):
    store = folder.store(journal_max=0)
    store.commit(*changes({f"k{at}": b"old" for at in range(5)}))
    assert store.sweep(9) == []
    idle(store)
    store.commit(*changes({"k2": b"new", "k9": b"new"}))
    assert [key for key, _ in store.sweep(4)] == ["k0", "k1", "k3"]
    assert store.sweep(4) == [(key, b"old") for key in ("k4", "k0", "k1")]
    assert [key for key, _ in store.sweep(99)] == ["k3", "k4", "k0", "k1"]
    assert store.sweep(0) == []


def test_a_request_is_answered_again_if_the_answer_was_undone(folder):
    store = folder.store()
    place = folder.directory().place(0)
    pointer = store.commit(*changes({"a": b"one", "b": b"one"}))
    leave(place.requests, Request(FORGET, "a"))
    [request] = store.requests()
    assert (request.kind, request.key) == (FORGET, "a")
    later = store.commit(*changes({"a": None}))
    assert folder.store(later).requests() == []
    store = folder.store(pointer)
    assert store.read(["a", "b"]) == [None, (2, b"one")]  # it is gone from older versions too
    assert store.requests() == [request]
    store.commit(*NOTHING)
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


@pytest.mark.parametrize("journal_max", [0, 99])
def test_a_forgotten_record_is_on_no_disk(folder, journal_max):
    store = folder.store(journal_max=journal_max)
    secret, other = os.urandom(40), os.urandom(40)
    for at in range(4):
        store.commit(*changes({"a": secret, f"b{at}": other}))
        store._database.flush()
    pointer = store.commit(*changes({"a": secret}))
    assert secret in bytes_of(folder.path)
    leave(folder.directory().place(0).requests, Request(FORGET, "a"))
    store.requests()
    store.commit(*changes({"a": None}))
    assert secret not in bytes_of(folder.path)
    assert other in bytes_of(folder.path)
    assert "a" not in dict(rows(store))
    assert folder.store(pointer).read(["a", "b3"]) == [None, (5, other)]


def test_a_crash_before_the_tables_were_written_anew_is_made_good(folder, monkeypatch):
    store = folder.store()
    secret = os.urandom(40)
    store.commit(*changes({"a": secret}))
    store._database.flush()
    leave(folder.directory().place(0).requests, Request(FORGET, "a"))
    store.requests()
    monkeypatch.setattr(rocks, "compact", lambda *_: 1 / 0)
    with pytest.raises(StoreError, match="division by zero"):
        store.commit(*changes({"a": None}))
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
    pointers = [store.commit(*changes({"a": b"%d" % at})) for at in range(2)]
    assert folder.store(None).read(["a"]) == [None]  # both can still be undone
    assert "begins anew" in caplog.text and "versions up to 3 are undone" in caplog.text
    store = folder.store(None)
    pointers = [store.commit(*changes({"a": b"%d" % at})) for at in range(4)]
    with pytest.raises(StoreError, match="resumes from nothing, but .* holds versions 3 to 5"):
        folder.store(None)
    with pytest.raises(StoreError, match="at version 2, but .* holds versions 3 to 5: its recov"):
        folder.store(pointers[0])
    assert folder.store(pointers[3]).read(["a"]) == [(5, b"3")]


def test_a_store_that_is_behind_or_missing_is_refused(folder):
    store = folder.store()
    store.commit(*NOTHING)
    folder.close()
    shutil.copytree(folder.path / "p000", folder.path / "copy")
    store = folder.store(msgspec.msgpack.encode((1, folder.directory().about["id"], 0, 2)))
    pointer = store.commit(*changes({"a": b"one"}))
    folder.close()
    shutil.rmtree(folder.path / "p000")
    with pytest.raises(StoreError, match="missing or damaged: there is no .*CURRENT"):
        folder.store(pointer)
    assert not (folder.path / "p000").exists()
    shutil.copytree(folder.path / "copy", folder.path / "p000")
    with pytest.raises(StoreError, match="at version 3, but .* holds versions 1 to 2"):
        folder.store(pointer)


def test_the_pointer_of_another_store_is_refused(folder, tmp_path):
    pointer = folder.store().commit(*NOTHING)
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
    for _ in range(2):
        store.commit(*changes({key: os.urandom(100) for key in keys}))
    if flushed:
        store._database.flush()
    pointer = store.commit(*changes({"last": b"one"}))
    expected = store.read([*keys, "last"])
    folder.close()
    list(damages(max((folder.path / "p000").glob(which))))[damage]()
    try:
        store = folder.store(pointer)
        assert store.read([*keys, "last"]) == expected
    except StoreError as error:
        assert str(folder.path) in str(error)


def test_a_partition_that_is_held_is_waited_for(folder, monkeypatch):
    monkeypatch.setattr(rocks, "_LOCK_SECONDS", 0.2)
    store = folder.directory().store(0, None)
    with pytest.raises(StoreError, match="held by another process: .* Stop the job"):
        folder.store(None)
    waited = []
    monkeypatch.setattr(rocks.time, "sleep", lambda _: waited.append(store.close()))
    folder.store(None)
    assert waited
