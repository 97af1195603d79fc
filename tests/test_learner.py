"""The checks that every learner makes before it touches its state."""

import numpy as np
import pytest

from okl_flow import make_learner
from okl_flow.learner import loss_of, stepped
from okl_flow.losses import Hinge, Logistic, Square

LEARNER = make_learner("kogd", budget=5, learning_rate=0.5)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0, 2.0]], [1.0, 1.0], r"y must have shape \(1,\), one label per row"),
        ([[1.0, 2.0, 3.0]], [1.0], r"X must have shape \(events, 2\).*it has shape \(1, 3\)"),
        ([1.0, 2.0], [1.0], r"X must have shape \(events, 2\)"),
        ([[1.0, np.nan]], [1.0], "X must be finite: row 0, feature 1 is nan"),
        ([[0.0, 0.0], [-np.inf, 1.0]], [1.0, 1.0], "row 1, feature 0 is -inf"),
        ([["a", "b"]], [1.0], "X must be real numbers"),
        ([[1.0, 2.0], [1.0]], [1.0, 1.0], "X must be real numbers"),
        ([[1.0, None]], [1.0], "row 0, feature 1 is nan"),
        ([[1j, 2.0]], [1.0], "X must be real numbers"),
        ([[1.0, 2.0]], ["yes"], "y must be real numbers"),
        ([[1.0, 2.0]], [0.0], r"binary task must be -1 or \+1 \(NaN for no label\): row 0 is 0"),
        ([[1.0, 2.0]], [np.inf], "row 0 is inf"),
    ],
)
def test_bad_events_are_refused(X, y, message):
    state = LEARNER.init(2)
    with pytest.raises(ValueError, match=message):
        LEARNER.step(state, X, y)
    assert (state.seen, state.size) == (0, 0)


@pytest.mark.parametrize(
    ("task", "label", "message"),
    [
        ({"task": "multiclass", "classes": 3}, 3.0, "must be a class from 0 to 2"),
        ({"task": "multiclass", "classes": 3}, -1.0, "must be a class from 0 to 2"),
        ({"task": "multiclass", "classes": 3}, 0.5, "must be a class from 0 to 2"),
        ({"task": "regression"}, np.inf, "must be a finite number"),
    ],
)
def test_labels_of_another_task_are_refused(task, label, message):
    learner = make_learner("kogd", **task)
    with pytest.raises(ValueError, match=message):
        learner.step(learner.init(1), [[0.0]], [label])


@pytest.mark.parametrize("dim", [0, -1, 2.0, "2", True])
def test_a_dimension_is_a_whole_number(dim):
    with pytest.raises(ValueError, match="dim must be a whole number at least 1"):
        LEARNER.init(dim)


def test_other_layouts_and_types_are_taken():
    X = np.asfortranarray(np.arange(8.0).reshape(4, 2))
    y = np.array([1, -1, 1, -1])
    expected = LEARNER.step(LEARNER.init(2), X.copy(order="C"), y.astype(float))
    for same in (X, X.astype(np.float32), X.astype(int), X.tolist(), X[::-1][::-1]):
        scores = LEARNER.step(LEARNER.init(2), same, y)
        np.testing.assert_array_equal(scores, expected)


def test_no_events_are_no_work():
    state = LEARNER.init(2)
    assert LEARNER.step(state, np.empty((0, 2)), []).shape == (0,)
    assert LEARNER.score(state, np.empty((0, 2))).shape == (0,)
    assert state.seen == 0


def test_an_event_without_label_is_only_scored():
    state = LEARNER.init(1)
    scores = LEARNER.step(state, [[0.0], [0.0], [0.0]], [1.0, np.nan, -1.0])
    assert scores.tolist() == [0.0, 0.5, 0.5]
    assert (state.seen, state.learned) == (3, 2)


def test_multiclass_has_a_score_per_class():
    learner = make_learner("kogd", task="multiclass", classes=3, learning_rate=0.5)
    state = learner.init(1)
    assert learner.step(state, [[0.0]], [2.0]).shape == (1, 3)
    assert learner.score(state, [[0.0]]).tolist() == [[-0.5, -0.5, 0.5]]


def test_a_loop_that_does_not_get_on_is_stopped():
    state = LEARNER.init(2)
    with pytest.raises(AssertionError, match="kogd does not get past event 1"):
        stepped(LEARNER, state, np.zeros((3, 2)), np.ones(3), lambda t, *_arrays: 1)


def test_read_only_events_are_taken():
    X, y = np.frombuffer(np.ones(4).tobytes()).reshape(2, 2), np.frombuffer(np.ones(2).tobytes())
    assert LEARNER.step(LEARNER.init(2), X, y).tolist() == [0.0, 0.5]


def test_a_learner_is_measured_by_its_own_loss():
    assert loss_of(make_learner("kogd", loss="square")) == Square()
    assert loss_of(make_learner("kogd")) == Hinge()
    assert loss_of(make_learner("kogd", task="regression")) == Square()

    assert loss_of(make_learner("perceptron")) == Hinge()
    assert loss_of(make_learner("kogd", loss="logistic", scale="standard")) == Logistic()
