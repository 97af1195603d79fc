"""Runs of learners over streams."""

import numpy as np
import pytest

from okl_flow import make_learner, snapshot, streams
from okl_flow.evaluation import (
    Measured,
    Trial,
    best,
    median_distance,
    run,
    run_permutations,
    sampled,
)

LEARNERS = [make_learner("kogd", budget=20), make_learner("kogd", budget=50, bandwidth=0.5)]


def cut(X, y, size):
    return [(X[t : t + size], y[t : t + size]) for t in range(0, len(y), size)]


def untimed(results):
    return [
        {name: value for name, value in result.measures.items() if name != "events_per_second"}
        for result in results
    ]


def test_a_run_is_the_plain_loop():
    X, y = streams.rings(500)
    y[::10] = np.nan
    [result, _] = run(LEARNERS, cut(X, y, 64))
    state = LEARNERS[0].init(2)
    scores = LEARNERS[0].step(state, X, y)
    known = ~np.isnan(y)
    assert (result.events, result.labelled) == (500, 450)
    assert result.measures["mistake_rate"].mean == np.mean(y[known] * scores[known] <= 0)
    assert result.measures["rows"].mean == state.size
    assert result.measures["state_bytes"].mean == len(snapshot.dumps(LEARNERS[0], state))
    assert result.measures["events_per_second"].mean > 0
    assert all(measured.std == 0.0 for measured in result.measures.values())


@pytest.mark.parametrize("size", [1, 33, 500])
def test_batches_and_company_change_nothing(size):
    X, y = streams.rings(500)
    together = untimed(run(LEARNERS, cut(X, y, size)))
    alone = [untimed(run([learner], [(X, y)]))[0] for learner in LEARNERS]
    assert together == alone


def test_permutations_are_seeded_one_by_one():
    X, y = streams.rings(300)
    [result] = run_permutations(LEARNERS[:1], X, y, permutations=3, seed=7)
    rates = []
    for number in range(3):
        order = np.random.default_rng([7, number]).permutation(300)
        [single] = run(LEARNERS[:1], [(X[order], y[order])], seed=7 + number)
        rates.append(single.measures["mistake_rate"].mean)
    assert len(set(rates)) > 1
    assert result.measures["mistake_rate"].mean == pytest.approx(np.mean(rates))
    assert result.measures["mistake_rate"].std == pytest.approx(np.std(rates, ddof=1))
    assert result.measures["majority_rate"].std == 0.0
    again = run_permutations(LEARNERS[:1], X, y, permutations=3, seed=7, batch=50)
    assert untimed([result]) == untimed(again)
    other = run_permutations(LEARNERS[:1], X, y, permutations=3, seed=8)
    assert untimed([result]) != untimed(other)


def test_states_are_seeded_by_the_permutation(monkeypatch):
    seeds = []
    learner = LEARNERS[0]
    init = type(learner).init

    def noted(self, dim, seed=0):
        seeds.append(seed)
        return init(self, dim, seed=seed)

    monkeypatch.setattr(type(learner), "init", noted)
    run_permutations([learner], *streams.rings(10), permutations=2, seed=5)
    assert {5, 6} <= set(seeds) <= {0, 5, 6}


def test_curves_are_drawn_on_demand():
    X, y = streams.rings(300)
    assert run(LEARNERS, [(X, y)])[0].curves == []
    results = run_permutations(LEARNERS, X, y, permutations=2, window=30)
    assert [len(result.curves) for result in results] == [2, 2]
    rates = [curve.cumulative[-1] for curve in results[0].curves]
    assert np.mean(rates) == pytest.approx(results[0].measures["mistake_rate"].mean)


def test_progress_counts_every_event_of_every_learner():
    X, y = streams.rings(100)
    told = []
    run_permutations(LEARNERS, X, y, permutations=3, batch=30, progress=told.append)
    assert sum(told) == 100 * 2 * 3


def test_regression_is_measured_by_its_own_errors():
    X, y = streams.waves(300)
    learner = make_learner("kogd", task="regression", budget=50)
    [result] = run([learner], [(X, y)])
    assert {"rmse", "mae", "rmse_of_running_mean", "loss"} <= set(result.measures)
    assert "mistake_rate" not in result.measures


def test_the_best_has_the_lowest_error_and_equal_ones_come_in_order():
    X, y = streams.rings(500)
    results = run([make_learner("kogd", bandwidth=s) for s in (9.0, 0.5, 0.5, 3.0)], [(X, y)])
    assert best(results) is results[1]
    broken = results[0]
    broken.measures["mistake_rate"] = Measured(float("nan"), 0.0)
    assert best([broken, results[3]]) is results[3]


def test_measured_values_that_are_infinite_have_no_deviation():
    assert Measured.of([2.0]) == Measured(2.0, 0.0)
    assert Measured.of([0.1] * 7) == Measured(0.1, 0.0)
    infinite = Measured.of([1.0, np.inf])
    assert infinite.mean == np.inf
    assert np.isnan(infinite.std)


def test_a_trial_returns_the_scores_of_its_learner():
    X, y = streams.rings(50)
    trial = Trial(LEARNERS[0], 2)
    np.testing.assert_array_equal(trial.step(X, y), LEARNERS[0].step(LEARNERS[0].init(2), X, y))
    assert trial.curve is None


def test_the_median_distance_is_that_of_all_pairs():
    X = np.random.default_rng(0).normal(size=(60, 3))
    pairs = [np.linalg.norm(X[i] - X[j]) for i in range(60) for j in range(i)]
    assert median_distance(X) == pytest.approx(np.median(pairs))


@pytest.mark.parametrize("count", [50, 5000])
@pytest.mark.parametrize("size", [1, 77, 5000])
def test_the_median_of_a_stream_is_that_of_its_rows(count, size):
    X, y = streams.rings(count)
    rows = sampled(cut(X, y, size), count, seed=3)
    assert len(rows) == min(count, 1000)
    assert median_distance(rows) == median_distance(X, seed=3)


def test_a_sample_is_seeded():
    X, _ = streams.rings(5000)
    assert median_distance(X, seed=1) != median_distance(X, seed=2)


def test_a_median_of_nothing_is_refused():
    for rows in (np.zeros((1, 2)), np.zeros((10, 2))):
        with pytest.raises(ValueError, match="median distance of two events is 0"):
            median_distance(rows)


def test_a_stream_without_events_is_refused():
    with pytest.raises(ValueError, match="no events"):
        run(LEARNERS, [])
    with pytest.raises(ValueError, match="at least 1 permutation"):
        run_permutations(LEARNERS, *streams.rings(10), permutations=0)
