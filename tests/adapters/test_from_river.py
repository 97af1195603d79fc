"""River models behind our interface: River's own loop, and the rules of a learner."""

import pickle

import numpy as np
import pytest
from river import (
    base,
    dummy,
    ensemble,
    feature_extraction,
    forest,
    linear_model,
    multiclass,
    naive_bayes,
    neighbors,
    preprocessing,
    stats,
    tree,
)

from okl_flow import Binary, Multiclass, Regression, snapshot, streams
from okl_flow.adapters import FromRiver
from okl_flow.evaluation import Trial, run

EVENTS = 120

BINARY = {
    "logistic": linear_model.LogisticRegression(),
    "scaled": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    # Its prediction draws the weights of features that it has not seen.
    "sampler": feature_extraction.RBFSampler(seed=1) | linear_model.LogisticRegression(),
    "tree": tree.HoeffdingTreeClassifier(grace_period=20),
    "forest": forest.ARFClassifier(n_models=2, seed=3),
    "neighbours": neighbors.KNNClassifier(n_neighbors=4),  # half of them is a tie
    "passive_aggressive": linear_model.PAClassifier(),
    # Two with a predict_one of their own.
    "voting": ensemble.VotingClassifier(
        [linear_model.LogisticRegression(), naive_bayes.GaussianNB()]
    ),
    "no_change": dummy.NoChangeClassifier(),
}
MULTICLASS = {
    "softmax": linear_model.SoftmaxRegression(),
    "neighbours": neighbors.KNNClassifier(n_neighbors=4),
    # Without probabilities.
    "one_vs_one": multiclass.OneVsOneClassifier(linear_model.LogisticRegression()),
}
REGRESSION = {
    "linear": preprocessing.StandardScaler() | linear_model.LinearRegression(),
    "forest": forest.ARFRegressor(n_models=2, seed=3),
    "before": dummy.StatisticRegressor(stats.Shift(1)),  # has no answer before its first event
}
ALL = [
    pytest.param(FromRiver(model, task), id=f"{task.name}-{name}")
    for task, models in (
        (Binary(), BINARY),
        (Multiclass(3), MULTICLASS),
        (Regression(), REGRESSION),
    )
    for name, model in models.items()
]


def events(learner, count=EVENTS, seed=0):
    """A stream that fits the task."""
    X, y = streams.rings(count, seed=seed)
    if isinstance(learner.task, Multiclass):
        return X, (y > 0) + (X[:, 0] > 0).astype(float)
    return (X, 50.0 + 3.0 * X[:, 0]) if isinstance(learner.task, Regression) else (X, y)


def dictionary(x):
    return dict(enumerate(x.tolist()))


@pytest.mark.parametrize("learner", ALL)
def test_step_is_rivers_loop(learner):
    X, y = events(learner)
    scores = learner.step(learner.init(2, seed=3), X, y)
    model = learner.init(2, seed=3).held
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        predicted = model.predict_one(dictionary(x))
        if isinstance(learner.task, Regression):
            assert scores[t] == (predicted or 0.0)
            model.learn_one(dictionary(x), float(label))
        elif isinstance(learner.task, Binary):
            # A mistake by our rule, y f <= 0, is one by River's decision.
            assert (label * scores[t] <= 0) == (predicted is None or predicted != (label > 0)), t
            model.learn_one(dictionary(x), bool(label > 0))
        else:
            assert predicted is None or scores[t].argmax() == predicted, t
            model.learn_one(dictionary(x), int(label))


@pytest.mark.parametrize("learner", ALL)
def test_score_foretells_step_and_changes_nothing(learner):
    X, y = events(learner)
    state, batched = learner.init(2, seed=3), learner.init(2, seed=3)
    scores = []
    for t in range(EVENTS):
        before = pickle.dumps(state) if t % 30 == 0 else None
        foretold = learner.score(state, X[t : t + 1]) if t % 10 == 0 else None
        if before:
            assert pickle.dumps(state) == before
        scores.append(learner.step(state, X[t : t + 1], y[t : t + 1])[0])
        if foretold is not None:
            assert np.array_equal(foretold[0], scores[-1])
    expected = [learner.step(batched, X[a:b], y[a:b]) for a, b in ((0, 1), (1, 50), (50, EVENTS))]
    assert np.array_equal(scores, np.concatenate(expected))
    assert state.seen == batched.seen == EVENTS


def test_scores_say_how_sure_the_model_is():
    learner = FromRiver(linear_model.LogisticRegression())
    X, y = events(learner)
    state = learner.init(2)
    learner.step(state, X, y)
    p = state.held.predict_proba_one(dictionary(X[0]))[True]
    assert learner.score(state, X[:1])[0] == pytest.approx(2.0 * p - 1.0, abs=1e-15)

    several = FromRiver(linear_model.SoftmaxRegression(), Multiclass(3))
    X, y = events(several)
    state = several.init(2)
    several.step(state, X, np.where(y == 2.0, 1.0, y))
    p = state.held.predict_proba_one(dictionary(X[0]))
    assert several.score(state, X[:1])[0].tolist() == [p[0], p[1], 0.0]


def test_a_tie_goes_where_river_goes():
    learner = FromRiver(linear_model.LogisticRegression())
    [score] = learner.score(learner.init(1), [[1.0]])
    assert -1e-300 < score < 0.0  # it says False with probability 1/2
    none = FromRiver(dummy.NoChangeClassifier())
    assert learner.task.name == "binary"
    assert none.score(none.init(1), [[1.0]]).tolist() == [0.0]


