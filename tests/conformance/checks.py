"""The ten laws that every learner obeys, one function each.

A check takes the name of a registry row. It passes in silence, or raises an AssertionError
that names the learner and the event. `test_checks.py` proves that each check can fail.
"""

import pickle
from itertools import pairwise

import numpy as np
import pytest

from okl_flow import make_learner, snapshot, streams
from okl_flow.parameters import family_of, options_of, parameters_of, parts_within
from okl_flow.registry import REGISTRY
from okl_flow.state import array_axes, inner_states
from tests.conformance.cases import alternatives, events_for, learner_of

DIM = 5
EVENTS = 240
SEED = 7


def first_task(name):
    """The first of the tasks that a learner does."""
    return REGISTRY[name].tasks[0]


def events(name, count=EVENTS):
    """A stream that fits the learner under its test settings."""
    return events_for(learner_of(name).task.name, count, dim=DIM)


def same(name, scores, expected, what):
    """Assert that two runs gave the same scores, to the last bit."""
    for t, (f, e) in enumerate(zip(scores, expected, strict=True)):
        assert np.array_equal(f, e), f"{name}: {what} differs at event {t}: {f} is not {e}"


def arrays_of(state):
    """The arrays of a state and of the states inside it."""
    return {
        path + name: getattr(part, name)
        for path, part in inner_states(state)
        for name in array_axes(type(part))
    }


def run_of(learner, count):
    """The scores of a learner on a stream that fits its task."""
    return learner.step(
        learner.init(DIM, seed=SEED), *events_for(learner.task.name, count, dim=DIM)
    )


def array_bytes(state):
    """Bytes that the arrays of a state take."""
    return sum(array.nbytes for array in arrays_of(state).values())


def score_reads_only(name):
    """Law 1: `score` changes nothing and foretells `step`; a batch is the loop over its rows."""
    learner = learner_of(name)
    X, y = events(name)
    state, by_row = learner.init(DIM, seed=SEED), learner.init(DIM, seed=SEED)
    assert np.isfinite(learner.score(state, X)).all(), f"{name}: a fresh score is not finite"
    for t in range(0, EVENTS, 40):
        batch, labels = X[t : t + 40], y[t : t + 40]
        before = snapshot.dumps(learner, state)
        foretold = learner.score(state, batch)
        same(name, learner.score(state, batch), foretold, "a second score")
        assert snapshot.dumps(learner, state) == before, f"{name}: score changed the state at {t}"
        scores = learner.step(state, batch, labels)
        same(name, scores[:1], foretold[:1], f"step after score (from event {t})")
        rows = []
        for x, label in zip(batch, labels, strict=True):
            foretold = learner.score(by_row, x[None])
            rows.append(learner.step(by_row, x[None], [label])[0])
            same(name, rows[-1:], foretold, f"step of one row after score (from event {t})")
        same(name, rows, scores, f"a batch from event {t}, row by row,")
    assert snapshot.dumps(learner, state) == snapshot.dumps(learner, by_row), (
        f"{name}: a batch leaves another state than its rows one by one"
    )


def inputs_are_left_alone(name):
    """Law 2: inputs are neither changed nor kept; two states know nothing of each other."""
    learner = learner_of(name)
    X, y = events(name)
    given_X, given_y = X.copy(), y.copy()
    state, other, reference = (learner.init(DIM, seed=SEED) for _ in range(3))
    untouched = snapshot.dumps(learner, other)
    learner.step(state, given_X, given_y)
    assert np.array_equal(given_X, X), f"{name}: step changed X"
    assert np.array_equal(given_y, y, equal_nan=True), f"{name}: step changed y"
    assert snapshot.dumps(learner, other) == untouched, f"{name}: another state learned too"
    given_X[:] = np.pi
    given_y[:] = 1.0
    X.flags.writeable = y.flags.writeable = False
    learner.step(reference, X, y)
    same(name, learner.score(state, X), learner.score(reference, X), "after X was overwritten")


def snapshots_stand_still(name):
    """Law 3: a snapshot, and a state that was restored from it, do not learn with the others."""
    learner = learner_of(name)
    X, y = events(name)
    state = learner.init(DIM, seed=SEED)
    learner.step(state, X[:100], y[:100])
    blob = snapshot.dumps(learner, state)
    copy = bytes(bytearray(blob))
    restored = snapshot.loads(blob)[1]
    for taken, held in arrays_of(restored).items():
        assert held.flags.writeable, f"{name}: the restored {taken} cannot be learned into"
    learner.step(state, X[100:], y[100:])
    assert blob == copy, f"{name}: a snapshot changed while learning went on"
    assert snapshot.dumps(learner, restored) == copy, f"{name}: a restored state learned too"
    learner.step(restored, X[100:], y[100:])
    assert snapshot.dumps(learner, snapshot.loads(blob)[1]) == copy, (
        f"{name}: learning in a restored state changed the snapshot"
    )


