"""Sketched online gradient descent: a Nyström-like map that goes on learning the kernel.

Paper: Zhang, Liao, "Incremental randomized sketching for online kernel learning", ICML 2019
(SkeGD).
Deviations: those of the map, IRS; schedules are added; an update comes where `update_every`
divides the number of events learned before, the paper's t mod rho = 1 for every rho, or, as the
length of a stream of which rho is to be a share is not known, where that number has doubled; the
paper's re-fit of the weights keeps the old score of one event only, and so forgets what was
learned: by default the re-fit keeps the scores at the landmarks.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from okl_flow.approximation.irs import (
    IRSState,
    begin_sketches,
    check_sizes,
    sketch_bytes_max,
    sketch_projection,
    take_into_sketches,
)
from okl_flow.descent import (
    feature_scores,
    fill_features,
    gradient_step,
    learn_examples,
    learn_features,
)
from okl_flow.kernels import Gaussian, Kernel, kernel_matrix
from okl_flow.learner import (
    Learner,
    check_dim,
    checked_features,
    fitting_loss,
    shaped,
    stepped,
)
from okl_flow.linalg import ridge_fit
from okl_flow.losses import Loss
from okl_flow.native import Array, dot
from okl_flow.parameters import check, choice, part, real, whole
from okl_flow.rates import SCHEDULES, check_shrinkage, native_rate, rate_at
from okl_flow.rng import seeded
from okl_flow.state import Axes, allocate
from okl_flow.support import expand, expansion_score
from okl_flow.tasks import Binary, Task

__all__ = ["SkeGD", "SkeGDState"]

_FLOAT_BYTES = 8

# The ridge of the re-fit, as a share of the mean square of a feature at the landmarks.
_RIDGE_SHARE = 1e-8


@dataclass(slots=True)
class SkeGDState(IRSState):
    """The map's state, and weights: of the examples in stage one, of the features in stage two."""

    weights: Annotated[Array, Axes("outputs", "weighted")]
    weighted: int  # weights per output
    learned: int  # events that came with a label


