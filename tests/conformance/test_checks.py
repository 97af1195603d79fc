"""Each law is proved by learners that break it, and by one that keeps them all."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from okl_flow import Learner
from okl_flow.learners.expansion.kogd import KOGD
from okl_flow.parameters import check, part, real, whole
from okl_flow.registry import REGISTRY, Limit, Row
from okl_flow.tasks import Binary, Task
from tests.conformance import checks


@dataclass(frozen=True, kw_only=True)
class Honest(Learner):
    """KOGD by another name: keeps every law."""

    name: ClassVar[str] = "honest"
    budget: int = whole(20, low=1)
    learning_rate: float = real(0.5, above=0.0)
    task: Task = part(Task, Binary())

    def __post_init__(self):
        check(self)

    @property
    def inner(self):
        return KOGD(budget=self.budget, learning_rate=self.learning_rate, task=self.task)

    def init(self, dim, seed=0):
        return self.inner.init(dim, seed)

    def score(self, state, X):
        return self.inner.score(state, X)

    def step(self, state, X, y):
        return self.inner.step(state, X, y)

    def state_bytes_max(self, dim):
        return self.inner.state_bytes_max(dim)


class ScoreCounts(Honest):
    def score(self, state, X):
        state.seen += 1
        return super().score(state, X)


class ScoreIsNotStep(Honest):
    def score(self, state, X):
        return super().score(state, X) * (1 + 1e-15)


class BatchIsNotItsRows(Honest):
    def step(self, state, X, y):
        scores = self.score(state, X)
        super().step(state, X, y)
        return scores


class ChangesInput(Honest):
    def step(self, state, X, y):
        scores = super().step(state, X, y)
        X *= 2
        return scores


class KeepsReference(Honest):
    def step(self, state, X, y):
        scores = super().step(state, X, y)
        state.rows = X[-state.size :].reshape(state.rows.shape[0], -1)
        return scores


SHARED = {}


class OneStateForAll(Honest):
    def init(self, dim, seed=0):
        return SHARED.setdefault(dim, super().init(dim, seed))


class AllLearnTogether(Honest):
    made: ClassVar[list] = []

    def init(self, dim, seed=0):
        state = super().init(dim, seed)
        self.made.append(state)
        return state

    def step(self, state, X, y):
        for other in self.made:
            other.seen += 1
        return super().step(state, X, y)


class HiddenState(Honest):
    counts: ClassVar[dict] = {}

    def step(self, state, X, y):
        scores = super().step(state, X, y)
        steps = self.counts[id(state)] = self.counts.get(id(state), 0) + 1
        state.weights *= 1 + 1e-12 * steps
        return scores


class DrawsElsewhere(Honest):
    generator: ClassVar = np.random.default_rng(0)

    def step(self, state, X, y):
        return super().step(state, X, y) + self.generator.uniform()


class HidesConfiguration(Honest):
    def describe(self):
        return {name: value for name, value in super().describe().items() if name != "budget"}


class Hoards(Honest):
    def step(self, state, X, y):
        scores = super().step(state, X, y)
        state.rows = np.hstack([state.rows, np.zeros((state.dim, len(X)))])
        state.weights = np.hstack([state.weights, np.zeros((1, len(X)))])
        return scores


class DeclaresNoBound(Honest):
    def state_bytes_max(self, dim):
        return None


@dataclass(frozen=True, kw_only=True)
class DeafToParameter(Honest):
    tempo: float = real(1.0, above=0.0)


class AcceptsAbsurdities(Honest):
    def __post_init__(self):
        pass

    @property
    def inner(self):
        return KOGD(budget=20, learning_rate=0.5)


class DividesByNorm(Honest):
    def step(self, state, X, y):
        with np.errstate(invalid="ignore"):
            direction = X / np.linalg.norm(X, axis=1, keepdims=True)
        return super().step(state, np.nan_to_num(direction), y) + 0 * direction[:, 0]


class SwallowsNaN(Honest):
    def step(self, state, X, y):
        return super().step(state, np.nan_to_num(np.asarray(X, dtype=float)), y)


class ChangesBeforeItRefuses(Honest):
    def step(self, state, X, y):
        state.seen += 1
        scores = super().step(state, X, y)
        state.seen -= 1
        return scores


class NeverLearns(Honest):
    def step(self, state, X, y):
        return super().step(state, X, np.full(len(X), np.nan))


class MissesItsLimit(Honest):
    @property
    def inner(self):
        return KOGD(budget=self.budget, learning_rate=self.learning_rate * (1 + 1e-9))


class GainsNothingFromRoom(Honest):
    @property
    def inner(self):
        return KOGD(budget=1000, learning_rate=self.learning_rate)


def enrolled(monkeypatch, learner):
    """Put a learner into the registry for one test, under the row of an honest one."""
    row = Row(
        learner,
        paper="",
        memory="",
        cost="",
        tasks=("binary",),
        settings={"budget": 20},
        learning={"budget": 200},
        mistakes_max=(0.25, 0.3),
        limits=(
            Limit(
                settings=({"budget": 20}, {"budget": 1000}),
                equals="kogd",
                with_settings={"learning_rate": 0.5},
            ),
        ),
    )
    monkeypatch.setitem(REGISTRY, "honest", row)


@pytest.mark.parametrize("law", checks.LAWS)
def test_an_honest_learner_keeps_every_law(monkeypatch, law):
    enrolled(monkeypatch, Honest)
    law("honest")


BREACHES = {
    ScoreCounts: (checks.score_reads_only, "score changed the state"),
    ScoreIsNotStep: (checks.score_reads_only, "after score"),
    BatchIsNotItsRows: (checks.score_reads_only, "row by row"),
    ChangesInput: (checks.inputs_are_left_alone, "step changed X"),
    KeepsReference: (checks.inputs_are_left_alone, "after X was overwritten"),
    OneStateForAll: (checks.inputs_are_left_alone, "another state learned too"),
    AllLearnTogether: (checks.snapshots_stand_still, "a restored state learned too"),
    HiddenState: (checks.resuming_is_going_on, "after a snapshot at"),
    DrawsElsewhere: (checks.seeds_decide, "a second run"),
    HidesConfiguration: (checks.seeds_decide, "DID NOT RAISE"),
    Hoards: (checks.memory_is_bounded, "declared"),
    DeclaresNoBound: (checks.memory_is_bounded, "must bound the memory"),
    DeafToParameter: (checks.parameters_matter, "no value of tempo"),
    AcceptsAbsurdities: (checks.parameters_matter, "budget"),
    DividesByNorm: (checks.hard_streams_are_survived, "not finite on zero vectors"),
    SwallowsNaN: (checks.hard_streams_are_survived, "DID NOT RAISE"),
    ChangesBeforeItRefuses: (checks.hard_streams_are_survived, "refused, but changed"),
    NeverLearns: (checks.it_learns, "mistakes on rings"),
    MissesItsLimit: (checks.limits_meet, "from kogd"),
    GainsNothingFromRoom: (checks.limits_meet, "brought no gain"),
}


@pytest.mark.parametrize(
    ("learner", "law", "reason"), [(learner, *breach) for learner, breach in BREACHES.items()]
)
def test_a_breach_is_found(monkeypatch, learner, law, reason):
    enrolled(monkeypatch, learner)
    with pytest.raises((AssertionError, pytest.fail.Exception), match=reason):
        law("honest")


def test_every_law_is_broken_by_some_learner():
    assert {law for law, _ in BREACHES.values()} == set(checks.LAWS)
