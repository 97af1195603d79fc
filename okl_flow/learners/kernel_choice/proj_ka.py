"""Proj-KA: kernel alignment picks a width on the first events, and the Projectron takes it.

Paper: Zhang, Liao, "Hypothesis sketching for online kernel selection in continuous kernel
space", IJCAI 2020, which compares it with OKS-SIL: alignment as of Kandola, Shawe-Taylor,
Cristianini, "On the extensions of kernel alignment", 2002, then the Projectron of Orabona,
Keshet, Caputo, "The Projectron: a bounded kernel-based Perceptron", ICML 2008.
Deviations: the paper goes over the first 10,000 examples of a file before it predicts the first
of them. A stream has no second pass. Until `alignment_events` labels have come, the Projectron
predicts and learns under the width that is given, and their examples are gathered: all of them,
since alignment needs also those that were no mistakes. Then the widths are compared, and the
Projectron begins anew with the gathered examples, in their order, under the width of the highest
alignment: from there on it is the Projectron that had this width from the first event on. The
gathered examples are given up.

Measured with running z-scores, at a budget of 150: the plain alignment of the first 500 labels
came to 31.5, 27.2 and 12.9 % mistakes on german, svmguide3 and spambase from the first event on;
the best of nine fixed widths to 31.0, 25.9 and 12.6. The centred alignment came to 32.0, 28.9 and
17.9 %. More labels brought less than 1 point, and on `streams.rotating`, where labels of half a
turn cancel each other, 2000 of them no width at all; with 100 the width varied twofold.

Widths whose alignments differ by less than 1e-9 are a tie, which the widest wins: the kernels of
the narrow ones vanish, and are all the same. Where no width has an alignment, as when all labels
are the same and it is centred, the given one stays.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from okl_flow.alignment import CANDIDATES, kernel_alignment
from okl_flow.kernels import Gaussian, Kernel, Laplacian, NativeKernel
from okl_flow.learner import Learner, check_dim, refuse_task, stepped
from okl_flow.native import Array
from okl_flow.parameters import check, choice, part, real, whole
from okl_flow.projected import Projected, learn_projected
from okl_flow.state import Axes, allocate, is_full, make_room
from okl_flow.support import expansion_bytes_max, expansion_score
from okl_flow.tasks import Binary, Regression, Task
from okl_flow.widths import bandwidth_grid, check_grid

__all__ = ["ProjKA", "ProjKAState"]

_SAME = 1e-9


@dataclass(slots=True)
class ProjKAState(Projected):
    """The examples kept, their kernel matrix, and those gathered until the width is chosen."""

    gathered_rows: Annotated[Array, Axes("dim", "gathered")]  # one per column
    gathered_labels: Annotated[Array, Axes("gathered")]
    gathered: int  # examples gathered
    chosen: int  # 1 once the width is chosen, else 0
    bandwidth: float  # the width of the kernel


@final
@dataclass(frozen=True, kw_only=True)
class ProjKA(Learner):
    """Projectron under the width of the highest kernel alignment (Proj-KA).

    The first labelled events are learned under the width that is given. They decide which width
    is most like the labels; under that one they are learned once more, and all that follows.

    Formula:
        bandwidth = argmax_b sum_ij y_i y_j K_b(x_i, x_j) / (n |K_b|), over the first n labels and
        the grid of widths; then as the projectron

    Parameters:
        budget: examples kept at most (B). At least 1.
        kernel: gaussian or laplacian, with the bandwidth of the first events.
        threshold: distance above which an example is stored, in the kernel's space, where no
            two examples are farther apart than 1.41. At least 0.
        alignment_events: labelled events that decide on the width (m). At least 2.
        alignment: uncentered, or centered, which does not see how many labels there are of each
            class.
        bandwidth_min: the narrowest width. Above 0.
        bandwidth_max: the widest width, if the steps meet it. At least bandwidth_min.
        per_octave: widths from one to its double. At least 1.
        task: binary or multiclass.

    Cost: time O(budget * dim) per event, O(budget * (budget + dim)) after a mistake, and once
    O(alignment_events^2 * (dim + widths)); memory O(budget * (budget + dim)) per key, and
    O(alignment_events * dim) until the width is chosen.

    >>> learner = ProjKA(alignment_events=4, kernel=Gaussian(bandwidth=8.0))
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[0.0], [1.0], [0.1], [0.9], [0.5]], [1, -1, 1, -1, -1]).round(3)
    array([ 0.   ,  0.992,  0.006, -0.006,  0.   ])
    >>> round(state.bandwidth, 3)
    0.177
    """

    name: ClassVar[str] = "proj_ka"
    budget: int = whole(100, low=1)
    kernel: Gaussian | Laplacian = part(Kernel, Gaussian())
    threshold: float = real(0.1, low=0.0)
    alignment_events: int = whole(500, low=2)
    alignment: str = choice("uncentered", "centered")
    bandwidth_min: float = real(CANDIDATES[0], above=0.0)
    bandwidth_max: float = real(CANDIDATES[-1], above=0.0)
    per_octave: int = whole(2, low=1)
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        check(self)
        check_grid(self)
        if not isinstance(self.kernel, Gaussian | Laplacian):
            raise ValueError(
                f"{self.name}: kernel must be gaussian or laplacian, not {self.kernel.name}: it "
                "chooses a bandwidth"
            )
        refuse_task(self, Regression, reason="it learns from mistakes, which a number has not")

    @property
    def bandwidths(self) -> Array:
        """The widths that are compared, the narrowest first."""
        return bandwidth_grid(self)

    def init(self, dim: int, seed: int = 0) -> ProjKAState:
        """A state without examples; nothing is drawn, so the seed plays no part."""
        check_dim(dim)
        state = allocate(ProjKAState, dim=dim, outputs=self.task.outputs)
        state.bandwidth = float(self.kernel.bandwidth)
        return state

    def score(self, state: ProjKAState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X."""
        return expansion_score(self, state, X, self._kernel(state))

    def step(self, state: ProjKAState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""

        def learn(t: int, features: Array, labels: Array, scores: Array) -> int:
            if state.chosen:
                return self._go_on(state, t, features, labels, scores)
            known = t + np.flatnonzero(~np.isnan(labels[t:]))
            missing = self.alignment_events - state.gathered
            end = len(labels) if len(known) < missing else known[missing - 1] + 1
            after = self._go_on(state, t, features[:end], labels[:end], scores[:end])
            self._gather(state, features, labels, known[known < after])
            if state.gathered == self.alignment_events:
                self._choose(state)
            return after

        return stepped(self, state, X, y, learn)

    def state_bytes_max(self, dim: int) -> int | None:
        """The most bytes that the arrays of one state can take."""
        besides = self.budget**2 + self.alignment_events * (dim + 1)
        return expansion_bytes_max(dim, self.task.outputs, self.budget, besides=besides)

    def _kernel(self, state: ProjKAState) -> NativeKernel:
        """The kernel under the width that has been chosen."""
        return type(self.kernel)(bandwidth=state.bandwidth).native

    def _go_on(self, state: ProjKAState, t: int, X: Array, y: Array, scores: Array) -> int:
        """The Projectron's loop, until the arrays need more room."""
        t, state.size = learn_projected(
            t,
            X,
            y,
            scores,
            state.rows,
            state.weights,
            state.factor,
            state.size,
            self._kernel(state),
            self.threshold,
            self.budget,
        )
        return t

    def _gather(self, state: ProjKAState, X: Array, y: Array, places: NDArray[np.intp]) -> None:
        """Keep the events at these places for the choice of the width."""
        begin, state.gathered = state.gathered, state.gathered + len(places)
        while state.gathered > len(state.gathered_labels):
            make_room(state, self.alignment_events, "gathered")
        state.gathered_rows[:, begin : state.gathered] = X[places].T
        state.gathered_labels[begin : state.gathered] = y[places]

    def _choose(self, state: ProjKAState) -> None:
        """Choose the width, and learn what was gathered once more."""
        X, y = np.ascontiguousarray(state.gathered_rows.T), state.gathered_labels
        alignments = kernel_alignment(
            X,
            y,
            self.bandwidths,
            self.alignment == "centered",
            kernel=self.kernel.name,
            task=self.task,
        )
        highest = alignments.max()
        if highest > _SAME:
            state.bandwidth = float(self.bandwidths[alignments >= highest - _SAME].max())
        state.chosen, state.gathered, state.size = 1, 0, 0
        state.gathered_rows, state.gathered_labels = np.zeros((state.dim, 0)), np.zeros(0)
        t, scores = 0, np.empty((len(y), self.task.outputs))
        while t < len(y):
            if is_full(state):
                make_room(state, self.budget)
            t = self._go_on(state, t, X, y, scores)
