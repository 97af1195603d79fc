"""The operator in the engine: what it says does not depend on how the work is done."""

import pickle

import bytewax.operators as op
import numpy as np
import pytest
from bytewax.dataflow import Dataflow
from bytewax.errors import BytewaxRuntimeError
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, TestingSource, cluster_main, run_main
from msgspec.structs import replace

from okl_flow import Regression
from okl_flow.evaluating.blob import FiguresError
from okl_flow.evaluating.columns import columns_of
from okl_flow.evaluating.drift import PageHinkley
from okl_flow.evaluating.partition import PartitionFigures
from okl_flow.evaluating.settings import Settings
from okl_flow.events import Cause, Prediction
from okl_flow.murmur import partition_of
from okl_flow.operators.evaluate import evaluate

SETTINGS = {
    "window": 120,
    "fading": 50,
    "report_every": 120,
    "partitions": 8,
    "keys_reported": 3,
    "key_lists_every": 1,
    "drift": PageHinkley(threshold=15.0, warm_up=30),
}


def predictions(count, keys=12, seed=0):
    """Predictions of a stream that goes wrong for one key in its second half."""
    generator = np.random.default_rng(seed)
    made = []
    for i in range(count):
        key = f"user-{generator.integers(keys)}"
        label = 1.0 if generator.random() < 0.7 else -1.0
        wrong = generator.random() < (0.8 if i > count / 2 and key == "user-3" else 0.15)
        predicted = -label if wrong else label
        score = predicted * float(generator.exponential())
        known = i % 9 != 4
        made.append(
            Prediction(
                key,
                score,
                predicted,
                i,
                "kogd",
                Cause("events", 0, i),
                time=1_000_000 + 10 * i,
                label=label if known else None,
                loss=max(0.0, 1.0 - score * label) if known else None,
            )
        )
    return made


def flow_of(items, batch, read=None, **settings):
    reports, alarms = [], []
    flow = Dataflow("flow")
    stream = op.input("in", flow, TestingSource(items, batch_size=batch))
    if read is not None:
        stream = op.map("read", stream, lambda one: read.append(one) or one)
    out = evaluate("evaluate", stream, **{**SETTINGS, **settings})
    op.output("reports", out.reports, TestingSink(reports))
    op.output("alarms", out.alarms, TestingSink(alarms))
    return flow, reports, alarms


def run(items, batch=10, workers=1, **settings):
    flow, reports, alarms = flow_of(items, batch, **settings)
    if workers == 1:
        run_main(flow)
    else:
        cluster_main(flow, [], 0, worker_count_per_proc=workers)
    return reports, alarms


def of_keys(said):
    """What is said of single keys, without what depends on the stream, in a fixed order."""
    return sorted((one for one in said if one.subject == "key"), key=lambda one: one.cause.offset)


def last_of_stream(reports):
    return [one for one in reports if one.subject == "stream"][-1]


