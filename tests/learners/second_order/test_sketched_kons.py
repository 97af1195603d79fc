"""Sketched-KONS: what only its paper promises."""

import math

import numpy as np
import pytest

from okl_flow import (
    Gaussian,
    Linear,
    Logistic,
    Multiclass,
    Polynomial,
    Regression,
    Square,
    snapshot,
)
from okl_flow.learners.second_order.kons import KONS
from okl_flow.learners.second_order.sketched_kons import SketchedKONS
from okl_flow.streams import rings, waves
from tests import plain
from tests.learners.second_order.test_kons import FEATURES, eta_of


class Plain:
    """Sketched-KONS by the coefficients c_i of Lemma 4, corrected, and equation 4 for KORS."""

    def __init__(self, learner, dim, seed):
        self.learner = learner
        self.kernel = plain.remembered(learner.kernel)
        self.curved = []  # example, D, c
        self.loose = []  # example, c
        self.dictionary = []  # example, D / sqrt(probability)
        self.coins = plain.Generator(seed)
        self.learned = 0

    def gram(self, X, Z):
        return np.array([[self.kernel(x, z) for z in Z] for x in X]).reshape(len(X), len(Z))

    def known(self, x):
        """The value of u at x, and phi' A^-1 phi."""
        alpha = self.learner.regularization
        examples = [row[0] for row in [*self.curved, *self.loose]]
        k = self.gram([x], examples)[0]
        squares = np.array([row[1] ** 2 for row in self.curved] + [0.0] * len(self.loose))
        c = np.array([row[-1] for row in [*self.curved, *self.loose]])
        system = alpha * np.eye(len(k)) + squares[:, None] * self.gram(examples, examples)
        explained = k @ np.linalg.solve(system, squares * k)
        return k @ np.linalg.solve(system, c), (self.kernel(x, x) - explained) / alpha

    def score(self, x):
        C = self.learner.clip
        return np.array([np.clip(self.known(x)[0], -C, C)])

    def learn(self, x, y):
        self.learned += 1
        u, inverse = self.known(x)
        f = float(np.clip(u, -self.learner.clip, self.learner.clip))
        g = plain.slope(self.learner.loss, f, y)
        if self.kernel(x, x) == 0 or (g == 0 and u == f):
            return
        eta = eta_of(self.learner, self.learned)
        D = g * math.sqrt(eta)
        c = -g - (u - f) / inverse
        if g != 0 and len(self.curved) != self.learner.dictionary_size and self.flips(x, D):
            self.curved.append((x.copy(), D, c + D * D * f))
            return
        if len(self.loose) == self.learner.budget:
            self.project(*self.loose.pop(0))
        self.loose.append((x.copy(), c))

    def flips(self, x, D):
        """Whether x gets curvature; KORS flips its own coin first."""
        alpha = self.learner.regularization
        examples = [row[0] for row in self.dictionary]
        S = np.array([row[1] for row in self.dictionary] + [D])
        K = S[:, None] * self.gram([*examples, x], [*examples, x]) * S + alpha * np.eye(len(S))
        k = D * S * self.gram([x], [*examples, x])[0]
        tau = (D * D * self.kernel(x, x) - k @ np.linalg.solve(K, k)) / alpha
        p = min(self.learner.oversampling * (1 + self.learner.accuracy) * tau, 1.0)
        if len(examples) != self.learner.dictionary_size and self.coins.unit() < p:
            self.dictionary.append((x.copy(), D / math.sqrt(p)))
        return self.coins.unit() < max(p, self.learner.probability_min)

    def project(self, x, c):
        """Take c / alpha of phi out of u, and its projection a' Phi in: A u changes with it."""
        if not self.curved:
            return
        examples, D, held = (list(column) for column in zip(*self.curved, strict=True))
        K, k = self.gram(examples, examples), self.gram(examples, [x])[:, 0]
        a = np.linalg.solve(K + 1e-8 * np.diag(np.diag(K)), k)
        missed = np.array(D) ** 2 * (k - K @ a) / self.learner.regularization
        self.curved = list(zip(examples, D, np.array(held) + c * (a - missed), strict=True))


def kept_of(state):
    """The examples with curvature and without, one per line."""
    return state.curved_rows[:, : state.curved].T, state.rows[:, : state.size].T


