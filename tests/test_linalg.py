"""Dense linear algebra: one thread, fixed signs."""

import os
import subprocess
import sys

import numpy as np
import pytest

from okl_flow.linalg import eigenpairs, lower_factor

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
