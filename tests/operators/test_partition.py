"""The logic of a partition beside the plain loop, to the last bit, however the items are cut."""

import numpy as np
import pytest
from river import linear_model

from okl_flow import make_learner
from okl_flow.adapters import FromRiver
from okl_flow.events import Cause, Event, Forget, Label, Reason
from okl_flow.murmur import seeds_of
from okl_flow.operators.admission import Rules
from okl_flow.operators.models import Models
from okl_flow.operators.partition import Partition
from okl_flow.operators.store import MemoryStore
from okl_flow.packing import packer_of
from okl_flow.waiting import Limits
from tests.operators.oracle import (
    Oracle,
    as_oracle_says,
    mixed_stream,
    rejects_as_oracle_says,
)

LEARNER = make_learner("bogd", budget=5, bandwidth=1.5)
ELSEWHERE = Cause("labels", 1, 8)


def partition_of(
    learner=LEARNER, *, snapshot=None, live=1000, report_every=10_000, warm=None, **rules
):
    """A partition that goes on from a snapshot."""
    settings = {
        "dim": None,
        "limits": Limits(100, None),
        "forget_after": None,
        **rules,
    }
    pointer, figures = snapshot or (None, None)
    models = Models(MemoryStore(pointer, 64, [learner]), [learner], live, None, [warm])
    made = Rules(learners=(learner,), names=(learner.name,), **settings)
    return Partition("p007", "learn", made, models, report_every, figures)


def taken(outputs):
    predictions = [one for output in outputs for one in output.predictions]
    rejects = [one for output in outputs for one in output.rejects]
    return as_oracle_says(predictions), rejects_as_oracle_says(rejects)


def cut(items, size):
    return [items[begin : begin + size] for begin in range(0, len(items), size)]


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    "limits", [(100, None), (3, 500), (1, 50), (0, None)], ids=["wide", "some", "few", "none"]
)
@pytest.mark.parametrize("forget_after", [None, 300])
def test_it_is_the_plain_loop(size, limits, forget_after):
    items = mixed_stream(3, 1500)
    oracle = Oracle(LEARNER, count=limits[0], wait=limits[1], forget_after=forget_after).run(items)
    partition = partition_of(limits=Limits(*limits), forget_after=forget_after)
    outputs = [output for batch in cut(items, size) for output in partition.process(batch)]
    predictions, rejects = taken(outputs)
    assert predictions == oracle.predictions
    assert rejects == oracle.rejects


def test_the_mixed_stream_meets_every_reason_that_an_item_can_have():
    items = mixed_stream(3, 1500)
    patient = Oracle(LEARNER).run(items).rejects
    hasty = Oracle(LEARNER, count=3, wait=500, forget_after=3000).run(items).rejects
    reasons = {reason for _key, reason, *_rest in patient + hasty}
    others = {Reason.MALFORMED, Reason.KEY, Reason.LEARNER, Reason.DIVERGED, Reason.UNWRITABLE}
    assert reasons == {str(reason) for reason in set(Reason) - others}


def in_pieces(opened, items, seed, **rules):
    """A partition that took the items in pieces and was opened anew between some; its outputs."""
    rng = np.random.default_rng(seed)
    resumed, made, begin = opened(**rules), [], 0
    while begin < len(items):
        end = begin + int(rng.integers(1, 60))
        made += resumed.process(items[begin:end])
        if rng.random() < 0.5:
            resumed = opened(snapshot=resumed.snapshot(), **rules)
        begin = end
    return resumed, made


@pytest.mark.parametrize("seed", range(5))
def test_a_resumed_partition_goes_on_as_if_it_had_never_stopped(seed):
    items = mixed_stream(10 + seed, 900)
    rules = {"limits": Limits(4, 700), "forget_after": 2000, "report_every": 100}
    whole = partition_of(**rules)
    outputs = whole.process(items)
    resumed, made = in_pieces(partition_of, items, seed, **rules)
    assert taken(made) == taken(outputs)
    reports = [report for output in made for report in output.reports]
    assert reports == [report for output in outputs for report in output.reports]
    assert len(reports) == len(items) // 100
    assert contents(resumed) == contents(whole)


def contents(partition):
    """Every record as it is stored, and the figures."""
    pointer, figures = partition.snapshot()
    store = MemoryStore(pointer, 64, [LEARNER])
    return dict(store.sweep(1000)), figures


