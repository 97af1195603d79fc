"""`okl-flow plot` of files: what it draws, and what it refuses."""

import json
import re

import msgspec
import pytest
from typer.testing import CliRunner

from okl_flow.cli import app
from okl_flow.events import Report


def report(labelled, rate, subject="stream", name="", step="flow.evaluate"):
    values = {
        "labelled": float(labelled),
        "mistake_rate": rate,
        "mistake_rate_low": rate / 2,
        "mistake_rate_high": rate * 2,
        "baseline_mistake_rate": 0.4,
        "window_mistake_rate" if subject == "stream" else "fading_mistake_rate": rate / 3,
    }
    return msgspec.json.encode(Report(step, subject, name, labelled, values))


def counts(partition, labelled):
    values = {"labelled": labelled, "mistakes_old": labelled / 4, "mistakes_new": labelled / 5}
    return msgspec.json.encode(Report("flow.learn", "partition", partition, 1, values))


@pytest.fixture
def reports(tmp_path):
    """A file of reports, among other records."""
    path = tmp_path / "reports.jsonl"
    lines = [report(100 * n, 0.2 / n) for n in range(1, 6)]
    lines += [report(10 * n, 0.1 * n, "key", key) for n in (1, 2) for key in ("ann", "bob")]
    lines += [counts("0", 1000.0), counts("1", 3000.0)]
    lines += [b'{"type":"alarm","step":"s","subject":"key","name":"a","kind":"drift",'
              b'"message":"","values":{}}']  # fmt: skip
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


@pytest.fixture(scope="module")
def results(files, tmp_path_factory):
    """What `okl-flow eval --json` prints of three learners."""
    words = ["--learner", "kogd", "--learner", "arow", "--learner", "bpa_s", "--permutations", "2"]
    data = str(files / "cancer.libsvm.gz")
    done = CliRunner().invoke(app, ["eval", data, *words, "--rescale", "standard", "--json"])
    path = tmp_path_factory.mktemp("results") / "results.json"
    path.write_text(done.stdout)
    return path


@pytest.fixture
def drawn(call, tmp_path):
    """Draw, and give the texts in the picture."""

    def draw(*words):
        path = tmp_path / "picture.svg"
        done = call("plot", *map(str, words), "--out", str(path))
        assert (done.exit_code, done.output) == (0, ""), done.output
        return re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text())

    return draw


def test_the_stream_has_an_error_what_is_new_and_a_baseline(drawn, reports):
    texts = drawn(reports)
    assert {"reports.jsonl", "flow.evaluate 4.00 %", "window", "baseline", "mistakes, %"} <= {
        *texts
    }


def test_keys_have_a_panel_each(drawn, reports):
    texts = drawn(reports, "--key", "bob", "--key", "ann")
    assert {"bob 20.00 %", "ann 20.00 %", "so far", "fading", "baseline"} <= {*texts}


def test_learners_of_a_compare_are_told_apart(drawn, reports):
    texts = drawn(reports, "--what", "learners")
    assert {"old 25.00 %", "new 20.00 %"} <= {*texts}
    assert "baseline" not in texts


def test_several_jobs_go_into_one_picture(drawn, reports, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_bytes(report(50, 0.3))
    texts = drawn(reports, other)
    assert {"reports.jsonl flow.evaluate 4.00 %", "other.jsonl flow.evaluate 30.00 %"} <= {*texts}


def test_results_are_compared_and_set_against_their_cost(drawn, results):
    found = [json.loads(line) for line in results.read_text().splitlines()]
    texts = drawn(results)
    assert [text for text in texts if text in ("kogd", "arow", "bpa_s")] == [
        one["learner"] for one in sorted(found, key=lambda one: -one["mistake_rate"]["mean"])
    ]
    assert {f"{100 * one['mistake_rate']['mean']:.2f} %" for one in found} <= {*texts}
    assert "always the largest class 37.26 %" in texts
    texts = drawn(results, "--what", "cost")
    assert {"kogd", "arow", "bpa_s", "µs per event, scored and learned"} <= {*texts}


def test_a_picture_may_be_a_png(call, reports, tmp_path):
    path = tmp_path / "errors.PNG"
    assert call("plot", str(reports), "--out", str(path)).exit_code == 0
    assert path.read_bytes().startswith(b"\x89PNG")


def test_the_same_reports_make_the_same_file(call, reports, tmp_path):
    made = []
    for name in ("one.svg", "other.svg"):
        assert call("plot", str(reports), "--out", str(tmp_path / name)).exit_code == 0
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--out", "a.png"], "expected files or --topic, either of them"),
        (["a", "--topic", "b", "--brokers", "c", "--out", "a.png"], "expected files or --topic"),
        (["--topic", "b", "--out", "a.png"], "--topic needs --brokers"),
        (["REPORTS", "--brokers", "b", "--out", "a.png"], "--brokers and --config are for --topic"),
        (["REPORTS", "--out", "a.gif"], "--out a.gif: the picture must be a .png or a .svg"),
        (["REPORTS", "--out", "no/a.svg"], "--out no/a.svg: there is no directory no"),
        (["REPORTS", "--what", "eror", "--out", "a.svg"], "--what: expected error, learners or"),
        (["REPORTS", "--what", "cost", "--out", "a.svg"], "reports.jsonl: reports say nothing of"),
        (["REPORTS", "--key", "eve", "--out", "a.svg"], "none of the 11 reports is of these keys"),
        (
            ["REPORTS", "--key", "ann", "--what", "learners", "--out", "a.svg"],
            "--key is for --what error",
        ),
        (["RESULTS", "--what", "learners", "--out", "a.svg"], "results.json: these are results"),
        (["RESULTS", "REPORTS", "--out", "a.svg"], "reports and results do not go into one"),
        (["iris.csv", "--out", "a.svg"], "iris.csv, line 1: expected a report, in JSON or Message"),
        (["absent", "--out", "a.svg"], "absent: No such file or directory"),
        (
            ["--brokers", "127.0.0.1:1", "--topic", "a", "--config", "absent", "--out", "a.svg"],
            "absent: No such file or directory",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(refusal, reports, results, words, message):
    known = {"REPORTS": str(reports), "RESULTS": str(results)}
    assert refusal("plot", *(known.get(word, word) for word in words)).startswith(message)


def test_records_that_are_no_reports_make_no_picture(refusal, tmp_path):
    path = tmp_path / "reports.jsonl"
    path.write_text("")
    message = refusal("plot", str(path), "--out", str(tmp_path / "a.png"))
    assert message == f"{path}: there are no reports and no results in it"
    path.write_bytes(report(3, 0.1, "key", "ann"))
    message = refusal("plot", str(path), "--out", str(tmp_path / "a.png"))
    assert message.startswith("reports.jsonl: no report of the whole stream with a label")
