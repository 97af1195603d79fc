"""Parts are asked for by name, and one that fails does not take the others with it."""

import argparse
import sys
from types import SimpleNamespace

import pytest

from benchmarks.speed import __main__, changes, parts
from benchmarks.speed.figures import Figures, results
from benchmarks.speed.parts import PARTS, asked_parts, measure_parts
from benchmarks.speed.report import Report


def test_parts_are_asked_for_by_name(capsys):
    parser = argparse.ArgumentParser()
    assert asked_parts(parser, []) == list(PARTS)
    assert asked_parts(parser, ["peers", "learners"]) == ["learners", "peers"]
    with pytest.raises(SystemExit):
        asked_parts(parser, ["learner"])
    assert "there is no part learner: there are learners, systems" in capsys.readouterr().err


def test_a_part_that_fails_is_told_of_at_the_end(tmp_path, monkeypatch):
    ran = []

    def run(command, check):
        ran.append(command[-1])
        return SimpleNamespace(returncode=command[-1] == "engine")

    monkeypatch.setattr(parts.subprocess, "run", run)
    measure_parts(["learners", "peers"], tmp_path, quick=True)
    with pytest.raises(SystemExit, match="not measured: engine"):
        measure_parts(["engine", "kafka"], tmp_path, quick=False)
    assert ran == ["learners", "peers", "engine", "kafka"]


@pytest.fixture
def measured(monkeypatch):
    """Parts that are measured at once."""

    def measure(quick):
        figures = Figures("peers")
        figures.add("fogd", "an event", "µs", [1.0, 2.0] if quick else [5.0, 5.5, 6.0])
        return Report(figures, "Title", ["Text."])

    monkeypatch.setattr(parts, "import_module", lambda name: SimpleNamespace(measured=measure))


def test_a_part_is_measured_and_written(measured, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["speed", "peers", "--quick", "--out", str(tmp_path)])
    __main__.main()
    assert [one.value for one in results("peers", tmp_path)] == [1.5]
    said = (tmp_path / "peers.md").read_text()
    assert "a quick run" in said and "cores, load average" in said
    assert "peers.csv" in capsys.readouterr().out


def test_changes_are_told_against_a_commit(measured, tmp_path, monkeypatch, capsys):
    parts.run_part("peers", tmp_path, quick=False)
    committed = Figures("peers")
    committed.add("fogd", "an event", "µs", [1.0, 1.1, 1.2])
    asked = []
    monkeypatch.setattr(changes, "committed", lambda *given: asked.append(given) or committed)
    monkeypatch.setattr(sys, "argv", ["changes", "peers", "--fresh", str(tmp_path)])
    changes.main()
    assert asked == [("peers", "HEAD")]
    assert "+400.0 % worse" in capsys.readouterr().out


def test_what_is_committed_is_read_from_the_repository():
    assert list(changes.committed("no_such_part", "HEAD")) == []
