"""The neighbours that we are compared with: each runs, and is judged as our learners are."""

import math
import sys

import numpy as np
import pytest

from benchmarks import peers as module
from benchmarks.peers import Contender, Peer, peers, run_peer
from okl_flow import Binary, Hinge, Multiclass, Regression, streams
from okl_flow.metrics import running_metrics

TASKS = [Binary(), Multiclass(3), Regression()]


def stream(task, count=60):
    """A stream that fits the task."""
    X, y = streams.rings(count, dim=3)
    if isinstance(task, Multiclass):
        return X, (y > 0) + (X[:, 0] > 0).astype(float)
    return X, (3.0 * X[:, 0] if isinstance(task, Regression) else y)


class Fixed(Contender):
    """Says what it was told to say."""

    def __init__(self, says):
        self.says = iter(says)
        self.learned = []

    def event(self, x):
        return x

    def step(self, event, y):
        self.learned.append((event.tolist(), y))
        return next(self.says)

    def state_bytes(self):
        return len(self.learned)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_peer_runs_in_every_setting(task):
    X, y = stream(task)
    seen = set()
    said_by = {}
    for peer in peers(task, 3):
        assert (peer.setting == "default") == (peer.name not in {name for name, _ in seen})
        assert (peer.name, peer.setting) not in seen
        seen.add((peer.name, peer.setting))
        contender = peer.make(3, task, 0)
        said = [contender.step(contender.event(x), label) for x, label in zip(X, y, strict=True)]
        known = {-1.0, 1.0} if isinstance(task, Binary) else {0.0, 1.0, 2.0}
        assert isinstance(task, Regression) or set(said[10:]) <= known
        assert contender.state_bytes() > 0
        said_by.setdefault(peer.name, set()).add(tuple(said[1:]))
    for name, several in said_by.items():
        # A setting must matter; the first leaf of a tree does not split in so few events.
        assert len(several) > 1 or "tree" in name or "forest" in name, name
    assert {name for name, _ in seen} >= {
        "river_linear",
        "river_rbf_linear",
        "river_passive_aggressive",
        "river_hoeffding_tree",
        "river_adaptive_forest",
        "sklearn_rbf_sgd",
    }


def test_mistakes_are_counted_as_ours_are():
    X, y = np.eye(4), np.array([1.0, -1.0, 1.0, -1.0])
    said = [1.0, 1.0, math.nan, -1.0]
    metrics = running_metrics(Binary())
    metrics.update(said, y, Hinge())
    achieved = run_peer(Peer("fixed", "", lambda _dim, _task, _seed: Fixed(said)), X, y, Binary())
    assert achieved.error == metrics.mistake_rate == 0.5
    assert achieved.state_bytes == 4
    assert achieved.microseconds > 0.0


def test_the_root_of_the_mean_squared_error_is_infinite_where_a_prediction_is_none():
    X, y = np.eye(2), np.array([1.0, 4.0])
    for said, error in (([1.0, 0.0], math.sqrt(8.0)), ([math.nan, 0.0], math.inf)):
        fixed = Fixed(said)
        got = run_peer(Peer("fixed", "", lambda _d, _t, _s, one=fixed: one), X, y, Regression())
        assert got.error == error
        assert fixed.learned == [([1.0, 0.0], 1.0), ([0.0, 1.0], 4.0)]


def test_vowpal_wabbit_takes_part_where_it_is(monkeypatch):
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    assert "vowpal_wabbit" not in {peer.name for peer in peers(Binary(), 3)}
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: object())
    assert "vowpal_wabbit" in {peer.name for peer in peers(Binary(), 3)}


def test_a_run_writes_its_lines(tmp_path, monkeypatch, capsys):
    X, y = stream(Binary(), 20)
    lines = [
        f"{label:g} " + " ".join(f"{j + 1}:{value}" for j, value in enumerate(x))
        for x, label in zip(X, y, strict=True)
    ]
    (tmp_path / "few.libsvm").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(module, "PERMUTATIONS", 2)
    out = tmp_path / "out.csv"
    asked = ["peers", "--data", str(tmp_path), "--out", str(out), "--files", "few"]
    monkeypatch.setattr(sys, "argv", [*asked, "--peers", "river_linear"])
    module.main()
    once = out.read_text()
    module.main()
    assert out.read_text() == once  # what is there is not run again
    head, *rows = out.read_text().splitlines()
    assert head == "file,peer,setting,permutation,error,bytes"
    assert [row.split(",")[:4] for row in rows[:3]] == [
        ["few", "river_linear", "default", "0"],
        ["few", "river_linear", "default", "1"],
        ["few", "river_linear", "rate=0.001", "0"],
    ]
    assert len(rows) == 2 * 7
    capsys.readouterr()
