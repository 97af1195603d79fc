"""What scores say, beside the formulas in plain numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okl_flow import make_learner
from okl_flow.outcome import outcome_of

scores = st.lists(st.floats(-50.0, 50.0), min_size=1, max_size=12)


def sigmoid(f):
    return 1.0 / (1.0 + np.exp(-f))


@settings(deadline=None)
@given(scores, st.sampled_from([-1.0, 1.0, np.nan]))
def test_the_sign_and_the_logistic_loss_of_two_classes(given_scores, label):
    f = np.array(given_scores)
    y = np.full(f.size, label)
    found = outcome_of(make_learner("fogd", loss="logistic"), f, y)
    np.testing.assert_array_equal(found.predicted, np.where(f > 0, 1.0, -1.0))
    np.testing.assert_allclose(found.probability, sigmoid(np.abs(f)), rtol=1e-14)
    expected = np.log1p(np.exp(-y * f))
    np.testing.assert_allclose(found.loss, expected, rtol=1e-12, atol=1e-21)


def test_the_highest_score_wins_and_the_first_of_equals():
    learner = make_learner("kogd", task="multiclass", classes=3, loss="logistic")
    f = np.array([[0.5, 2.0, 2.0], [-1.0, -3.0, -2.0], [0.0, 0.0, 0.0]])
    found = outcome_of(learner, f, np.array([1.0, 2.0, np.nan]))
    assert found.predicted.tolist() == [1.0, 0.0, 0.0]
    shares = sigmoid(f) / sigmoid(f).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.probability, shares.max(axis=1), rtol=1e-14)
    aims = np.array([[-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
    np.testing.assert_allclose(
        found.loss[:2], np.logaddexp(0.0, -aims * f[:2]).mean(axis=1), rtol=1e-12
    )
    assert np.isnan(found.loss[2])


def test_no_class_is_likelier_than_another_where_all_are_out_of_question():
    learner = make_learner("kogd", task="multiclass", classes=3, loss="logistic")
    found = outcome_of(learner, np.full((1, 3), -1e5), np.array([0.0]))
    assert found.probability.tolist() == [1 / 3]


def test_a_number_stands_for_itself_and_has_no_probability():
    learner = make_learner("kogd", task="regression")
    found = outcome_of(learner, np.array([2.5, -1.0]), np.array([2.0, np.nan]))
    assert found.predicted.tolist() == [2.5, -1.0]
    assert np.isnan(found.probability).all()
    np.testing.assert_array_equal(found.loss, [0.25, np.nan])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "square"])
def test_only_the_logistic_loss_knows_probabilities(loss):
    found = outcome_of(make_learner("fogd", loss=loss), np.array([0.25]), np.array([1.0]))
    assert np.isnan(found.probability).all()
    assert found.loss[0] == {"hinge": 0.75, "squared_hinge": 0.5625, "square": 0.5625}[loss]


def test_nothing_says_nothing():
    found = outcome_of(make_learner("fogd"), np.empty(0), np.empty(0))
    assert [part.size for part in found] == [0, 0, 0]
