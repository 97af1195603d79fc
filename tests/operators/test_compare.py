"""Champions and challengers beside the plain loop, to the last bit; failures."""

import numpy as np
import pytest
from river import linear_model

from okl_flow import make_learner
from okl_flow.adapters import FromRiver
from okl_flow.contest import Terms
from okl_flow.events import Cause, Event, Label, Reason
from okl_flow.learner import loss_of
from okl_flow.losses import loss_value
from okl_flow.murmur import seeds_of
from okl_flow.operators.admission import Rules
from okl_flow.operators.models import Models
from okl_flow.operators.partition import Partition
from okl_flow.operators.store import MemoryStore
from okl_flow.tasks import Regression
from okl_flow.waiting import Limits
from tests.operators.champions import LEARNERS, POOR, signs
from tests.operators.compare_oracle import (
    CompareOracle,
    alarms_as_oracle_says,
    as_compare_oracle_says,
)
from tests.operators.oracle import mixed_stream, rejects_as_oracle_says
from tests.operators.test_partition import cut, events, in_pieces

KEYS, CONFIDENCE = 3, 0.7  # few and low, so that there are promotions


def partition_of(
    learners=LEARNERS,
    champion="poor",
    *,
    promotes=True,
    confidence=CONFIDENCE,
    snapshot=None,
    live=1000,
    report_every=10_000,
    **rules,
):
    """A partition of `compare` that goes on from a snapshot."""
    learners = dict(sorted(learners.items()))
    terms = Terms(len(learners), list(learners).index(champion), promotes, confidence)
    settings = {
        "dim": None,
        "limits": Limits(100, None),
        "forget_after": None,
        **rules,
    }
    pointer, figures = snapshot or (None, None)
    held = list(learners.values())
    store = MemoryStore(pointer, 64, held, list(learners))
    models = Models(store, held, live, terms)
    made = Rules(learners=tuple(held), names=tuple(learners), terms=terms, **settings)
    return Partition("p007", "compare", made, models, report_every, figures)


def of_all(outputs, kind):
    return [one for output in outputs for one in getattr(output, kind)]


def taken(outputs):
    """What partitions made; of the reports, those of the partition."""
    predictions, rejects, reports, alarms = (
        of_all(outputs, kind) for kind in ("predictions", "rejects", "reports", "alarms")
    )
    return predictions, rejects, [one for one in reports if one.subject == "partition"], alarms


def contents(partition, learners=LEARNERS):
    """Every record as it is stored, and the figures."""
    pointer, figures = partition.snapshot()
    names = sorted(learners)
    store = MemoryStore(pointer, 64, [learners[name] for name in names], names)
    return dict(store.sweep(1000)), figures


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("promotes", [True, False])
@pytest.mark.parametrize("limits", [(100, None), (3, 500), (0, None)], ids=["wide", "some", "none"])
@pytest.mark.parametrize("forget_after", [None, 3000])
def test_it_is_the_plain_loop(size, promotes, limits, forget_after):
    items = mixed_stream(3, 1500, keys=KEYS)
    oracle = CompareOracle(
        LEARNERS,
        "poor",
        promotes=promotes,
        confidence=CONFIDENCE,
        count=limits[0],
        wait=limits[1],
        forget_after=forget_after,
    ).run(items)
    partition = partition_of(
        promotes=promotes, limits=Limits(*limits), forget_after=forget_after, report_every=1500
    )
    outputs = [output for batch in cut(items, size) for output in partition.process(batch)]
    predictions, rejects, [report], alarms = taken(outputs)
    assert as_compare_oracle_says(predictions) == oracle.predictions
    assert rejects_as_oracle_says(rejects) == oracle.rejects
    assert alarms_as_oracle_says(alarms) == oracle.alarms
    assert oracle.alarms
    told = {name: report.values[f"mistakes_{name}"] for name in LEARNERS}
    assert told == oracle.mistakes
    assert report.values["labelled"] == oracle.labelled
    kind = "promotion" if promotes else "challenger_ahead"
    counted = [one for one in alarms if one.learner == "good"]
    assert report.values[f"{kind}_good"] == len(counted) > 0


def test_the_stream_promotes_and_some_labels_of_former_champions_come_after_that():
    items = mixed_stream(3, 1500, keys=KEYS)
    [output, *_rest] = partition_of().process(items)
    outputs = [output, *_rest]
    moments = {alarm.name: alarm.cause.offset for alarm in of_all(outputs, "alarms")}
    late = [
        one
        for one in of_all(outputs, "predictions")
        if isinstance(items[one.cause.offset], Label)
        and one.learner == "poor"
        and one.cause.offset > moments.get(one.key, len(items))
    ]
    assert late, "no label tells of a former champion"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("promotes", [True, False])
