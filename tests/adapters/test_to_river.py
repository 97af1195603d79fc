"""Learners as River estimators: River's own checks, and the rules for names and labels."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from river import base, checks, compose, evaluate, metrics, preprocessing

from okl_flow import make_learner, streams
from okl_flow.adapters import River, RiverClassifier, RiverRegressor
from okl_flow.adapters.probability import probabilities

LOGISTIC = {"loss": "logistic"}
MULTICLASS = {"task": "multiclass", "classes": 7}
REGRESSION = {"task": "regression"}
AUTO = {"scale": "standard", "bandwidth": "auto", "learning_rate": "auto"}
MODELS = {
    "kogd": River(make_learner("kogd", budget=20, **LOGISTIC)),
    "kogd-hashed": River(make_learner("kogd", budget=20, **LOGISTIC), dim=5),
    "kogd-regression": River(make_learner("kogd", budget=20, **REGRESSION)),
    "fogd-multiclass": River(make_learner("fogd", feature_count=20, **LOGISTIC, **MULTICLASS)),
    "nogd-multiclass": River(make_learner("nogd", budget=20, **MULTICLASS), dim=30),
    "nogd-regression": River(make_learner("nogd", budget=20, **REGRESSION), dim=4),
    "projectron": River(make_learner("projectron", budget=20), seed=None),
    "rbp-multiclass": River(make_learner("rbp", budget=20, **MULTICLASS), seed=None),
    "passive_aggressive": River(make_learner("passive_aggressive")),
    "passive_aggressive-regression": River(make_learner("passive_aggressive", **REGRESSION)),
    "ons": River(make_learner("ons", budget=20), seed=None),
    "arow-multiclass": River(make_learner("arow", **MULTICLASS)),
    "tuned": River(make_learner("fogd", feature_count=20, **LOGISTIC, **AUTO)),
    "tuned-regression": River(make_learner("kogd", budget=20, **REGRESSION, **AUTO), dim=5),
    "oks_sil": River(make_learner("oks_sil", budget=20, loss="square"), seed=None),
    **{
        f"{kind.__name__}-{number}": kind(**params)
        for kind in (RiverClassifier, RiverRegressor)
        for number, params in enumerate(kind._unit_test_params())
    },
}


def of_river():
    """Every check that River runs for each model."""
    for name, model in MODELS.items():
        for number, check in enumerate(checks.yield_checks(model)):
            yield pytest.param(model, check, id=f"{name}-{check.__name__}-{number}")


@pytest.mark.parametrize(("model", "check"), list(of_river()))
def test_river_has_no_complaint(model, check):
    assert not model._unit_test_skips()
    check(model.clone())


def dictionary(x):
    return {f"x{j}": value for j, value in enumerate(x.tolist())}


def learned(model, events):
    for x, y in events:
        model.learn_one(x, y)
    return model


def kogd(**settings):
    return make_learner("kogd", **{"bandwidth": 0.5, "budget": 30, **settings})


def test_the_task_decides():
    assert type(River(kogd())) is RiverClassifier
    assert isinstance(River(kogd(**REGRESSION)), RiverRegressor | base.Regressor)
    assert not River(kogd())._multiclass
    assert River(kogd(**MULTICLASS))._multiclass
    with pytest.raises(ValueError, match="must classify, and the task of kogd is regression"):
        RiverClassifier(kogd(**REGRESSION))
    with pytest.raises(ValueError, match="must regress, and the task of kogd is binary"):
        RiverRegressor(kogd())
    with pytest.raises(ValueError, match="dim must be"):
        River(kogd(), dim=0)


@pytest.mark.parametrize("dim", [None, 2, 9])
def test_it_adds_nothing_to_the_learner(dim):
    X, y = streams.rings(300)
    for task in ({}, REGRESSION):
        learner = kogd(**task)
        model, state = River(learner, dim=dim), learner.init(2)
        for x, label in zip(X, y, strict=True):
            [score] = learner.step(state, [x], [label])
            predicted = model.predict_one(dictionary(x))
            assert predicted == (score if task else score > 0.0)
            model.learn_one(dictionary(x), float(label) if task else bool(label > 0))


# Columns


def weights(model):
    """The weights of a linear model by name."""
    return {name: model._state.weights[0, place] for name, place in model._columns.items()}


def linear(dim=None):
    return River(make_learner("passive_aggressive", variant="pa", **REGRESSION), dim=dim)


def test_without_dim_the_first_event_fixes_the_columns():
    model = learned(linear(), [({"b": 1.0, "a": 1.0}, 1.0)])
    assert set(model._columns) == {"a", "b"}
    assert model.predict_one({"a": 1.0, "z": 5.0}) == model.predict_one({"a": 1.0}) > 0.0
    before = weights(model)
    model.learn_one({"z": 3.0}, 7.0)
    assert weights(model) == before
    assert model._state.dim == 2


def test_a_missing_name_is_zero():
    events = [({"a": 1.0, "b": 2.0}, 1.0), ({"a": 2.0}, 0.5), ({"b": -1.0}, 3.0)]
    filled = [({"a": 0.0, "b": 0.0} | x, y) for x, y in events]
    assert weights(learned(linear(), events)) == weights(learned(linear(), filled))


def test_with_dim_names_get_columns_as_they_appear():
    model = learned(linear(dim=3), [({"b": 1.0}, 1.0), ({"c": 2.0, "a": 1.0}, 1.0)])
    assert model._columns == {"b": 0, "a": 1, "c": 2}
    known = learned(linear(), [({"a": 0.0, "b": 1.0, "c": 0.0}, 1.0), ({"c": 2.0, "a": 1.0}, 1.0)])
    assert weights(model) == pytest.approx(weights(known), abs=1e-15)
    assert (
        model.predict_one({"never": 9.0})
        in (-model._state.weights[0] * 9.0).tolist() + (model._state.weights[0] * 9.0).tolist()
    )


def test_an_event_may_bring_more_names_than_columns():
    model = learned(linear(dim=2), [(dict.fromkeys("dcba", 1.0), 1.0)])
    assert model._columns == {"a": 0, "b": 1}


def test_a_name_that_was_only_asked_about_gets_no_column():
    model = learned(linear(dim=2), [({"a": 1.0}, 1.0)])
    assert model.predict_one({"a": 1.0, "b": 9.0}) == model.predict_one({"a": 1.0})
    model.learn_one({"c": 1.0}, 1.0)
    assert model._columns == {"a": 0, "c": 1}


def test_names_beyond_dim_share_a_column_with_a_sign():
    model = learned(linear(dim=4), [({name: 1.0 for name in "abcd"}, 1.0)])
    model._state.weights[0] = [1.0, 10.0, 100.0, 1000.0]
    answers = {name: model.predict_one({name: 1.0}) for name in range(200)}
    assert set(answers.values()) == {s * w for s in (-1, 1) for w in (1.0, 10.0, 100.0, 1000.0)}
    assert model.predict_one(dict.fromkeys(answers, 2.0)) == 2.0 * sum(answers.values())
    learned(model, [({name: 1.0}, 1.0) for name in range(50)])
    assert list(model._columns) == list("abcd")


def test_the_hash_is_the_same_in_every_process():
    code = (
        "from okl_flow.adapters.to_river import _hashed; "
        "print([_hashed(name, 100) for name in ('age', 'größe', 3, ('a', 1))])"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout.strip()
        for seed in ("1", "2")
    }
    # As released: another hash would turn the columns of every kept model round.
    assert said == {"[(53, 1.0), (50, -1.0), (82, 1.0), (21, -1.0)]"}


@pytest.mark.parametrize("value", ["3", None, np.nan, np.inf, 10**400, [1.0]])
def test_a_value_that_is_no_number_is_refused_by_its_name(value):
    model = learned(River(kogd()), [({"a": 1.0, "b": 1.0}, True)])
    before = pickle.dumps(model)
    for refused in (
        lambda: model.learn_one({"a": value}, False),
        lambda: model.predict_one({"a": value}),
    ):
        with pytest.raises(ValueError, match="feature 'a' must be a finite number, not "):
            refused()
    assert pickle.dumps(model) == before
    fresh = River(kogd(), dim=2)
    with pytest.raises(ValueError, match="feature 'a'"):
        fresh.learn_one({"a": value}, False)
    assert pickle.dumps(fresh) == pickle.dumps(River(kogd(), dim=2))


def test_numbers_of_other_kinds_are_numbers():
    model = learned(linear(), [({"a": True, "b": np.float32(2.0), "c": 3}, 1)])
    same = learned(linear(), [({"a": 1.0, "b": 2.0, "c": 3.0}, 1.0)])
    assert weights(model) == weights(same)


def test_the_first_event_must_have_a_name():
    with pytest.raises(ValueError, match="the first event has no features"):
        River(kogd()).learn_one({}, True)
    assert learned(River(kogd(), dim=1), [({}, True)]).predict_one({})


# Labels


@pytest.mark.parametrize(
    ("labels", "upper"),
    [
        ((True, False), True),
        ((False, True), True),
        ((1, 0), 1),
        ((0, 1), 1),
        ((1, -1), 1),
        ((-1, 1), 1),
        ((2, 1), 1),
        ((1, 2), 1),
        (("spam", "ham"), "ham"),
        ((3, 2), 2),
        ((np.True_, np.False_), True),
        ((0, -1), -1),
    ],
)
def test_two_labels_of_any_kind(labels, upper):
    model = River(kogd(**LOGISTIC))
    events = [({"a": float(place)}, label) for place, label in enumerate(labels)]
    learned(model, events * 3)
    for x, label in events:
        assert model.predict_one(x) == label
        assert type(model.predict_one(x)) in (type(label), bool)
    [score] = model.learner.score(model._state, [[events[labels.index(upper)][0]["a"]]])
    assert score > 0.0
    with pytest.raises(ValueError, match="'third' is one too many: a binary task of 2 classes"):
        model.learn_one({"a": 5.0}, "third")


def test_a_class_too_many_changes_nothing():
    model = River(make_learner("kogd", task="multiclass", classes=2))
    learned(model, [({"a": 1.0}, "x"), ({"a": 2.0}, "y")])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="'z' is one too many: a multiclass task of 2 .*'x', 'y'"):
        model.learn_one({"a": 3.0}, "z")
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("nothing", [None, np.nan])
def test_a_label_is_needed(nothing):
    with pytest.raises(ValueError, match="needs a label, not "):
        River(kogd()).learn_one({"a": 1.0}, nothing)


def test_before_the_first_label():
    assert River(kogd()).predict_one({"a": 1.0}) is False
    assert River(kogd(**LOGISTIC)).predict_proba_one({"a": 1.0}) == {False: 0.5, True: 0.5}
    assert River(kogd(**MULTICLASS)).predict_one({"a": 1.0}) is None
    assert River(kogd(**LOGISTIC, **MULTICLASS)).predict_proba_one({"a": 1.0}) == {}
    assert River(kogd(**REGRESSION)).predict_one({"a": 1.0}) == 0.0


def test_a_single_label_is_certain():
    model = learned(River(kogd(**LOGISTIC)), [({"a": 1.0}, "only")])
    assert model.predict_one({"a": 1.0}) == "only"
    assert model.predict_proba_one({"a": 1.0}) == {"only": 1.0}


def test_a_boolean_tells_the_other_label_too():
    model = learned(River(kogd(**LOGISTIC)), [({"a": 1.0}, True)])
    assert model.predict_proba_one({"a": 1.0}).keys() == {False, True}
    assert model.predict_one({"a": 1.0}) is True


def test_a_score_of_zero_is_the_lower_class():
    model = learned(River(kogd()), [({"a": 1.0}, True)])
    assert model.learner.score(model._state, [[1e6]]).tolist() == [0.0]
    assert model.predict_one({"a": 1e6}) is False


# Probabilities


@pytest.mark.parametrize(
    ("loss", "share"),
    [
        ("logistic", lambda f: 1.0 / (1.0 + np.exp(-f))),
        ("square", lambda f: min(1.0, max(0.0, (1.0 + f) / 2.0))),
        ("squared_hinge", lambda f: min(1.0, max(0.0, (1.0 + f) / 2.0))),
    ],
)
def test_probabilities_are_what_the_loss_aims_at(loss, share):
    X, y = streams.rings(200)
    events = [(dictionary(x), bool(label > 0)) for x, label in zip(X, y, strict=True)]
    model = learned(River(kogd(loss=loss)), events)
    for x in X[:50]:
        [score] = model.learner.score(model._state, [x])
        p = model.predict_proba_one(dictionary(x))
        assert p[True] == pytest.approx(share(score), rel=1e-12)
        assert p[False] == pytest.approx(1.0 - p[True], abs=1e-15)


def test_probabilities_of_coin_flips_are_right():
    generator = np.random.default_rng(0)
    for loss in ("logistic", "squared_hinge"):
        learner = make_learner("fogd", feature_count=20, loss=loss, schedule="inverse_sqrt")
        heads = generator.random(5000) < 0.8
        model = learned(River(learner), [({"a": 1.0}, bool(one)) for one in heads])
        assert model.predict_proba_one({"a": 1.0})[True] == pytest.approx(0.8, abs=0.05)


def test_probabilities_of_several_classes_are_scaled_over_those_seen():
    model = River(kogd(**LOGISTIC, **MULTICLASS))
    learned(model, [({"a": 0.0}, "x"), ({"a": 1.0}, "y"), ({"a": 2.0}, "z")])
    scores = model.learner.score(model._state, [[1.2]])[0][:3]
    share = 1.0 / (1.0 + np.exp(-scores))
    expected = dict(zip("xyz", share / share.sum(), strict=True))
    assert model.predict_proba_one({"a": 1.2}) == pytest.approx(expected, rel=1e-12)
    # Nothing speaks for any class: they are equal.
    rows = probabilities(make_learner("kogd", loss="square"), np.full((1, 4), -2.0))
    assert rows.tolist() == [[0.25] * 4]


@pytest.mark.parametrize(
    ("name", "reason"), [("kogd", "the loss hinge"), ("perceptron", "no loss")]
)
def test_where_scores_are_no_probabilities_none_are_given(name, reason):
    model = River(make_learner(name))
    with pytest.raises(NotImplementedError, match=f"{name} has {reason}.*logistic"):
        model.predict_proba_one({"a": 1.0})


# In River's company


def test_it_goes_into_a_pipeline():
    X, y = streams.rings(1000)
    events = [(dictionary(1000.0 * x), bool(label > 0)) for x, label in zip(X, y, strict=True)]
    model = preprocessing.StandardScaler() | River(kogd(budget=100))
    assert isinstance(model, compose.Pipeline)
    accuracy = evaluate.progressive_val_score(events, model, metrics.Accuracy())
    assert accuracy.get() > 0.75


def test_a_pickled_model_goes_on_as_if_nothing_had_happened():
    X, y = streams.rings(300)
    events = [(dictionary(x), bool(label > 0)) for x, label in zip(X, y, strict=True)]
    whole = learned(River(make_learner("rbp", budget=10)), events)
    half = learned(River(make_learner("rbp", budget=10)), events[:150])
    resumed = learned(pickle.loads(pickle.dumps(half)), events[150:])
    for x, _y in events:
        assert whole.predict_one(x) == resumed.predict_one(x)


def test_the_seed_reaches_the_state():
    def words(seed):
        model = learned(River(make_learner("rbp", budget=10), seed=seed), [({"a": 1.0}, True)])
        return pickle.dumps(model._state)

    assert words(3) == words(3)
    assert words(3) != words(4)
    assert words(None) != words(None)