def resuming_is_going_on(name):
    """Law 4: snapshot or pickle, restore, go on: the uninterrupted run, wherever it was cut."""
    learner = learner_of(name)
    X, y = events(name)
    whole = learner.init(DIM, seed=SEED)
    expected = learner.step(whole, X, y)
    budget = REGISTRY[name].settings.get("budget", 20)
    for cut in sorted({0, 1, 2, budget - 1, budget, budget + 1, 3 * budget, EVENTS // 2, EVENTS}):
        first = learner.init(DIM, seed=SEED)
        learner.step(first, X[:cut], y[:cut])
        reread, resumed = snapshot.loads(snapshot.dumps(learner, first))
        assert reread == learner, f"{name}: {reread} came back for {learner}"
        pickled = pickle.loads(pickle.dumps(first))
        for state, way in ((resumed, "snapshot"), (pickled, "pickle")):
            scores = learner.step(state, X[cut:], y[cut:])
            same(name, scores, expected[cut:], f"after a {way} at {cut}, counted from there,")
            assert snapshot.dumps(learner, state) == snapshot.dumps(learner, whole), (
                f"{name}: another state after a {way} at {cut}"
            )


def seeds_decide(name):
    """Law 5: the same seed gives the same scores; another configuration is refused on resume."""
    X, y = events(name)
    learner = learner_of(name)
    runs = [learner_of(name).step(learner.init(DIM, seed=SEED), X, y) for _ in range(2)]
    same(name, runs[1], runs[0], "a second run")
    blob = snapshot.dumps(learner, learner.init(DIM, seed=SEED))
    snapshot.restore(learner, blob)
    for parameter, settings in alternatives(name).items():
        with pytest.raises(snapshot.SnapshotError, match=rf"its {parameter} is"):
            snapshot.restore(learner_of(name, **settings[0]), blob)


def memory_is_bounded(name):
    """Law 6: ten times the warm-up stays within the declared bound; no bound, no budget."""
    learner = learner_of(name)
    bound = learner.state_bytes_max(DIM)
    assert bound is not None, f"{name}: the test settings must bound the memory"
    X, y = events(name, 20 * REGISTRY[name].settings.get("budget", 20))
    state = learner.init(DIM, seed=SEED)
    for _ in range(10):
        learner.step(state, X, y)
        assert array_bytes(state) <= bound, (
            f"{name}: {array_bytes(state)} bytes after {state.seen} events, declared {bound}"
        )
    state = learner.init(DIM, seed=SEED)
    fresh = len(snapshot.dumps(learner, state))
    most = 300 * len(list(inner_states(state))) + len(str(learner.describe()))
    assert fresh < most, f"{name}: a fresh snapshot has {fresh} bytes"


def parameters_matter(name):
    """Law 7: every parameter changes some score; absurd and unknown ones are refused."""
    expected = run_of(learner_of(name), 3 * EVENTS)
    for parameter, settings in alternatives(name).items():
        changed = [learner_of(name, **setting) for setting in settings]
        runs = [run_of(other, 3 * EVENTS) for other in changed]
        assert any(
            run.shape != expected.shape or not np.array_equal(run, expected) for run in runs
        ), f"{name}: no value of {parameter} changes a score"
    for parameter, absurd in absurdities(name):
        with pytest.raises(ValueError, match=parameter):
            learner_of(name, **{parameter: absurd})
    with pytest.raises(ValueError, match="no parameter 'tcoeff'"):
        learner_of(name, tcoeff=1.0)


def hard_streams_are_survived(name):
    """Law 8: zeros, one point for ever, one label, huge norms; what is not finite is refused."""
    learner = learner_of(name)
    generator = np.random.default_rng(SEED)
    X, y = events(name)
    y = np.where(np.isnan(y), y[0], y)
    hard = {
        "zero vectors": (np.zeros((200, DIM)), y[:200]),
        "one point a thousand times": (np.tile(X[0], (1000, 1)), np.tile(y, 5)[:1000]),
        "one label only": (X, np.full(EVENTS, y[0])),
        "norm 1e6": (1e6 * generator.standard_normal((EVENTS, DIM)), y),
        "one far point among near ones": (np.where(np.arange(EVENTS)[:, None] == 50, 1e6, X), y),
    }
    for kind, (A, b) in hard.items():
        state = learner.init(DIM, seed=SEED)
        scores = learner.step(state, A, b)
        assert np.isfinite(scores).all(), f"{name}: a score is not finite on {kind}"
        assert all(np.isfinite(array).all() for array in arrays_of(state).values()), (
            f"{name}: the state is not finite after {kind}"
        )
        assert np.isfinite(learner.score(state, X)).all(), f"{name}: no finite score after {kind}"
    bad_X, bad_y = X.copy(), y.copy()
    bad_X[EVENTS // 2, DIM - 1] = np.nan
    bad_y[EVENTS // 2] = np.inf
    refused(name, bad_X, y, f"row {EVENTS // 2}, feature {DIM - 1} is nan")
    refused(name, X, bad_y, f"row {EVENTS // 2} is inf")
    refused(name, X[:, 1:], y, rf"shape \(events, {DIM}\)")
    refused(name, X[0], y[:1], rf"shape \(events, {DIM}\)")
    refused(name, X, y[1:], rf"shape \({EVENTS},\)")
    refused(name, [["a"] * DIM], [1.0], "real numbers")
    if learner.task.name != "regression":
        refused(name, X[:2], [y[0], 17.5], "row 1 is 17.5")


def refused(name, X, y, reason):
    """Assert that a step is refused for a reason, and changes nothing."""
    learner = learner_of(name)
    state = learner.init(DIM, seed=SEED)
    learner.step(state, *events(name))
    before = snapshot.dumps(learner, state)
    with pytest.raises(ValueError, match=reason):
        learner.step(state, X, y)
    assert snapshot.dumps(learner, state) == before, f"{name}: refused, but changed ({reason})"


def it_learns(name):
    """Law 9: mistakes on two seeded streams stay under the row's numbers."""
    for stream, most in zip(
        (streams.rings, streams.rotating), REGISTRY[name].mistakes_max, strict=True
    ):
        X, y = stream(4000, seed=1)
        learner = learner_of(name, **REGISTRY[name].learning)
        scores = learner.step(learner.init(X.shape[1], seed=SEED), X, y)
        rate = np.mean(scores * y <= 0)
        assert rate <= most, f"{name}: {rate:.3f} mistakes on {stream.__name__}, allowed {most}"


def limits_meet(name):
    """Law 10: with room for everything, the learner is the one that it approximates."""
    row = REGISTRY[name]
    assert row.limits, f"{name}: no limit is declared"
    for limit in row.limits:
        X, y = events(name)
        errors = []
        for settings in limit.settings:
            learner = make_learner(name, **settings)
            other = make_learner(limit.equals, **limit.with_settings)
            scores = learner.step(learner.init(DIM, seed=SEED), X, y)
            expected = other.step(other.init(DIM, seed=SEED), X, y)
            errors.append(np.sqrt(np.mean((scores - expected) ** 2)))
        assert errors[-1] <= limit.tolerance, (
            f"{name} under {limit.settings[-1]} is {errors[-1]:.2g} from {limit.equals}"
        )
        for (settings, error), (_, next_error) in pairwise(
            zip(limit.settings, errors, strict=True)
        ):
            assert next_error < error, f"{name}: more room than {settings} brought no gain"


LAWS = (
    score_reads_only,
    inputs_are_left_alone,
    snapshots_stand_still,
    resuming_is_going_on,
    seeds_decide,
    memory_is_bounded,
    parameters_matter,
    hard_streams_are_survived,
    it_learns,
    limits_meet,
)


def absurdities(name):
    """Values that no parameter may have."""
    learner = learner_of(name)
    for owner in (learner, *parts_within(learner)):
        for parameter in parameters_of(owner):
            if family_of(parameter) is not None or options_of(parameter):
                yield parameter.name, "no such word"
            elif isinstance(getattr(owner, parameter.name), bool):
                yield from ((parameter.name, absurd) for absurd in (-1, 0, np.nan, "much"))
            else:
                yield from ((parameter.name, absurd) for absurd in (-1, np.nan, "much", True))
                if isinstance(getattr(owner, parameter.name), int):
                    yield parameter.name, 2.5
