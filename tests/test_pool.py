"""A pool steps many states at once to the same bits as the learner steps each alone."""

import struct

import numpy as np
import pytest

from okl_flow import make_learner
from okl_flow.keeping import Apart
from okl_flow.packing import PackingError, packer_of
from okl_flow.pool import Pool
from okl_flow.registry import REGISTRY
from tests.conformance.cases import events_for, variants

POOLED = [name for name in REGISTRY if make_learner(name).loop(1) is not None]
KEYS = 7
BATCHES = 60


def some_batches(learner, count=BATCHES, keys=KEYS):
    """Batches of events of several keys, some keys absent, some with many events."""
    X, y = events_for(learner.task.name, 700)
    y = np.where(np.arange(len(y)) % 9 == 4, np.nan, y)
    drawn, at = np.random.default_rng(5), 0
    for _ in range(count):
        counts = drawn.integers(0, 4, keys)
        counts[int(drawn.integers(keys))] += 2
        present = [key for key in drawn.permutation(keys).tolist() if counts[key]]
        ends = np.cumsum(counts[present])
        rows = np.arange(at, at + ends[-1]) % len(y)
        at += ends[-1]
        yield np.array(present), ends, X[rows], y[rows]


@pytest.mark.parametrize("name", POOLED)
def test_a_pool_gives_the_bits_of_each_learner_alone(name):
    for settings in variants(name):
        learner = make_learner(name, **settings)
        pool, packer, dim = Pool(learner), packer_of(learner), 0
        for present, ends, X, y in some_batches(learner):
            if not dim:
                dim = X.shape[1]
                numbers = np.array(pool.begin(dim, range(KEYS)))
                states = [learner.init(dim, seed=seed) for seed in range(KEYS)]
                expected = [packer.pack(state) for state in states]
                assert pool.pack_all(numbers).list() == expected
            scores = pool.step(numbers[present], ends, X, y)
            begin = 0
            for key, end in zip(present, ends, strict=True):
                here = slice(begin, end)
                alone = learner.step(states[key], X[here], y[here]).reshape(end - begin, -1)
                np.testing.assert_array_equal(scores[here], alone, f"{settings}")
                begin = end
        assert pool.pack_all(numbers).list() == [packer.pack(state) for state in states]


@pytest.mark.parametrize("name", POOLED)
def test_states_that_were_let_go_leave_nothing_behind(name):
    """Blocks and numbers are used again, and what comes in and goes out is the same."""
    learner = make_learner(name, **REGISTRY[name].settings)
    pool, packer = Pool(learner), packer_of(learner)
    held, states, drawn = {}, {}, np.random.default_rng(8)
    for round_, (present, ends, X, y) in enumerate(some_batches(learner, 120, 12)):
        for key in present:
            if key not in held:
                [held[key]] = pool.begin(X.shape[1], [1000 * round_ + key])
                states[key] = learner.init(X.shape[1], seed=1000 * round_ + key)
        pool.step(np.array([held[key] for key in present]), ends, X, y)
        begin = 0
        for key, end in zip(present, ends, strict=True):
            learner.step(states[key], X[begin:end], y[begin:end])
            begin = end
        stored, begins, expected, away = b"", [], [], []
        for key in list(held):
            chance = drawn.random()
            if chance < 0.1:
                pool.drop([held.pop(key)])
            elif chance < 0.3:  # out to the disk and back
                away.append(key)
                begins.append(len(stored) + len(b"between"))
                stored += b"between" + pool.pack(held[key])
                expected.append(len(stored))
                pool.drop([held[key]])
        numbers, stops = pool.read_all(stored + b"after", begins)
        assert stops == expected
        held.update(zip(away, numbers, strict=True))
        for key, number in held.items():
            assert pool.pack(number) == packer.pack(states[key])
    assert len(set(held.values())) == len(held) <= 12
    assert pool._count <= 12


def test_the_memory_of_a_pool_does_not_grow_with_the_events():
    learner = make_learner("rbp", budget=5)
    pool = Pool(learner)
    X, y = events_for("binary", 700)
    sizes = []
    for _ in range(30):
        numbers = np.array(pool.begin(X.shape[1], range(20)))
        for t in range(0, 600, 20):
            pool.step(numbers, np.arange(1, 21), X[t : t + 20], y[t : t + 20])
        pool.drop(numbers.tolist())
        sizes.append(pool._end)
    assert sizes[0] == sizes[-1]


