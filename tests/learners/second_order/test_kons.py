"""KONS: what only its paper promises."""

import math

import numpy as np
import pytest

from okl_flow import (
    EpsilonInsensitive,
    Gaussian,
    Hinge,
    Linear,
    Logistic,
    Multiclass,
    Polynomial,
    Regression,
    Square,
    SquaredHinge,
)
from okl_flow.learners.second_order.kons import KONS
from okl_flow.streams import rings, waves
from tests import plain


def sigma_of(learner):
    """Sigma of the learner's loss; None for a loss without curvature."""
    C, loss = learner.clip, learner.loss.name
    largest_label = C if learner.task.name == "regression" else 1
    return {
        "square": 1 / (2 * (C + largest_label) ** 2),
        "squared_hinge": min(1 / (2 * (1 + C) ** 2), (3 * C - 1) / (8 * C**2 * (1 + C)))
        if C > 1
        else 1 / (2 * (1 + C) ** 2),
        "logistic": math.exp(-C),
    }.get(loss)


def eta_of(learner, learned):
    """The step size for labelled event number `learned`."""
    sigma = learner.curvature or sigma_of(learner)
    return sigma or 1 / (1.0 * learner.clip * math.sqrt(learned))


class Plain:
    """KONS by the coefficients c_i of its Lemma 2, corrected: A u = sum_i c_i phi_i."""

    def __init__(self, learner, dim, seed):
        self.learner = learner
        self.kernel = plain.remembered(learner.kernel)
        self.kept = []  # example, D, c
        self.learned = 0

    def known(self, x):
        """The value of u at x, and phi' A^-1 phi.

        A sum_i v_i phi_i = sum_i c_i phi_i where (alpha I + D^2 K) v = c.
        """
        alpha = self.learner.regularization
        own = self.kernel(x, x)
        if not self.kept:
            return 0.0, own / alpha
        examples, scales, c = zip(*self.kept, strict=True)
        K = np.array([[self.kernel(z, other) for other in examples] for z in examples])
        k = np.array([self.kernel(x, z) for z in examples])
        squares = np.array(scales) ** 2
        system = alpha * np.eye(len(k)) + squares[:, None] * K
        v = np.linalg.solve(system, np.array(c))
        explained = k @ np.linalg.solve(system, squares * k)
        return k @ v, (own - explained) / alpha

    def score(self, x):
        C = self.learner.clip
        return np.array([np.clip(self.known(x)[0], -C, C)])

    def learn(self, x, y):
        self.learned += 1
        u, inverse = self.known(x)
        f = float(np.clip(u, -self.learner.clip, self.learner.clip))
        g = plain.slope(self.learner.loss, f, y)
        if self.kernel(x, x) > 0 and (g != 0 or u != f):
            eta = eta_of(self.learner, self.learned)
            c = eta * g * g * f - g - (u - f) / inverse
            self.kept.append((x.copy(), g * math.sqrt(eta), c))
            if self.learner.budget is not None and len(self.kept) > self.learner.budget:
                del self.kept[0]


FEATURES = {
    "linear": (Linear(), lambda x: x),
    "polynomial": (
        Polynomial(degree=2, offset=1.0),
        lambda x: np.array(
            [1, *math.sqrt(2) * x, *x**2, *(math.sqrt(2) * x[i] * x[j] for i, j in PAIRS)]
        ),
    ),
}
PAIRS = [(0, 1), (0, 2), (1, 2)]
CASES = [
    (Logistic(), 0.5),
    (Square(), 0.7),
    (SquaredHinge(), 1.2),
    (Hinge(), 0.4),
    (EpsilonInsensitive(epsilon=0.1), 1.5),
    (Square(), 2.0),
]


def stream_of(learner, count, seed=4):
    """A stream in three features that fits the task of a learner."""
    if learner.task.name == "regression":
        return waves(count, dim=3, seed=seed)
    X, _ = rings(count, dim=3, seed=seed)
    return X, np.where(X[:, 0] + 0.3 * X[:, 1] ** 2 > 0.1, 1.0, -1.0)


def learner_for(loss, clip, kernel, kind=KONS, **settings):
    """A learner under a loss, in regression where the loss or the clip asks for it."""
    regresses = not loss.classifies or clip == 2.0
    task = {"task": Regression()} if regresses else {}
    return kind(loss=loss, clip=clip, kernel=kernel, **task, **settings)


