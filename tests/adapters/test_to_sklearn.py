"""Learners as scikit-learn estimators: its own checks, and what `fit` means here."""

import pickle
from collections import Counter

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from okl_flow import Binary, Multiclass, make_learner, streams
from okl_flow.adapters import Sklearn, SklearnClassifier, SklearnRegressor

SMOOTH = {"bandwidth": 3.0, "learning_rate": 0.2}
MODELS = [
    SklearnClassifier(),
    SklearnClassifier("kogd", settings={"budget": 50}),
    SklearnClassifier("nogd", settings={"loss": "logistic"}),
    SklearnClassifier("fogd", settings={"loss": "squared_hinge", "feature_count": 50}),
    SklearnClassifier("rbp", settings={"budget": 50}, seed=3),
    SklearnClassifier("projectron"),
    SklearnClassifier("passive_aggressive", passes=2),
    SklearnClassifier("oks_sil"),
    SklearnClassifier("ons", settings={"budget": 30}),
    SklearnClassifier("nogd", settings={"scale": "standard", "bandwidth": "auto"}),
    SklearnClassifier("forgetron"),  # of two classes only
    SklearnRegressor("nogd", settings=SMOOTH, passes=5),
    SklearnRegressor("kogd", settings={"budget": 100, **SMOOTH}, passes=5),
    SklearnRegressor("fogd", settings=SMOOTH, passes=5),
    SklearnRegressor("passive_aggressive"),
    SklearnRegressor("krls_ald", settings={"scale": "standard", "bandwidth": "auto"}, passes=2),
    SklearnRegressor("oks_sil"),
]
# Scikit-learn skips these itself: they need pandas, and a variable set before scipy is imported.
NOT_RUN = {
    "check_array_api_input",
    "check_classifier_data_not_an_array",
    "check_regressor_data_not_an_array",
}
NOGD = {"budget": 50, "bandwidth": 0.5}


def three(count=300):
    """A stream of three classes, called by words."""
    X, y = streams.rings(count)
    return X, np.array(["left", "middle", "right"])[(y > 0) + (X[:, 0] > 0).astype(int)]


@pytest.mark.parametrize(
    "model", MODELS, ids=lambda model: f"{type(model).__name__}-{model.learner}"
)
def test_sklearn_has_no_complaint(model):
    results = check_estimator(model, on_skip=None, on_fail=None)
    failed = [f"{r['check_name']}: {r['exception']!r}" for r in results if r["status"] == "failed"]
    assert not failed
    statuses = Counter(result["status"] for result in results)
    assert set(statuses) == {"passed", "skipped"}
    assert {r["check_name"] for r in results if r["status"] == "skipped"} <= NOT_RUN


def test_a_score_of_zero_is_the_lower_class():
    model = SklearnClassifier("kogd").fit([[0.0], [1.0]], ["a", "b"])
    assert model.decision_function([[1e6]]).tolist() == [0.0]
    assert model.predict([[1e6]]).tolist() == ["a"]


def test_fit_is_a_pass_over_the_events():
    X, y = streams.rings(400)
    model = SklearnClassifier("nogd", settings=NOGD, seed=5).fit(X, y)
    learner = make_learner("nogd", **NOGD)
    state = learner.init(2, seed=5)
    learner.step(state, X, y)
    assert model.learner_ == learner
    assert np.array_equal(model.decision_function(X), learner.score(state, X))
    assert np.array_equal(model.predict(X), np.where(learner.score(state, X) > 0.0, 1.0, -1.0))
    learner.step(state, X, y)
    twice = clone(model).set_params(passes=2).fit(X, y)
    assert np.array_equal(twice.decision_function(X), learner.score(state, X))


@pytest.mark.parametrize("kind", [SklearnClassifier, SklearnRegressor])
def test_partial_fit_goes_on(kind):
    X, y = streams.rings(400)
    whole = kind("rbp" if kind is SklearnClassifier else "nogd", settings={"budget": 20}).fit(X, y)
    pieces = clone(whole)
    more = {"classes": [1.0, -1.0]} if kind is SklearnClassifier else {}
    pieces.partial_fit(X[:1], y[:1], **more).partial_fit(X[1:250], y[1:250])
    pieces = pickle.loads(pickle.dumps(pieces)).partial_fit(X[250:], y[250:], **more)
    assert np.array_equal(pieces.learner_.score(pieces.state_, X), whole._scores(X))
    assert np.array_equal(pieces.fit(X, y).predict(X), whole.predict(X))


def test_three_classes_make_the_task_multiclass():
    X, y = three()
    model = SklearnClassifier("nogd", settings=NOGD).fit(X, y)
    assert model.learner_.task == Multiclass(3)
    assert model.classes_.tolist() == ["left", "middle", "right"]
    scores = model.decision_function(X)
    assert scores.shape == (300, 3)
    assert np.array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    assert model.score(X, y) > 0.7
    assert model.fit(X, y == "left").learner_.task == Binary()
    assert model.classes_.tolist() == [False, True]