@pytest.mark.parametrize(
    "settings", [{}, {"loss": Square()}, {"clip": 0.3}, {"task": Regression()}]
)
def test_with_every_example_curved_it_is_kons(settings):
    X, y = waves(300, dim=3) if "task" in settings else rings(300, dim=3, seed=2)
    learner, parent = SketchedKONS(probability_min=1.0, **settings), KONS(**settings)
    state = learner.init(3)
    scores = learner.step(state, X, y)
    # Only what is stored without slope, for its clip, is stored elsewhere.
    np.testing.assert_allclose(scores, parent.step(parent.init(3), X, y), rtol=0, atol=1e-12)
    assert state.curved + state.size == 300
    assert state.size == 0 or settings.get("loss") == Square()


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("clip", [0.3, 1.0])
@pytest.mark.parametrize("loss", [Logistic(), Square()])
def test_it_is_the_sketched_newton_step_in_explicit_features(name, clip, loss):
    kernel, features = FEATURES[name]
    learner = SketchedKONS(kernel=kernel, loss=loss, clip=clip, regularization=2.0)
    X, y = rings(250, dim=3, seed=4)
    y = np.where(X[:, 0] > 0.1, 1.0, -1.0)
    state = learner.init(3, seed=1)
    scores = learner.step(state, X, y)
    chosen = kept_of(state)[0]
    assert 20 <= len(chosen) <= 150
    w = np.zeros(len(features(X[0])))
    A = 2.0 * np.eye(len(w))
    cut = 0
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        phi = features(x)
        over = np.sign(w @ phi) * max(abs(w @ phi) - clip, 0)
        w = w - over / (phi @ np.linalg.solve(A, phi)) * np.linalg.solve(A, phi)
        assert abs(scores[t] - w @ phi) <= 1e-8, t
        g = (
            plain.slope(loss, np.clip(w @ phi, -clip, clip), label)
            if abs(over)
            else (plain.slope(loss, w @ phi, label))
        )
        if (chosen == x).all(axis=1).any():
            A += eta_of(learner, t + 1) * g * g * np.outer(phi, phi)
        w = w - np.linalg.solve(A, g * phi)
        cut += over != 0
    assert cut > 10


@pytest.mark.parametrize("settings", [{}, {"probability_min": 0.0, "accuracy": 1.0}])
def test_coin_by_coin_it_chooses_as_the_plain_formula(settings):
    X, y = rings(150, dim=2, seed=2)
    learner = SketchedKONS(kernel=Gaussian(bandwidth=0.4), oversampling=1.5, **settings)
    state = learner.init(2, seed=9)
    learner.step(state, X, y)
    oracle = Plain(learner, 2, 9)
    for x, label in zip(X, y, strict=True):
        oracle.learn(x, label)
    np.testing.assert_array_equal(kept_of(state)[0], [row[0] for row in oracle.curved])
    drawn = state.drawn_rows[:, : state.drawn].T
    np.testing.assert_array_equal(drawn, [row[0] for row in oracle.dictionary])
    assert 10 < state.curved < 100
    assert 10 < state.drawn < 100


def test_the_dictionary_of_the_coins_may_be_full_first():
    X, y = rings(300, dim=2, seed=2)
    learner = SketchedKONS(
        kernel=Gaussian(bandwidth=0.4), dictionary_size=8, probability_min=0.0, budget=300
    )
    first = 0
    for seed in range(4):
        state, oracle = learner.init(2, seed=seed), Plain(learner, 2, seed)
        for x, label in zip(X, y, strict=True):
            learner.step(state, x[None], [label])
            first += state.drawn == 8 and state.curved < 8
            if state.curved < 8:
                oracle.learn(x, label)
                drawn = state.drawn_rows[:, : state.drawn].T
                np.testing.assert_array_equal(
                    drawn, np.reshape([row[0] for row in oracle.dictionary], (-1, 2))
                )
                assert state.curved == len(oracle.curved)
    assert first > 10


def test_the_more_curvature_the_less_regret():
    X, y = waves(1500, dim=2, noise=0.2, seed=3)
    y = np.clip(y / 2, -1, 1)
    errors, curved = [], []
    for probability in (0.0, 0.1, 0.3, 1.0):
        learner = SketchedKONS(
            kernel=Gaussian(bandwidth=0.7), task=Regression(), probability_min=probability
        )
        state = learner.init(2, seed=1)
        errors.append(np.sum((learner.step(state, X, y) - y) ** 2))
        curved.append(state.curved)
    assert errors == sorted(errors, reverse=True)
    assert curved == sorted(curved)
    assert curved[0] < 50
    assert errors[0] < 3 * errors[-1]


def test_what_repeats_gets_little_curvature():
    X = np.tile(np.random.default_rng(0).standard_normal((5, 2)), (400, 1))
    y = np.where(np.arange(2000) % 2, 1.0, -1.0)
    learner = SketchedKONS(kernel=Gaussian(bandwidth=0.3), probability_min=0.0)
    state = learner.init(2)
    learner.step(state, X, y)
    assert 10 <= state.curved < 100
    assert state.curved + state.size == 2000  # as the paper says: every example is kept
    more = SketchedKONS(kernel=Gaussian(bandwidth=0.3), probability_min=0.2)
    state = more.init(2)
    more.step(state, X, y)
    assert 400 - 100 < state.curved < 400 + 200


