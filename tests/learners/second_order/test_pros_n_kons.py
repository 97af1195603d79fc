"""PROS-N-KONS: what only its paper promises."""

import math

import numpy as np
import pytest

from okl_flow import (
    Gaussian,
    Hinge,
    Laplacian,
    Linear,
    Multiclass,
    Polynomial,
    Regression,
    Square,
    snapshot,
)
from okl_flow.approximation.kors import KORS
from okl_flow.curvature import triangle_of
from okl_flow.learners.second_order.kons import KONS
from okl_flow.learners.second_order.pros_n_kons import PROSNKONS
from okl_flow.state import array_axes
from okl_flow.streams import abrupt, rings, waves
from tests import plain
from tests.learners.second_order.test_kons import (
    CASES,
    FEATURES,
    assert_newton_steps,
    eta_of,
    learner_for,
    stream_of,
)


class Plain:
    """PROS-N-KONS in eigenvector features of the dictionary, all of it made anew each time.

    An event that was learned is kept as its projection on the dictionary of then, sum_j a_j
    phi_j, which a later dictionary has features of too.
    """

    def __init__(self, learner, dim, seed):
        self.learner = learner
        self.kernel = plain.remembered(learner.kernel)
        self.coins = plain.Generator(seed)
        self.rows = []
        self.S = []  # 1 / sqrt(probability)
        self.learned = 0
        self.forget()

    def forget(self):
        """Begin anew: of the events learned, the sum of D^2 a a' and the sum of c a."""
        self.bent = np.zeros((len(self.rows), len(self.rows)))
        self.pull = np.zeros(len(self.rows))

    def gram(self, X, Z):
        return np.array([[self.kernel(x, z) for z in Z] for x in X]).reshape(len(X), len(Z))

    def known(self, x):
        """w . phi(x), phi'A^-1 phi, and the a of x."""
        if not self.rows:
            return 0.0, 0.0, np.zeros(0)
        values, vectors = np.linalg.eigh(self.gram(self.rows, self.rows))
        kept = values > 1e-10 * values[-1]
        V, S = vectors[:, kept], values[kept]
        to_features = np.diag(S**0.5) @ V.T  # of sum_j a_j phi_j
        phi = np.diag(S**-0.5) @ V.T @ self.gram(self.rows, [x])[:, 0]
        A = self.learner.regularization * np.eye(len(S)) + to_features @ self.bent @ to_features.T
        w = np.linalg.solve(A, to_features @ self.pull)
        return w @ phi, phi @ np.linalg.solve(A, phi), V @ np.diag(S**-0.5) @ phi

    def score(self, x):
        C = self.learner.clip
        return np.array([np.clip(self.known(x)[0], -C, C)])

    def learn(self, x, y):
        self.learned += 1
        f = self.score(x)[0]
        if self.grows(x):
            self.rows.append(x.copy())
            self.bent, self.pull = np.pad(self.bent, (0, 1)), np.pad(self.pull, (0, 1))
            if self.learner.reset:
                self.forget()
                return
        u, inverse, a = self.known(x)
        g = plain.slope(self.learner.loss, f, y)
        if inverse == 0 or (g == 0 and u == f):
            return
        D = g * math.sqrt(eta_of(self.learner, self.learned))
        self.bent += D * D * np.outer(a, a)
        self.pull += (D * D * f - g - (u - f) / inverse) * a

    def grows(self, x):
        """Whether x enters the dictionary: equation 4 of KORS, x in it with weight 1."""
        if len(self.rows) == self.learner.budget:
            return False
        alpha = self.learner.regularization
        S = np.array([*self.S, 1.0])
        K = S[:, None] * self.gram([*self.rows, x], [*self.rows, x]) * S + alpha * np.eye(len(S))
        k = S * self.gram([x], [*self.rows, x])[0]
        tau = (self.kernel(x, x) - k @ np.linalg.solve(K, k)) / alpha
        p = min(self.learner.oversampling * (1 + self.learner.accuracy) * tau, 1.0)
        grows = self.coins.unit() < p
        if grows:
            self.S.append(1 / math.sqrt(p))
        return grows


def inverse_of(state):
    """A^-1 in the features of the dictionary."""
    U = triangle_of(state.triangle, state.size)
    return (U * state.variances[: state.size]) @ U.T


