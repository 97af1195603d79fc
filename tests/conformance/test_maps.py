"""The laws that every feature map obeys, over all of them."""

import numpy as np
import pytest

from okl_flow import make_map, snapshot, streams
from okl_flow.parameters import family_of, options_of, parameters_of, parts_within
from okl_flow.registry import MAPS
from okl_flow.state import array_axes
from tests import plain
from tests.conformance.cases import other_values

DIM = 3
EXAMPLES = 90
SEED = 7
# Small enough for every bound to be reached within the stream.
SETTINGS = {
    "incremental_nystrom": {"budget": 12, "rank": 9},
    "irs": {"budget": 20, "update_every": 3, "stored_rows": 30},
    "kors": {"budget": 25},
    "oana": {"budget": 20, "rank": 15, "squared_distance": 0.5},
    "random_fourier": {"feature_count": 40},
}
# Values of parameters of which the default is derived from another, or that others bound.
OTHERS = {"irs": {"sketch_size": [12, 18], "stored_rows": [22, 40]}}
# Root mean square error of the kernel estimate after the stream, relative to the kernel's own.
ERROR_MAX = {
    "incremental_nystrom": 0.005,
    "irs": 0.05,
    "kors": 0.05,
    "oana": 0.05,
    "random_fourier": 0.09,
}


def map_of(name, **settings):
    """A map under its test settings, some of them changed."""
    return make_map(name, **{**SETTINGS[name], **settings})