def test_the_order_of_classes_does_not_depend_on_their_appearance():
    X, y = three()
    model = SklearnClassifier("nogd", settings=NOGD)
    model.partial_fit(X, y, classes=["right", "left", "middle", "never"])
    assert model.classes_.tolist() == ["left", "middle", "never", "right"]
    assert model.learner_.task == Multiclass(4)
    assert set(model.predict(X)) <= {"left", "middle", "right"}


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        ([{}], "classes must be given with the first partial_fit"),
        ([{"classes": [0, 1]}, {"classes": [0, 2]}], "classes must be those of the first"),
        ([{"classes": [0, 2]}], r"among the classes \[0 2\]: number 1 is .*1"),
        ([{"classes": [1]}], "at least 2 classes"),
    ],
)
def test_classes_are_checked(calls, message):
    model = SklearnClassifier()

    def learn():
        for call in calls:
            model.partial_fit([[0.0], [1.0]], [0, 1], **call)

    with pytest.raises(ValueError, match=message):
        learn()


def test_what_is_refused_changes_nothing():
    model = SklearnClassifier("kogd").partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])
    before = pickle.dumps(model)
    for X, y in (([[np.nan]], [0]), ([[0.0]], [7]), ([[0.0, 1.0]], [0])):
        with pytest.raises(ValueError):
            model.partial_fit(X, y)
    assert pickle.dumps(model) == before


def test_a_learner_of_two_classes_says_so():
    with pytest.raises(ValueError, match="Only binary classification is supported.*forgetron"):
        SklearnClassifier("forgetron").fit(*three())


def test_probabilities_where_they_are_honest():
    X, y = streams.rings(300)
    model = SklearnClassifier("nogd", settings={**NOGD, "loss": "logistic"}).fit(X, y)
    share = 1.0 / (1.0 + np.exp(-model.decision_function(X)))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], share, rtol=1e-12)
    several = clone(model).fit(*three())
    shares = several.predict_proba(X)
    assert shares.shape == (300, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    assert np.array_equal(several.classes_[shares.argmax(axis=1)], several.predict(X))
    for name, reason in (("nogd", "the loss hinge"), ("perceptron", "no loss")):
        without = SklearnClassifier(name).fit(X, y)
        assert not hasattr(without, "predict_proba")
        with pytest.raises(AttributeError) as refused:
            without.predict_proba(X)
        assert reason in str(refused.value.__cause__)
    assert not hasattr(SklearnClassifier("no such learner"), "predict_proba")


def test_settings_are_searched_and_never_changed():
    X, y = streams.rings(300)
    settings = {"budget": 30, "bandwidth": 9.0}
    search = GridSearchCV(
        SklearnClassifier("nogd", settings=settings),
        {
            "settings__budget": np.array([30, 40]),
            "settings__bandwidth": [0.5, 9.0],
            "passes": np.array([1, 2]),
        },
        cv=3,
    ).fit(X, y)
    assert search.best_params_["settings__bandwidth"] == 0.5
    assert search.best_estimator_.learner_.kernel.bandwidth == 0.5
    assert search.best_estimator_.learner_.budget in (30, 40)
    assert settings == {"budget": 30, "bandwidth": 9.0}
    model = SklearnClassifier("nogd").set_params(settings={"budget": 5}, settings__bandwidth=2.0)
    assert model.settings == {"budget": 5, "bandwidth": 2.0}
    assert model.get_params()["settings__budget"] == 5
    assert "settings__budget" not in model.get_params(deep=False)
    SklearnClassifier(settings=settings).set_params(settings__budget=6)
    assert settings == {"budget": 30, "bandwidth": 9.0}


@pytest.mark.parametrize("name", ["nogd", "kogd", "passive_aggressive"])
def test_a_learner_keeps_its_settings(name):
    X, y = streams.rings(200)
    for task, kind in (("binary", SklearnClassifier), ("regression", SklearnRegressor)):
        learner = make_learner(name, task=task)
        model = Sklearn(learner, passes=2, seed=4)
        assert (type(model), model.passes, model.seed) == (kind, 2, 4)
        assert model.fit(X, y).learner_ == learner
    several = Sklearn(make_learner(name, task="multiclass", classes=9)).fit(*three())
    assert several.learner_ == make_learner(name, task="multiclass", classes=3)


def test_the_seed_reaches_the_state():
    X, y = streams.rings(300)
    runs = [
        SklearnClassifier("rbp", settings={"budget": 5}, seed=seed).fit(X, y).decision_function(X)
        for seed in (1, 1, 2)
    ]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"learner": "nogdd"}, "did you mean 'nogd'"),
        ({"settings": {"budgett": 3}}, "did you mean 'budget'"),
        ({"settings": {"budget": 0}}, "budget must be a whole number"),
        ({"settings": {"task": "binary"}}, "settings must not have 'task'"),
        ({"settings": {"classes": 3}}, "settings must not have 'classes'"),
        ({"passes": 0}, "passes must be a whole number at least 1, not 0"),
        ({"passes": 1.5}, "not 1.5"),
        ({"passes": True}, "not True"),
    ],
)
def test_fit_says_what_is_wrong_with_the_parameters(parameters, message):
    for kind in (SklearnClassifier, SklearnRegressor):
        with pytest.raises(ValueError, match=message):
            kind(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_it_goes_into_a_pipeline():
    X, y = three(600)
    model = make_pipeline(StandardScaler(), SklearnClassifier("bpa_s", settings={"budget": 60}))
    assert model.fit(1000.0 * X[:400], y[:400]).score(1000.0 * X[400:], y[400:]) > 0.75
