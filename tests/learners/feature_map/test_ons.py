"""ONS: what only its papers promise."""

import numpy as np
import pytest
from scipy.optimize import brentq

from okl_flow import Gaussian, Hinge, Linear, Logistic, Regression, Square, make_learner
from okl_flow.approximation.kors import KORS
from okl_flow.approximation.nystrom import IncrementalNystrom
from okl_flow.approximation.oana import OANA
from okl_flow.approximation.random_features import RandomFourier
from okl_flow.curvature import triangle_of
from okl_flow.learners.feature_map.ons import ONS
from okl_flow.streams import rings, waves
from tests import plain


class Plain:
    """The Newton step with A itself, solved anew for each event.

    Features are made anew for each event too: from the kernel matrix of the examples in stage one,
    from its eigenpairs, or from the sketches, in stage two.
    """

    def __init__(self, learner, dim, seed):
        self.learner = learner
        self.map = learner.map
        self.alpha = learner.regularization
        self.kernel = plain.kernel_of(self.map.kernel)
        self.learned = self.seen = 0
        self.examples = []
        self.make = None
        self.w, self.A = np.zeros((learner.task.outputs, 0)), np.zeros((0, 0))
        if self.map.name == "random_fourier":
            fourier = plain.Fourier(self.map.kernel, self.map.feature_count, dim, self.map.seed)
            self.make = fourier.features
            self.grow(2 * self.map.feature_count)
        elif self.map.name == "irs":
            self.sketched = plain.Sketched(self.map, seed)

    def grow(self, count):
        size = len(self.A)
        self.w = np.pad(self.w, ((0, 0), (0, count)))
        self.A = np.pad(self.A, (0, count))
        self.A[size:, size:] = self.alpha * np.eye(count)

    def gram(self, A, B):
        return np.array([[self.kernel(a, b) for b in B] for a in A])

    def features(self, x):
        if self.make is not None:
            return self.make(x)
        if not self.examples:
            return np.zeros(0)
        L = np.linalg.cholesky(self.gram(self.examples, self.examples))
        return np.linalg.solve(L, self.gram([x], self.examples)[0])

    def score(self, x):
        return self.w @ self.features(x)

    def learn(self, x, y):
        scores, gathering = self.score(x), self.make is None
        if gathering:
            z, own = self.features(x), self.kernel(x, x)
            if own - z @ z >= 1e-10 * own > 0:
                self.examples.append(x.copy())
                self.grow(1)
        self.newton_step(self.features(x), scores, y)
        if not gathering:
            self.follow(x)
        elif len(self.examples) == self.map.budget:
            self.begin()

    def newton_step(self, x, scores, y):
        targets = plain.targets(self.learner.task, y)
        loss, forgetting = self.learner.loss, self.learner.forgetting
        if loss.name == "squared_hinge" and np.all(scores * targets >= 1):
            return
        self.learned += 1
        self.A *= forgetting
        self.give_back(len(x))
        direction = np.linalg.solve(self.A, x)
        steps = [implicit(loss, f, y, x @ direction) for f, y in zip(scores, targets, strict=True)]
        self.w -= np.outer([slope for slope, _ in steps], direction)
        self.A += np.mean([curvature for _, curvature in steps]) * np.outer(x, x)

    def give_back(self, size):
        lost = 1 - self.learner.forgetting
        every = max(1.0, 1 / (lost * size)) if lost else np.inf  # events per feature
        if int(self.learned / every) > int((self.learned - 1) / every):
            k = int(self.learned / every) % size
            brought = self.alpha * lost * size * every
            self.A[k, k] += brought
            direction = np.linalg.solve(self.A, np.eye(size)[k])
            self.w -= 0.1 * brought * np.outer(self.w[:, k], direction)

    def begin(self):
        examples = np.array(self.examples)
        if self.map.name == "irs":
            self.sketched.begin(self.examples)
        if self.map.name == "oana":
            self.followers = plain.Followers(self.map, self.examples, 0)
            self.followers.nearest_at = list(range(1, len(examples) + 1))
        self.seen = len(examples)
        self.change(examples)

    def follow(self, x):
        self.seen += 1
        if self.map.name == "oana":
            place, target = self.followers.move_of(x, self.seen)
            if place is not None:
                self.examples[place] = target
                self.change(self.examples)
        if self.map.name == "irs" and (self.seen - self.map.budget) % self.map.update_every == 0:
            self.sketched.take(x)
            self.change(self.sketched.rows)

    def change(self, stored):
        old = np.array([self.features(x) for x in stored])
        self.make = self.new_map()
        new = np.array([self.features(x) for x in stored])
        ridge = 1e-12 * np.sum(new**2) / new.shape[1]
        stacked = np.vstack([new, np.sqrt(ridge) * np.eye(new.shape[1])])
        targets = np.vstack([old, np.zeros((new.shape[1], old.shape[1]))])
        R = np.linalg.lstsq(stacked, targets)[0].T
        values, vectors = np.linalg.eigh(np.eye(R.shape[1]) - R.T @ R)
        missing = (vectors * np.maximum(values, 0)) @ vectors.T
        self.w, self.A = self.w @ R, R.T @ self.A @ R + self.alpha * missing

    def new_map(self):
        if self.map.name == "irs":
            Q = self.sketched.projection()
            rows = self.sketched.rows[: len(Q)]
            return lambda x: Q.T @ self.gram([x], rows)[0]
        landmarks = [u.copy() for u in self.examples]
        values, vectors = np.linalg.eigh(self.gram(landmarks, landmarks))
        rank = self.map.rank or len(values) * (4 if self.map.name == "oana" else 5) // 5
        rank = min(rank, np.sum(values > 1e-10 * values[-1]))
        M = vectors[:, ::-1][:, :rank] / np.sqrt(values[::-1][:rank])
        return lambda x: M.T @ self.gram([x], landmarks)[0]


