import itertools

import numpy as np
import pytest

from okl_flow import make_learner, snapshot, streams
from okl_flow.parameters import changed
from okl_flow.tuned import FORGETTINGS, RATES, WIDTHS, Tuned
from tests.conformance.cases import events_for

DIM = 4
EVENTS = 400
SHORT = {
    "first_events": 10,
    "trial_events": 256,
    "survivors": 1,
}  # fewer candidates after 16, 64 and 256


def targets_of(y, task):
    if task.outputs == 1:
        return np.array([y])
    return np.where(np.arange(task.outputs) == y, 1.0, -1.0)


class Plain:
    """The scores of a tuned learner, event by event, by candidates that are run as they are."""

    def __init__(self, tuned, dim, seed):
        self.tuned, self.dim, self.seed = tuned, dim, seed
        self.task = tuned.task
        self.held, self.candidates, self.learned, self.labels = [], None, 0, []
        self.constant = 0.0

    def score(self, x):
        if self.candidates is None:
            return self.mean([y for _, y in self.held])
        scores = [
            np.reshape(learner.score(state, [x])[0], -1) for learner, state in self.candidates
        ]
        beliefs = np.append(self.beliefs, self.constant)
        weights = np.exp(beliefs - np.max(beliefs))
        return np.average([*scores, self.mean(self.labels)], axis=0, weights=weights)

    def mean(self, labels):
        targets = [targets_of(y, self.task) for y in labels]
        return np.mean(targets, axis=0) if targets else np.zeros(self.task.outputs)

    def learn(self, x, y):
        self.learned += 1
        if self.candidates is None:
            self.held.append((x, y))
            if len(self.held) == self.tuned.first_events:
                self.begin()
        else:
            self.learn_with_all(x, y)
        self.thin_out()

    def begin(self):
        X = np.array([x for x, _ in self.held])
        apart = [np.linalg.norm(a - b) for i, a in enumerate(X) for b in X[:i]]
        unit = 2.0 ** (round(4.0 * np.log2(np.median(apart))) / 4.0)
        quadratic = self.tuned.describe().get("loss") in ("square", "squared_hinge")
        self.candidates, beliefs = [], []
        units = {
            "bandwidth": self.tuned.learner.typical_width * unit,
            "learning_rate": 0.25 if quadratic else 1.0,
            "forgetting": 1.0,
        }
        lists = {"bandwidth": WIDTHS, "learning_rate": RATES, "forgetting": FORGETTINGS}
        names = [name for name in reversed(lists) if name in self.tuned.tunes]
        for point in itertools.product(*(enumerate(lists[name]) for name in names)):
            changes = {
                name: units[name] * value for name, (_, value) in zip(names, point, strict=True)
            }
            learner = changed(self.tuned.learner, changes)
            self.candidates.append((learner, learner.init(self.dim, seed=self.seed)))
            beliefs.append(-0.2 * sum(at for at, _ in point))
        self.beliefs = np.array(beliefs)
        self.grid = len(beliefs)
        for x, y in self.held:
            self.learn_with_all(x, y)

    def learn_with_all(self, x, y):
        before = self.mean(self.labels)
        self.labels.append(y)
        self.constant -= 0.2 * self.cost(before, y)
        for k, (learner, state) in enumerate(self.candidates):
            score = np.reshape(learner.step(state, [x], [y]), -1)
            self.beliefs[k] -= 0.2 * self.cost(score, y)
        if self.constant < np.max(self.beliefs) - 20.0:
            self.constant = -np.inf
        hopeful = np.flatnonzero(self.beliefs >= np.max(self.beliefs) - 20.0)
        self.candidates = [self.candidates[k] for k in hopeful]
        self.beliefs = self.beliefs[hopeful]

    def cost(self, score, y):
        if self.task.name == "regression":
            variance = np.var(self.labels)
            return min(9.0, (score[0] - y) ** 2 / variance) if variance > 0.0 else 0.0
        targets = targets_of(y, self.task)
        loss = np.minimum(5.0, np.log1p(np.exp(-targets * score))).sum()
        wrong = y * score[0] <= 0.0 if len(score) == 1 else np.max(score) > score[int(y)]
        return float(wrong) + 0.25 * loss

    def thin_out(self):
        if self.candidates is None:
            return
        trial = self.tuned.trial_events
        keep = self.grid
        for after, most in (
            (trial // 16, self.grid // 2),
            (trial // 4, self.grid // 4),
            (trial, 1),
        ):
            if self.learned >= after:
                keep = max(most, self.tuned.survivors)
        if len(self.candidates) > keep:
            best = sorted(np.argsort(-self.beliefs, kind="stable")[:keep])
            self.candidates = [self.candidates[k] for k in best]
            self.beliefs = self.beliefs[best]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("kogd", {"budget": 15}),
        ("kogd", {"budget": 15, "task": "multiclass"}),
        ("kogd", {"budget": 15, "task": "regression", "survivors": 3}),
        ("fogd", {"feature_count": 8, "loss": "squared_hinge"}),
        ("nogd", {"budget": 15, "loss": "logistic"}),
        ("kogd", {"budget": 15, "learning_rate": 0.2}),
        ("kogd", {"budget": 15, "bandwidth": 0.3}),
        ("rbp", {"budget": 15}),
        ("krls_ald", {"budget": 15, "forgetting": "auto"}),
        ("arow", {"forgetting": "auto"}),
    ],
)
def test_it_is_the_plain_mixture(name, settings):
    known = make_learner(name).describe()
    found = {key: "auto" for key in ("bandwidth", "learning_rate") if key in known}
    asked = {**found, **SHORT, **settings}
    learner = make_learner(name, **asked)
    X, y = events_for(learner.task.name, EVENTS, dim=DIM)
    state = learner.init(DIM, seed=3)
    scores = learner.step(state, X, y).reshape(EVENTS, -1)
    plain = Plain(learner, DIM, 3)
    for t in range(EVENTS):
        np.testing.assert_allclose(scores[t], plain.score(X[t]), rtol=1e-9, atol=1e-9, err_msg=t)
        if not np.isnan(y[t]):
            plain.learn(X[t], y[t])
    assert state.kept == len(plain.candidates) == learner.survivors