def first_cause(error):
    """The message of the error that all others came from."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error)


@pytest.mark.parametrize(("batch", "workers"), [(1, 1), (7, 1), (1000, 1), (10, 3)])
@pytest.mark.parametrize("keys", ["all", "worst"])
def test_batches_and_workers_change_nothing(batch, workers, keys):
    made = predictions(1500)
    settings = {"keys": keys, "key_report_every": 10, "report_at_end": True}
    reports, alarms = run(made, **settings)
    others, other_alarms = run(made, batch=batch, workers=workers, **settings)
    assert last_of_stream(reports) == last_of_stream(others)
    counts = [sum(one.subject == "stream" for one in some) for some in (reports, others)]
    assert counts[0] == counts[1] > 10
    assert of_keys(alarms) == of_keys(other_alarms) != []
    assert {one.name for one in of_keys(alarms)} == {"user-3"}
    if keys == "all":
        assert of_keys(reports) == of_keys(others) != []
    else:
        count = sum(one.cause == reports[-1].cause for one in reports)
        assert sorted(reports[-count:], key=repr) == sorted(others[-count:], key=repr)


def test_the_last_report_covers_everything():
    made = predictions(1234)
    report = last_of_stream(run(made, report_at_end=True)[0])
    judged = [one for one in made if one.label is not None]
    assert (report.subject, report.name, report.ordinal) == ("stream", "", 0)
    assert report.step == "flow.evaluate"
    assert report.events == 1234
    assert report.values["labelled"] == len(judged)
    assert report.values["mistake_rate"] == np.mean([p.label != p.predicted for p in judged])
    assert (report.cause, report.time) == (judged[-1].cause, judged[-1].time)


def test_the_stream_is_reported_after_so_many_labels():
    reports, _alarms = run(predictions(1500), keys="none")
    labelled = [one.values["labelled"] for one in reports]
    assert labelled[:10] == [120.0 * (i + 1) for i in range(10)]
    assert all(one.subject == "stream" for one in reports)


def test_reports_name_their_causes_apart():
    for keys in ("worst", "all"):
        reports, alarms = run(predictions(1500), keys=keys, key_report_every=7)
        names = [(one.cause, one.ordinal) for one in reports]
        assert len(set(names)) == len(names)
        names = [(one.cause, one.ordinal) for one in alarms]
        assert len(set(names)) == len(names)


def test_alarms_of_one_chunk_have_names_of_their_own():
    nervous = PageHinkley(tolerance=0.0, threshold=0.5, warm_up=2)
    alarms = run(predictions(1500), keys="none", partitions=1, drift=nervous)[1]
    names = [(one.cause, one.ordinal) for one in alarms]
    assert len({cause for cause, _ordinal in names}) < len(names) == len(set(names))


def test_the_worst_key_comes_first_and_the_busiest_too():
    made = [one for one in predictions(3000) if one.key != "user-5" or one.cause.offset % 2]
    made += predictions(900, keys=1)
    reports, _alarms = run(made, report_at_end=True)
    keys = [one for one in reports if one.subject == "key"][-6:]
    ranks = {one.values["rank_worst"]: one.name for one in keys}
    assert ranks[1.0] == "user-3"
    ranks = {one.values["rank_busiest"]: one.name for one in keys}
    assert ranks[1.0] == "user-0"
    assert len({one.name for one in keys if one.values["rank_worst"]}) == 3


def test_keys_beyond_the_memory_begin_anew():
    reports, _alarms = run(predictions(3000, keys=200), keys_in_memory=16, report_at_end=True)
    keys = [one for one in reports if one.subject == "key"][-6:]
    made = predictions(3000, keys=200)
    for one in keys:
        true = sum(p.key == one.name for p in made)
        assert one.values["events_at_least"] <= one.events <= true <= one.values["events_at_most"]
    assert any(one.values["events_at_most"] > one.events for one in keys)


@pytest.mark.parametrize("cuts", [[1], [333], [100, 101, 900]])
def test_resumed_runs_say_what_one_run_says(tmp_path, cuts):
    made = predictions(1500)
    whole, whole_alarms = run(made, batch=1)
    items, begin = [], 0
    for cut in cuts:
        items += [*made[begin:cut], TestingSource.EOF()]
        begin = cut
    items += made[begin:]
    init_db_dir(tmp_path, 1)
    reports, alarms = [], []
    for number in range(len(cuts) + 1):
        read = []
        flow, said, rung = flow_of(items, 1, read)
        run_main(flow, recovery_config=RecoveryConfig(str(tmp_path)))
        reports += said
        alarms += rung
        expected = [*cuts, 1500][number] - [0, *cuts][number]
        assert len(read) == expected, "the run did not begin where the one before ended"
    assert reports == whole
    assert alarms == whole_alarms


def test_resumed_under_other_settings_it_says_what_differs(tmp_path):
    made = predictions(300)
    init_db_dir(tmp_path, 1)
    config = RecoveryConfig(str(tmp_path))
    items = [*made[:200], TestingSource.EOF(), *made[200:]]
    run_main(flow_of(items, 1)[0], recovery_config=config)
    flow, _reports, _alarms = flow_of(items, 1, window=60)
    with pytest.raises(FiguresError, match="kept with window=120, and now it is 60"):
        run_main(flow, recovery_config=config)


def test_a_regression_is_judged_by_its_errors():
    generator = np.random.default_rng(0)
    labels, estimates = generator.normal(size=(2, 600)).tolist()
    made = [
        Prediction("k", f, f, i, "knn", Cause("t", 0, i), label=y, loss=(f - y) ** 2)
        for i, (y, f) in enumerate(zip(labels, estimates, strict=True))
    ]
    report = last_of_stream(run(made, task="regression", report_at_end=True)[0])
    errors = np.subtract(labels, estimates)
    assert report.values["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert report.values["window_mae"] == pytest.approx(np.mean(np.abs(errors[-120:])))
    assert report.values["loss"] == pytest.approx(np.mean(errors**2))


def test_scores_of_several_classes_are_no_hindrance():
    made = [
        Prediction("k", [0.1, 0.2, 0.9], 2.0, i, "kogd", Cause("t", 0, i), label=float(i % 3))
        for i in range(300)
    ]
    report = last_of_stream(run(made, task="multiclass", report_at_end=True)[0])
    assert report.values["mistake_rate"] == pytest.approx(2 / 3)
    assert report.values["loss"] is None


def test_the_alarm_of_the_stream_and_of_a_key():
    alarms = run(predictions(1500))[1]
    key = next(one for one in alarms if one.subject == "key")
    assert key.kind == "drift"
    assert key.name == "user-3"
    assert key.cause.offset > 750
    assert "user-3" in key.message
    assert key.values["after"] > key.values["before"]
    made = [
        one if one.cause.offset < 2000 or one.label is None else replace(one, predicted=-one.label)
        for one in predictions(3000, seed=1)
    ]
    whole = run(made, keys="none", drift="page_hinkley")[1]
    assert {one.subject for one in whole} == {"stream"}
    assert 2000 <= whole[0].cause.offset < 2300
    assert run(made, drift=None)[1] == []


def test_labels_of_another_task_stop_the_flow_with_advice():
    made = [Prediction("k", 0.1, 2.0, 0, "kogd", Cause("t", 0, 7), label=2.0)]
    with pytest.raises(BytewaxRuntimeError) as raised:
        run(made)
    message = first_cause(raised.value)
    assert "offset=7" in message
    assert "give evaluate the task of the learner" in message


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"task": "binery"}, "did you mean 'binary'"),
        ({"window": 0}, "window must be a whole number at least 1"),
        ({"fading": 1}, "fading must be"),
        ({"report_every": 1.5}, "report_every must be"),
        ({"keys": "wurst"}, "did you mean 'worst'"),
        ({"keys_reported": True}, "keys_reported must be"),
        ({"key_lists_every": 0}, "key_lists_every must be"),
        ({"key_report_every": -1}, "key_report_every must be"),
        ({"keys_in_memory": 0}, "keys_in_memory must be"),
        ({"drift": "adwim"}, "did you mean 'adwin'"),
        ({"confidence": 95}, "confidence must be"),
        ({"partitions": 0}, "partitions must be"),
    ],
)
def test_absurd_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        flow_of([], 1, **settings)


def test_every_setting_matters():
    made = predictions(1500)
    usual = run(made)
    for change in (
        {"task": Regression()},
        {"window": 60},
        {"fading": 10},
        {"report_every": 60},
        {"report_at_end": True},
        {"keys": "none"},
        {"keys": "all"},
        {"keys_reported": 1},
        {"key_lists_every": 2},
        {"keys_in_memory": 8},
        {"drift": "adwin"},
        {"confidence": 0.5},
        {"partitions": 3},
    ):
        assert run(made, **change) != usual, change
    assert run(made, keys="all", key_report_every=7) != run(made, keys="all", key_report_every=8)


def test_what_workers_send_one_another_can_be_pickled():
    configured = Settings.of("binary", "adwin", report_every=100, partitions=1)
    figures = PartitionFigures(configured, 0)
    [*told] = figures.take(columns_of(predictions(500), configured.task)).chunks
    for one in (*told, figures.tail()):
        back = pickle.loads(pickle.dumps(one))
        assert repr(back) == repr(one)


def test_the_partition_of_a_key_is_kafkas():
    assert partition_of("user-7", 64) == 60