def implicit(loss, f, y, spread):
    """Slope and curvature at g = f - spread * slope(g)."""
    if loss.name == "logistic":
        far = f - spread * plain.slope(loss, f, y)
        f = brentq(
            lambda g: g - f + spread * plain.slope(loss, g, y),
            min(f, far) - 1,
            max(f, far) + 1,
            xtol=1e-15,
            rtol=1e-15,
        )
        p = abs(plain.slope(loss, f, y))
        return plain.slope(loss, f, y), p * (1 - p)
    if plain.slope(loss, f, y) == 0 and loss.name == "squared_hinge":
        return 0.0, 0.0
    return plain.slope(loss, f, y) / (1 + 2 * spread), 2.0


def ridge_scores(Phi, y, ridge):
    """The score of each event by ridge regression on those before it."""
    scores = np.zeros(len(y))
    for t in range(1, len(y)):
        A = Phi[:t].T @ Phi[:t] + ridge * np.eye(Phi.shape[1])
        scores[t] = Phi[t] @ np.linalg.solve(A, Phi[:t].T @ y[:t])
    return scores


def test_linear_features_and_the_square_loss_are_ridge_regression():
    X, y = waves(300, dim=4, seed=2)
    learner = make_learner(
        "ons", kernel="linear", loss="square", regularization=0.3, task="regression"
    )
    scores = learner.step(learner.init(4), X, y)
    np.testing.assert_allclose(scores, ridge_scores(X, y, 0.15), rtol=0, atol=1e-8)


@pytest.mark.parametrize("budget", [30, 400])
def test_in_the_features_of_the_landmarks_it_is_kernel_ridge_regression(budget):
    X, y = waves(250, dim=2, seed=3)
    kernel = Gaussian(bandwidth=0.15)
    learner = ONS(
        map=IncrementalNystrom(budget=budget, kernel=kernel),
        loss=Square(),
        regularization=0.2,
        task=Regression(),
    )
    state = learner.init(2)
    scores = learner.step(state, X, y)
    similarity = plain.kernel_of(kernel)
    K = np.array([[similarity(x, z) for z in X] for x in X])
    # Stage one is exact; in stage two examples are what their landmarks make of them.
    first = min(budget, len(X))
    for t in range(1, first, 7):
        expected = K[t, :t] @ np.linalg.solve(K[:t, :t] + 0.1 * np.eye(t), y[:t])
        assert scores[t] == pytest.approx(expected, abs=1e-8)
    if budget < len(X):
        values, vectors = np.linalg.eigh(K[:budget, :budget])
        Phi = K[:, :budget] @ (vectors / np.sqrt(values))
        np.testing.assert_allclose(
            scores[budget:], ridge_scores(Phi, y, 0.1)[budget:], rtol=0, atol=1e-7
        )


