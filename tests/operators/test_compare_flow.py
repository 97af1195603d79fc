"""Champions and challengers in whole flows: resumes, other learners, settings that cannot be."""

from datetime import timedelta

import numpy as np
import pytest
from bytewax.dataflow import Dataflow
from bytewax.operators import input as source
from bytewax.operators import output
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, TestingSource, run_main

from okl_flow import make_learner
from okl_flow import snapshot as snapshots
from okl_flow.events import Event
from okl_flow.murmur import seeds_of
from okl_flow.operators import compare
from okl_flow.operators.store import StoreError
from tests.operators.champions import LEARNERS, POOR, signs
from tests.operators.test_partition import events


def run(folder, items, learners, champion, **settings):
    """Run a flow of what has not been read yet; its predictions and alarms."""
    if not (folder / "recovery").exists():
        (folder / "recovery").mkdir()
        init_db_dir(folder / "recovery", 1)
    predictions, alarms = [], []
    flow = Dataflow("flow")
    stream = source("read", flow, TestingSource(items, batch_size=10))
    out = compare("compare", stream, learners, champion, partitions=2, **settings)
    output("predictions", out.predictions, TestingSink(predictions))
    output("alarms", out.alarms, TestingSink(alarms))
    run_main(
        flow,
        epoch_interval=timedelta(0),
        recovery_config=RecoveryConfig(str(folder / "recovery"), backup_interval=timedelta(0)),
    )
    return predictions, alarms


@pytest.fixture
def items():
    X, y = signs(12, 200)
    made = events(X, y)
    return [*made[:100], TestingSource.EOF(), *made[100:150], TestingSource.EOF(), *made[150:]]


@pytest.mark.parametrize("stored", [True, False])
def test_a_promotion_survives_a_resume(items, stored, tmp_path):
    settings = {"state_dir": tmp_path / "state" if stored else None, "promote": "significant"}
    first, [alarm] = run(tmp_path, items, LEARNERS, "poor", **settings)
    assert (first[0].learner, first[-1].learner) == ("poor", alarm.learner)
    second, alarms = run(tmp_path, items, LEARNERS, "poor", **settings)
    assert {one.learner for one in second} == {alarm.learner}
    assert [one.seen for one in second] == list(range(100, 150))
    assert alarms == []


def test_another_champion_of_the_same_learners_goes_on_with_their_states(items, tmp_path):
    settings = {"state_dir": tmp_path / "state"}
    first, [alarm, *_others] = run(tmp_path, items, LEARNERS, "poor", **settings)
    assert alarm.kind == "challenger_ahead"
    assert {one.learner for one in first} == {"poor"}
    in_another_order = dict(reversed(LEARNERS.items()))
    second, _alarms = run(tmp_path, items, in_another_order, "good", **settings)
    assert {one.learner for one in second} == {"good"}
    whole = [one for one in items if isinstance(one, Event)]
    alone = LEARNERS["good"].init(2, seed=seeds_of(["k"])[0])
    X, y = np.array([one.features for one in whole]), [one.label for one in whole]
    assert [one.score for one in second] == LEARNERS["good"].step(alone, X, y)[100:150].tolist()


@pytest.mark.parametrize(
    ("learners", "message"),
    [
        ({**LEARNERS, "poor": make_learner("bogd", budget=3, bandwidth=0.05)}, "budget"),
        ({**LEARNERS, "one_more": POOR}, "names"),
        ({"a" + name: one for name, one in LEARNERS.items()} | {"poor": POOR}, "names"),
        ({"aauto": LEARNERS["auto"], "good": LEARNERS["good"], "poor": POOR}, "names"),
    ],
)
@pytest.mark.parametrize("stored", [True, False])
def test_other_learners_and_other_names_are_refused(items, learners, message, stored, tmp_path):
    settings = {"state_dir": tmp_path / "state" if stored else None}
    run(tmp_path, items, LEARNERS, "poor", **settings)
    with pytest.raises(StoreError, match=f"begun with.*{message}"):
        run(tmp_path, items, learners, "poor", **settings)


def test_a_warm_start_is_for_the_learner_it_names(items, tmp_path):
    good = LEARNERS["good"]
    state = good.init(2)
    good.step(state, *signs(13, 100))
    (tmp_path / "good").write_bytes(snapshots.dumps(good, state))
    settings = {"warm_start": {"good": tmp_path / "good"}}
    predictions, _alarms = run(tmp_path, items, LEARNERS, "good", **settings)
    assert predictions[0].score == good.score(state, items[0].features[None])[0] != 0.0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"learners": {"poor": POOR}}, r"at least one challenger; there are only \['poor'\]"),
        ({"champion": "bad"}, r"one of the learners \['auto', 'good', 'poor'\], not 'bad'"),
        ({"promote": "always"}, '"manual" or "significant", not \'always\''),
        ({"confidence": 1.0}, "confidence must be above 0 and below 1, not 1.0"),
        ({"confidence": 0.0}, "confidence must be above 0 and below 1, not 0.0"),
        ({"warm_start": {"bad": "file"}}, "warm_start must be by the names of the learners"),
        ({"learners": {**LEARNERS, "kogd": make_learner("kogd")}}, "memory of kogd has no bound"),
        (
            {"learners": {**LEARNERS, "r": make_learner("bogd", budget=5, task="regression")}},
            "all learners must have one task",
        ),
    ],
)
def test_settings_that_cannot_be_are_refused(changed, message):
    flow = Dataflow("flow")
    settings = {"learners": LEARNERS, "champion": "poor", **changed}
    with pytest.raises(ValueError, match=f"compare: .*{message}"):
        compare("compare", source("read", flow, TestingSource([])), **settings)
