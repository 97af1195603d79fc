"""How the states of many keys are held: in a pool, or each as an object of its own.

Either way a state is known by a number.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from okl_flow.blocks import Memory
from okl_flow.learner import Learner
from okl_flow.native import Array
from okl_flow.packing import Pieces, packer_of
from okl_flow.pool import Pool
from okl_flow.state import ObjectState

__all__ = ["Apart", "Keeper", "keeper_of"]


class Keeper(Protocol):
    """Holds states of one learner, each known by a number from 0 on."""

    failures: dict[int, str]
    """Of the latest step, the events that a foreign model failed on, and its error. Their scores
    are NaN."""

    def begin(self, dim: int, seeds: Sequence[int]) -> Sequence[int]:
        """States that have seen nothing, one for each seed."""

    def step(self, numbers: Memory, ends: Memory, X: Array, y: Array) -> Array:
        """Let each state score and learn its events; the scores, a line per event.

        State i has the events from the end of those of state i - 1 up to ends[i]. What X and y
        hold has been looked at.
        """

    def dim(self, number: int) -> int:
        """Features of the events of a state."""

    def pack_all(self, numbers: Memory) -> Pieces:
        """The states as bytes; of a number below 0, which is that of none, no bytes."""

    def read_all(self, packed: bytes, begins: Sequence[int]) -> tuple[list[int], list[int]]:
        """Take in the states that lie in the bytes, each from a place on; and where they end."""

    def add(self, state: Any) -> int:
        """Take in a state of the learner."""

    def state(self, number: int) -> Any:
        """A state of the learner as it is now, to be looked at."""

    def drop(self, numbers: Iterable[int]) -> None:
        """Let go of states; their numbers will be given again."""


def keeper_of(learner: Learner) -> Keeper:
    """A pool, if the learner steps by one native loop."""
    return Apart(learner) if learner.loop(1) is None else Pool(learner)


class Apart:
    """Each state an object of its own."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._packer = packer_of(learner)
        self._states: list[Any] = []
        self._unused: list[int] = []  # numbers that were given back
        self.failures: dict[int, str] = {}

    def begin(self, dim: int, seeds: Sequence[int]) -> Sequence[int]:
        """States that have seen nothing, one for each seed."""
        return [self.add(self._learner.init(dim, seed=seed)) for seed in seeds]

    def step(self, numbers: Memory, ends: Memory, X: Array, y: Array) -> Array:
        """Let each state score and learn its events; the scores, a line per event."""
        self.failures = {}
        scores = np.empty((y.shape[0], self._learner.task.outputs))
        begin = 0
        for number, end in zip(numbers.tolist(), ends.tolist(), strict=True):
            state = self._states[number]
            if isinstance(state, ObjectState):
                self._step_foreign(state, begin, end, X, y, scores)
            else:
                here = slice(begin, end)
                scores[here] = self._learner.step(state, X[here], y[here]).reshape(end - begin, -1)
            begin = end
        return scores

    def dim(self, number: int) -> int:
        """Features of the events of a state."""
        dim: int = self._states[number].dim
        return dim

    def pack_all(self, numbers: Memory) -> Pieces:
        """The states as bytes; of a number below 0, which is that of none, no bytes."""
        pack, states = self._packer.pack, self._states
        return Pieces.of([pack(states[n]) if n >= 0 else b"" for n in numbers.tolist()])

    def read_all(self, packed: bytes, begins: Sequence[int]) -> tuple[list[int], list[int]]:
        """Take in the states that lie in the bytes, each from a place on; and where they end."""
        states, ends = self._packer.read_all(packed, begins)
        return [self.add(state) for state in states], ends

    def add(self, state: Any) -> int:
        """Take in a state of the learner."""
        if self._unused:
            number = self._unused.pop()
            self._states[number] = state
        else:
            number = len(self._states)
            self._states.append(state)
        return number

    def state(self, number: int) -> Any:
        """The state itself."""
        return self._states[number]

    def drop(self, numbers: Iterable[int]) -> None:
        """Let go of states; their numbers will be given again."""
        for number in numbers:
            self._states[number] = None
            self._unused.append(number)

    def _step_foreign(
        self, state: ObjectState, begin: int, end: int, X: Array, y: Array, scores: Array
    ) -> None:
        """The same for a model of another library, whose errors may be of any kind."""
        for t in range(begin, end):
            here = slice(t, t + 1)
            try:
                scores[here] = self._learner.step(state, X[here], y[here]).reshape(1, -1)
            except Exception as error:
                scores[here] = math.nan
                self.failures[t] = f"{self._learner.describe()['model']}: {error!r}"
