"""The factored inverse of a curvature, against numpy."""

import math

import numpy as np
import pytest

from okl_flow.curvature import (
    carried_over,
    curvature_entries,
    drop_last_feature,
    fade,
    fresh_curvature,
    refresh,
    spread_along,
    take_in,
    triangle_of,
    turn_features,
)
from okl_flow.native import padded

SIZES = (1, 2, 7, 8, 9, 16, 21, 40)


class Curvature:
    """A curvature, and room for what comes in."""

    def __init__(self, size, alpha):
        self.size = size
        self.triangle, self.variances = fresh_curvature(size, alpha)
        self.turned, self.gain = np.full((2, padded(size)), 7.0)

    def add(self, x, weight):
        """Let the curvature grow by weight * x x'. Returns x' P x and P x of before."""
        filled = np.zeros(padded(self.size))
        filled[: self.size] = x
        spread = spread_along(self.triangle, self.variances, self.size, filled, self.turned)
        take_in(self.triangle, self.variances, self.size, self.turned, 1.0 / weight, self.gain)
        return spread, self.gain[: self.size].copy()

    def refresh(self, forgetting, alpha, number, most=1.0, weights=None):
        weights = np.zeros((1, self.size)) if weights is None else weights
        fade(self.variances, self.size, forgetting)
        refresh(
            self.triangle, self.variances, self.size, forgetting, alpha, number, most,
            self.turned, self.gain, weights,
        )  # fmt: skip

    def inverse(self):
        U = triangle_of(self.triangle, self.size)
        return (U * self.variances) @ U.T


def grown(size, alpha=0.5, events=30, seed=0):
    """A curvature that has taken in some events, and A."""
    generator = np.random.default_rng(seed)
    held, A = Curvature(size, alpha), alpha * np.eye(size)
    for x, weight in zip(
        generator.standard_normal((events, size)), generator.uniform(0.1, 2.0, events), strict=True
    ):
        held.add(x, weight)
        A += weight * np.outer(x, x)
    return held, A, generator


