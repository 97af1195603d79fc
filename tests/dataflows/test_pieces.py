"""What the flows share, without a run."""

import gc
import gzip

import pytest
from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, run_main

from dataflows import pieces
from dataflows.faults import OF_TOPICS
from dataflows.settings import Settings, learner_of, runnable, settings_of
from okl_flow import make_learner
from okl_flow.events import Alarm, Cause, Prediction, Reason, Reject, Report
from okl_flow.job import declared
from okl_flow.operators.files import first_line

CAUSE = Cause("events.jsonl", 0, 7)
RATES = {
    "labelled": 1234.0,
    "mistake_rate": 0.1234,
    "mistake_rate_low": 0.1,
    "mistake_rate_high": 0.15,
    "window_mistake_rate": None,
    "baseline_mistake_rate": 0.5,
}
ERRORS = {"labelled": 10.0, "rmse": 0.123456, "window_rmse": None, "baseline_rmse": 2.0}


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (
            Reject(Reason.LABEL, "what was wrong", CAUSE, key="ann"),
            "rejected of ann, line 7 of events.jsonl: what was wrong",
        ),
        (
            Alarm("f.e", "key", "ann", "drift", "it rose", {}, CAUSE),
            "drift of ann at line 7 of events.jsonl: it rose",
        ),
        (Alarm("f.e", "stream", "", "drift", "it rose", {}), "drift: it rose"),
        (
            Report("f.e", "stream", "", 2000, RATES),
            "e, 1,234 labels: 12.3 % mistakes (10.0 to 15.0), lately ? %; commonest label 50.0 %",
        ),
        (
            Report("f.e", "stream", "", 20, ERRORS),
            "e, 10 labels: root mean squared error 0.1235, lately ?; mean label 2",
        ),
        (
            Report("f.e", "key", "ann", 1500, {"bandwidth": 0.25, "learning_rate": 1.0}),
            "e, ann after 1,500 events: bandwidth 0.25, learning_rate 1",
        ),
        (Report("f.e", "key", "ann", 20, RATES), ""),
        (Report("f.e", "partition", "p001", 20, {"events": 20.0}), ""),
        (Prediction("ann", 0.5, 1.0, 0, "kogd", CAUSE), ""),
    ],
)
def test_records_in_words(record, words):
    assert pieces.in_words(record) == words


def test_what_is_said_of_a_topic_names_partition_and_offset():
    reject = Reject(Reason.LABEL, "what was wrong", Cause("events", 2, 7), key="ann")
    said = pieces.in_words(reject, is_file=False)
    assert said == "rejected of ann, offset 7 of partition 2 of events: what was wrong"


def test_outputs_are_named_after_the_first_topic():
    variables = {"OKL_BROKERS": "a:1", "OKL_EVENTS": "x,y", "OKL_LABELS": "z", "OKL_ALARMS": "b"}
    found = settings_of(Settings, variables)
    assert found.inputs == ["x", "y", "z"]
    assert list(found.outputs.values()) == ["x.predictions", "x.reports", "b", "x.rejects"]
    assert settings_of(Settings, {"OKL_BROKERS": "a:1"}).inputs == ["events"]


@pytest.mark.parametrize("name", OF_TOPICS)
def test_what_is_for_topics_is_refused_without_brokers(name):
    [one] = [one for one in declared(Settings) if one.name == name]
    variable, value = one.variable, one.example
    message = rf"{variable}: is of no use without source\.brokers \(OKL_BROKERS\)"
    with pytest.raises(ValueError, match=message):
        settings_of(Settings, {variable: value})


def test_settings_are_those_given_and_else_the_defaults():
    found = settings_of(Settings, {"OKL_FEATURES": "3", "OKL_LABELS_CLASSES": "", "PATH": "x"})
    assert found == Settings(features="3")
    assert settings_of(Settings, {"OKL_RUN_PROCESSES": "2"}) == Settings()


def test_a_learner_in_one_line():
    text = "kogd budget=50 learning_rate=0.5 bandwidth=auto scale=standard missing=mean"
    assert learner_of(text) == make_learner(
        "kogd", budget=50, learning_rate=0.5, bandwidth="auto", scale="standard", missing="mean"
    )
    assert learner_of("kogd budget=null") == make_learner("kogd", budget=None)


def test_a_flow_that_is_built_leaves_little_to_the_collector():
    built = Dataflow("built")
    before = gc.get_freeze_count()
    try:
        assert runnable(Settings)(lambda: built)() is built
        assert gc.get_freeze_count() > before + 1000
    finally:
        gc.unfreeze()


def read(paths, **settings):
    """Read files; the events and the rejects."""
    flow, events, rejects = Dataflow("read"), [], []
    made = Settings(events=",".join(map(str, paths)), **settings)
    decoded = pieces.read(flow, made, key="all")
    op.output("events", decoded.events, TestingSink(events))
    op.output("rejects", decoded.rejects, TestingSink(rejects))
    run_main(flow)
    return events, rejects


def test_csv_takes_the_columns_of_its_header(tmp_path):
    rows = b"\xef\xbb\xbfx,key,y,label,id,time\r\n1,ann,2,1,a,5\n3,bob,,-1,b,6\n"
    (tmp_path / "a.csv").write_bytes(rows)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(rows))
    events, rejects = read([tmp_path / "a.csv", tmp_path / "b.csv.gz"])
    found = [(one.key, one.features.tolist()[0], one.label, one.id, one.time) for one in events]
    assert sorted(found) == 2 * [("ann", 1.0, 1.0, "a", 5)] + 2 * [("bob", 3.0, -1.0, "b", 6)]
    assert rejects == []
    assert first_line(tmp_path / "b.csv.gz") == b"x,key,y,label,id,time"


def test_files_with_other_headers_do_not_go_together(tmp_path):
    (tmp_path / "a.csv").write_text("x,y,label\n1,2,1\n")
    (tmp_path / "b.csv").write_text("y,x,label\n1,2,1\n")
    with pytest.raises(ValueError, match=r"b\.csv has not the header of .*a\.csv"):
        read([tmp_path / "a.csv", tmp_path / "b.csv"])


def test_a_format_may_be_named(tmp_path):
    (tmp_path / "events.log").write_text("1 2:0.5\n")
    [event], _rejects = read([tmp_path / "events.log"], format="libsvm", features="3")
    assert (event.key, event.features.tolist(), event.label) == ("all", [0.0, 0.5, 0.0], 1.0)