def test_a_full_dictionary_freezes_the_curvature():
    X, y = rings(600, dim=2, seed=3)
    learner = SketchedKONS(dictionary_size=15, budget=30, kernel=Gaussian(bandwidth=0.3))
    state = learner.init(2)
    learner.step(state, X[:300], y[:300])
    assert (state.curved, state.size) == (15, 30)
    factor, words, solution = state.factor.copy(), state.words.copy(), state.solution.copy()
    learner.step(state, X[300:], y[300:])
    np.testing.assert_array_equal(state.factor, factor)
    np.testing.assert_array_equal(state.words, words)
    assert not np.array_equal(state.solution, solution)


def test_a_projection_leaves_the_function_as_it_was_at_the_curved_examples():
    X, y = rings(400, dim=3, seed=3)
    learner = SketchedKONS(dictionary_size=12, budget=5, clip=1e6, curvature=0.1)
    state = learner.init(3)
    learner.step(state, X[:300], y[:300])
    roomy = SketchedKONS(dictionary_size=12, budget=6, clip=1e6, curvature=0.1)
    copy = snapshot.loads(snapshot.dumps(learner, state))[1]
    order = (copy.oldest + np.arange(5)) % 5
    copy.rows, copy.weights = np.ascontiguousarray(copy.rows[:, order]), copy.weights[order]
    copy.oldest = 0
    learner.step(state, X[300:301], y[300:301])
    roomy.step(copy, X[300:301], y[300:301])
    assert (state.size, copy.size) == (5, 6)
    curved = kept_of(state)[0]
    # What is lost has no part along them, and so nothing nearer can be made of them.
    np.testing.assert_allclose(
        learner.score(state, curved), roomy.score(copy, curved), rtol=0, atol=1e-6
    )
    assert np.abs(learner.score(state, X) - roomy.score(copy, X)).max() > 1e-3


@pytest.mark.parametrize("kernel", [Gaussian(), Linear(), Polynomial(degree=3)])
def test_one_point_for_ever_and_huge_norms(kernel):
    learner = SketchedKONS(
        dictionary_size=8, budget=4, probability_min=1.0, kernel=kernel, loss=Square()
    )
    X, y = rings(300, dim=3, seed=1)
    for events in (np.tile(X[0], (300, 1)), 1e6 * X, np.where(X > 0.9, 1e6, X)):
        state = learner.init(3)
        learner.step(state, events, np.ones(300))
        learner.step(state, X, y)
        assert np.isfinite(learner.score(state, X)).all()
        assert np.isfinite(state.curved_weights).all()
    state = learner.init(3)
    learner.step(state, np.tile(X[0], (300, 1)), np.ones(300))
    assert learner.score(state, X[:1])[0] == pytest.approx(1.0, abs=1e-6)


def test_an_endless_stream_does_not_wear_the_triangles_out():
    X, y = rings(200_000, dim=3, seed=6)
    learner = SketchedKONS(
        budget=20, dictionary_size=30, kernel=Gaussian(bandwidth=0.7), oversampling=0.01,
        probability_min=0.0005,
    )  # fmt: skip
    state = learner.init(3)
    scores = learner.step(state, X, y)
    assert state.curved == 30
    curved, _ = kept_of(state)
    assert np.abs(state.curved_weights).max() < 1e4
    similarity = plain.kernel_of(learner.kernel)
    K = np.array([[similarity(x, z) for x in curved] for z in curved])
    R, L = np.triu(state.factor), np.tril(state.gram)
    E = state.scales[:, None] * K * state.scales + np.eye(30)
    assert np.abs(R.T @ R - E).max() <= 1e-14
    assert np.abs(L @ L.T - K - 1e-8 * np.eye(30)).max() <= 1e-14
    assert np.mean(scores[-10_000:] * y[-10_000:] <= 0) < 0.45


def test_several_classes_are_refused():
    with pytest.raises(ValueError, match="sketched_kons does not do multiclass"):
        SketchedKONS(task=Multiclass())


def test_memory_is_bounded_by_both_bounds():
    assert SketchedKONS(budget=10).state_bytes_max(3) is None
    assert SketchedKONS(dictionary_size=10).state_bytes_max(3) is None
    assert SketchedKONS(budget=10, dictionary_size=10).state_bytes_max(3) == 8 * (
        10 * 4 + 10 * (6 + 20) + 10 * (4 + 10) + 4
    )