@pytest.mark.parametrize("size", SIZES)
def test_it_is_the_inverse_of_the_sum(size):
    held, A, generator = grown(size)
    np.testing.assert_allclose(held.inverse() @ A, np.eye(size), atol=1e-12)
    x = generator.standard_normal(size)
    spread, gain = held.add(x, 3.0)
    np.testing.assert_allclose(gain, np.linalg.solve(A, x), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(spread, x @ np.linalg.solve(A, x), rtol=1e-11)


@pytest.mark.parametrize("size", SIZES)
def test_what_lies_beside_the_triangle_stays_zero(size):
    held, _A, _generator = grown(size)
    U = triangle_of(held.triangle, size)
    above = np.count_nonzero(np.triu(U, 1))
    assert np.count_nonzero(held.triangle) == above == size * (size - 1) // 2


def test_a_new_feature_is_a_column_of_zeros():
    held, A, generator = grown(8)
    larger = Curvature(9, 0.5)
    larger.triangle[: curvature_entries(8)] = held.triangle
    larger.variances[:8] = held.variances
    bordered = 0.5 * np.eye(9)
    bordered[:8, :8] = A
    np.testing.assert_allclose(larger.inverse() @ bordered, np.eye(9), atol=1e-12)
    x = generator.standard_normal(9)
    np.testing.assert_allclose(larger.add(x, 1.0)[1], np.linalg.solve(bordered, x), rtol=1e-11)


@pytest.mark.parametrize("most", [1.0, 1.7, math.inf])
@pytest.mark.parametrize(
    ("size", "forgetting"), [(5, 0.99), (21, 0.97), (40, 0.9), (9, 0.999), (9, 0.3)]
)
def test_forgetting_with_what_is_given_back(size, forgetting, most):
    alpha = 0.5
    held, A, generator = grown(size, alpha)
    share = min(most, size * (1.0 - forgetting))
    given = np.zeros(size)
    for number in range(1, 2001):
        x = generator.standard_normal(size)
        held.refresh(forgetting, alpha, number, most)
        held.add(x, 1.0)
        A = forgetting * A
        for turn in range(int((number - 1) * share) + 1, int(number * share) + 1):
            A[turn % size, turn % size] += alpha * (1.0 - forgetting) * size / share
            given[turn % size] += alpha * (1.0 - forgetting) * size / share
        A += np.outer(x, x)
    np.testing.assert_allclose(held.inverse() @ A, np.eye(size), atol=1e-10)
    np.testing.assert_allclose(given.mean(), 2000 * alpha * (1.0 - forgetting), rtol=0.05)
    assert given.max() - given.min() <= 1.001 * alpha * max(1.0, (1.0 - forgetting) * size)


@pytest.mark.parametrize("forgetting", [0.3, 0.7, 0.9])
def test_where_as_many_as_needed_are_given_back_no_direction_is_far_from_the_others(forgetting):
    alpha, size = 0.1, 21
    held, x = Curvature(size, alpha), np.eye(size)[3]
    for number in range(1, 2001):
        held.refresh(forgetting, alpha, number, math.inf)
        held.add(x, 2.0)
        values = np.linalg.eigvalsh(held.inverse())
        assert values[0] > 0.25 * (1.0 - forgetting)
        assert values[-1] < 1.0 / (alpha * forgetting ** (1.0 + 1.0 / (1.0 - forgetting)))


@pytest.mark.parametrize("forgetting", [0.9, 0.99, 0.999])
def test_a_direction_without_events_does_not_run_away(forgetting):
    alpha, size = 0.1, 12
    held, x = Curvature(size, alpha), np.eye(size)[3]
    largest = []
    for number in range(1, 100_001):
        held.refresh(forgetting, alpha, number)
        held.add(x, 2.0)
        if number % 10_000 == 0:
            largest.append(np.linalg.eigvalsh(held.inverse())[-1])
    assert max(largest) <= 1.0 / (alpha * forgetting ** max(size, 1 / (1 - forgetting)))
    assert min(largest) == pytest.approx(max(largest), rel=0.6)


def test_a_refresh_takes_a_tenth_of_what_it_would_take_of_a_weight():
    held, A, generator = grown(9)
    weights = generator.standard_normal((2, 9))
    before = weights.copy()
    held.refresh(
        0.9, 0.5, 3, weights=weights
    )  # a feature of share 0.9 each time: the third is number 2
    A *= 0.9
    A[2, 2] += 0.5 * 0.1 / 0.9 * 9
    direction = np.linalg.inv(A)[:, 2]
    expected = before - 0.1 * (0.5 * 0.1 / 0.9 * 9) * np.outer(before[:, 2], direction)
    np.testing.assert_allclose(weights, expected, rtol=1e-11)
    np.testing.assert_allclose(held.inverse() @ A, np.eye(9), atol=1e-11)


def test_of_zeros_nothing_is_learned_and_of_one_point_all():
    held = Curvature(9, 0.1)
    before = held.inverse()
    for _ in range(1000):
        assert held.add(np.zeros(9), 2.0)[0] == 0.0
    np.testing.assert_array_equal(held.inverse(), before)
    x = np.linspace(-1.0, 1.0, 9)
    for _ in range(100_000):
        held.add(x, 2.0)
    P = held.inverse()
    np.testing.assert_allclose(x @ P @ x, 1 / (2e5 + 0.1 / (x @ x)), rtol=1e-6)
    values = np.linalg.eigvalsh(P)
    np.testing.assert_allclose(values[1:], 10.0, rtol=1e-9)
    assert values[0] > 0.0


@pytest.mark.parametrize("new_size", [1, 6, 9, 13])
def test_carried_over_to_other_features(new_size):
    held, A, generator = grown(9)
    change = generator.standard_normal((9, new_size))
    change /= 1.5 * np.linalg.norm(change, 2)
    triangle, variances = carried_over(held.triangle, held.variances, change, 0.5)
    U = triangle_of(triangle, new_size)
    expected = change.T @ A @ change + 0.5 * (np.eye(new_size) - change.T @ change)
    np.testing.assert_allclose((U * variances) @ U.T @ expected, np.eye(new_size), atol=1e-11)
    assert np.count_nonzero(triangle) == new_size * (new_size - 1) // 2


def test_features_that_are_only_turned_lose_nothing():
    held, A, generator = grown(9)
    turn = np.linalg.qr(generator.standard_normal((9, 9)))[0]
    triangle, variances = carried_over(held.triangle, held.variances, turn, 0.5)
    U = triangle_of(triangle, 9)
    np.testing.assert_allclose((U * variances) @ U.T @ (turn.T @ A @ turn), np.eye(9), atol=1e-11)


def test_old_features_beyond_what_the_new_can_tell_do_not_count_twice():
    held, _A, _generator = grown(3)
    triangle, variances = carried_over(held.triangle, held.variances, 5.0 * np.eye(3), 0.5)
    U = triangle_of(triangle, 3)
    np.testing.assert_allclose((U * variances) @ U.T, held.inverse() / 25.0, rtol=1e-12)


def test_it_stays_positive_and_true_on_examples_of_all_lengths():
    generator = np.random.default_rng(1)
    X = generator.standard_normal((4000, 6))
    X[:, 3] = X[:, 0] + 1e-6 * X[:, 3]
    X[::2] *= 1e6
    held = Curvature(6, 1.0)
    for x in X:
        held.add(x, 1.0)
    assert held.variances.min() > 0.0
    # R'R = A, and U is R^-1 but for the lengths of its columns.
    R = np.linalg.qr(np.vstack([np.eye(6), X]), mode="r")
    np.testing.assert_allclose(held.variances, 1.0 / np.diag(R) ** 2, rtol=1e-9)


@pytest.mark.parametrize("size", SIZES[1:])
def test_two_features_are_turned_into_each_other(size):
    for k in range(size - 1):
        held, _A, _generator = grown(size, seed=k)
        before = held.inverse()
        cosine, sine = np.cos(k + 0.3), np.sin(k + 0.3)
        turn_features(held.triangle, held.variances, size, k, cosine, sine)
        turn = np.eye(size)
        turn[k : k + 2, k : k + 2] = [[cosine, sine], [-sine, cosine]]
        np.testing.assert_allclose(held.inverse(), turn @ before @ turn.T, rtol=0, atol=1e-13)
        assert held.variances.min() > 0.0
        assert np.count_nonzero(held.triangle) == size * (size - 1) // 2


@pytest.mark.parametrize("size", SIZES)
def test_without_its_last_feature_it_is_the_inverse_of_before_for_the_others(size):
    held, _A, _generator = grown(size)
    expected = held.inverse()[:-1, :-1]
    drop_last_feature(held.triangle, held.variances, size, np.empty(size))
    U = triangle_of(held.triangle, size)[:-1, :-1]
    np.testing.assert_allclose((U * held.variances[:-1]) @ U.T, expected, rtol=0, atol=1e-13)
    # The column of zeros that the next new feature begins with.
    assert np.count_nonzero(held.triangle) == (size - 1) * (size - 2) // 2


@pytest.mark.parametrize("drops", [False, True])
def test_turning_and_dropping_where_nothing_is_left_of_the_variances_stays_finite(drops):
    held, _A, _generator = grown(3)
    held.variances[:] = 0.0
    if drops:
        drop_last_feature(held.triangle, held.variances, 3, np.empty(3))
    else:
        turn_features(held.triangle, held.variances, 3, 0, 0.6, 0.8)
    assert np.isfinite(held.triangle).all()
    assert np.isfinite(held.variances).all()
