"""Seeded streams: the same events for README, tests and benchmarks, on every machine.

Each function yields nothing at random that its seed does not decide, and returns arrays ready
for `Learner.step`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from okl_flow.native import Array

__all__ = [
    "BEGINNING",
    "DelayedUsers",
    "abrupt",
    "delayed_users",
    "many_users",
    "rings",
    "rotating",
    "user_name",
    "wandering",
    "waves",
]

BEGINNING = 1_767_225_600_000
"""When streams that know times begin: the first of January 2026, in milliseconds since 1970."""


def rings(count: int, *, dim: int = 2, noise: float = 0.05, seed: int = 0) -> tuple[Array, Array]:
    """Two classes that no line divides: inside or outside a sphere that halves the cube.

    `noise` is the share of labels that are turned round.

    >>> X, y = rings(4, seed=1)
    >>> X.shape, sorted(set(y.tolist()))
    ((4, 2), [-1.0, 1.0])
    """
    generator = np.random.default_rng(seed)
    X = generator.uniform(-1.0, 1.0, (count, dim))
    radius = np.sum(X * X, axis=1)
    y = np.where(radius < dim / 3.0, 1.0, -1.0)
    return X, _turned(y, noise, generator)


def rotating(
    count: int, *, dim: int = 2, period: int = 4000, noise: float = 0.05, seed: int = 0
) -> tuple[Array, Array]:
    """Two classes on a quartered plane that turns once round in `period` events.

    Features beyond the first two say nothing.
    """
    generator = np.random.default_rng(seed)
    X = generator.uniform(-1.0, 1.0, (count, dim))
    angle = 2.0 * np.pi * np.arange(count) / period
    turned = np.arctan2(X[:, 1], X[:, 0]) - angle
    y = np.where(np.sin(2.0 * turned) >= 0.0, 1.0, -1.0)
    return X, _turned(y, noise, generator)


def abrupt(
    count: int, *, dim: int = 2, every: int = 2000, noise: float = 0.05, seed: int = 0
) -> tuple[Array, Array]:
    """`rings` whose classes change places after every `every` events."""
    X, y = rings(count, dim=dim, noise=noise, seed=seed)
    return X, np.where(np.arange(count) // every % 2 == 0, y, -y)


def wandering(
    count: int, *, dim: int = 2, period: int = 20_000, noise: float = 0.05, seed: int = 0
) -> tuple[Array, Array]:
    """Events that travel: the cloud of examples goes round a circle once in `period` events.

    The classes quarter the cloud around its middle, in the plane of the first two features, so
    that the label of a place changes while the cloud goes over it.
    """
    generator = np.random.default_rng(seed)
    angle = 2.0 * np.pi * np.arange(count) / period
    offset = generator.uniform(-1.0, 1.0, (count, dim))
    X = offset.copy()
    X[:, 0] += 3.0 * np.cos(angle)
    X[:, 1] += 3.0 * np.sin(angle)
    y = np.where(offset[:, 0] * offset[:, 1] >= 0.0, 1.0, -1.0)
    return X, _turned(y, noise, generator)


def waves(count: int, *, dim: int = 2, noise: float = 0.05, seed: int = 0) -> tuple[Array, Array]:
    """Regression on a sum of waves, one along each feature; `noise` is a standard deviation."""
    generator = np.random.default_rng(seed)
    X = generator.uniform(-1.0, 1.0, (count, dim))
    y = np.sin(np.pi * X).sum(axis=1) + noise * generator.standard_normal(count)
    return X, y


def many_users(
    count: int, *, users: int = 100, dim: int = 2, noise: float = 0.05, seed: int = 0
) -> tuple[NDArray[np.str_], Array, Array]:
    """Users, features and labels of events in which every user has a concept of his own.

    A user's classes lie on either side of a ring whose middle is his alone. Some users are
    busy and most are not: user number n sends events in proportion to 1/n.
    """
    generator = np.random.default_rng(seed)
    user, X, y = _users(count, users, dim, generator)
    names = np.array([user_name(number) for number in range(users)])
    return names[user], X, _turned(y, noise, generator)


@dataclass(frozen=True, slots=True)
class DelayedUsers:
    """A stream of many users, whose labels come later; one value for each event."""

    users: NDArray[np.int64]  # number of the user; `user_name` makes a key of it
    X: Array
    y: Array
    times: NDArray[np.int64]  # milliseconds since 1970, ascending
    label_times: NDArray[np.int64]  # when the label comes: with the event, later, or -1 for never
    drifted: NDArray[np.bool_]  # whether the user's classes have changed places by then


def delayed_users(
    count: int,
    *,
    users: int = 100,
    dim: int = 2,
    noise: float = 0.05,
    drifting: float = 0.2,
    drift_at: float = 0.5,
    delayed: float = 0.5,
    delay: float = 60.0,
    missing: float = 0.1,
    pause: float = 1.0,
    seed: int = 0,
) -> DelayedUsers:
    """Users as in `many_users`, whose classes may change places, and whose labels may be late.

    Parameters:
        count: events.
        users: how many there are; number n sends events in proportion to 1/n.
        dim: features.
        noise: share of labels that are turned round.
        drifting: share of the users whose classes change places, once; every fifth user by
            default, so that among busy users it is the same share as among others.
        drift_at: the share of all events after which they do.
        delayed: share of the labels that come after their event.
        delay: mean of the time that these take, in seconds; it is exponential.
        missing: share of the labels that never come.
        pause: mean time between two events of the stream, in seconds; it is exponential.
        seed: decides everything.

    >>> stream = delayed_users(1000, users=10, missing=0.2, seed=1)
    >>> [round(float(share), 2) for share in (
    ...     (stream.label_times < 0).mean(), (stream.label_times > stream.times).mean()
    ... )]
    [0.19, 0.39]
    """
    generator = np.random.default_rng(seed)
    user, X, y = _users(count, users, dim, generator)
    # Evenly over the ranks, so that whoever drifts does not hang on luck with few users.
    ranks = np.arange(users)
    drifts = np.floor((ranks + 1) * drifting) > np.floor(ranks * drifting)
    drifted = drifts[user] & (np.arange(count) >= drift_at * count)
    y = _turned(np.where(drifted, -y, y), noise, generator)
    gaps = generator.exponential(1000.0 * pause, count)
    times = BEGINNING + np.cumsum(gaps).astype(np.int64)
    late = generator.random(count) < delayed
    wait = 1 + generator.exponential(1000.0 * delay, count).astype(np.int64)
    label_times = np.where(late, times + wait, times)
    label_times[generator.random(count) < missing] = -1
    return DelayedUsers(user, X, y, times, label_times, drifted)


def user_name(number: int) -> str:
    """The key of a user.

    >>> user_name(17)
    'user-000017'
    """
    return f"user-{number:06d}"


def _users(
    count: int, users: int, dim: int, generator: np.random.Generator
) -> tuple[NDArray[np.int64], Array, Array]:
    """Number of the user, features and label of events, each user with a ring of his own."""
    middles = generator.uniform(-0.7, 0.7, (users, dim))
    share = 1.0 / np.arange(1, users + 1)
    user = generator.choice(users, size=count, p=share / share.sum())
    X = generator.uniform(-1.0, 1.0, (count, dim))
    distance = np.sum((X - middles[user]) ** 2, axis=1)
    return user, X, np.where(distance < dim / 3.0, 1.0, -1.0)


def _turned(y: Array, noise: float, generator: np.random.Generator) -> Array:
    """The labels, a share of them turned round."""
    return np.where(generator.random(y.shape[0]) < noise, -y, y)