CHOOSING = make_learner("oks_sil", budget=5, bandwidth=2.0, learning_rate=0.5)


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("live", [1, 1000])
def test_a_model_that_chooses_says_what_it_has_chosen(size, live):
    rng = np.random.default_rng(0)
    keys = rng.choice(["ann", "bob"], 300).tolist()
    X, y = rng.normal(size=(300, 2)), rng.choice([-1.0, 1.0], 300)
    items = [
        Event(key, X[at], Cause("events", 0, at), time=at, label=float(y[at]))
        for at, key in enumerate(keys)
    ]
    items[199] = Forget(keys[199], items[199].cause)
    states, seen, wanted = {}, {}, []
    for at, item in enumerate(items):
        if isinstance(item, Forget):
            del states[item.key], seen[item.key]
            continue
        state = states.setdefault(item.key, CHOOSING.init(2, seed=seeds_of([item.key])[0]))
        CHOOSING.step(state, X[at : at + 1], y[at : at + 1])
        seen[item.key] = seen.get(item.key, 0) + 1
        if (at + 1) % 50 == 0:
            wanted.append((item.key, seen[item.key], {"bandwidth": state.bandwidth}, at))
    partition = partition_of(CHOOSING, live=live, report_every=50)
    outputs = [output for batch in cut(items, size) for output in partition.process(batch)]
    reports = [report for output in outputs for report in output.reports]
    told = [(one.name, one.events, one.values, one.time) for one in reports if one.subject == "key"]
    assert told == wanted
    assert len(wanted) == 5
    assert len({values["bandwidth"] for _name, _events, values, _at in wanted}) == 3
    assert len({(one.cause, one.ordinal) for one in reports}) == len(reports) == 11


def test_a_cache_of_one_entry_changes_nothing():
    items = mixed_stream(4, 600)
    narrow, wide = partition_of(live=1), partition_of()
    for batch in cut(items, 13):
        assert taken(narrow.process(batch)) == taken(wide.process(batch))
    assert contents(narrow) == contents(wide)


def events(X, y, key="k"):
    return [
        Event(key, np.array(x, dtype=float), Cause("t", 0, at), None, None, label)
        for at, (x, label) in enumerate(zip(X, y, strict=True))
    ]


@pytest.mark.parametrize("dim", [None, 2])
def test_another_number_of_features_is_refused(dim):
    partition = partition_of(dim=dim)
    [output] = partition.process(events([[1, 2], [1, 2, 3], [3, 4]], [1.0, 1.0, -1.0]))
    assert [one.seen for one in output.predictions] == [0, 1]
    [reject] = output.rejects
    assert reject.reason is Reason.FEATURES
    assert reject.message == "3 features, where this key's model takes 2"
    assert reject.cause.offset == 1


def test_the_stated_number_of_features_binds_the_first_event_too():
    [output] = partition_of(dim=2).process(events([[1, 2, 3], [3, 4]], [1.0, -1.0]))
    assert [one.cause.offset for one in output.predictions] == [1]


def test_a_missing_feature_is_for_learners_that_fill_it():
    [output] = partition_of().process(events([[1.0, np.nan]], [1.0]))
    assert 'missing="mean"' in output.rejects[0].message
    fills = make_learner("bogd", missing="mean")
    [output] = partition_of(fills).process(events([[1.0, np.nan], [2.0, np.inf]], [1.0, 1.0]))
    assert [one.cause.offset for one in output.predictions] == [0]
    assert "feature 1 is inf" in output.rejects[0].message


def test_a_model_that_diverges_says_so_and_the_other_keys_go_on():
    learner = make_learner("kogd", loss="square", kernel="linear", learning_rate=1e3)
    X = np.full((400, 1), 1e6)
    [output] = partition_of(learner).process(
        [*events(X, [1.0] * 400, "a"), *events([[1.0]], [1.0], "b")]
    )
    assert output.rejects and {one.reason for one in output.rejects} == {Reason.DIVERGED}
    assert "learning_rate" in output.rejects[0].message
    assert len(output.rejects) + len(output.predictions) == 401
    assert output.predictions[-1].key == "b"


@pytest.mark.parametrize("batch", [1, 2, 9])
def test_a_label_makes_the_same_predictions_before_its_event_as_after_it(batch):
    event, label = Event("k", np.ones(2), Cause("t", 0, 3), "a", 7), Label("k", "a", 1.0, ELSEWHERE)
    first = events([[1.0, 0.5]], [-1.0])
    made = []
    for items in ([event, label], [label, event]):
        partition = partition_of()
        outputs = [one for each in cut([*first, *items], batch) for one in partition.process(each)]
        made.append([one for output in outputs for one in output.predictions])
    assert made[0] == made[1]
    [_first, predicted, told] = made[0]
    assert (predicted.cause, predicted.label, predicted.event) == (event.cause, None, None)
    assert (told.cause, told.label, told.event, told.time) == (ELSEWHERE, 1.0, event.cause, 7)
    assert told.score == predicted.score != 0.0


