"""Seeded streams: the same events for README, tests and benchmarks, on every machine.

Each function yields nothing at random that its seed does not decide, and returns arrays ready
for `Learner.step`.
"""

import numpy as np
from numpy.typing import NDArray

from okl_flow.native import Array

__all__ = ["abrupt", "many_users", "rings", "rotating", "wandering", "waves"]


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
    middles = generator.uniform(-0.7, 0.7, (users, dim))
    share = 1.0 / np.arange(1, users + 1)
    user = generator.choice(users, size=count, p=share / share.sum())
    X = generator.uniform(-1.0, 1.0, (count, dim))
    distance = np.sum((X - middles[user]) ** 2, axis=1)
    y = np.where(distance < dim / 3.0, 1.0, -1.0)
    names = np.array([f"user-{number:06d}" for number in range(users)])
    return names[user], X, _turned(y, noise, generator)


def _turned(y: Array, noise: float, generator: np.random.Generator) -> Array:
    """The labels, a share of them turned round."""
    return np.where(generator.random(y.shape[0]) < noise, -y, y)
