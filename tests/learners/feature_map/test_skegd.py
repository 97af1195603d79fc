"""SkeGD: what only its paper promises."""

from dataclasses import replace

import numpy as np
import pytest

from okl_flow import Gaussian, Laplacian, Linear, Polynomial, make_learner, snapshot
from okl_flow.learners.expansion.kogd import KOGD
from okl_flow.learners.feature_map.skegd import SkeGD
from okl_flow.streams import rings
from tests import plain


class Plain(plain.Expansion):
    """SkeGD as its paper writes it, with either re-fit."""

    def __init__(self, learner, dim, seed):
        super().__init__(learner)
        self.learner = learner
        self.learned = 0
        self.map = plain.Sketched(learner, seed)
        self.Q = None

    def score(self, x):
        return super().score(x) if self.Q is None else self.w @ self.features(x)

    def features(self, x):
        return self.map.gram([x])[0] @ self.Q

    def learn(self, x, y):
        self.learned += 1
        eta = plain.rate(self.learner, self.learned)
        shrinkage = 1 - eta * self.learner.regularization
        if self.Q is None:
            if len(self.examples) == self.learner.budget:
                self.begin(x)
                return
            slopes = self.slopes(x, y)
            self.weights = [w * shrinkage for w in self.weights]
            if any(slopes):
                self.add(x, -eta * slopes)
            return
        if self.learned % self.learner.update_every == 1 % self.learner.update_every:
            score, landmarks = self.score(x), self.map.rows[: self.map.landmarks]
            kept = np.array([self.score(z) for z in landmarks])
            self.map.take(x)
            self.refit(landmarks, kept, x, score)
        self.w = shrinkage * self.w - eta * np.outer(self.slopes(x, y), self.features(x))

    def slopes(self, x, y):
        goals = zip(self.score(x), plain.targets(self.task, y), strict=True)
        return np.array([plain.slope(self.learner.loss, f, goal) for f, goal in goals])

    def begin(self, x):
        score = self.score(x)
        kept = np.array([self.score(z) for z in self.examples])
        order = self.map.begin(self.examples)
        self.refit(self.map.rows, kept[order], x, score)

    def refit(self, examples, kept, x, score):
        self.Q = self.map.projection()
        if self.learner.refit == "paper":
            phi = self.features(x)
            self.w = np.outer(score, phi / (phi @ phi) if phi.any() else phi)
            return
        F = self.map.gram(examples) @ self.Q
        ridge = 1e-8 * np.sum(F**2) / F.shape[1]
        U, s, V = np.linalg.svd(F, full_matrices=False)
        if ridge:
            self.w = (V.T @ np.diag(s / (s**2 + ridge)) @ U.T @ kept).T
        else:
            self.w = np.zeros((kept.shape[1], F.shape[1]))


def stage_two(learner, X, y, seed=0):
    """The state with which stage two begins, and the number of events until then."""
    state = learner.init(X.shape[1], seed=seed)
    for count in range(1, len(X)):
        learner.step(state, X[count - 1 : count], y[count - 1 : count])
        if state.rank:
            return state, count
    raise AssertionError("stage two never began")


def test_stage_one_is_kogd():
    X, y = rings(80, dim=3, seed=2)
    learner, parent = SkeGD(budget=200, regularization=0.5), KOGD(regularization=0.5)
    state = learner.init(3)
    np.testing.assert_array_equal(learner.step(state, X, y), parent.step(parent.init(3), X, y))
    assert (state.rank, state.phi_pp.size) == (0, 0)


def test_stage_two_begins_with_the_first_label_that_finds_the_budget_full():
    learner = SkeGD(budget=2, block_count=1, rank=1, kernel=Gaussian(bandwidth=1.0))
    state = learner.init(dim=1)
    learner.step(state, [[0.0], [3.0], [1.0]], [1.0, -1.0, np.nan])
    assert (state.size, state.rank, state.learned) == (2, 0, 2)
    expected = learner.score(state, [[0.5], [0.5]])
    scores = learner.step(state, [[0.5], [0.5]], [np.nan, 1.0])
    np.testing.assert_array_equal(scores, expected)
    assert (state.size, state.rank, state.learned) == (2, 1, 3)