def assert_newton_steps(learner, scores, X, y, features):
    """Assert that scores are those of the online Newton step in explicit features."""
    alpha, clip = learner.regularization, learner.clip
    w = np.zeros(len(features(X[0])))
    A = alpha * np.eye(len(w))
    cut = 0
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        phi = features(x)
        over = np.sign(w @ phi) * max(abs(w @ phi) - clip, 0)  # w is still u of equation 1
        w = w - over / (phi @ np.linalg.solve(A, phi)) * np.linalg.solve(A, phi)
        assert abs(scores[t] - w @ phi) <= 1e-8, t
        f = np.clip(w @ phi, -clip, clip) if over else w @ phi
        g = plain.slope(learner.loss, f, label)
        A += eta_of(learner, t + 1) * g * g * np.outer(phi, phi)
        w = w - np.linalg.solve(A, g * phi)
        cut += over != 0
    assert 10 <= cut <= 290, "the clip must bind in part of the rounds"


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize(("loss", "clip"), CASES)
def test_it_is_the_online_newton_step_in_explicit_features(name, loss, clip):
    kernel, features = FEATURES[name]
    learner = learner_for(loss, clip, kernel, regularization=0.3)
    X, y = stream_of(learner, 300)
    scores = learner.step(learner.init(3), X, y)
    assert_newton_steps(learner, scores, X, y, features)


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize(("loss", "clip"), CASES)
def test_with_a_budget_it_follows_the_leader_of_the_window(name, loss, clip):
    kernel, features = FEATURES[name]
    learner = learner_for(loss, clip, kernel, regularization=0.3, budget=7)
    X, y = stream_of(learner, 140)  # longer ones multiply round-off, in plain numpy too
    state = learner.init(3)
    scores = learner.step(state, X, y)
    dim = len(features(X[0]))
    window = []  # per stored event: its features, slope, step size, score, pull of its clip
    kinds = set()
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        phi = features(x)
        # The leader is where the sum of alpha/2 |w|^2 and, over the window, of g phi.w +
        # eta/2 (g phi.w - g f)^2 + pull phi.w has no slope.
        A, towards = 0.3 * np.eye(dim), np.zeros(dim)
        for other, g, eta, f, pull in window:
            A += eta * g * g * np.outer(other, other)
            towards += (eta * g * g * f - g - pull) * other
        u = np.linalg.solve(A, towards) @ phi
        f = np.clip(u, -clip, clip)
        assert abs(scores[t] - f) <= 1e-8, t
        g = plain.slope(loss, f, label)
        if g != 0 or u != f:
            pull = (u - f) / (phi @ np.linalg.solve(A, phi))
            window.append((phi, g, eta_of(learner, t + 1), f, pull))
            kinds.add((g != 0, u != f))
            window = window[-7:]
    assert {(True, True), (True, False)} <= kinds
    if loss.name == "squared_hinge":
        assert (False, True) in kinds, "a clip without slope must leave the window too"
    assert state.size == 7


