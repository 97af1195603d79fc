"""The random generator against its published sequence and its plain version."""

import math

import numpy as np
import pytest

from okl_flow import rng
from okl_flow.native import dot, padded
from tests import plain

# The first outputs of xoshiro256++ from the words 1, 2, 3, 4, as implementations agree on them.
PUBLISHED = [41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205]


def test_the_published_sequence():
    words = np.array([1, 2, 3, 4], dtype=np.uint64)
    drawn = [rng.draw_unit(words) for _ in PUBLISHED]
    assert drawn == [(value >> 11) / 2**53 for value in PUBLISHED]


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_all_draws_are_the_plain_ones(seed):
    words, oracle = rng.seeded(seed), plain.Generator(seed)
    assert words.tolist() == oracle.words
    for count in range(1, 300):
        assert rng.draw_unit(words) == oracle.unit()
        assert rng.draw_below(words, count) == oracle.below(count)
    values = np.empty((3, 5))
    rng.draw_normals(words, values)
    np.testing.assert_allclose(values.ravel(), oracle.normals(15), rtol=1e-13)
    assert words.tolist() == oracle.words


def test_a_seed_is_any_whole_number():
    assert rng.seeded(np.int64(3)).tolist() == rng.seeded(3).tolist()
    assert rng.seeded(-1).tolist() == rng.seeded(2**64 - 1).tolist()
    for seed in (1.5, "a", None, True):
        with pytest.raises(ValueError, match="seed must be a whole number, not"):
            rng.seeded(seed)


def test_seeds_differ():
    assert len({tuple(rng.seeded(seed).tolist()) for seed in range(100)}) == 100


def test_draws_look_like_what_they_are():
    words = rng.seeded(5)
    units = np.array([rng.draw_unit(words) for _ in range(20_000)])
    assert abs(units.mean() - 0.5) < 0.01
    assert units.min() >= 0.0
    assert units.max() < 1.0
    counts = np.bincount([rng.draw_below(words, 7) for _ in range(14_000)], minlength=7)
    assert np.all(np.abs(counts - 2000) < 200)
    normals = np.empty(20_001)
    rng.draw_normals(words, normals)
    assert abs(normals.mean()) < 0.03
    assert abs(normals.std() - 1.0) < 0.02


def chain_of(weights, unit):
    """The place that one subtraction after the other tells."""
    rest, place = unit * dot(weights, np.ones_like(weights), len(weights)), -1
    for i in np.flatnonzero(weights > 0.0):
        place = i
        rest -= weights[i]
        if rest < 0.0:
            break
    return place


def words_for(unit):
    """A generator whose next number is a unit, a multiple of 2**-53."""
    bits = int(unit * 2.0**53) << 11
    turned = (bits >> 23) | (bits << 41)
    return np.array([0, 1, 2, turned & (2**64 - 1)], dtype=np.uint64)


def drawn_in_turn(weights, units):
    """The places that are drawn, and those that the chain tells."""
    size = len(weights)
    left = np.zeros(padded(size))
    ends = np.empty(padded(len(left) // 8))
    left[:size] = weights
    found, expected = [], []
    for unit in units:
        slack = rng.sum_stretches(left, ends)
        words = words_for(unit)
        assert rng.draw_unit(words.copy()) == unit
        any_left = left.any()
        expected.append(chain_of(left[:size], unit))
        found.append(rng.draw_by_weight(words, left, size, np.ones(size), ends, slack))
        assert (words != words_for(unit)).any() == any_left  # a draw where there is something
        if found[-1] >= 0:
            left[found[-1]] = 0.0
    return found, expected


WEIGHTS = {
    "even": lambda generator, size: np.ones(size),
    "uniform": lambda generator, size: generator.random(size),
    "of all sizes": lambda generator, size: 10.0 ** generator.uniform(-300.0, 0.0, size),
    "near each other": lambda generator, size: 1.0 + 1e-15 * generator.integers(0, 9, size),
    "few": lambda generator, size: generator.random(size) * (generator.random(size) < 0.1),
    "one beside dust": lambda generator, size: np.where(np.arange(size) == size // 2, 1.0, 1e-17),
    "halves": lambda generator, size: 0.5 ** np.arange(size),
    "none": lambda generator, size: np.zeros(size),
}


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("size", [1, 3, 8, 13, 16, 100, 403])
def test_a_weighted_draw_is_that_of_the_chain(kind, size):
    generator = np.random.default_rng(size)
    for _ in range(40):
        weights = WEIGHTS[kind](generator, size)
        units = np.floor(generator.random(min(size, 5) + 1) * 2.0**53) * 2.0**-53
        found, expected = drawn_in_turn(weights, units)
        assert found == expected


def test_a_weighted_draw_hardly_ever_needs_the_chain():
    weights = np.zeros(104)
    weights[:100] = np.random.default_rng(5).random(100)
    ends = np.empty(16)
    slack = rng.sum_stretches(weights, ends)
    for unit in np.arange(1, 1000) / 1024:
        nothing = np.full(100, np.nan)  # what the chain would multiply with
        place = rng.draw_by_weight(words_for(unit), weights, 100, nothing, ends, slack)
        assert place == chain_of(weights[:100], unit)


@pytest.mark.parametrize("kind", ["even", "near each other", "halves", "one beside dust"])
def test_a_weighted_draw_at_the_ends_of_stretches(kind):
    generator = np.random.default_rng(0)
    weights = WEIGHTS[kind](generator, 64)
    ends = np.cumsum(weights) / np.sum(weights)
    for end in [0.0, *ends]:
        for ulps in range(-3, 4):
            unit = (math.floor(end * 2.0**53) + ulps) * 2.0**-53
            if 0.0 <= unit < 1.0:
                found, expected = drawn_in_turn(weights, [unit])
                assert found == expected
