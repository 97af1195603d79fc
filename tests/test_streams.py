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


def delayed(count=20_000, **settings):
    return streams.delayed_users(count, users=10, **{"seed": 5, **settings})


def test_delayed_users_are_decided_by_their_seed():
    one, again, other = delayed(500), delayed(500), delayed(500, seed=6)
    for name in ("users", "X", "y", "times", "label_times", "drifted"):
        np.testing.assert_array_equal(getattr(one, name), getattr(again, name))
    assert not np.array_equal(one.X, other.X)


def test_labels_come_with_the_event_later_or_never():
    made = delayed(delayed=0.4, missing=0.25, delay=30.0, pause=2.0)
    missing, late = made.label_times < 0, made.label_times > made.times
    assert np.mean(missing) == pytest.approx(0.25, abs=0.01)
    assert np.mean(late) == pytest.approx(0.75 * 0.4, abs=0.01)
    assert np.all(missing | late | (made.label_times == made.times))
    waits = (made.label_times - made.times)[late]
    assert waits.mean() == pytest.approx(30_000, rel=0.05)
    assert made.times[0] >= streams.BEGINNING
    assert np.diff(made.times).min() >= 0
    assert np.diff(made.times).mean() == pytest.approx(2000, rel=0.05)


def test_every_fifth_user_changes_at_the_stated_moment():
    made, still = delayed(noise=0.0, drift_at=0.3), delayed(noise=0.0, drifting=0.0)
    turned = made.y != still.y
    np.testing.assert_array_equal(made.drifted, turned)
    expected = np.isin(made.users, [4, 9]) & (np.arange(20_000) >= 6000)
    np.testing.assert_array_equal(turned, expected)
    assert np.mean(delayed(noise=0.1).y != delayed(noise=0.0).y) == pytest.approx(0.1, abs=0.01)