def test_one_landmark_by_hand():
    # S_p has one column, so Phi_pp and Phi_pm are numbers and Q = sqrt(Phi_pp) / Phi_pm.
    learner = SkeGD(
        budget=2,
        sketch_size=1,
        landmark_count=1,
        rank=1,
        block_count=1,
        stored_rows=2,
        update_every=4,
        learning_rate=0.25,
        kernel=Gaussian(bandwidth=1.0),
        refit="paper",
    )
    state = learner.init(dim=1, seed=3)
    learner.step(state, [[0.0], [1.0], [2.0]], [1.0, -1.0, 1.0])
    (s, r), k = np.sign(state.entries[:, 0]), np.exp(-0.5)
    landmark, other = state.rows[0]
    assert sorted([landmark, other]) == [0.0, 1.0]
    assert state.phi_pp[0, 0] == pytest.approx(2 + 2 * s * r * k, abs=1e-14)
    assert state.phi_pm[0, 0] == pytest.approx(s + r * k, abs=1e-14)
    assert state.projection[0, 0] == pytest.approx(
        np.sqrt(2 + 2 * s * r * k) / (s + r * k), abs=1e-14
    )
    # The score of the event at 2 is kept, 0.25 (K(2, 0) - K(2, 1)), and no step is made.
    kept = 0.25 * (np.exp(-2.0) - k)
    assert learner.score(state, [[2.0]])[0] == pytest.approx(kept, abs=1e-14)
    # The next event is a step in the one feature, the one after it an update.
    q = state.projection[0, 0]
    learner.step(state, [[2.0]], [1.0])
    phi = q * np.exp(-((2 - landmark) ** 2) / 2)
    assert learner.score(state, [[2.0]])[0] == pytest.approx(kept + 0.25 * phi**2, abs=1e-14)
    learner.step(state, [[3.0]], [1.0])
    assert state.rows[0].tolist() == [landmark, 3.0]
    s, r = np.sign(state.entries[:, 0])
    assert state.phi_pp[0, 0] == pytest.approx(
        2 + 2 * s * r * np.exp(-((3 - landmark) ** 2) / 2), abs=1e-14
    )


def test_carried_over_the_function_stays_at_the_landmarks():
    X, y = rings(400, dim=3, seed=5)
    learner = SkeGD(
        budget=30, landmark_count=10, rank=10, update_every=10**6, kernel=Gaussian(bandwidth=0.3)
    )
    state, count = stage_two(learner, X, y)
    learner.step(state, X[count:], y[count:])
    landmarks = np.ascontiguousarray(state.rows[:, :10].T)
    before, old = learner.score(state, landmarks), state.projection
    often = replace(learner, update_every=1, learning_rate=1e-12)
    often.step(state, X[:50], y[:50])
    assert not np.allclose(state.projection, old)
    np.testing.assert_allclose(learner.score(state, landmarks), before, atol=1e-5)


def test_the_paper_keeps_the_score_of_the_event_only():
    X, y = rings(400, dim=3, seed=5)
    learner = SkeGD(
        budget=30, update_every=1, learning_rate=1e-12, refit="paper", kernel=Gaussian()
    )
    state = stage_two(learner, X, y)[0]
    state.weights[:] = np.random.default_rng(0).standard_normal(state.weights.shape)
    for x in X[:20]:
        score = learner.score(state, x[None])
        learner.step(state, x[None], [1.0])
        np.testing.assert_allclose(learner.score(state, x[None]), score, atol=1e-9)
        features = x_features(learner, state, x)
        cosine = state.weights[0] @ features / np.linalg.norm(state.weights[0])
        assert abs(cosine) == pytest.approx(np.linalg.norm(features), rel=1e-9)


def x_features(learner, state, x):
    """The features of one example in the present map."""
    similarity = plain.kernel_of(learner.kernel)
    landmarks = state.rows[:, : state.projection.shape[0]].T
    return np.array([similarity(x, z) for z in landmarks]) @ state.projection


def test_updates_come_every_so_many_labelled_events():
    X, y = rings(300, dim=3, seed=5)
    y = y.astype(float)
    y[::3] = np.nan
    learner = SkeGD(budget=12, update_every=7, stored_rows=100)
    state, count = stage_two(learner, X, y)
    for x, label in zip(X[count:], y[count:], strict=True):
        size = state.size
        learner.step(state, x[None], [label])
        due = not np.isnan(label) and state.learned % 7 == 1
        assert state.size == size + due
        assert not due or state.rows[:, size].tolist() == x.tolist()
    assert state.size > 25


