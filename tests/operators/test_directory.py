"""State directories: what they were begun with, and by whom."""

import subprocess
import sys
from pathlib import Path

import pytest

from okl_flow import make_learner
from okl_flow.operators.store import StoreError


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