def test_it_says_what_it_has_chosen():
    learner = make_learner("kogd", budget=100, bandwidth="auto", learning_rate="auto")
    state = learner.init(2)
    assert learner.chosen(state) == []
    X, y = streams.rings(5000, seed=2)
    learner.step(state, X[:1000], y[:1000])
    assert len(learner.chosen(state)) == 4
    learner.step(state, X[1000:], y[1000:])
    chosen, _second = learner.chosen(state)
    assert set(chosen) == {"bandwidth", "learning_rate"}
    assert state.unit_bandwidth in [2.0 * chosen["bandwidth"] / width for width in WIDTHS]


def test_a_stranger_does_as_well_as_one_who_knows():
    """Features a thousand times as large cost nothing: no parameter is in their units."""
    X, y = streams.rings(4000, seed=1)
    knowing = make_learner("kogd", budget=100, bandwidth=0.25, learning_rate=0.5)
    least = np.mean(knowing.step(knowing.init(2), X, y) * y <= 0.0)
    for factor in (1.0, 1000.0):
        learner = make_learner("kogd", budget=100, bandwidth="auto", learning_rate="auto")
        rate = np.mean(learner.step(learner.init(2), factor * X, y) * y <= 0.0)
        assert rate <= least + 0.02


def test_a_candidate_that_diverges_is_dropped():
    X, y = events_for("regression", EVENTS, dim=DIM)
    settings = {"kernel": "polynomial", "degree": 3, "task": "regression", "learning_rate": "auto"}
    learner = make_learner("kogd", budget=20, **SHORT, **settings)
    state = learner.init(DIM)
    X[12:] *= 1e4  # the step was chosen for features of another size
    scores = learner.step(state, X, y)
    assert state.kept >= 1
    assert np.isfinite(scores[:12]).all()