@pytest.mark.parametrize("regresses", [False, True])
@pytest.mark.parametrize("clip", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("loss", [Square(), SquaredHinge(), Logistic()])
def test_sigma_is_the_largest_for_which_the_loss_has_its_curvature(loss, clip, regresses):
    if regresses and not loss.regresses:
        regresses = False
    learner = KONS(loss=loss, clip=clip, **({"task": Regression()} if regresses else {}))
    sigma = sigma_of(learner)
    labels = np.linspace(-clip, clip, 9) if regresses else [-1.0, 1.0]
    grid = np.linspace(-clip, clip, 201)
    least = np.inf
    for y in labels:
        for b in grid:
            g = plain.slope(loss, b, y)
            others = grid[np.abs(grid - b) > 1e-9]
            rest = np.array([plain.value(loss, a, y) for a in others])
            rest -= plain.value(loss, b, y) + g * (others - b)
            if g:
                least = min(least, np.min(2 * rest / (g * (others - b)) ** 2))
    assert least >= sigma * (1 - 1e-9)
    assert least <= sigma * 1.02
    X, y = [[0.0], [0.0]], [0.2 * clip if regresses else 1.0] * 2
    state = learner.init(1)
    learner.step(state, X[:1], y[:1])
    assert state.scales[0] == pytest.approx(math.sqrt(sigma) * plain.slope(loss, 0.0, y[0]))


def regrets(scores, y, gram, marks, C):
    """What the squares of the errors are above those of a fixed function, at some times.

    It is the ridge regression of all events until then, whose scores are cut to the clip: no
    function within the clip is better by more than the ridge.
    """
    for T in marks:
        K = gram[:T, :T]
        fixed = np.clip(K @ np.linalg.solve(K + np.eye(T), y[:T]), -C, C)
        yield np.sum((scores[:T] - y[:T]) ** 2) - np.sum((fixed - y[:T]) ** 2)


def test_the_regret_grows_like_the_logarithm_and_stays_under_the_bound():
    X, y = waves(2000, dim=2, noise=0.2, seed=3)
    y = np.clip(y / 2, -1, 1)
    learner = KONS(kernel=Polynomial(degree=3), task=Regression())
    scores = learner.step(learner.init(2), X, y)
    gram = (X @ X.T + 1) ** 3
    marks = [125, 250, 500, 1000, 2000]
    found = np.array(list(regrets(scores, y, gram, marks, 1.0)))
    steps = np.diff(found)
    assert (steps > 0).all()
    assert steps.max() < 2 * steps.mean()  # the same again whenever T doubles: 4 to 5
    assert steps[-1] < 0.2 * found[-1]
    values = np.linalg.eigvalsh(gram)
    sigma, L = 1 / 8, 4
    dimension = np.sum(values / (values + 1 / (sigma * L * L)))
    assert found[-1] <= 2 * dimension * math.log(2 * sigma * L * L * 2000) / sigma


def test_two_steps_by_hand():
    learner = KONS(kernel=Gaussian(bandwidth=1.0), loss=Square(), regularization=0.5, clip=1.0)
    state = learner.init(1)
    scores = learner.step(state, [[0.0], [1.0], [1.0]], [0.0 + 1.0, 1.0, np.nan])
    # sigma = 1/8. First slope -2: A = 0.5 + 0.5 phi phi', u = 2 phi. Then k = exp(-1/2) gives
    # 2k = 1.21, cut to 1: no error, no slope, but u is pulled back by what A asks for.
    k = math.exp(-0.5)
    np.testing.assert_allclose(scores, [0.0, 1.0, 1.0], atol=1e-14)
    assert state.size == 2
    assert state.scales[:2].tolist() == [-2 * math.sqrt(1 / 8), 0.0]
    assert state.weights[1] == pytest.approx(-(2 * k - 1) / (1 - 0.5 * k * k))
    assert learner.score(state, [[0.0]])[0] == pytest.approx(
        np.clip(2 - 0.5 * k * (2 * k - 1) / (1 - 0.5 * k * k), -1, 1)
    )


def test_an_event_that_the_function_suits_leaves_no_trace():
    learner = KONS(kernel=Gaussian(bandwidth=1.0), loss=SquaredHinge(), clip=3.0)
    state = learner.init(1)
    learner.step(state, np.zeros((6, 1)), np.ones(6))
    assert 1.0 <= learner.score(state, [[0.0]])[0] < 3.0
    size = state.size
    learner.step(state, np.zeros((6, 1)), np.ones(6))
    assert state.size == size < 6
    assert state.learned == 12


def test_an_example_without_length_is_not_stored():
    learner = KONS(kernel=Linear())
    state = learner.init(2)
    assert learner.step(state, np.zeros((5, 2)), np.ones(5)).tolist() == [0.0] * 5
    assert (state.size, state.learned) == (0, 5)


def test_a_loss_without_curvature_takes_smaller_and_smaller_steps():
    learner = KONS(kernel=Gaussian(bandwidth=0.01), loss=Hinge(), clip=2.0)
    state = learner.init(1)
    learner.step(state, [[0.0], [1.0], [2.0], [3.0]], [1.0, np.nan, -1.0, 1.0])
    np.testing.assert_allclose(state.scales[:3] ** 2, 0.5 / np.sqrt([1, 2, 3]))


def test_several_classes_are_refused():
    with pytest.raises(ValueError, match="kons does not do multiclass: every class would need"):
        KONS(task=Multiclass())


@pytest.mark.parametrize("budget", [None, 10])
@pytest.mark.parametrize("kernel", [Polynomial(degree=3), Linear(), Gaussian()])
def test_huge_norms_and_one_point_for_ever_stay_finite(budget, kernel):
    learner = KONS(kernel=kernel, budget=budget, regularization=1e-6)
    X, y = rings(300, dim=4, seed=3)
    for events in (1e6 * X, np.tile(X[0], (300, 1)), np.where(X > 0.9, 1e6, X)):
        state = learner.init(4)
        learner.step(state, events, y)
        learner.step(state, X, y)
        for array in (state.factor, state.weights, state.solution):
            assert np.isfinite(array).all()


@pytest.mark.parametrize("clip", [0.3, 3.0])
def test_an_endless_stream_does_not_wear_the_triangle_out(clip):
    X, y = rings(200_000, dim=3, seed=6)
    learner = KONS(budget=30, kernel=Gaussian(bandwidth=0.7), clip=clip, regularization=1e-3)
    state = learner.init(3)
    scores = learner.step(state, X, y)
    order = (state.oldest + np.arange(30)) % 30
    R = np.triu(state.factor[np.ix_(order, order)])
    D, w, s = (array[order] for array in (state.scales, state.weights, state.solution))
    np.testing.assert_array_equal(state.rows[:, order].T, X[-30:])
    K = np.array([[plain.kernel_of(learner.kernel)(x, z) for x in X[-30:]] for z in X[-30:]])
    E = D[:, None] * K * D + 1e-3 * np.eye(30)
    assert np.abs(R.T @ R - E).max() <= 1e-14
    b = D * scores[-30:] - 1 / math.sqrt(math.exp(-clip))
    assert np.abs(R.T @ s - (b - D * (K @ w))).max() <= 1e-11
    assert (w != 0).any()