def test_updates_come_each_time_that_the_labelled_events_have_doubled():
    X, y = rings(400, dim=3, seed=5)
    y = y.astype(float)
    y[::3] = np.nan
    learner = SkeGD(budget=12)
    state, count = stage_two(learner, X, y)
    due = [number for number in (24, 48, 96, 192) if number >= state.learned]
    found = []
    for x, label in zip(X[count:], y[count:], strict=True):
        size, learned = state.size, state.learned
        learner.step(state, x[None], [label])
        if state.size > size:
            found.append(learned)
    assert found == due and len(due) >= 3
    whole = learner.init(X.shape[1])
    learner.step(whole, X, y)
    assert snapshot.dumps(learner, whole) == snapshot.dumps(learner, state)


def test_unlabelled_events_change_nothing_in_stage_two():
    X, y = rings(200, dim=3, seed=5)
    learner = SkeGD(budget=12, update_every=1)
    state = stage_two(learner, X, y)[0]
    before = snapshot.dumps(learner, state)
    learner.step(state, X, np.full(200, np.nan))
    state.seen -= 200
    assert snapshot.dumps(learner, state) == before


def test_events_without_similarity_leave_a_map_of_zeros():
    for refit in ("landmarks", "paper"):
        learner = SkeGD(budget=4, kernel=Linear(), update_every=2, refit=refit)
        state = learner.init(dim=2)
        assert learner.step(state, np.zeros((30, 2)), np.ones(30)).tolist() == [0.0] * 30
        assert (state.rank, state.size) == (1, 8)


def test_sizes_that_do_not_go_together_are_refused():
    with pytest.raises(ValueError, match="skegd: rank must be at most the landmark_count of 5"):
        SkeGD(budget=10, rank=6)
    with pytest.raises(ValueError, match="skegd: stored_rows must be at least 10, .* not 9"):
        make_learner("skegd", budget=10, stored_rows=9)


def test_it_goes_on_for_ever():
    X, y = rings(1000, dim=3, seed=1)
    learner = SkeGD(budget=20, update_every=500, stored_rows=30, kernel=Gaussian(bandwidth=0.5))
    state = learner.init(3)
    X, y = np.tile(X, (50, 1)), np.tile(y, 50)
    sizes, rates = [], []
    for _ in range(20):
        scores = learner.step(state, X, y)
        sizes.append(len(snapshot.dumps(learner, state)))
        rates.append(np.mean(scores * y <= 0))
    assert state.seen == 1_000_000
    assert max(sizes) - min(sizes) < 10
    assert max(rates) - min(rates) < 0.1
    oracle = plain.Sketched(learner, 0)
    oracle.rows = list(state.rows[:, : state.size].T)
    oracle.S = np.zeros((30, 15))
    for line, entries in zip(oracle.S, state.entries, strict=True):
        line[np.abs(entries) - 1] = np.sign(entries) / 2
    phi_pp, phi_pm = oracle.sketches()
    assert np.abs(phi_pp - state.phi_pp).max() < 1e-12
    assert np.abs(phi_pm - state.phi_pm).max() < 1e-12


@pytest.mark.parametrize("refit", ["landmarks", "paper"])
@pytest.mark.parametrize(
    ("kernel", "settings"),
    [
        (Gaussian(), {}),
        (Gaussian(bandwidth=0.3), {"landmark_count": 20, "rank": 15, "stored_rows": 21}),
        (Laplacian(bandwidth=2.0), {"sketch_size": 12, "rank": 3, "block_count": 5}),
        (Polynomial(degree=2), {"regularization": 0.1, "learning_rate": 0.02}),
        (Linear(), {"schedule": "inverse_sqrt", "update_every": 1}),
    ],
)
def test_long_streams_stay_with_the_plain_formula(kernel, settings, refit):
    X, y = rings(800, dim=3, seed=9)
    settings = {"update_every": 40, "learning_rate": 0.5, **settings}
    learner = SkeGD(budget=20, kernel=kernel, refit=refit, **settings)
    scores = learner.step(learner.init(3, seed=4), X, y)
    oracle = Plain(learner, 3, 4)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        expected = oracle.score(x)[0]
        assert abs(scores[t] - expected) <= 1e-8 * max(1.0, abs(expected)), t
        oracle.learn(x, label)
