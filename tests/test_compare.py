"""The comparison runs on a small folder, and its page says what it must."""

import csv
import re
import sys

import pytest

from benchmarks import compare, peers
from okl_flow import streams
from okl_flow.registry import REGISTRY

ROWS = 150


@pytest.fixture
def page(tmp_path, monkeypatch, capsys):
    """The page of one small file, with one peer."""
    X, y = streams.rings(ROWS, dim=3, seed=1)
    lines = [
        f"{label:g} " + " ".join(f"{j}:{value:.4f}" for j, value in enumerate(x, 1))
        for x, label in zip(100.0 * X, y, strict=True)
    ]
    (tmp_path / "clicks.libsvm").write_text("\n".join(lines) + "\n")
    with (tmp_path / "peers.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["file", "peer", "setting", "permutation", "error", "bytes"])
        table.writerow(["clicks", "river_linear", "default", 0, 0.5, 900])
        table.writerow(["clicks", "river_linear", "rate=0.3", 0, 0.4, 900])
        table.writerow(["other", "river_linear", "default", 0, 0.1, 900])
    monkeypatch.setattr(peers, "OUT", tmp_path / "peers.csv")
    monkeypatch.setattr(peers, "PERMUTATIONS", 2)
    monkeypatch.setattr(compare, "results_of", lambda jobs, _options: run_here(jobs))
    out = tmp_path / "results"
    monkeypatch.setattr(sys, "argv", ["compare", "--data", str(tmp_path), "--out", str(out)])
    compare.main()
    capsys.readouterr()
    assert (out / "compare.png").read_bytes().startswith(b"\x89PNG")
    return (out / "compare.md").read_text()


def run_here(jobs):
    return {key: job[0](*job[1:]) for key, job in jobs.items()}


def test_every_learner_has_its_line(page):
    lines = page.partition("## clicks: mistakes, %")[2]
    for name in (*REGISTRY, *compare.VARIANTS):
        assert f"| `{name}` |" in lines
    [summary] = re.findall(r"^\| clicks \|.*$", page, flags=re.M)
    assert "40.00 (`river_linear`)" in summary  # the better of its settings, on this file
    assert "points of mistakes against the best of the grid" in page


def test_the_front_is_what_no_other_beats():
    assert compare.front([1.0, 2.0, 3.0, 0.5], [5.0, 6.0, 4.0, 9.0]) == [3, 0, 2]
