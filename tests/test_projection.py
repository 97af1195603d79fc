"""Projection onto a few examples, against numpy's pseudo-inverse."""

import numpy as np
import pytest

from okl_flow.projection import project, projection_space


def projected(K, k):
    """Coefficients and spanned part by the native routine, in arrays longer than need be."""
    count = len(k)
    gram = np.full((count + 2, count + 2), np.nan)
    gram[:count, :count] = K
    row, coefficients = np.full(count + 2, np.nan), np.full(count + 2, np.nan)
    row[:count] = k
    spanned = project(gram, count, row, coefficients, projection_space(count + 2))
    assert np.isnan(coefficients[count:]).all()
    return coefficients[:count], spanned


def expected_of(K, k):
    """K^+ k by way of numpy's eigenpairs; np.linalg.pinv, which forms K^+, is less exact."""
    values, vectors = np.linalg.eigh(K)
    kept = vectors[:, values > 1e-10 * values[-1]]
    return kept @ ((kept.T @ k) / values[values > 1e-10 * values[-1]])


def kernels(Z, x, bandwidth):
    """The kernel matrix of Z, and the kernel of each with x."""
    points = np.vstack([Z, x])
    K = np.exp(-((points[:, None] - points[None]) ** 2).sum(axis=2) / (2 * bandwidth**2))
    return K[:-1, :-1], K[-1, :-1]


@pytest.mark.parametrize("count", [1, 2, 3, 6, 12])
@pytest.mark.parametrize("bandwidth", [0.05, 0.5, 2.0, 30.0])
def test_the_coefficients_are_those_of_the_pseudo_inverse(count, bandwidth):
    generator = np.random.default_rng(count)
    for _ in range(30):
        K, k = kernels(generator.uniform(-1, 1, (count, 4)), generator.uniform(-1, 1, 4), bandwidth)
        values = np.linalg.eigvalsh(K)
        if 1e-11 < values[0] / values[-1] < 1e-8:
            continue  # so near the cut that round-off decides
        alpha, spanned = projected(K, k)
        expected = expected_of(K, k)
        size = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(alpha, expected, rtol=0, atol=1e-7 * size)
        np.testing.assert_allclose(K @ alpha, K @ expected, rtol=0, atol=1e-12 * size)
        assert spanned == pytest.approx(k @ expected, abs=1e-9)


def test_copies_share_the_weight_alike():
    Z = np.array([[0.3, 0.1], [0.3, 0.1], [2.0, 0.0], [0.3, 0.1]])
    alpha, spanned = projected(*kernels(Z, Z[0], 1.0))
    np.testing.assert_allclose(alpha, [1 / 3, 1 / 3, 0, 1 / 3], atol=1e-14)
    assert spanned == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("near", [0.0, 1e-9, 1e-7])
def test_a_near_copy_counts_as_one(near):
    Z = np.array([[0.0], [near], [1.0]])
    alpha, _ = projected(*kernels(Z, np.array([3.0]), 1.0))
    K, k = kernels(Z, np.array([3.0]), 1.0)
    expected = expected_of(K, k)
    assert abs(expected[0] - expected[1]) < 1e-5
    np.testing.assert_allclose(alpha, expected, atol=1e-8)


def test_strangers_are_taken_one_by_one():
    alpha, spanned = projected(np.eye(3), np.array([0.5, 0.0, -0.25]))
    assert alpha.tolist() == [0.5, 0.0, -0.25]
    assert spanned == 0.3125


def test_of_none_there_is_nothing():
    alpha, spanned = projected(np.empty((0, 0)), np.empty(0))
    assert (alpha.size, spanned) == (0, 0.0)
