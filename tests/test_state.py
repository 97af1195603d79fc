"""Allocation and growth, from nothing but the axes of a state's arrays."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from okl_flow.native import Array
from okl_flow.rng import WORDS, Words
from okl_flow.state import Axes, State, allocate, array_axes, is_full, make_room, used


@dataclass(slots=True)
class Sample(State):
    """A state with an array of each kind."""

    rows: Annotated[Array, Axes("dim", "size")]
    gram: Annotated[Array, Axes("size", "size")]
    words: Annotated[Words, Axes(WORDS, scalar_type=np.uint64)]
    size: int
    total: float


def test_axes_and_types_are_read_from_the_class():
    arrays = array_axes(Sample)
    assert arrays == {"rows": ("dim", "size"), "gram": ("size", "size"), "words": (4,)}
    assert [axes.scalar_type for axes in arrays.values()] == [np.float64, np.float64, np.uint64]


def test_a_fresh_state_is_empty():
    state = allocate(Sample, dim=3)
    assert (state.dim, state.seen, state.size, state.total) == (3, 0, 0, 0)
    assert isinstance(state.total, float)
    assert state.rows.shape == (3, 0)
    assert state.gram.shape == (0, 0)
    assert state.words.shape == (4,)


def test_room_doubles_up_to_the_budget_and_keeps_what_is_there():
    state = allocate(Sample, dim=2)
    rooms = []
    for size in range(1, 7):
        if size > state.rows.shape[1]:
            make_room(state, 6)
            rooms.append(state.rows.shape[1])
        state.rows[:, size - 1] = size
        state.gram[size - 1, : size - 1] = size
        state.size = size
    assert rooms == [1, 2, 4, 6]
    assert state.gram.shape == (6, 6)
    assert used(state, "rows").tolist() == [[1, 2, 3, 4, 5, 6]] * 2
    assert used(state, "gram")[5].tolist() == [6, 6, 6, 6, 6, 0]


def test_without_a_budget_room_has_no_end():
    state = allocate(Sample, dim=1)
    for _ in range(8):
        make_room(state, None)
    assert state.rows.shape == (1, 128)


@dataclass(slots=True)
class TwoSamples(State):
    """A state that counts along two axes."""

    rows: Annotated[Array, Axes("dim", "size")]
    links: Annotated[Array, Axes("others", "size")]
    size: int
    others: int


def test_each_axis_that_counts_grows_by_itself():
    state = allocate(TwoSamples, dim=2)
    assert is_full(state)
    assert is_full(state, "others")
    make_room(state, 5)
    make_room(state, 3, "others")
    make_room(state, 3, "others")
    state.others = 1
    assert state.rows.shape == (2, 1)
    assert state.links.shape == (2, 1)
    assert used(state, "links").shape == (1, 0)
    assert not is_full(state)
    state.size, state.others = 1, 2
    assert is_full(state)
    assert is_full(state, "others")
    make_room(state, 3, "others")
    assert state.links.shape == (3, 1)
    assert used(state, "links").shape == (2, 1)


def test_only_what_is_in_use_is_used():
    state = allocate(Sample, dim=2)
    for _ in range(3):
        make_room(state, None)
    state.size = 3
    assert used(state, "rows").shape == (2, 3)
    assert used(state, "gram").shape == (3, 3)
    assert used(state, "words").shape == (4,)
