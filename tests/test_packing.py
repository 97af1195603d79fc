"""Packed states: short, exact, and refused when they do not fit."""

from copy import deepcopy

import numpy as np
import pytest
from river import linear_model

from okl_flow import make_learner, snapshot
from okl_flow.adapters import FromRiver
from okl_flow.packing import PackingError, packer_of
from okl_flow.registry import REGISTRY
from okl_flow.scaled import Scaled
from okl_flow.state import array_axes, inner_states
from tests.conformance.cases import events_for, learner_of, variants

LENGTHS = (0, 1, 7, 40, 170)
WRAPPINGS = {
    "scaled": {"scale": "standard"},
    "filling": {"scale": "minmax", "missing": "mean"},
    "tuned": {"bandwidth": "auto", "first_events": 12, "trial_events": 128},
    "both": {"scale": "standard", "bandwidth": "auto", "first_events": 12, "trial_events": 128},
}


def goes_on_exactly(learner):
    """Cut the stream here and there, and go on from what was packed."""
    X, y = events_for(learner.task.name, 260)
    packer = packer_of(learner)
    for length in LENGTHS:
        state = learner.init(X.shape[1], seed=5)
        learner.step(state, X[:length], y[:length])
        packed = packer.pack(state)
        restored = packer.unpack(packed)
        assert packer.pack(restored) == packed
        assert snapshot.dumps(learner, restored) == snapshot.dumps(learner, state)
        like_a_fresh_one(restored)
        expected = learner.step(state, X[length:], y[length:])
        np.testing.assert_array_equal(learner.step(restored, X[length:], y[length:]), expected)
        assert packer.pack(restored) == packer.pack(state)


def like_a_fresh_one(state):
    """Every array is one that a native loop takes without being compiled again."""
    for _, part in inner_states(state):
        for name, axes in array_axes(type(part)).items():
            array = getattr(part, name)
            assert array.dtype == axes.scalar_type and array.ndim == len(axes)
            assert array.flags.c_contiguous and array.flags.aligned and array.flags.writeable


@pytest.mark.parametrize("name", REGISTRY)
def test_every_learner_goes_on_exactly(name):
    for settings in variants(name):
        goes_on_exactly(make_learner(name, **settings))


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("name", ["kogd", "rbp", "nogd", "fogd", "oks_sil", "nolana"])
def test_wrapped_learners_go_on_exactly(name, wrapping):
    goes_on_exactly(learner_of(name, **WRAPPINGS[wrapping]))


def test_packed_states_are_short():
    learner = make_learner("kogd", budget=16)
    state = learner.init(8)
    packer = packer_of(learner)
    assert len(packer.pack(state)) == 21
    X, y = events_for("binary", 16, dim=8)
    learner.step(state, X, y)
    assert len(packer.pack(state)) == 21 + state.size * 9 * 8
    state.rows = np.zeros((8, 1000))  # more room than is used
    state.weights = np.zeros((1, 1000))
    assert len(packer.pack(state)) == 21 + state.size * 9 * 8


@pytest.mark.parametrize("number", [2**31 - 1, 2**31, -(2**31) - 1, 2**63, 2**200, np.int64(2**40)])
def test_numbers_of_any_size_are_kept(number):
    learner = make_learner("kogd", bandwidth="auto")
    state = learner.init(3, seed=int(number))
    state.seen = number
    state.unit_bandwidth = 0.1 + 0.2
    packer = packer_of(learner)
    restored = packer.unpack(packer.pack(state))
    assert (restored.seed, restored.seen, restored.unit_bandwidth) == (number, number, 0.1 + 0.2)
    assert type(restored.seen) is int
    assert packer.pack(restored) == packer.pack(state)


def test_what_is_unpacked_has_arrays_of_its_own():
    learner = make_learner("kogd", budget=4)
    X, y = events_for("binary", 20)
    state = learner.init(5)
    learner.step(state, X, y)
    packer = packer_of(learner)
    packed = packer.pack(state)
    one, other = packer.unpack(packed), packer.unpack(packed)
    learner.step(one, X, y)
    assert packer.pack(other) == packed
    assert packer.pack(one) != packed


@pytest.mark.parametrize("name", ["kogd", "oks"])
def test_what_does_not_fit_is_refused(name):
    learner = learner_of(name)
    state = learner.init(5)
    learner.step(state, *events_for("binary", 9))
    packer = packer_of(learner)
    packed = packer.pack(state)
    for length in range(len(packed)):
        with pytest.raises(PackingError):
            packer.unpack(packed[:length])
    with pytest.raises(PackingError, match="1 bytes too many"):
        packer.unpack(packed + b"\0")
    with pytest.raises(PackingError, match="no form 9 of numbers"):
        packer.unpack(b"\x09" + packed[1:])


def test_arrays_of_small_items_leave_the_others_in_their_places():
    """An odd count of items of four bytes, followed by arrays of eight."""
    learner = learner_of("skegd", block_count=1)
    X, y = events_for("binary", 7)
    state = learner.init(5)
    learner.step(state, X, y)
    assert state.entries.itemsize == 4 and state.size * state.entries.shape[1] % 2 == 1
    packer = packer_of(learner)
    like_a_fresh_one(packer.unpack(packer.pack(state)))


def test_states_lie_one_after_another():
    learner = make_learner("nogd", budget=3, scale="standard")
    packer = packer_of(learner)
    X, y = events_for("binary", 30)
    states = [learner.init(5) for _ in range(3)]
    for count, state in enumerate(states):
        learner.step(state, X[: 9 * count], y[: 9 * count])
    packed = b"..." + b"".join(map(packer.pack, states))
    at = 3
    for state in states:
        restored, at = packer.read(packed, at)
        assert packer.pack(restored) == packer.pack(state)
    assert at == len(packed)


def test_the_layout_tells_what_is_packed():
    assert packer_of(make_learner("kogd")).layout == [
        1,
        [["dim", "int"], ["seen", "int"], ["size", "int"], ["learned", "int"], ["oldest", "int"]],
        [["rows", "<f8", ["dim", "size"]], ["weights", "<f8", ["outputs", "size"]]],
        [],
        [],
    ]
    tuned = packer_of(make_learner("kogd", bandwidth="auto", scale="standard")).layout
    [[inner, held]] = tuned[3]
    [[candidates, one]] = held[3]
    assert (inner, candidates) == ("inner", "candidates")
    assert one == packer_of(make_learner("kogd")).layout[1:]


@pytest.mark.parametrize("scale", [None, "standard"])
def test_a_model_of_river_is_pickled(scale):
    learner = FromRiver(linear_model.LogisticRegression())
    if scale:
        learner = Scaled(learner=learner, scale=scale)
    X, y = events_for("binary", 60)
    state = learner.init(5)
    learner.step(state, X[:30], y[:30])
    packer = packer_of(learner)
    restored = packer.unpack(packer.pack(state))
    twin = deepcopy(state)
    expected = learner.step(twin, X[30:], y[30:])
    np.testing.assert_array_equal(learner.step(restored, X[30:], y[30:]), expected)
    with pytest.raises(PackingError):
        packer.unpack(packer.pack(state)[:-1])
