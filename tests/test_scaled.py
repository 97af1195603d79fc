import numpy as np
import pytest

from okl_flow import make_learner, snapshot
from okl_flow.scaled import Scaled
from tests.conformance.cases import events_for

DIM = 4
EVENTS = 150


def raw_events(task="binary", *, missing=False):
    """Events whose features are on very different scales, the last of them constant."""
    X, y = events_for(task, EVENTS, dim=DIM)
    X = X * [1e3, 1.0, 1e-4, 0.0] + [5e3, 0.0, 7.0, 3.0]
    if missing:
        X[::5, 1] = np.nan
        X[:3, 2] = np.nan
    return X, y


def plain_columns(values, scale):
    """Each value by the values of its column up to and with itself; NaN is the mean so far."""
    filled, scaled = np.zeros_like(values), np.zeros_like(values)
    for t, value in enumerate(values):
        known = values[: t + 1][~np.isnan(values[: t + 1])]
        filled[t] = (known.mean() if known.size else 0.0) if np.isnan(value) else value
        if scale == "none" or not known.size:
            scaled[t] = filled[t]
        elif known.max() == known.min():
            scaled[t] = 0.0
        elif scale == "standard":
            scaled[t] = (filled[t] - known.mean()) / known.std()
        else:
            scaled[t] = 2.0 * (filled[t] - known.min()) / (known.max() - known.min()) - 1.0
    return scaled


def plain_features(X, scale):
    return np.column_stack([plain_columns(column, scale) for column in X.T])


def plain_label_scale(known, scale):
    """Center and width of the labels before an event."""
    if scale == "none":
        return 0.0, 1.0
    if not known.size:
        return 0.0, 0.0
    if scale == "standard":
        return known.mean(), known.std()
    return (known.max() + known.min()) / 2.0, (known.max() - known.min()) / 2.0


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
def test_a_learner_sees_the_plain_formula(scale, missing):
    X, y = raw_events(missing=missing)
    settings = {"feature_count": 20, "bandwidth": 2.0, "learning_rate": 0.5}
    learner = make_learner("fogd", scale=scale, missing="mean", **settings)
    state = learner.init(DIM)
    scores = learner.step(state, X, y)
    bare = make_learner("fogd", **settings)
    expected = bare.step(bare.init(DIM), plain_features(X, scale), y)
    np.testing.assert_allclose(scores, expected, rtol=1e-7, atol=1e-9)
    assert state.missing == np.isnan(X).sum()


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_labels_of_a_regression_are_scaled_too(scale):
    X, y = raw_events("regression")
    y = 40.0 + 300.0 * y
    settings = {"budget": 20, "task": "regression", "bandwidth": 2.0, "learning_rate": 0.2}
    learner = make_learner("kogd", scale=scale, **settings)
    scores = learner.step(learner.init(DIM), X, y)
    known = [y[:t][~np.isnan(y[:t])] for t in range(EVENTS)]
    bare = make_learner("kogd", **settings)
    inner = bare.step(bare.init(DIM), plain_features(X, scale), plain_columns_of_labels(y, scale))
    expected = [
        center + width * f
        for (center, width), f in zip(
            (plain_label_scale(labels, scale) for labels in known), inner, strict=True
        )
    ]
    np.testing.assert_allclose(scores, expected, rtol=1e-7)


def plain_columns_of_labels(y, scale):
    return np.where(np.isnan(y), np.nan, plain_columns(y, scale))


def test_values_stay_bounded_however_far_off_one_is():
    X, y = raw_events()
    X[100] = [1e12, -1e12, 1e12, 1e12]
    for scale, most in (("standard", np.sqrt(EVENTS)), ("minmax", 1.0)):
        assert np.abs(plain_features(X, scale)).max() <= most + 1e-12
        learner = make_learner("passive_aggressive", scale=scale)
        assert np.isfinite(learner.step(learner.init(DIM), X, y)).all()


def test_a_mean_of_many_large_values_keeps_its_digits():
    learner = make_learner("passive_aggressive", scale="standard")
    state = learner.init(1)
    values = 1e9 + np.random.default_rng(0).standard_normal(200_000)
    learner.step(state, values[:, None], np.full(values.size, np.nan))
    assert state.means[0] == pytest.approx(values.mean(), abs=1e-4)
    assert state.squares[0] / state.counts[0] == pytest.approx(values.var(), rel=1e-5)


def test_raw_features_need_no_pass_of_their_own():
    """Features of a thousand are no features to a gaussian of width 1; scaled ones are."""
    X, y = raw_events()
    X, y = np.tile(X, (6, 1)), np.tile(y, 6)
    mistakes = {}
    for scale in ("none", "standard"):
        learner = make_learner("kogd", budget=100, learning_rate=0.5, scale=scale)
        mistakes[scale] = np.nansum(learner.step(learner.init(DIM), X, y) * y <= 0.0)
    assert mistakes["standard"] < 0.7 * mistakes["none"]


def test_what_cannot_be_scaled_is_refused_and_changes_nothing():
    X, y = raw_events()
    for scale, huge in (("minmax", 1.7e308), ("standard", 1e200)):
        learner = make_learner("kogd", budget=5, scale=scale)
        state = learner.init(DIM)
        learner.step(state, X, y)
        before = snapshot.dumps(learner, state)
        bad = X.copy()
        bad[7, 2], bad[8, 2] = huge, -huge
        with pytest.raises(ValueError, match=r"row [78], feature 2 is -?1"):
            learner.step(state, bad, y)
        assert snapshot.dumps(learner, state) == before
    with pytest.raises(ValueError, match=r"row 7, feature 2 is 1e\+200"):
        make_learner("kogd", scale="standard").score(state, bad)
    regression = make_learner("kogd", budget=5, scale="standard", task="regression")
    state = regression.init(DIM)
    with pytest.raises(ValueError, match="y holds numbers too far apart"):
        regression.step(state, X[:2], [1e200, -1e200])
    assert state.seen == 0


def test_nan_is_refused_unless_it_may_be_missing():
    X, y = raw_events(missing=True)
    learner = make_learner("kogd", budget=5, scale="standard")
    with pytest.raises(ValueError, match="row 0, feature 1 is nan"):
        learner.step(learner.init(DIM), X, y)
    filling = make_learner("kogd", budget=5, missing="mean")
    assert isinstance(filling, Scaled)
    assert filling.scale == "none"
    X[9, 0] = np.inf
    with pytest.raises(ValueError, match="finite or NaN: row 9, feature 0 is inf"):
        filling.step(filling.init(DIM), X, y)


def test_a_bad_label_leaves_the_statistics_alone():
    learner = make_learner("kogd", budget=5, scale="minmax")
    state = learner.init(2)
    learner.step(state, [[1.0, 2.0]], [1.0])
    before = snapshot.dumps(learner, state)
    with pytest.raises(ValueError, match=r"row 0 is 0\.5"):
        learner.step(state, [[9.0, 9.0]], [0.5])
    assert snapshot.dumps(learner, state) == before


def test_the_description_makes_it_again():
    learner = make_learner("nogd", budget=30, scale="minmax", missing="mean", bandwidth=0.5)
    description = learner.describe()
    assert (description["learner"], description["scale"]) == ("nogd", "minmax")
    assert make_learner(**description) == learner
    assert learner.name == "nogd"
    assert make_learner("nogd", scale="none") == make_learner("nogd")
    with pytest.raises(ValueError, match="scale must be one of standard, minmax, none"):
        make_learner("nogd", scale="z")
