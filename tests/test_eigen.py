"""Eigenpairs that follow a matrix, against those that LAPACK finds of it."""

import numpy as np
import pytest

from okl_flow.eigen import change_line
from okl_flow.linalg import decompose


def pairs_of(matrix):
    size = len(matrix)
    values, vectors = np.empty(size), np.empty((size, size))
    decompose(np.array(matrix, dtype=float), values, vectors)
    return values, vectors


def gram(X, gamma):
    return np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))


def check(matrix, values, vectors, tolerance):
    """Eigenpairs in falling order, at right angles, that make up the matrix."""
    scale = max(abs(values).max(), 1e-300)
    size = len(values)
    assert (np.diff(values) <= 0).all()
    assert abs(vectors.T @ vectors - np.eye(size)).max() <= tolerance
    assert abs(vectors * values @ vectors.T - matrix).max() <= tolerance * scale
    assert abs(values - np.linalg.eigvalsh(matrix)[::-1]).max() <= tolerance * scale


def change(matrix, place, difference, values, vectors):
    """Change a line and its column, in the matrix and in its eigenpairs."""
    matrix[place] += difference
    matrix[:, place] += difference
    change_line(values, vectors, place, difference)


def test_a_matrix_of_two_by_hand():
    matrix = np.array([[2.0, 0.0], [0.0, 1.0]])
    values, vectors = pairs_of(matrix)
    assert values.tolist() == [2.0, 1.0]
    change(matrix, 1, np.array([2.0, 2.0]), values, vectors)  # [[2, 2], [2, 5]]
    np.testing.assert_allclose(values, [6.0, 1.0], atol=1e-14)
    np.testing.assert_allclose(abs(vectors), np.array([[1, 2], [2, 1]]) / np.sqrt(5), atol=1e-14)


@pytest.mark.parametrize(
    ("size", "dim", "gamma"),
    [
        (1, 1, 1.0),
        (2, 1, 1.0),
        (3, 2, 1.0),
        (8, 2, 1.0),
        (9, 2, 1.0),
        (25, 3, 0.3),
        (60, 24, 0.02),
        (60, 2, 0.01),  # nearly all eigenvalues are lost in round-off
        (33, 5, 100.0),  # all eigenvalues are nearly 1
        (100, 8, 0.1),
    ],
)
def test_eigenpairs_follow_a_kernel_matrix_while_examples_move(size, dim, gamma):
    generator = np.random.default_rng(size)
    X = generator.standard_normal((size, dim))
    matrix = gram(X, gamma)
    values, vectors = pairs_of(matrix)
    for t in range(150):
        place = generator.integers(size)
        if t % 10 == 3:
            X[place] = X[generator.integers(size)]  # two examples coincide
        else:
            X[place] = (X[place] + generator.standard_normal(dim)) / (1 + t % 2)
        difference = gram(X, gamma)[place] - matrix[place]
        difference[place] /= 2
        change(matrix, place, difference, values, vectors)
        check(matrix, values, vectors, 1e-13)


def test_equal_eigenvalues_and_shares_of_nothing():
    matrix = np.eye(6)
    values, vectors = pairs_of(matrix)
    for place, difference in (
        (0, [0.0, 0.5, 0.0, 0.0, 0.0, 0.0]),
        (3, [0.0, 0.0, 0.0, 0.0, 1e-9, 0.0]),
        (5, [0.0, 0.0, 0.0, 0.0, 0.0, 3.0]),
        (0, [0.0, -0.5, 0.0, 0.0, 0.0, 0.0]),
        (2, [1e-200, 0.0, 0.0, 0.0, 0.0, 0.0]),
        (1, [0.0, 0.0, 1e-17, 0.0, 0.0, 0.0]),
    ):
        change(matrix, place, np.array(difference), values, vectors)
        check(matrix, values, vectors, 1e-13)


def test_no_change_changes_no_bit():
    matrix = gram(np.random.default_rng(0).standard_normal((7, 2)), 1.0)
    values, vectors = pairs_of(matrix)
    before = values.copy(), vectors.copy()
    change_line(values, vectors, 3, np.zeros(7))
    np.testing.assert_array_equal(values, before[0])
    np.testing.assert_array_equal(vectors, before[1])


def test_any_symmetric_matrix_will_do():
    generator = np.random.default_rng(4)
    for scale in (1e-12, 1.0, 1e12):
        matrix = scale * generator.standard_normal((20, 20))
        matrix += matrix.T
        values, vectors = pairs_of(matrix)
        for place in range(20):
            change(matrix, place, scale * generator.standard_normal(20), values, vectors)
            check(matrix, values, vectors, 1e-13)


def test_far_larger_and_far_smaller_changes():
    generator = np.random.default_rng(5)
    matrix = np.diag(np.logspace(0, -12, 15))
    values, vectors = pairs_of(matrix)
    for exponent in (-14, -8, -3, 0, 4, 8, 10):
        difference = 10.0**exponent * generator.standard_normal(15)
        change(matrix, exponent % 15, difference, values, vectors)
        check(matrix, values, vectors, 1e-13)
