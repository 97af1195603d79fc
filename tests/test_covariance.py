"""The covariance as a triangle, against numpy's matrices."""

import math

import numpy as np
import pytest

from okl_flow.covariance import add_weight, condition, drop_weight, fade, rotate_weights

SIZES = (1, 2, 7, 8, 9, 16, 21, 40)


def begun(size, room=0):
    """Lines and variances of a covariance of I, in arrays that are longer than needed."""
    lines, variances = np.zeros((size + room, size + room)), np.zeros(size + room)
    for j in range(size):
        add_weight(lines, variances, j)
    return lines, variances


def matrix(lines, variances, size):
    """S."""
    U = lines[:size, :size].T
    return U @ np.diag(variances[:size]) @ U.T


def conditioned(lines, variances, size, X, noise):
    """Condition on every row of X. Returns the last total and gain."""
    spare, gain = np.empty((2, len(variances)))
    for x in X:
        total = condition(lines, variances, size, x, noise, spare, gain)
    return total, gain


@pytest.mark.parametrize("size", SIZES)
def test_an_event_takes_away_what_it_says(size):
    X = np.random.default_rng(size).standard_normal((60, size))
    lines, variances = begun(size, room=3)
    expected = np.eye(size)
    for x in X:
        total, gain = conditioned(lines, variances, size, x[None], 0.5)
        Sx = expected @ x
        assert total == pytest.approx(0.5 + x @ Sx, rel=1e-12)
        np.testing.assert_allclose(gain[:size], Sx, rtol=0, atol=1e-13)
        expected = expected - np.outer(Sx, Sx) / (0.5 + x @ Sx)
    np.testing.assert_allclose(matrix(lines, variances, size), expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(
        matrix(lines, variances, size), np.linalg.inv(np.eye(size) + X.T @ X / 0.5), atol=1e-13
    )
    np.testing.assert_array_equal(np.diag(lines)[:size], 1.0)
    assert not np.triu(lines[:size], 1).any()


def test_a_new_weight_knows_nothing_of_the_others():
    lines, variances = begun(3, room=2)
    conditioned(lines, variances, 3, np.random.default_rng(0).standard_normal((5, 3)), 1.0)
    before = matrix(lines, variances, 3)
    lines[3] = 7.0
    add_weight(lines, variances, 3)
    S = matrix(lines, variances, 4)
    np.testing.assert_array_equal(S[:3, :3], before)
    np.testing.assert_array_equal(S[3], [0.0, 0.0, 0.0, 1.0])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("keep", [0.999, 0.9, 0.5, 0.03])
def test_fading_gives_back_the_prior_weight_by_weight(size, keep):
    generator = np.random.default_rng(size)
    lines, variances = begun(size)
    weights = generator.standard_normal((2, size))
    precision, expected, expected_turn, turn = np.eye(size), weights.copy(), 0, 0
    count = math.ceil(size * (1 - keep))
    for x in generator.standard_normal((20, size)):
        spare, gain = np.empty((2, size))
        turn = fade(lines, variances, weights, size, keep, turn, spare, gain)
        precision = keep * precision
        for _ in range(count):
            j = expected_turn % size
            after = precision.copy()
            after[j, j] += size * (1 - keep) / count
            expected = np.linalg.solve(after, precision @ expected.T).T
            precision, expected_turn = after, expected_turn + 1
        np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-12)
        assert turn % size == expected_turn % size
        condition(lines, variances, size, x, 1.0, spare, gain)
        precision += np.outer(x, x)
        S = matrix(lines, variances, size)
        np.testing.assert_allclose(S @ precision, np.eye(size), rtol=0, atol=1e-11)


def test_what_no_event_speaks_of_stays_bounded_while_all_else_fades():
    size, keep = 9, 0.7
    lines, variances = begun(size)
    weights, (spare, gain) = np.ones((1, size)), np.empty((2, size))
    x, turn = np.zeros(size), 0
    x[4] = 1.0
    for _ in range(50_000):
        turn = fade(lines, variances, weights, size, keep, turn, spare, gain)
        condition(lines, variances, size, x, 0.1, spare, gain)
    values = np.linalg.eigvalsh(matrix(lines, variances, size))
    assert 0.02 < values[0] < 0.03  # S^-1 is 1 / (1 - keep) / 0.1 along x, and I
    assert values[-1] < keep ** (-1.0 / (1.0 - keep))


def test_it_stays_positive_and_true_on_examples_of_all_lengths():
    generator = np.random.default_rng(1)
    size = 6
    X = generator.standard_normal((4000, size))
    X[:, 3] = X[:, 0] + 1e-6 * X[:, 3]
    X[::2] *= 1e6
    lines, variances = begun(size)
    conditioned(lines, variances, size, X, 1.0)
    assert variances.min() > 0.0
    # R'R = S^-1, and U is R^-1 but for the lengths of its columns.
    R = np.linalg.qr(np.vstack([np.eye(size), X]), mode="r")
    np.testing.assert_allclose(variances, 1.0 / np.diag(R) ** 2, rtol=1e-9)


@pytest.mark.parametrize("size", SIZES[1:])
def test_weights_are_turned_into_each_other(size):
    generator = np.random.default_rng(size)
    for k in range(size - 1):
        lines, variances = begun(size, room=2)
        conditioned(lines, variances, size, 3.0 * generator.standard_normal((size, size)), 1.0)
        before = matrix(lines, variances, size)
        cosine, sine = np.cos(k + 0.3), np.sin(k + 0.3)
        rotate_weights(lines, variances, size, k, cosine, sine)
        turned = np.eye(size)
        turned[k : k + 2, k : k + 2] = [[cosine, sine], [-sine, cosine]]
        expected = turned @ before @ turned.T
        np.testing.assert_allclose(matrix(lines, variances, size), expected, rtol=0, atol=1e-14)
        assert not np.triu(lines[:size], 1).any()
        np.testing.assert_array_equal(np.diag(lines)[:size], 1.0)
        assert variances[:size].min() > 0.0


@pytest.mark.parametrize("size", SIZES)
def test_without_its_last_weight_it_is_the_covariance_of_the_others(size):
    lines, variances = begun(size, room=2)
    X = 3.0 * np.random.default_rng(size).standard_normal((size, size))
    conditioned(lines, variances, size, X, 1.0)
    expected = matrix(lines, variances, size)[:-1, :-1]
    drop_weight(lines, variances, size, np.empty(size))
    np.testing.assert_allclose(matrix(lines, variances, size - 1), expected, rtol=0, atol=1e-14)


def test_turning_and_dropping_where_nothing_is_left_of_the_variances_stays_finite():
    lines, variances = begun(3)
    variances[:] = 0.0
    rotate_weights(lines, variances, 3, 0, 0.6, 0.8)
    drop_weight(lines, variances, 3, np.empty(3))
    assert np.isfinite(lines).all()
    assert np.isfinite(variances).all()


def test_an_example_too_long_for_its_square_says_nothing():
    lines, variances = begun(2)
    conditioned(lines, variances, 2, np.array([[1.0, 2.0]]), 1.0)
    before = matrix(lines, variances, 2)
    assert conditioned(lines, variances, 2, np.array([[1.0, 1e200]]), 1.0)[0] == math.inf
    np.testing.assert_array_equal(matrix(lines, variances, 2), before)