def test_multiclass_scores_are_lists_and_wait_as_such():
    learner = make_learner("kogd", task="multiclass", classes=3, loss="logistic")
    x = np.ones(2)
    items = [
        Event("k", x, Cause("t", 0, 0), None, None, 2.0),
        Event("k", x, Cause("t", 0, 1), "a", 5),
        Event("k", 2 * x, Cause("t", 0, 2), None, None, 1.0),
        Label("k", "a", 0.0, Cause("t", 0, 3), 9),
    ]
    partition = partition_of(learner)
    [first] = partition.process(items[:2])
    partition = partition_of(learner, snapshot=partition.snapshot())
    [second] = partition.process(items[2:])
    early, late = first.predictions[1], second.predictions[1]
    assert early.score == late.score and len(early.score) == 3
    assert (early.label, late.label) == (None, 0.0)
    assert early.predicted == late.predicted == 2.0
    assert early.probability == late.probability > 0.33
    assert (late.seen, late.time, late.id, late.cause.offset) == (1, 5, "a", 3)
    assert early.loss is None and late.loss > 0.0


def test_new_keys_begin_with_the_warm_start():
    learner = make_learner("kogd", budget=5)
    state = learner.init(2)
    learner.step(state, [[1.0, 0.0]], [1.0])
    warm = packer_of(learner).pack(state)
    [output] = partition_of(learner, warm=warm).process(events([[1.0, 0.0]], [1.0]))
    assert output.predictions[0].score == learner.score(state, [[1.0, 0.0]])[0] != 0.0
    assert output.predictions[0].seen == 0


def test_the_errors_of_a_foreign_model_are_rejects():
    class Failing(linear_model.LogisticRegression):
        def learn_one(self, x, y):
            if x[0] == 13.0:
                raise RuntimeError("no luck")
            super().learn_one(x, y)

    partition = partition_of(FromRiver(Failing()))
    [output] = partition.process(events([[1.0], [13.0], [2.0]], [1.0, 1.0, 1.0]))
    assert [one.cause.offset for one in output.predictions] == [0, 2]
    assert output.rejects[0].reason is Reason.LEARNER
    assert "no luck" in output.rejects[0].message


def test_a_foreign_model_that_fails_on_a_late_label_is_reported():
    class Failing(linear_model.LogisticRegression):
        def learn_one(self, x, y):
            raise RuntimeError("no luck")

    items = [
        Event("k", np.ones(1), Cause("t", 0, 0), "a"),
        Label("k", "a", 1.0, Cause("t", 0, 1)),
    ]
    partition = partition_of(FromRiver(Failing()), report_every=2)
    [output] = partition.process(items)
    assert [one.label for one in output.predictions] == [None, 1.0]
    assert output.reports[0].values["failures_river"] == 1.0


def test_keys_that_are_idle_are_deleted_from_the_store():
    partition = partition_of(forget_after=1000)
    old = [Event(f"k{at}", np.ones(1), Cause("t", 0, at), None, 0, 1.0) for at in range(50)]
    partition.process(old)
    partition = partition_of(forget_after=1000, snapshot=partition.snapshot())
    new = [Event("new", np.ones(1), Cause("t", 0, at), None, 5000, 1.0) for at in range(2000)]
    partition.process(new)
    records, _figures = contents(partition)
    assert list(records) == ["new"]


def test_a_forgotten_key_leaves_nothing():
    partition = partition_of()
    partition.process([*events([[1.0]], [1.0], "a"), *events([[1.0]], [1.0], "b")])
    partition = partition_of(snapshot=partition.snapshot())
    partition.process([Forget("a", Cause("t", 0, 9))])
    pointer, _figures = partition.snapshot()
    assert b"a" not in [key.encode() for key in contents(partition)[0]]
    assert list(contents(partition)[0]) == ["b"]
    partition = partition_of(snapshot=(pointer, None))
    [output] = partition.process(events([[1.0]], [1.0], "a"))
    assert output.predictions[0].seen == 0


def test_reports_count_what_happened():
    partition = partition_of(report_every=4)
    items = [
        *events([[1.0], [np.nan], [2.0]], [1.0, 1.0, -1.0]),
        Label("k", "x", 1.0, Cause("t", 0, 3)),
        Label("k", "x", 1.0, Cause("t", 0, 4)),
    ]
    [output, rest] = partition.process(items)
    [report] = output.reports
    assert (report.step, report.subject, report.name) == ("learn", "partition", "p007")
    assert report.values == {"events": 2.0, "keys": 1.0, "rejected_features": 1.0}
    assert report.events == 2 and report.cause.offset == 3
    assert rest.reports == []
