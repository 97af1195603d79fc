"""The growing Cholesky factor, against scipy."""

import math

import numpy as np
import pytest
from scipy import linalg

from okl_flow.factor import add_projection, grow_factor, is_new, solve_lower, solve_upper

SIZES = (0, 1, 2, 7, 8, 9, 40)


def kernel_matrix(size, seed=0):
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, (size, 3))
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))


def grown(K):
    """The factor of K, made example by example in an array that is longer than needed."""
    size = len(K)
    factor, z = np.zeros((size + 3, size + 3)), np.zeros(size + 3)
    for n in range(size):
        spanned = solve_lower(factor, n, K[n].copy(), z)
        grow_factor(factor, n, z, K[n, n] - spanned)
    return factor


@pytest.mark.parametrize("size", SIZES)
def test_the_factor_grows_into_that_of_the_whole_matrix(size):
    K = kernel_matrix(size)
    factor = grown(K)
    expected = np.linalg.cholesky(K)
    np.testing.assert_allclose(factor[:size, :size], expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(factor[:size, :size] @ factor[:size, :size].T, K, atol=1e-15)
    assert not np.triu(factor, 1).any()
    assert not factor[size:].any()


@pytest.mark.parametrize("size", SIZES)
def test_both_triangles_are_solved(size):
    factor = grown(kernel_matrix(size))
    L = factor[:size, :size]
    row = np.random.default_rng(1).standard_normal(size + 3)
    z, d = np.full(size + 3, 7.0), np.full(size + 3, 7.0)
    spanned = solve_lower(factor, size, row, z)
    solve_upper(factor, size, z, d)
    expected = linalg.solve_triangular(L, row[:size], lower=True)
    np.testing.assert_allclose(z[:size], expected, rtol=1e-11)
    np.testing.assert_allclose(spanned, expected @ expected, rtol=1e-11)
    expected = linalg.solve_triangular(L, z[:size], lower=True, trans="T")
    np.testing.assert_allclose(d[:size], expected, rtol=1e-11)
    assert (z[size:] == 7.0).all() and (d[size:] == 7.0).all()


def test_what_is_new_lies_beyond_the_threshold():
    assert is_new(1.0, 0.75, 0.49)
    assert not is_new(1.0, 0.75, 0.5)
    assert is_new(1.0, 0.0, 0.0)
    assert not is_new(0.0, 0.0, 0.0)


@pytest.mark.parametrize("own", [1e-6, 1.0, 1e12])
def test_round_off_is_never_new(own):
    assert not is_new(own, own * (1.0 - 1e-13), 0.0)
    assert not is_new(own, own * (1.0 + 1e-13), 0.0)
    assert is_new(own, own * (1.0 - 2e-10), 0.0)


def test_a_projection_is_added_to_the_outputs_that_step():
    weights = np.ones((3, 4))
    weights[1, :] = math.nan
    add_projection(weights, np.array([2.0, 0.0, -1.0]), np.array([1.0, 10.0, math.inf, 5.0]), 2)
    np.testing.assert_array_equal(weights[0], [3.0, 21.0, 1.0, 1.0])
    np.testing.assert_array_equal(weights[2], [0.0, -9.0, 1.0, 1.0])