def test_a_candidate_that_is_hopelessly_behind_is_dropped():
    """A wide kernel on rings is wrong half of the time, and the trial is not waited for."""
    learner = make_learner("kogd", budget=50, bandwidth="auto", trial_events=10**6)
    state = learner.init(2)
    X, y = streams.rings(3000)
    for begin in range(0, 3000, 100):
        learner.step(state, X[begin : begin + 100], y[begin : begin + 100])
        assert np.ptp(state.log_weights[:-1]) <= 20.0
    assert state.kept < 4


def test_what_cannot_learn_is_no_worse_than_the_constant_answer():
    generator = np.random.default_rng(0)
    X, y = generator.standard_normal((4000, 3)), np.where(generator.random(4000) < 0.2, 1.0, -1.0)
    rates = {}
    for bandwidth in (1.0, "auto"):
        learner = make_learner("projectron", budget=30, bandwidth=bandwidth)
        rates[bandwidth] = np.mean(learner.step(learner.init(3), X, y) * y <= 0.0)
    assert rates[1.0] > 0.3
    assert rates["auto"] <= np.mean(y > 0.0) + 0.01


def test_the_step_of_a_kernel_without_a_norm_follows_its_size():
    X, y = streams.rings(2000, seed=1)
    rates = []
    for factor in (1.0, 100.0):
        learner = make_learner(
            "kogd", budget=50, kernel="polynomial", learning_rate="auto", offset=0.0
        )
        state = learner.init(2)
        assert np.abs(learner.step(state, factor * X, y)).max() < 10.0
        rates.append(state.unit_rate)
    assert rates[0] / rates[1] == pytest.approx(1e8, rel=0.5)


def test_equal_events_and_a_few_events_are_no_trouble():
    learner = make_learner("kogd", budget=5, bandwidth="auto", first_events=4)
    state = learner.init(DIM)
    assert learner.step(state, np.ones((3, DIM)), [1.0, -1.0, 1.0]).tolist() == [0.0, 1.0, 0.0]
    assert learner.score(state, np.ones((1, DIM))) == pytest.approx(1 / 3)
    learner.step(state, np.ones((9, DIM)), np.tile([1.0, -1.0, 1.0], 3))
    assert state.unit_bandwidth == 1.0
    assert state.size == 0
    assert state.rows.size == 0


def test_widths_and_steps_stay_within_what_the_learner_takes():
    narrow = make_learner("oks_sil", bandwidth="auto", bandwidth_max=2.0, first_events=4)
    state = narrow.init(2)
    X, y = streams.rings(50)
    narrow.step(state, 100.0 * X, y)
    assert {chosen["bandwidth"] for chosen in narrow.chosen(state)} == {2.0}
    shrinking = make_learner(
        "kogd", learning_rate="auto", regularization=0.9, first_events=4, budget=5
    )
    state = shrinking.init(2)
    shrinking.step(state, *streams.rings(50))
    assert max(chosen["learning_rate"] for chosen in shrinking.chosen(state)) * 0.9 < 1.0


def test_what_cannot_be_found_is_refused():
    with pytest.raises(ValueError, match="rbp has no learning_rate to be found"):
        make_learner("rbp", learning_rate="auto")
    with pytest.raises(ValueError, match="'trial_events' belongs to bandwidth=auto or"):
        make_learner("kogd", trial_events=50)
    with pytest.raises(ValueError, match="first_events must be a whole number at least 2"):
        make_learner("kogd", bandwidth="auto", first_events=1)
    with pytest.raises(ValueError, match="tunes must be of bandwidth, learning_rate, forgetting"):
        Tuned(learner=make_learner("kogd"), tunes=("budget",))


def test_the_description_makes_it_again():
    learner = make_learner("nogd", bandwidth="auto", learning_rate=0.3, survivors=3, scale="minmax")
    description = learner.describe()
    assert (description["bandwidth"], description["learning_rate"]) == ("auto", 0.3)
    assert make_learner(**description) == learner
    other = make_learner(
        "nogd", bandwidth="auto", learning_rate="auto", survivors=2, scale="minmax"
    )
    blob = snapshot.dumps(learner, learner.init(DIM))
    with pytest.raises(snapshot.SnapshotError, match="its learning_rate is 0.3"):
        snapshot.restore(other, blob)