def map_of(state):
    """M with features = M'k(x)."""
    return triangle_of(state.projection, state.size) * state.lengths[: state.size]


def gram(kernel, X, Z):
    similarity = plain.kernel_of(kernel)
    return np.array([[similarity(x, z) for z in Z] for x in X]).reshape(len(X), len(Z))


@pytest.mark.parametrize(
    "settings", [{}, {"loss": Square()}, {"clip": 0.3}, {"task": Regression()}, {"loss": Hinge()}]
)
def test_with_every_example_in_the_dictionary_it_is_kons(settings):
    X, y = waves(200, dim=3) if "task" in settings else rings(200, dim=3, seed=2)
    kernel = Gaussian(bandwidth=0.4)
    learner = PROSNKONS(kernel=kernel, oversampling=1e12, **settings)
    parent = KONS(kernel=kernel, **settings)
    state = learner.init(3)
    scores = learner.step(state, X, y)
    np.testing.assert_allclose(scores, parent.step(parent.init(3), X, y), rtol=0, atol=1e-11)
    assert state.size == 200


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize(("loss", "clip"), CASES)
def test_once_the_dictionary_spans_all_it_is_the_online_newton_step(name, loss, clip):
    kernel, features = FEATURES[name]
    learner = learner_for(
        loss, clip, kernel, PROSNKONS, regularization=0.3, oversampling=1e12, budget=10
    )
    X, y = stream_of(learner, 300)
    state = learner.init(3)
    scores = learner.step(state, X, y)
    assert np.count_nonzero(state.lengths) == len(features(X[0]))
    assert_newton_steps(learner, scores, X, y, features)


def test_steps_by_hand():
    kernel = Gaussian(bandwidth=1.0)
    paper = PROSNKONS(
        kernel=kernel, loss=Square(), regularization=0.5, budget=1, reset=True, oversampling=100.0
    )
    state = paper.init(1)
    k = math.exp(-0.5)
    # The first event enters, and is forgotten. With sigma = 1/8 and slope -2 the second brings A
    # to 0.5 + 0.5 and w to 2. The score at 1 is 2k, cut to 1 and right there; A asks for 1/k.
    scores = paper.step(state, [[0.0], [0.0], [1.0]], [1.0, 1.0, 1.0])
    assert scores.tolist() == [0.0, 0.0, 1.0]
    assert state.weights[0] == pytest.approx(1 / k)
    assert inverse_of(state) == pytest.approx(1.0)
    # Here the first event is learned from at once, and so the second has nothing to teach.
    ours = PROSNKONS(kernel=kernel, loss=Square(), regularization=0.5, budget=1, oversampling=100.0)
    state = ours.init(1)
    scores = ours.step(state, [[0.0], [0.0], [1.0]], [1.0, 1.0, 1.0])
    assert scores.tolist() == [0.0, 1.0, 1.0 * k]
    # Slope 2 (k - 1) along k, curvature (k - 1)^2 / 2.
    A = 1 + 0.5 * (k - 1) ** 2 * k * k
    assert state.weights[0] == pytest.approx(1 - 2 * (k - 1) * k / A)


@pytest.mark.parametrize("settings", [{}, {"loss": Hinge(), "clip": 0.2, "reset": True}])
def test_the_dictionary_is_that_of_kors_whatever_the_labels(settings):
    X, y = rings(400, dim=2, seed=3)
    shared = {"kernel": Gaussian(bandwidth=0.4), "regularization": 0.7, "oversampling": 0.5}
    learner = PROSNKONS(**shared, **settings)
    state = learner.init(2, seed=5)
    y[::7] = np.nan
    learner.step(state, X, y)
    kors = KORS(**shared)
    drawn = kors.init(2, seed=5)
    kors.update(drawn, X[~np.isnan(y)])
    size = drawn.size
    assert state.size == size
    assert 10 < size < 200
    np.testing.assert_array_equal(state.rows[:, :size], drawn.rows[:, :size])
    np.testing.assert_array_equal(state.drawn_scales[:size], drawn.scales[:size])
    np.testing.assert_array_equal(state.words, drawn.words)
    # And the features are those of its map, but for a rotation.
    M = map_of(state)
    k = gram(learner.kernel, X[:20], state.rows[:, :size].T)
    np.testing.assert_allclose(k @ M @ M.T @ k.T, kors.kernel_estimate(drawn, X[:20], X[:20]),
                               rtol=0, atol=1e-8)  # fmt: skip