def test_one_logistic_step_by_hand():
    learner = ONS(map=IncrementalNystrom(kernel=Linear()), regularization=0.5)
    state = learner.init(dim=1)
    scores = learner.step(state, [[2.0], [1.0]], [1.0, np.nan])
    # The spread is 4 / 0.5: the score f of the event then solves f = 8 / (1 + exp(f)).
    f = brentq(lambda f: f - 8 / (1 + np.exp(f)), 0.0, 4.0)
    assert scores.tolist() == pytest.approx([0.0, f / 2], rel=1e-12)
    p = 1 / (1 + np.exp(f))
    # In the one feature |x| of the first example, A = 0.5 + p (1 - p) 4.
    assert state.variances[0] == pytest.approx(1 / (0.5 + 4 * p * (1 - p)), rel=1e-12)


def test_an_event_within_the_margin_of_a_squared_hinge_leaves_no_trace():
    learner = make_learner(
        "ons", kernel="linear", loss="squared_hinge", regularization=0.01, forgetting=0.9
    )
    state = learner.init(dim=1)
    learner.step(state, [[1.0], [1.0]], [1.0, 1.0])
    before = state.weights.copy(), state.variances.copy()
    assert learner.score(state, [[2.0]]) > 1.0
    learner.step(state, [[2.0]] * 5, [1.0] * 5)
    np.testing.assert_array_equal(state.weights, before[0])
    np.testing.assert_array_equal(state.variances, before[1])


def test_examples_in_the_span_of_others_are_no_landmarks():
    X, y = rings(300, dim=3, seed=2)
    learner = make_learner("ons", kernel="linear", budget=20)
    state = learner.init(dim=3)
    learner.step(state, X, y)
    assert (state.size, state.features, state.map.seen) == (3, 3, 0)
    learner = make_learner("ons", budget=20)
    twice = learner.init(dim=3)
    learner.step(twice, np.repeat(X[:21], 2, axis=0), np.repeat(y[:21], 2))
    assert twice.map.size == 20
    np.testing.assert_array_equal(twice.map.rows, X[:20].T)


@pytest.mark.parametrize("rank", [None, 7])
def test_the_landmarks_full_the_function_goes_along(rank):
    X, y = rings(200, dim=2, seed=5)
    kernel = Gaussian(bandwidth=0.5)
    whole, cut = (
        ONS(map=IncrementalNystrom(budget=budget, rank=own, kernel=kernel))
        for budget, own in ((100, None), (12, rank))
    )
    reference, state = whole.init(2), cut.init(2)
    whole.step(reference, X[:12], y[:12])
    cut.step(state, X[:12], y[:12])
    assert (state.map.size, state.size, state.features) == (12, 0, rank or 12)
    similarity = plain.kernel_of(kernel)
    K = np.array([[similarity(x, z) for z in X[:12]] for x in X])
    values, vectors = np.linalg.eigh(K[:12])
    kept = vectors[:, -state.features :]
    expected = K @ kept @ (kept.T @ np.linalg.solve(K[:12], whole.score(reference, X[:12])))
    np.testing.assert_allclose(cut.score(state, X), expected, rtol=0, atol=1e-9)


def test_a_moved_landmark_takes_the_function_along():
    X, y = rings(400, dim=2, seed=5)
    oana = OANA(budget=40, rank=40, kernel=Gaussian(bandwidth=0.5), squared_distance=0.05)
    learner = ONS(map=oana, loss=Square())
    state = learner.init(2)
    t = 0
    while state.map.moves == 0:
        before = learner.score(state, X)
        learner.step(state, X[t : t + 1], y[t : t + 1])
        t += 1
    still = ONS(map=IncrementalNystrom(budget=40, kernel=oana.kernel), loss=Square())
    reference = still.init(2)
    still.step(reference, X[:t], y[:t])
    kept, expected = learner.score(state, X), still.score(reference, X)
    assert not np.array_equal(kept, before)
    assert np.sqrt(np.mean((kept - expected) ** 2)) < 0.02 * np.std(expected)