def test_a_resumed_partition_goes_on_as_if_it_had_never_stopped(seed, promotes):
    items = mixed_stream(10 + seed, 900, keys=KEYS)
    rules = {
        "promotes": promotes,
        "limits": Limits(4, 700),
        "forget_after": 20_000,
        "report_every": 100,
    }
    whole = partition_of(**rules)
    outputs = whole.process(items)
    resumed, made = in_pieces(partition_of, items, seed, live=1, **rules)
    assert taken(made) == taken(outputs)
    assert of_all(outputs, "alarms")
    assert contents(resumed) == contents(whole)


def test_regression_adds_up_squares_however_it_is_cut():
    learners = {
        "near": make_learner("kogd", task="regression", budget=50, learning_rate=0.5),
        "far": make_learner("kogd", task="regression", budget=1, learning_rate=0.01),
    }
    rng = np.random.default_rng(6)
    items = []
    for at in range(600):
        x = rng.normal(size=1)
        items.append(Event(f"k{at % 3}", x, Cause("t", 0, at), None, None, float(np.sin(x[0]))))
    oracle = CompareOracle(learners, "far", promotes=True, confidence=0.95).run(items)
    reports = []
    for size in (1, 13, 600):
        partition = partition_of(learners, "far", confidence=0.95, report_every=600)
        outputs = [output for batch in cut(items, size) for output in partition.process(batch)]
        assert as_compare_oracle_says(of_all(outputs, "predictions")) == oracle.predictions
        assert alarms_as_oracle_says(of_all(outputs, "alarms")) == oracle.alarms
        reports += of_all(outputs, "reports")
    assert [alarm.learner for alarm in of_all(outputs, "alarms")] == ["near"] * 3
    assert "it was the nearer one" in of_all(outputs, "alarms")[0].message
    for report in reports:
        assert {name: report.values[f"squared_error_{name}"] for name in learners} == oracle.squares


def test_multiclass_scores_of_all_learners_wait():
    learners = {
        name: make_learner("kogd", task="multiclass", classes=3, loss="logistic", bandwidth=width)
        for name, width in {"narrow": 0.1, "wide": 3.0}.items()
    }
    X = np.random.default_rng(7).normal(size=(60, 2))
    y = [float(np.argmax([x[0], x[1], -x[0]])) for x in X]
    items = events(X[:50], y[:50])
    items += [Event("k", x, Cause("t", 0, 50 + at), f"e{at}", 5) for at, x in enumerate(X[50:])]
    early = partition_of(learners, "narrow", confidence=0.9)
    [before] = early.process(items)
    partition = partition_of(learners, "narrow", confidence=0.9, snapshot=early.snapshot())
    labels = [Label("k", f"e{at}", y[50 + at], Cause("t", 0, 60 + at), 9) for at in range(10)]
    [after] = partition.process(labels)
    first = {one.id: one for one in before.predictions if one.id}
    assert len(after.predictions) == 10
    for one in after.predictions:
        assert (one.score, one.learner, one.predicted, one.seen) == (
            first[one.id].score,
            first[one.id].learner,
            first[one.id].predicted,
            first[one.id].seen,
        )
        assert one.loss is not None and len(one.score) == 3


def test_equal_challengers_are_not_promoted_and_a_better_one_is():
    learners = {"champion": POOR, "same": POOR, "better": LEARNERS["good"]}
    X, y = signs(8, 400)
    [output] = partition_of(learners, "champion", confidence=0.95).process(events(X, y))
    [alarm] = output.alarms
    assert (alarm.step, alarm.subject, alarm.name) == ("compare", "key", "k")
    assert (alarm.kind, alarm.learner) == ("promotion", "better")
    assert alarm.message.startswith("better takes the place of champion: it made ")
    assert alarm.values["wealth"] >= 40.0
    assert alarm.values["events"] == alarm.cause.offset + 1 < 400
    assert [one.learner for one in output.predictions] == ["champion"] * (
        alarm.cause.offset + 1
    ) + ["better"] * (399 - alarm.cause.offset)
    for one in output.predictions:
        assert one.predicted == (1.0 if one.score > 0.0 else -1.0)
        loss = loss_of(learners[one.learner]).native
        assert one.loss == loss_value(loss, one.score, one.label)


def test_alarms_of_one_event_are_told_apart():
    learners = {"champion": POOR, "one": LEARNERS["good"], "two": LEARNERS["good"]}
    [output] = partition_of(learners, "champion", promotes=False).process(events(*signs(8, 200)))
    first, second = output.alarms
    assert first.cause == second.cause
    assert [(one.learner, one.ordinal) for one in output.alarms] == [("one", 0), ("two", 1)]


