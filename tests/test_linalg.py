"""Dense linear algebra: one thread, fixed signs."""

import os
import subprocess
import sys

import numpy as np
import pytest

from okl_flow.linalg import decompose, eigenpairs, lower_factor, pseudo_inverse, ridge_fit

THREADS = """
import numpy, scipy.linalg, threadpoolctl
def threads():
    pools = threadpoolctl.threadpool_info()
    return [pool["num_threads"] for pool in pools if pool["user_api"] == "blas"]
before = threads()
import okl_flow
print(before, threads())
"""


def symmetric(seed, size=8):
    A = np.random.default_rng(seed).standard_normal((size, size))
    return A + A.T


def test_the_package_takes_blas_to_one_thread():
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", THREADS], env=environment, capture_output=True, text=True, check=True
    )
    before, after = done.stdout.strip().split("] [")
    assert "2" in before
    assert set(after.strip("]").split(", ")) == {"1"}


@pytest.mark.parametrize("seed", range(5))
def test_eigenpairs_come_largest_first_and_make_the_matrix(seed):
    matrix = symmetric(seed)
    values, vectors = eigenpairs(matrix)
    assert values.tolist() == sorted(values, reverse=True)
    np.testing.assert_allclose(vectors * values @ vectors.T, matrix, atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(8), atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_leading_component_of_an_eigenvector_is_positive(seed):
    vectors = eigenpairs(symmetric(seed))[1]
    assert (vectors[np.argmax(np.abs(vectors), axis=0), range(8)] > 0).all()


def test_of_components_of_one_size_the_first_is_positive():
    for noise in (-1e-12, 0.0, 1e-12):
        vectors = eigenpairs(np.array([[1.0, 0.5], [0.5, 1.0 + noise]]))[1]
        assert (vectors[0] > 0).all()


@pytest.mark.parametrize("shape", [(6, 6), (6, 2), (1, 1)])
def test_the_lower_factor_has_the_same_square_and_nothing_above_the_diagonal(shape):
    matrix = np.random.default_rng(0).standard_normal(shape)
    lower = lower_factor(matrix)
    assert lower.shape == shape
    assert lower.flags.c_contiguous
    np.testing.assert_allclose(lower @ lower.T, matrix @ matrix.T, atol=1e-13)
    assert (np.triu(lower, 1) == 0.0).all()


@pytest.mark.parametrize("shape", [(9, 6), (6, 9), (6, 6), (1, 1)])
@pytest.mark.parametrize("rank", [1, 4, 10])
def test_the_pseudo_inverse_is_that_of_the_nearest_matrix_of_the_rank(shape, rank):
    matrix = np.random.default_rng(0).standard_normal(shape)
    U, s, V = np.linalg.svd(matrix, full_matrices=False)
    nearest = U[:, :rank] * s[:rank] @ V[:rank]
    expected = np.linalg.pinv(nearest, rcond=1e-10)
    np.testing.assert_allclose(pseudo_inverse(matrix, rank, 0.0), expected, atol=1e-12)


def test_singular_values_that_are_too_small_count_for_none():
    inverse = pseudo_inverse(np.diag([4.0, 2.0, 1.0]), 3, 0.3)
    np.testing.assert_allclose(inverse, np.diag([0.25, 0.5, 0.0]), atol=1e-15)


@pytest.mark.parametrize("lines", [12, 3])
def test_the_ridge_fit_is_where_its_slope_is_zero(lines):
    generator = np.random.default_rng(1)
    features, targets = generator.standard_normal((lines, 5)), generator.standard_normal((lines, 2))
    weights = ridge_fit(features, targets, 0.1)
    ridge = 0.1 * np.mean(np.sum(features**2, axis=0))
    slope = features.T @ (features @ weights - targets) + ridge * weights
    np.testing.assert_allclose(slope, 0.0, atol=1e-12)
    np.testing.assert_allclose(ridge_fit(3 * features, targets, 0.1), weights / 3, atol=1e-12)


def test_features_of_zeros_get_weights_of_zeros():
    assert ridge_fit(np.zeros((4, 2)), np.ones((4, 3)), 0.1).tolist() == [[0.0] * 3] * 2


def test_native_loops_get_the_same_eigenpairs():
    matrix = symmetric(3)
    values, vectors = np.empty(8), np.empty((8, 8))
    decompose(matrix, values, vectors)
    expected = eigenpairs(matrix)
    np.testing.assert_allclose(values, expected[0], atol=1e-13)
    np.testing.assert_allclose(abs(vectors), abs(expected[1]), atol=1e-12)


@pytest.mark.parametrize("overflow", [np.inf, np.nan])
def test_an_overflow_counts_as_zeros(overflow):
    values, vectors = np.empty(2), np.empty((2, 2))
    decompose(np.array([[1.0, overflow], [overflow, 2.0]]), values, vectors)
    assert values.tolist() == [0.0, 0.0]
    np.testing.assert_array_equal(abs(vectors.T @ vectors), np.eye(2))