@final
@dataclass(frozen=True, kw_only=True)
class SkeGD(Learner):
    """Kernel descent until the budget is full, then descent on features that are kept up to date.

    Stage one is `kogd`: every example with a loss is kept. The first labelled event that finds
    the budget full is scored by that function and not learned; the kept examples become the
    buffer of an `irs` map, and the function is carried over to its features. From then on, in
    stage two, descent goes on in the features. Where an update is due, the labelled event is taken
    into the sketches once it is scored; the weights are fitted to the new map, and the step is
    made at the score that it gives.

    An update costs about a millisecond. The landmarks stay: not for examples that travel.

    Formula:
        f(x) = w . phi(x), phi(x) = Q' k(x), Q Q' the matrix F of rank k for which k(x)' F k(z)
        comes nearest to the kernel, as seen through the sketches S_p' K S_p and S_p' K S_m
        w <- (1 - eta lambda) w - eta l'(f(x_t), y_t) phi(x_t)

    Parameters:
        budget: examples from which the first sketches are made (B). At least 1.
        sketch_size: columns of S_p (s_p); None for three quarters of the budget.
        landmark_count: landmarks (s_m), at most budget; None for half of it.
        rank: features at most (k), at most sketch_size and landmark_count; None for 0.4 of the
            budget.
        block_count: entries of S_p in each row (d), at most sketch_size. At least 1.
        update_every: labelled events from one update to the next (rho); None for an update
            after twice the budget, and each time that their number has doubled. On steady
            streams more of them did not lower the rate of mistakes. At least 1.
        stored_rows: examples kept at most, at least budget and above landmark_count; None for
            twice the budget.
        kernel: similarity of two examples (K).
        loss: what a score costs (l); hinge by default, square in regression.
        learning_rate: size of the first step (eta). Above 0.
        schedule: how steps shrink: constant, inverse_sqrt or inverse in the labelled events.
        regularization: weight of the squared norm (lambda). At least 0.
        refit: what the weights keep where the map changes: the scores at the landmarks (at
            first, at the buffer), as nearly as they can, or (paper) the score of the event.
        task: binary, multiclass or regression.

    Cost: time O(landmark_count * (dim + rank)) per event, O(stored_rows * dim + sketch_size^3)
    for an update; memory O(stored_rows * dim + sketch_size^2) per key.

    >>> learner = SkeGD(budget=2, block_count=1, learning_rate=0.4, kernel=Gaussian(bandwidth=1.0))
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[0.5]] * 5, [1.0] * 5).round(3)
    array([0. , 0.4, 0.8, 0.8, 1.2])
    """

    name: ClassVar[str] = "skegd"
    budget: int = whole(100, low=1)
    sketch_size: int | None = whole(None, low=1, optional=True)
    landmark_count: int | None = whole(None, low=1, optional=True)
    rank: int | None = whole(None, low=1, optional=True)
    block_count: int = whole(4, low=1)
    update_every: int | None = whole(None, low=1, optional=True)
    stored_rows: int | None = whole(None, low=1, optional=True)
    kernel: Kernel = part(Kernel, Gaussian())
    loss: Loss = part(Loss, None)
    learning_rate: float = real(0.1, above=0.0)
    schedule: str = choice(*SCHEDULES)
    regularization: float = real(0.0, low=0.0)
    refit: str = choice("landmarks", "paper")
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        check_sizes(self)
        check_shrinkage(self)
        object.__setattr__(self, "loss", fitting_loss(self, self.loss))

    def init(self, dim: int, seed: int = 0) -> SkeGDState:
        """A state without examples; `seed` starts the generator of landmarks and sketches."""
        check_dim(dim)
        state = allocate(SkeGDState, dim=dim, outputs=self.task.outputs, blocks=self.block_count)
        state.words = seeded(seed)
        return state

    def score(self, state: SkeGDState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        if state.rank == 0:
            return expansion_score(self, state, X)
        features = checked_features(state, X)
        scores = feature_scores(
            features, self.kernel.native, state.rows, state.weights, state.projection, False
        )
        return shaped(self.task, scores)

    def step(self, state: SkeGDState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        rate = native_rate(self.schedule, self.learning_rate)

        def learn(t: int, features: Array, labels: Array, scores: Array) -> int:
            if state.rank == 0:
                t = _learn_examples(self, state, t, features, labels, scores)
            while state.rank > 0 and t < features.shape[0]:
                t, state.learned = learn_features(
                    t,
                    features,
                    labels,
                    scores,
                    self.kernel.native,
                    state.rows,
                    state.weights,
                    state.projection,
                    False,
                    state.learned,
                    self.loss.native,
                    rate,
                    self.regularization,
                    _next_update(self, state.learned),
                )
                if t < features.shape[0]:
                    _learn_and_update(self, state, features[t : t + 1], labels[t], scores[t])
                    t += 1
            return t

        most = {"size": self.budget, "weighted": self.budget}
        return stepped(self, state, X, y, learn, most)

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take."""
        outputs = self.task.outputs
        return sketch_bytes_max(self, dim) + outputs * self.budget * _FLOAT_BYTES


def _next_update(learner: SkeGD, learned: int) -> int:
    """The number of labelled events before the update that is due next."""
    if learner.update_every is not None:
        return -(-learned // learner.update_every) * learner.update_every
    due = 2 * learner.budget
    while due < learned:
        due *= 2
    return due


def _learn_examples(
    learner: SkeGD, state: SkeGDState, t: int, X: Array, y: Array, scores: Array
) -> int:
    """Go through the events of stage one from t on, as far as there is room, and end it."""
    if state.size < learner.budget:
        t, state.size, state.learned = learn_examples(
            t,
            X,
            y,
            scores,
            learner.kernel.native,
            state.rows,
            state.weights,
            state.size,
            state.learned,
            learner.loss.native,
            native_rate(learner.schedule, learner.learning_rate),
            learner.regularization,
            False,
        )
        state.weighted = state.size
        if state.size < learner.budget:
            return t
    labelled = np.flatnonzero(~np.isnan(y[t:]))
    end = t + int(labelled[0]) + 1 if labelled.size > 0 else X.shape[0]
    scores[t:end] = expansion_score(learner, state, X[t:end]).reshape(-1, scores.shape[1])
    if labelled.size > 0:
        state.learned += 1
        _begin_stage_two(learner, state, X[end - 1 : end], scores[end - 1])
    return end


def _begin_stage_two(learner: SkeGD, state: SkeGDState, x: Array, score: Array) -> None:
    """Make the map of the examples kept, and give the function that they expand to its features.

    `x` is the event at which this happens, and `score` its score.
    """
    weights = state.weights[:, begin_sketches(learner, state)]
    gram = kernel_matrix(learner.kernel.native, state.rows, state.size)
    state.projection = sketch_projection(learner, state)
    landmarks = state.projection.shape[0]
    _refit(learner, state, gram[:, :landmarks], gram @ weights.T, x, score)


def _learn_and_update(learner: SkeGD, state: SkeGDState, x: Array, y: float, score: Array) -> None:
    """Take the event into the sketches, carry the function over to the new map, and step."""
    state.learned += 1
    eta = rate_at(native_rate(learner.schedule, learner.learning_rate), state.learned)
    gram = kernel_matrix(learner.kernel.native, state.rows, state.projection.shape[0])
    kept = gram @ (state.projection @ state.weights.T)
    take_into_sketches(learner, state, x)
    state.projection = sketch_projection(learner, state)
    features = _refit(learner, state, gram, kept, x, score)
    scores = np.empty(state.weights.shape[0])
    change = np.empty(state.weights.shape[0])
    expand(state.weights, features, state.rank, scores)
    gradient_step(
        learner.loss.native, scores, y, eta, learner.regularization, state.weights, features, change
    )


def _refit(
    learner: SkeGD, state: SkeGDState, gram: Array, kept: Array, x: Array, score: Array
) -> Array:
    """Give the features of a new map their weights. Returns the features of x.

    `kept` are the scores to keep at some examples, a line for each, and `gram` is their kernel
    with the landmarks; `score` is the score of x.
    """
    landmarks, rank = state.projection.shape
    similarities, features = np.empty((1, landmarks)), np.empty((1, rank))
    fill_features(
        learner.kernel.native, state.rows, state.projection, False, x, similarities, features
    )
    if learner.refit == "landmarks":
        weights = ridge_fit(gram @ state.projection, kept, _RIDGE_SHARE).T
    else:
        square = dot(features[0], features[0], rank)
        weights = np.outer(score, features[0] / square if square > 0.0 else features[0])
    state.weights = np.ascontiguousarray(weights)
    state.rank = state.weighted = rank
    own: Array = features[0]
    return own