class Torn(base.Classifier):
    """Finds two classes equally likely, and names them in its own order."""

    _multiclass = True

    def learn_one(self, x, y):
        pass

    def predict_proba_one(self, x, **kwargs):
        return {2: 0.5, 0: 0.5}


class Contrary(Torn):
    """Decides against its own probabilities."""

    def predict_one(self, x, **kwargs):
        return True

    def predict_proba_one(self, x, **kwargs):
        return {False: 0.75, True: 0.25}


def test_the_decision_is_that_of_predict_one():
    torn = FromRiver(Torn(), Multiclass(3))
    [scores] = torn.score(torn.init(1), [[1.0]])
    assert scores.argmax() == 2
    assert scores == pytest.approx([0.5, 0.0, 0.5])
    for model in (Contrary(), preprocessing.StandardScaler() | Contrary()):
        contrary = FromRiver(model)
        [score] = contrary.score(contrary.init(1), [[1.0]])
        assert 0.0 < score < 1e-300


def test_without_a_label_an_event_is_only_scored():
    learner = FromRiver(linear_model.LogisticRegression())
    X, y = events(learner)
    y[::2] = np.nan
    state, taught = learner.init(2), learner.init(2)
    scores = learner.step(state, X, y)
    assert np.array_equal(learner.step(taught, X[1::2], y[1::2]), scores[1::2])
    assert (state.seen, taught.seen) == (EVENTS, EVENTS // 2)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[0.0, np.nan]], [1.0], "row 0, feature 1 is nan"),
        ([[0.0]], [1.0], r"shape \(events, 2\)"),
        ([[0.0, 1.0]] * 2, [1.0, 3.0], "row 1 is 3"),
        ([[0.0, 1.0]], [1.0, 1.0], "one label per row"),
    ],
)
def test_what_is_refused_changes_nothing(X, y, message):
    learner = FromRiver(linear_model.LogisticRegression())
    state = learner.init(2)
    learner.step(state, *events(learner))
    before = pickle.dumps(state)
    with pytest.raises(ValueError, match=message):
        learner.step(state, X, y)
    assert pickle.dumps(state) == before


def test_the_model_is_a_pattern_and_never_learns():
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    learner = FromRiver(model)
    before = pickle.dumps(model)
    state, other = learner.init(2), learner.init(2)
    fresh = pickle.dumps(other)
    learner.step(state, *events(learner))
    assert pickle.dumps(model) == before
    assert pickle.dumps(other) == fresh
    model["LogisticRegression"].learn_one({0: 1.0}, True)
    assert not learner.init(2).held["LogisticRegression"].weights


@pytest.mark.parametrize(
    "model",
    [
        forest.ARFClassifier(n_models=3),
        preprocessing.StandardScaler() | forest.ARFClassifier(n_models=3),
        ensemble.ADWINBaggingClassifier(tree.HoeffdingTreeClassifier(grace_period=20), n_models=3),
        ensemble.VotingClassifier([forest.ARFClassifier(n_models=3), dummy.NoChangeClassifier()]),
    ],
    ids=str,
)
def test_the_seed_decides(model):
    learner = FromRiver(model)
    X, y = events(learner, 400)
    runs = [learner.step(learner.init(2, seed=seed), X, y) for seed in (5, 5, 6)]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


def test_a_state_is_pickled_and_has_no_snapshot():
    learner = FromRiver(preprocessing.StandardScaler() | linear_model.LogisticRegression())
    X, y = events(learner)
    whole, state = learner.init(2), learner.init(2)
    expected = learner.step(whole, X, y)
    learner.step(state, X[:50], y[:50])
    with pytest.raises(snapshot.SnapshotError, match=r"river holds a Python object \(Pipeline\)"):
        snapshot.dumps(learner, state)
    resumed = pickle.loads(pickle.dumps(state))
    assert np.array_equal(learner.step(resumed, X[50:], y[50:]), expected[50:])


def test_it_is_measured_beside_ours():
    learner = FromRiver(tree.HoeffdingTreeClassifier())
    X, y = events(learner, 500)
    [result] = run([learner], [(X, y)])
    state = learner.init(2)
    scores = learner.step(state, X, y)
    assert result.measures["mistake_rate"].mean == np.mean(y * scores <= 0)
    trial = Trial(learner, 2)
    trial.step(X, y)
    assert trial.values()["state_bytes"] == len(pickle.dumps(trial.state))
    assert result.learner.state_bytes_max(2) is None


def test_it_says_what_it_is():
    model = preprocessing.StandardScaler() | linear_model.SoftmaxRegression()
    assert FromRiver(model, Multiclass(4)).describe() == {
        "learner": "river",
        "model": "StandardScaler | SoftmaxRegression",
        "task": "multiclass",
        "classes": 4,
    }


@pytest.mark.parametrize(
    ("model", "task", "message"),
    [
        (linear_model.LinearRegression(), Binary(), "River classifier .* not LinearRegression"),
        (linear_model.LogisticRegression(), Regression(), "River regressor"),
        (preprocessing.StandardScaler(), Binary(), "River classifier"),
        ("forest", Binary(), "not str"),
        (linear_model.LogisticRegression(), Multiclass(3), "OneVsRestClassifier makes it so"),
    ],
)
def test_a_model_that_does_not_fit_is_refused(model, task, message):
    with pytest.raises(ValueError, match=message):
        FromRiver(model, task)


def test_dim_is_checked():
    with pytest.raises(ValueError, match="dim must be"):
        FromRiver(linear_model.LogisticRegression()).init(0)
