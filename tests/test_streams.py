"""The seeded streams: repeatable, and what their names promise."""

import numpy as np
import pytest

from okl_flow import streams

STREAMS = [streams.rings, streams.rotating, streams.abrupt, streams.wandering, streams.waves]


@pytest.mark.parametrize("stream", STREAMS)
def test_a_seed_decides_all(stream):
    X, y = stream(100, dim=4, seed=3)
    again, other = stream(100, dim=4, seed=3), stream(100, dim=4, seed=4)
    assert X.shape == (100, 4)
    assert y.shape == (100,)
    np.testing.assert_array_equal(X, again[0])
    np.testing.assert_array_equal(y, again[1])
    assert not np.array_equal(X, other[0])


@pytest.mark.parametrize(
    "stream", [streams.rings, streams.rotating, streams.abrupt, streams.wandering]
)
def test_classes_are_balanced_and_noise_is_as_said(stream):
    X, clean = stream(10_000, noise=0.0, seed=1)
    _, noisy = stream(10_000, noise=0.1, seed=1)
    assert set(clean) == {-1.0, 1.0}
    assert abs(np.mean(clean == 1.0) - 0.5) < 0.05
    assert np.mean(clean != noisy) == pytest.approx(0.1, abs=0.01)


def test_rotating_comes_round_and_is_turned_in_between():
    X, y = streams.rotating(4000, period=4000, noise=0.0, seed=1)
    still = np.where(X[:, 0] * X[:, 1] >= 0.0, 1.0, -1.0)
    assert np.mean(y[:100] == still[:100]) > 0.9
    assert np.mean(y[950:1050] == still[950:1050]) < 0.1
    assert np.mean(y[-100:] == still[-100:]) > 0.9


def test_abrupt_changes_sides():
    X, y = streams.abrupt(4000, every=1000, noise=0.0, seed=1)
    steady = streams.rings(4000, noise=0.0, seed=1)[1]
    agreement = (y == steady).reshape(4, 1000).mean(axis=1)
    assert agreement.tolist() == [1.0, 0.0, 1.0, 0.0]


def test_wandering_travels_and_takes_its_classes_with_it():
    X, y = streams.wandering(4000, dim=3, period=4000, noise=0.0, seed=1)
    middles = [X[begin : begin + 40, :2].mean(axis=0) for begin in (0, 1000, 2000)]
    np.testing.assert_allclose(middles, [[3, 0], [0, 3], [-3, 0]], atol=0.4)
    offset = X[:20, :2] - [3, 0]
    assert (y[:20] == np.where(offset[:, 0] * offset[:, 1] >= 0, 1, -1)).mean() > 0.9


def test_users_disagree():
    users, X, y = streams.many_users(20_000, users=10, noise=0.0, seed=2)
    assert len(set(users)) == 10
    counts = [np.sum(users == user) for user in sorted(set(users))]
    assert counts[0] > 5 * counts[-1]
    near = np.abs(X[:, 0] - 0.6) < 0.3
    shares = [np.mean(y[near & (users == user)] > 0) for user in sorted(set(users))[:5]]
    assert max(shares) - min(shares) > 0.2