def test_a_new_feature_changes_neither_the_function_nor_its_curvature():
    X, y = waves(60, dim=2, seed=1)
    learner = PROSNKONS(
        kernel=Gaussian(bandwidth=0.5), task=Regression(), regularization=0.3, oversampling=1e12
    )
    state = learner.init(2)
    learner.step(state, X[:40], np.clip(y[:40], -1, 1))
    old, elsewhere = inverse_of(state), learner.score(state, X[41:])
    x = X[40:41]
    learner.step(state, x, learner.score(state, x))  # a label that teaches nothing
    assert state.size == len(old) + 1 == 41
    np.testing.assert_array_equal(learner.score(state, X[41:]), elsewhere)
    expected = np.zeros((41, 41))
    expected[:40, :40], expected[40, 40] = old, 1 / 0.3
    np.testing.assert_array_equal(inverse_of(state), expected)


def test_after_a_reset_the_score_is_nothing():
    X, y = rings(400, dim=2, seed=3)
    learner = PROSNKONS(kernel=Gaussian(bandwidth=0.4), oversampling=0.1, reset=True)
    state = learner.init(2)
    zeros = 0
    for x, label in zip(X, y, strict=True):
        size = state.size
        learner.step(state, x[None], [label])
        if state.size > size:
            assert not learner.score(state, X).any()
            np.testing.assert_array_equal(inverse_of(state), np.eye(state.size))
            zeros += 1
        else:
            assert learner.score(state, X).any() or state.size == 0
    assert zeros > 10


def test_what_is_carried_over_is_worth_it():
    X, y = rings(1000, dim=2, seed=3)
    rates = []
    for reset in (False, True):
        learner = PROSNKONS(kernel=Gaussian(bandwidth=0.4), reset=reset)
        rates.append(np.mean(learner.step(learner.init(2), X, y) * y <= 0))
    assert rates[0] < 0.7 * rates[1]


def test_the_larger_the_dictionary_the_less_regret():
    X, y = waves(1500, dim=2, noise=0.2, seed=3)
    y = np.clip(y / 2, -1, 1)
    errors, sizes = [], []
    for oversampling in (0.01, 0.1, 1.0, 1e12):
        learner = PROSNKONS(
            kernel=Gaussian(bandwidth=0.7), task=Regression(), oversampling=oversampling
        )
        state = learner.init(2, seed=1)
        errors.append(np.sum((learner.step(state, X, y) - y) ** 2))
        sizes.append(np.count_nonzero(state.lengths))
    assert errors == sorted(errors, reverse=True)
    assert sizes == sorted(sizes)
    assert sizes[2] < 100
    assert errors[2] < 1.1 * errors[3]


def test_a_full_dictionary_stays_and_learning_goes_on():
    X, y = rings(600, dim=2, seed=3)
    learner = PROSNKONS(budget=15, kernel=Gaussian(bandwidth=0.3))
    state = learner.init(2)
    learner.step(state, X[:300], y[:300])
    assert state.size == 15
    kept = {name: getattr(state, name).copy() for name in ("rows", "words", "projection")}
    weights = state.weights.copy()
    learner.step(state, X[300:], y[300:])
    for name, before in kept.items():
        np.testing.assert_array_equal(getattr(state, name), before)
    assert not np.array_equal(state.weights, weights)


def test_an_example_that_is_there_already_has_no_feature_of_its_own():
    learner = PROSNKONS(kernel=Gaussian(), oversampling=1e9)
    state = learner.init(2)
    learner.step(state, np.ones((20, 2)), np.ones(20))
    assert state.size == 20
    assert state.lengths[:20].tolist() == [1.0] + [0.0] * 19
    assert state.weights[1:].tolist() == [0.0] * (len(state.weights) - 1)
    assert learner.score(state, np.ones((1, 2)))[0] > 0.5


