"""The operator on the engine: batches, workers, resumed runs, a stream of labels, bad settings."""

from datetime import timedelta

import bytewax.operators as op
import numpy as np
import pytest
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, TestingSource, cluster_main, run_main

from okl_flow import make_learner, snapshot
from okl_flow.events import Label
from okl_flow.operators import prequential
from okl_flow.operators.store import StoreError
from tests.operators.oracle import (
    Oracle,
    as_oracle_says,
    mixed_stream,
    rejects_as_oracle_says,
)

LEARNER = make_learner("bogd", budget=5, bandwidth=1.5)
ITEMS = mixed_stream(8, 2500, keys=30)
EPOCH = timedelta(seconds=0)


def flow_of(source, predictions, rejects, *, learner=LEARNER, **settings):
    flow = Dataflow("test")
    events = op.input("read", flow, source)
    out = prequential("learn", events, learner, **{"partitions": 4, **settings})
    op.output("predictions", out.predictions, TestingSink(predictions))
    op.output("rejects", out.rejects, TestingSink(rejects))
    return flow


def by_key(found):
    return {key: [one for one in found if one[0] == key] for key in {one[0] for one in found}}


def assert_as_oracle(predictions, rejects, oracle):
    assert by_key(as_oracle_says(predictions)) == by_key(oracle.predictions)
    assert by_key(rejects_as_oracle_says(rejects)) == by_key(oracle.rejects)


@pytest.fixture(scope="module")
def oracle():
    return Oracle(LEARNER, wait=24 * 3600 * 1000).run(ITEMS)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_source_batches_and_workers_change_nothing(size, workers, oracle):
    predictions, rejects = [], []
    flow = flow_of(TestingSource(ITEMS, size), predictions, rejects)
    cluster_main(flow, [], 0, worker_count_per_proc=workers)
    assert_as_oracle(predictions, rejects, oracle)


@pytest.mark.parametrize("on_disk", [True, False])
def test_a_stream_cut_into_runs_is_one_stream(on_disk, tmp_path, oracle):
    items, rng = list(ITEMS), np.random.default_rng(1)
    for place in sorted(rng.integers(0, len(items), 6).tolist(), reverse=True):
        items.insert(place, TestingSource.EOF())
    source = TestingSource(items, 50)
    (tmp_path / "recovery").mkdir()
    init_db_dir(tmp_path / "recovery", 1)
    predictions, rejects, counts = [], [], []
    state_dir = tmp_path / "state" if on_disk else None
    for run in range(7):
        before = len(predictions) + len(rejects)
        flow = flow_of(
            source, predictions, rejects, state_dir=state_dir, keys_in_memory=1 + 7 * run
        )
        recovery = RecoveryConfig(str(tmp_path / "recovery"), backup_interval=EPOCH)
        cluster_main(
            flow,
            [],
            0,
            epoch_interval=EPOCH,
            recovery_config=recovery,
            worker_count_per_proc=1 + run % 3,
        )
        counts.append(len(predictions) + len(rejects) - before)
    assert_as_oracle(predictions, rejects, oracle)
    assert all(0 < count < len(ITEMS) for count in counts)


def test_labels_may_come_in_a_stream_of_their_own():
    flow = Dataflow("test")
    labels = [item for item in ITEMS if isinstance(item, Label)]
    others = [item for item in ITEMS if not isinstance(item, Label)]
    events = op.input("read", flow, TestingSource(others, 20))
    late = op.input("labels", flow, TestingSource(labels, 3))
    out = prequential("learn", events, LEARNER, labels=late, labels_wait=None)
    predictions, rejects = [], []
    op.output("predictions", out.predictions, TestingSink(predictions))
    op.output("rejects", out.rejects, TestingSink(rejects))
    run_main(flow)
    learned = {one.cause.offset for one in predictions if one.label is not None}
    refused = {one.cause.offset for one in rejects}
    offsets = {label.cause.offset for label in labels}
    assert len(offsets & learned) > len(offsets) // 4
    known = {item.cause.offset for item in others}
    assert learned | refused <= known | offsets
    scored = {one.cause.offset for one in predictions}
    assert known <= scored | refused | {
        item.cause.offset for item in others if not hasattr(item, "features")
    }


def test_a_warm_start_is_read_from_a_file(tmp_path):
    state = LEARNER.init(3)
    LEARNER.step(state, np.ones((1, 3)), [1.0])
    (tmp_path / "warm").write_bytes(snapshot.dumps(LEARNER, state))
    cold, warm = [], []
    run_main(flow_of(TestingSource(ITEMS), cold, []))
    run_main(flow_of(TestingSource(ITEMS), warm, [], warm_start=tmp_path / "warm"))
    first = min(warm, key=lambda one: one.cause.offset)
    assert first.score != 0.0
    assert [one.cause for one in cold if one.seen == 0 and one.score == 0.0] != []
    with pytest.raises(ValueError, match="for 3 features, and this flow has 2"):
        flow_of(TestingSource([]), [], [], warm_start=tmp_path / "warm", dim=2)
    other = make_learner("bogd", budget=6, bandwidth=1.5)
    with pytest.raises(snapshot.SnapshotError, match="its budget is 5, the learner's is 6"):
        flow_of(TestingSource([]), [], [], learner=other, warm_start=tmp_path / "warm")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"partitions": 0}, "partitions must be .*at least 1, not 0"),
        ({"keys_in_memory": 0}, "keys_in_memory must be .*at least 1, not 0"),
        ({"labels_wait_count": -1}, "labels_wait_count must be .*at least 0, not -1"),
        ({"report_every": 0}, "report_every must be .*at least 1, not 0"),
        ({"labels_wait": timedelta(0)}, "labels_wait must be above 0, not 0:00:00"),
        ({"forget_after": timedelta(seconds=-1)}, "forget_after must be above 0"),
        ({"learner": make_learner("kogd", budget=None)}, "has no bound .* allow_unbounded=True"),
    ],
)
def test_absurd_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        flow_of(TestingSource([]), [], [], **settings)


def test_an_unbounded_learner_may_be_allowed():
    learner = make_learner("kogd", budget=None)
    flow_of(TestingSource([]), [], [], learner=learner, allow_unbounded=True)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"partitions": 5}, "begun with partitions 4, and is opened with 5"),
        ({"learner": make_learner("bogd", budget=6, bandwidth=1.5)}, "budget of learner 0 was 5"),
    ],
)
def test_another_job_does_not_go_on_with_the_state(changed, message, tmp_path):
    run_main(flow_of(TestingSource(ITEMS[:100]), [], [], state_dir=tmp_path))
    with pytest.raises((StoreError, RuntimeError)) as caught:
        run_main(flow_of(TestingSource(ITEMS[:100]), [], [], state_dir=tmp_path, **changed))
    told, error = [], caught.value
    while error is not None:
        told.append(str(error))
        error = error.__cause__ or error.__context__
    assert message in " ".join(told)
