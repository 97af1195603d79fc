"""DualSGD: what only its paper promises."""

import numpy as np
import pytest

from okl_flow import Gaussian, Logistic, Multiclass, Regression, Square, SquaredHinge
from okl_flow.kernels import Polynomial
from okl_flow.learners.feature_map.dual_sgd import DualSGD
from okl_flow.streams import rings
from tests import plain


class Plain(plain.Expansion):
    """DualSGD as its paper writes it, one example merged at a time."""

    def __init__(self, learner, dim, seed):
        super().__init__(learner)
        self.learner = learner
        self.fourier = plain.Fourier(learner.kernel, learner.feature_count, dim, learner.seed)
        self.w = np.zeros((learner.task.outputs, 2 * learner.feature_count))
        self.learned = 0

    def score(self, x):
        if self.learned == 0:
            return np.zeros(self.task.outputs)
        total = super().score(x) + self.w @ self.fourier.features(x)
        return total / (self.learner.regularization * self.learned)

    def learn(self, x, y):
        slopes = [
            plain.slope(self.learner.loss, f, target)
            for f, target in zip(self.score(x), plain.targets(self.task, y), strict=True)
        ]
        self.learned += 1
        if any(slopes):
            if len(self.examples) == self.learner.budget:
                lightest = int(np.argmin([np.sum(np.abs(b)) for b in self.weights]))
                self.w += np.outer(
                    self.weights[lightest], self.fourier.features(self.examples[lightest])
                )
                self.drop(lightest)
            self.add(x, [-slope for slope in slopes])


def test_steps_by_hand():
    learner = DualSGD(kernel=Gaussian(bandwidth=1.0), regularization=0.5)
    state = learner.init(dim=1)
    scores = learner.step(state, [[0.0], [1.0], [0.0], [0.0]], [1.0, -1.0, 1.0, np.nan])
    k = np.exp(-0.5)
    np.testing.assert_allclose(scores, [0.0, k / 0.5, (1 - k) / 1.0, (2 - k) / 1.5], rtol=1e-14)
    assert state.weights[0, : state.size].tolist() == [1.0, -1.0, 1.0]


def test_of_equal_weights_the_oldest_goes_and_the_newcomer_stays():
    learner = DualSGD(budget=3, kernel=Gaussian(bandwidth=0.01), regularization=0.1)
    state = learner.init(dim=1)
    learner.step(state, np.arange(5.0)[:, None], np.ones(5))
    assert sorted(state.rows[0]) == [2.0, 3.0, 4.0]
    learner.step(state, [[5.0]], [1.0])
    assert sorted(state.rows[0]) == [3.0, 4.0, 5.0]


def test_the_lightest_example_goes_before_the_oldest():
    learner = DualSGD(budget=2, loss=Logistic(), regularization=0.5)
    state = learner.init(dim=1)
    learner.step(state, [[0.0], [0.1], [9.0]], [1.0, 1.0, 1.0])
    # The second event was already scored well: its slope, and so its weight, is the smallest.
    assert sorted(state.rows[0]) == [0.0, 9.0]


def test_weights_count_over_all_outputs():
    learner = DualSGD(budget=2, task=Multiclass(classes=3), regularization=1e-9)
    state = learner.init(dim=1)
    learner.step(state, [[0.0], [0.0], [50.0]], [0.0, 1.0, 2.0])
    # Before the first event no class is right; before the second, class 2 has its margin.
    assert state.weights[:, 0].tolist() != state.weights[:, 1].tolist()
    assert sorted(state.rows[0]) == [0.0, 50.0]
    assert state.arrivals.tolist() in ([1, 3], [3, 1])


def test_an_example_that_goes_leaves_its_estimate():
    learner = DualSGD(budget=1, feature_count=20000, regularization=0.01)
    state = learner.init(dim=1)
    learner.step(state, [[0.0], [0.5]], [1.0, -1.0])
    exact = np.exp(-0.5 * np.array([0.0, 1.0]) ** 2) - np.exp(-0.5 * np.array([0.5, 0.5]) ** 2)
    np.testing.assert_allclose(learner.score(state, [[0.0], [1.0]]), exact / 0.02, atol=2.0)
    np.testing.assert_allclose(state.feature_weights[0] @ state.feature_weights[0], 1.0)


def test_with_room_for_all_it_is_descent_with_steps_of_one_over_lambda_t():
    X, y = rings(300, dim=3, seed=1)
    learner = DualSGD(budget=300, regularization=0.05)
    state = learner.init(3)
    scores = learner.step(state, X, y)
    kernel = plain.kernel_of(learner.kernel)
    gram = np.array([[kernel(x, z) for z in X] for x in X])
    a = np.zeros(300)
    for t in range(300):
        f = gram[t] @ a
        assert scores[t] == pytest.approx(f, abs=1e-11)
        eta = 1 / (0.05 * (t + 1))
        a *= 1 - 0.05 * eta
        a[t] = eta * y[t] if y[t] * f < 1 else 0.0


@pytest.mark.parametrize(
    ("loss", "task"), [(SquaredHinge(), None), (Square(), None), (Square(), Regression())]
)
def test_losses_of_unbounded_slope_are_refused(loss, task):
    with pytest.raises(ValueError, match=f"loss {loss.name} has a slope without bound"):
        DualSGD(loss=loss, **({"task": task} if task else {}))


def test_regression_takes_epsilon_insensitive_by_default():
    assert DualSGD(task=Regression()).loss.name == "epsilon_insensitive"


def test_a_kernel_without_directions_is_refused():
    with pytest.raises(ValueError, match="dual_sgd: kernel must be gaussian or laplacian"):
        DualSGD(kernel=Polynomial())