def examples(count=EXAMPLES, seed=3):
    """Examples of which some come again."""
    X = streams.waves(count, dim=DIM, seed=seed)[0]
    X[count // 2 : count // 2 + count // 10] = X[: count // 10]
    return X


def gathered(feature_map, X, seed=SEED):
    """A state that has taken in the examples."""
    state = feature_map.init(X.shape[1], seed=seed)
    feature_map.update(state, X)
    return state


def array_bytes(state):
    """Bytes that the arrays of a state take."""
    return sum(getattr(state, name).nbytes for name in array_axes(type(state)))


def alternatives(name):
    """For each parameter, maps in which it alone has another value."""
    base = map_of(name)
    for owner in (base, *parts_within(base)):
        for parameter in parameters_of(owner):
            found = []
            values = other_values(parameter, getattr(owner, parameter.name))
            for value in OTHERS.get(name, {}).get(parameter.name, values):
                try:
                    found.append(map_of(name, **{parameter.name: value}))
                except ValueError:
                    continue
            assert found, f"{name}: no other {parameter.name} is accepted"
            yield parameter.name, found


def every(law):
    """Run a law over every map."""
    return pytest.mark.parametrize("name", list(MAPS))(law)


def test_every_map_is_under_the_laws():
    assert set(SETTINGS) == set(ERROR_MAX) == set(MAPS)


@every
def test_features_change_nothing_and_give_the_estimate(name):
    feature_map = map_of(name)
    X, Z = examples(), examples(20, seed=4)
    state = feature_map.init(DIM, seed=SEED)
    for begin in range(0, EXAMPLES, 9):
        feature_map.update(state, X[begin : begin + 9])
        before = snapshot.dumps(feature_map, state)
        features = feature_map.features(state, Z)
        np.testing.assert_array_equal(feature_map.features(state, Z), features)
        by_row = [feature_map.features(state, z[None])[0] for z in Z]
        np.testing.assert_array_equal(np.array(by_row).reshape(features.shape), features)
        estimate = feature_map.kernel_estimate(state, Z, X[:5])
        assert estimate.shape == (20, 5)
        np.testing.assert_allclose(
            estimate, features @ feature_map.features(state, X[:5]).T, atol=1e-12
        )
        assert snapshot.dumps(feature_map, state) == before


@every
def test_cuts_and_resumes_leave_no_trace(name):
    feature_map = map_of(name)
    X = examples()
    whole = snapshot.dumps(feature_map, gathered(feature_map, X))
    by_row = feature_map.init(DIM, seed=SEED)
    for x in X:
        feature_map.update(by_row, x[None])
    assert snapshot.dumps(feature_map, by_row) == whole
    for cut in (0, 1, 11, 12, 13, 40, EXAMPLES):
        blob = snapshot.dumps(feature_map, gathered(feature_map, X[:cut]))
        reread, resumed = snapshot.loads(blob)
        assert reread == feature_map
        assert snapshot.dumps(feature_map, resumed) == blob
        feature_map.update(resumed, X[cut:])
        assert snapshot.dumps(feature_map, resumed) == whole, f"another state, cut at {cut}"


@every
def test_what_is_taken_still_changes_no_feature(name):
    feature_map = map_of(name)
    X = examples()
    state, reference = feature_map.init(DIM, seed=SEED), feature_map.init(DIM, seed=SEED)
    t = taken = 0
    while t < EXAMPLES:
        before = feature_map.features(state, X)
        still = feature_map.take_still(state, X[t : t + 20])
        assert 0 <= still <= min(20, EXAMPLES - t)
        np.testing.assert_array_equal(feature_map.features(state, X), before)
        feature_map.update(state, X[t + still : t + still + 1])
        taken += still
        t += still + 1
    feature_map.update(reference, X)
    assert snapshot.dumps(feature_map, state) == snapshot.dumps(feature_map, reference)
    assert taken > 20


@every
def test_it_has_its_features_when_and_as_many_as_it_says(name):
    feature_map = map_of(name)
    state = gathered(feature_map, examples()[: feature_map.examples_needed])
    most = feature_map.features_max
    assert feature_map.features(state, examples()).shape[1] in range(most + 1)
    feature_map.update(state, examples())
    assert 0 < feature_map.features(state, examples()).shape[1] <= most


@every
def test_inputs_are_left_alone_and_states_are_apart(name):
    feature_map = map_of(name)
    X = examples()
    given, other = X.copy(), feature_map.init(DIM, seed=SEED)
    untouched = snapshot.dumps(feature_map, other)
    state = gathered(feature_map, given)
    np.testing.assert_array_equal(given, X)
    assert snapshot.dumps(feature_map, other) == untouched
    features = feature_map.features(state, X)
    given[:] = np.pi
    np.testing.assert_array_equal(feature_map.features(state, X), features)


@every
def test_the_seed_and_the_configuration_decide(name):
    feature_map = map_of(name)
    X = examples()
    state = gathered(feature_map, X)
    blob = snapshot.dumps(feature_map, state)
    assert snapshot.dumps(feature_map, gathered(feature_map, X)) == blob
    expected = feature_map.kernel_estimate(state, X, X)
    for parameter, others in alternatives(name):
        estimates = [other.kernel_estimate(gathered(other, X), X, X) for other in others]
        assert any(not np.array_equal(estimate, expected) for estimate in estimates), (
            f"{name}: no value of {parameter} changes the estimate"
        )
        with pytest.raises(snapshot.SnapshotError, match=rf"its {parameter} is"):
            snapshot.restore(others[0], blob)


@every
def test_absurd_parameters_are_refused(name):
    feature_map = map_of(name)
    for owner in (feature_map, *parts_within(feature_map)):
        for parameter in parameters_of(owner):
            words = family_of(parameter) is not None or options_of(parameter)
            for absurd in ("no such word",) if words else (-1, np.nan, "much", True):
                with pytest.raises(ValueError, match=parameter.name):
                    map_of(name, **{parameter.name: absurd})


@every
def test_memory_is_bounded(name):
    feature_map = map_of(name)
    bound = feature_map.state_bytes_max(DIM)
    assert bound is not None, f"{name}: the test settings must bound the memory"
    state = feature_map.init(DIM, seed=SEED)
    assert len(snapshot.dumps(feature_map, state)) < 300 + len(str(feature_map.describe()))
    for seed in range(8):
        feature_map.update(state, examples(seed=seed))
        assert array_bytes(state) <= bound


@every
def test_hard_examples_are_survived(name):
    feature_map = map_of(name)
    X = examples()
    hard = {
        "zeros": np.zeros((60, DIM)),
        "one point": np.tile(X[0], (200, 1)),
        "norm 1e6": 1e6 * X,
        "one far point": np.where(np.arange(EXAMPLES)[:, None] == 20, 1e6, X),
    }
    for kind, examples_of_kind in hard.items():
        state = gathered(feature_map, examples_of_kind)
        assert np.isfinite(feature_map.kernel_estimate(state, X, examples_of_kind)).all(), (
            f"{name}: the estimate is not finite after {kind}"
        )
    state = gathered(feature_map, X)
    before = snapshot.dumps(feature_map, state)
    X[30, 1] = np.nan
    for refused, reason in ((X, "row 30, feature 1 is nan"), (X[:, 1:], r"shape \(events, 3\)")):
        for method in (feature_map.update, feature_map.features):
            with pytest.raises(ValueError, match=reason):
                method(state, refused)
    assert snapshot.dumps(feature_map, state) == before


@every
def test_the_estimate_is_near_the_kernel(name):
    feature_map = map_of(name, bandwidth=2.0)
    X = examples()
    state = gathered(feature_map, X)
    similarity = plain.kernel_of(feature_map.kernel)
    true = np.array([[similarity(x, z) for z in X] for x in X])
    error = np.linalg.norm(feature_map.kernel_estimate(state, X, X) - true)
    assert error <= ERROR_MAX[name] * np.linalg.norm(true)