@pytest.mark.parametrize("kernel", [Gaussian(bandwidth=0.5), Laplacian(), Polynomial(degree=3)])
def test_the_map_inverts_the_kernel_matrix_of_the_dictionary(kernel):
    X, y = rings(300, dim=3, seed=2)
    learner = PROSNKONS(kernel=kernel, oversampling=2.0, budget=41)
    state = learner.init(3)
    learner.step(state, X, y)
    M, live = map_of(state), state.lengths[: state.size] > 0
    K = gram(kernel, state.rows[:, : state.size].T, state.rows[:, : state.size].T)
    np.testing.assert_allclose(M.T @ K @ M, np.diag(live * 1.0), atol=1e-9)
    np.testing.assert_allclose(K @ M @ M.T @ K, K, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", [Gaussian(), Linear(), Polynomial(degree=3)])
@pytest.mark.parametrize("reset", [False, True])
def test_one_point_for_ever_and_huge_norms(kernel, reset):
    learner = PROSNKONS(
        budget=8, oversampling=1e9, kernel=kernel, loss=Square(), reset=reset, regularization=1e-6
    )
    X, y = rings(300, dim=3, seed=1)
    for events in (np.tile(X[0], (300, 1)), 1e6 * X, np.where(X > 0.9, 1e6, X)):
        state = learner.init(3)
        learner.step(state, events, np.ones(300))
        learner.step(state, X, y)
        assert np.isfinite(learner.score(state, X)).all()
        for array in (state.weights, state.triangle, state.projection, state.drawn_factor):
            assert np.isfinite(array).all()
        assert (state.variances[: state.size] > 0).all()
    state = learner.init(3)
    learner.step(state, np.tile(X[0], (300, 1)), np.ones(300))
    assert learner.score(state, X[:1])[0] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("kernel", "far", "regularization"),
    [(Gaussian(), 27.5, 1.0), (Linear(), 1e160, 1.0), (Linear(), 1e150, 1e-12)],
)
def test_of_what_no_number_can_hold_nothing_is_learned(kernel, far, regularization):
    X, y = rings(50, dim=2, seed=1)
    learner = PROSNKONS(
        kernel=kernel, oversampling=1e9, budget=2, regularization=regularization, clip=1e-6
    )
    state = learner.init(2)
    learner.step(state, X, y)
    before = snapshot.dumps(learner, state)
    scores = learner.step(state, far * X[5:6] / np.linalg.norm(X[5]), [-1.0])
    assert abs(scores[0]) <= 1e-6
    state.seen, state.learned = 50, 50
    assert snapshot.dumps(learner, state) == before


def test_an_endless_stream_does_not_wear_the_triangle_out():
    X, y = abrupt(200_000, dim=2, seed=6)
    learner = PROSNKONS(budget=30, kernel=Gaussian(bandwidth=0.5), regularization=1e-3)
    state = learner.init(2)
    learner.step(state, X[:1000], y[:1000])
    assert state.size == 30
    A = np.linalg.inv(inverse_of(state))
    M, rows = map_of(state), state.rows.T
    scores = learner.step(state, X[1000:], y[1000:])
    distances = np.sum((X[1000:, None] - rows) ** 2, axis=2)
    features = np.exp(-distances / (2 * 0.5**2)) @ M
    slopes = 1 / (1 + np.exp(y[1000:] * scores))
    weighted = math.exp(-1.0) * slopes[:, None] ** 2 * features
    A += weighted.T @ features
    np.testing.assert_allclose(inverse_of(state) @ A, np.eye(30), atol=1e-8)
    assert np.abs(state.weights).max() < 1e3


def test_several_classes_are_refused():
    with pytest.raises(ValueError, match="pros_n_kons does not do multiclass"):
        PROSNKONS(task=Multiclass())


def test_memory_is_bounded_by_the_budget():
    assert PROSNKONS().state_bytes_max(3) is None
    learner = PROSNKONS(budget=10, oversampling=1e9)
    state = learner.init(3)
    for x, label in zip(*rings(40, dim=3), strict=True):
        learner.step(state, x[None], [label])
        held = [getattr(state, name).nbytes for name in array_axes(type(state))]
        assert sum(held) <= learner.state_bytes_max(3)
    assert sum(held) == learner.state_bytes_max(3)
    assert snapshot.loads(snapshot.dumps(learner, state))[0] == learner