def test_a_map_without_landmarks_takes_nothing_before_its_first_label():
    learner = ONS(map=RandomFourier(feature_count=20))
    state = learner.init(2)
    assert learner.step(state, np.ones((3, 2)), [np.nan] * 3).tolist() == [0.0] * 3
    assert state.features == state.triangle.size == 0
    learner.step(state, np.ones((1, 2)), [1.0])
    assert state.features == 40


@pytest.mark.parametrize("loss", ["square", "logistic", "squared_hinge"])
@pytest.mark.parametrize("kind", ["one point", "zeros", "vanishing features"])
def test_under_forgetting_nothing_grows_without_bound(loss, kind):
    learner = make_learner(
        "ons", budget=8, kernel="polynomial", loss=loss, forgetting=0.99, regularization=0.1
    )
    state = learner.init(2)
    X, y = rings(200, dim=2, seed=1)
    learner.step(state, X, y)
    after = {"one point": X[:1], "zeros": np.zeros((1, 2)), "vanishing features": 1e-9 * X[:1]}
    largest = []
    for _ in range(8):
        scores = learner.step(
            state, np.repeat(after[kind], 2500, axis=0), np.tile([1, 1, -1, 1, -1.0], 500)
        )
        assert np.isfinite(scores).all()
        U, V = triangle_of(state.triangle, state.features), state.variances[: state.features]
        values = np.linalg.eigvalsh((U * V) @ U.T)
        assert values[0] > 0.0
        largest.append(values[-1])
    assert max(largest) <= 1.0 / (0.1 * 0.99**100)
    assert np.abs(learner.score(state, X)).max() < 100.0


def test_weights_that_no_event_asks_for_do_not_wander_off():
    X, y = rings(500, dim=2, seed=1)
    learner = make_learner(
        "ons", map="random_fourier", feature_count=20, bandwidth=0.5, forgetting=0.9
    )
    state = learner.init(2)
    learner.step(state, X, y)
    for _ in range(10):
        learner.step(state, np.repeat(X[:1], 20_000, axis=0), np.tile([1, 1, -1, 1, -1.0], 4000))
        assert np.abs(learner.score(state, X)).max() < 60.0


def test_forgetting_follows_a_change_of_mind():
    X, y = rings(3000, dim=2, seed=4)
    y[1500:] *= -1
    rates = []
    for forgetting in (1.0, 0.99):
        learner = make_learner(
            "ons", bandwidth=0.4, budget=50, loss="square", forgetting=forgetting
        )
        scores = learner.step(learner.init(2), X, y)
        rates.append(np.mean(scores[2000:] * y[2000:] <= 0))
    assert rates[1] < 0.5 * rates[0]


def test_classes_share_one_curvature():
    X, y = rings(300, dim=2, seed=1)
    labels = (y > 0) + 2.0 * (X[:, 0] > 0)
    learner = make_learner("ons", task="multiclass", classes=4, loss="square", budget=20)
    scores = learner.step(learner.init(2), X, labels)
    for c in range(4):
        alone = make_learner("ons", loss="square", budget=20)
        own = alone.step(alone.init(2), X, np.where(labels == c, 1.0, -1.0))
        np.testing.assert_allclose(scores[:, c], own, rtol=0, atol=1e-9)


def test_what_it_cannot_do_is_refused():
    with pytest.raises(ValueError, match="ons: map must be .* not kors"):
        ONS(map=KORS())
    with pytest.raises(ValueError, match="ons: loss must be .* not hinge, which has no curvature"):
        ONS(loss=Hinge())
    with pytest.raises(ValueError, match="forgetting must be .* at least 0.9"):
        ONS(forgetting=0.5)
    assert ONS().loss == Logistic()
    assert ONS(task=Regression()).loss == Square()