def test_a_loop_that_does_not_get_on_is_not_gone_through_for_ever():
    pool = Pool(make_learner("kogd", budget=5))
    numbers = np.array(pool.begin(1, [0]))
    loop, drive, limits = pool._way(1)
    pool._ways[1] = loop, drive, np.zeros_like(limits)  # no axis may be longer than it is
    with pytest.raises(AssertionError, match="kogd does not get on"):
        pool.step(numbers, np.array([2]), np.array([[0.0], [5.0]]), np.array([1.0, -1.0]))


def test_features_of_another_number_are_refused():
    pool = Pool(make_learner("kogd", budget=5))
    numbers = np.array(pool.begin(2, [0, 1]))
    with pytest.raises(AssertionError, match="no features of these states"):
        pool.step(numbers, np.array([1, 2]), np.ones((2, 3)), np.ones(2))
    assert pool.state(int(numbers[0])).seen == 0


def test_whole_numbers_beyond_32_bits_are_packed():
    learner = make_learner("kogd", budget=5)
    pool, packer = Pool(learner), packer_of(learner)
    state = learner.init(3)
    learner.step(state, np.ones((1, 3)), np.ones(1))
    state.seen = 2**40
    number = pool.add(state)
    assert pool.pack(number) == packer.pack(state)
    pool.step(np.array([number]), np.array([1]), np.ones((1, 3)), np.ones(1))
    assert pool.state(number).seen == 2**40 + 1


@pytest.mark.parametrize("keeper_type", [Pool, Apart])
@pytest.mark.parametrize("count", [0, 1, 3, 7, 8, 9, 17, 40])
def test_many_states_are_packed_at_once_as_each_alone(keeper_type, count):
    """In any order, of one to four events, short numbers and long; and of none no bytes."""
    learner = make_learner("bogd", budget=3, bandwidth=2.0)
    keeper, packer, drawn = keeper_type(learner), packer_of(learner), np.random.default_rng(6)
    expected = {-1: b""}
    for at in range(count):
        state = learner.init(3, seed=at)
        learner.step(state, drawn.normal(size=(1 + at % 4, 3)), np.ones(1 + at % 4))
        state.seen += 2**40 * (at % 5 == 2)
        expected[keeper.add(state)] = packer.pack(state)
    numbers = drawn.permutation([*expected, -1])
    pieces = keeper.pack_all(numbers)
    assert pieces.list() == [expected[number] for number in numbers]
    assert pieces.ends[-1] == pieces.content.shape[0]


@pytest.mark.parametrize("name", POOLED)
def test_cut_states_are_refused(name):
    learner = make_learner(name, **REGISTRY[name].settings)
    pool = Pool(learner)
    X, y = events_for(learner.task.name, 30)
    [number] = pool.begin(X.shape[1], [3])
    pool.step(np.array([number]), np.array([30]), X, y)
    packed = pool.pack(number)
    for length in range(len(packed)):
        with pytest.raises(PackingError):
            pool.read_all(packed + packed[:length], [0, len(packed)])
    with pytest.raises(PackingError, match="there is no form 9"):
        pool.read_all(b"\x09" + packed[1:] + packed, [0, len(packed)])
    end, size = pool._end, pool._end - int(pool._places[number])
    pool.read_all(packed + packed, [0, len(packed)])
    assert pool._count == 3, "those that were refused have their numbers back"
    assert pool._end <= end + size, "and their blocks"


def test_numbers_that_no_block_holds_are_read_by_another_way():
    learner = make_learner("kogd", budget=5)
    pool, packer = Pool(learner), packer_of(learner)
    state = learner.init(2)
    packed = packer.pack(state)
    state.seen = 2**40
    wide = packer.pack(state)
    assert packed[0] != wide[0]
    words = bytes([2]) + struct.pack("=I", 15) + b"[2, 7, 0, 0, 0]"
    for form, seen in ((packed, 0), (wide, 2**40), (words, 7)):
        [number], [end] = pool.read_all(form, [0])
        assert (pool.state(number).seen, end) == (seen, len(form))
    numbers, ends = pool.read_all(packed + words + wide, [0, len(packed), len(packed + words)])
    assert [pool.state(number).seen for number in numbers] == [0, 7, 2**40]
    assert ends == [len(packed), len(packed + words), len(packed + words + wide)]


def test_what_a_state_is_copied_to_is_its_own():
    learner = make_learner("fogd", feature_count=4)
    pool = Pool(learner)
    [number] = pool.begin(2, [0])
    copy = pool.state(number)
    copy.weights[:] = 7.0
    assert not pool.state(number).weights.any()
    other = pool.add(copy)
    copy.weights[:] = 8.0
    assert (pool.state(other).weights == 7.0).all()