class Broken(linear_model.LogisticRegression):
    """Fails at some events."""

    def learn_one(self, x, y):
        if x[0] < -1.0:
            raise RuntimeError("no luck")
        super().learn_one(x, y)


def test_a_challenger_that_fails_has_made_mistakes_and_hurts_nobody():
    X, y = signs(9, 300)
    good = LEARNERS["good"]
    learners = {"good": good, "broken": FromRiver(Broken())}
    partition = partition_of(learners, "good", promotes=False, report_every=300)
    [output] = partition.process(events(X, y))
    state = good.init(2, seed=seeds_of(["k"])[0])
    assert [one.score for one in output.predictions] == good.step(state, X, y).tolist()
    assert output.rejects == []
    [report] = output.reports
    failures = int((X[:, 0] < -1.0).sum())
    assert report.values["failures_broken"] == failures
    assert report.values["mistakes_broken"] >= failures
    assert "failures_good" not in report.values


def test_a_champion_that_fails_is_replaced_in_the_end():
    X, y = signs(9, 300)
    learners = {"good": LEARNERS["good"], "unlucky": FromRiver(Broken())}
    [output] = partition_of(learners, "unlucky", confidence=0.95).process(events(X, y))
    [alarm] = output.alarms
    assert alarm.learner == "good"
    failed = [at for at in range(alarm.cause.offset + 1) if X[at, 0] < -1.0]
    assert [reject.cause.offset for reject in output.rejects] == failed
    assert {reject.reason for reject in output.rejects} == {Reason.LEARNER}
    assert "no luck" in output.rejects[0].message
    assert len(output.predictions) + len(output.rejects) == 300


class Silent(linear_model.LinearRegression):
    """Never says anything."""

    def predict_one(self, x):
        return float("nan")


def test_a_champion_that_fails_in_regression_is_infinitely_far_off():
    learners = {
        "ours": make_learner("kogd", task="regression", budget=20),
        "never": FromRiver(Silent(), Regression()),
    }
    X, y = signs(14, 50)
    partition = partition_of(learners, "never", confidence=0.95, report_every=50)
    [output] = partition.process(events(X, y))
    assert [alarm.learner for alarm in output.alarms] == ["ours"]
    values = output.reports[0].values
    assert (values["labelled"], values["failures_never"], values["squared_error_never"]) == (
        50.0,
        50.0,
        0.0,
    )


def test_a_challenger_that_diverges_has_made_mistakes_too():
    diverging = make_learner("kogd", loss="square", kernel="linear", learning_rate=1e3)
    calm = make_learner("kogd", loss="square", kernel="linear", learning_rate=1e-15)
    X = np.full((400, 1), 1e6)
    learners = {"calm": calm, "diverging": diverging}
    partition = partition_of(learners, "calm", promotes=False, report_every=400)
    [output] = partition.process(events(X, [1.0] * 400))
    assert len(output.predictions) == 400 and output.rejects == []
    assert output.reports[0].values["failures_diverging"] > 100
    partition = partition_of(learners, "diverging", promotes=False)
    [output] = partition.process(events(X, [1.0] * 400))
    assert {reject.reason for reject in output.rejects} == {Reason.DIVERGED}
    assert output.alarms[0].learner == "calm"


def test_a_missing_feature_is_refused_where_not_all_can_fill_it():
    fills = make_learner("bogd", missing="mean")
    [output] = partition_of({"a": fills, "b": POOR}, "a").process(events([[np.nan]], [1.0]))
    assert output.rejects[0].reason is Reason.FEATURES
    [output] = partition_of({"a": fills, "b": fills}, "a").process(events([[np.nan]], [1.0]))
    assert output.rejects == [] and len(output.predictions) == 1


def test_a_label_before_the_first_event_leaves_no_contest_and_is_found():
    partition = partition_of()
    partition.process([Label("k", "a", 1.0, Cause("t", 0, 0), 5)])
    partition = partition_of(snapshot=partition.snapshot())
    [output] = partition.process([Event("k", np.ones(1), Cause("t", 0, 1), "a", 6)])
    assert [one.label for one in output.predictions] == [None, 1.0]


def test_a_river_challenger_goes_on_where_it_was():
    X, y = signs(11, 200)
    items = events(X, y)
    learners = {"ours": POOR, "river": FromRiver(linear_model.LogisticRegression())}
    whole = partition_of(learners, "ours").process(items)
    [before] = (first := partition_of(learners, "ours")).process(items[:5])
    second = partition_of(learners, "ours", snapshot=first.snapshot())
    [after] = second.process(items[5:])
    assert taken([before, after]) == taken(whole)
    assert [alarm.learner for alarm in after.alarms] == ["river"]
    assert after.predictions[-1].learner == "river"
