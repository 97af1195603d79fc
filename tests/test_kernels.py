"""Kernel rows against the plain formulas."""

import numpy as np
import pytest

from okl_flow import Gaussian, Laplacian, Linear, Polynomial
from okl_flow.kernels import (
    Kernel,
    distances_of_some,
    kernel_at,
    kernel_matrix,
    kernel_row,
    kernel_row_from,
    kernel_rows,
    products,
    products_of_some,
    squared_distance,
    squared_distances,
)
from tests import plain

KERNELS = [
    Gaussian(bandwidth=1.7),
    Laplacian(bandwidth=3.0),
    Polynomial(degree=1, offset=0.0),
    Polynomial(degree=3, offset=0.5),
    Linear(),
]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dim", [1, 3, 4, 9, 24])
def test_a_row_is_the_kernel_of_each_example(kernel, dim):
    generator = np.random.default_rng(dim)
    rows, x = generator.standard_normal((dim, 13)), generator.standard_normal(dim)
    out = np.full(13, 7.0)
    kernel_row(kernel.native, rows, 11, x, out)
    similarity = plain.kernel_of(kernel)
    np.testing.assert_allclose(
        out[:11], [similarity(x, rows[:, i]) for i in range(11)], rtol=1e-12, atol=1e-14
    )
    assert out[11:].tolist() == [7.0, 7.0]
    assert kernel_at(kernel.native, x) == pytest.approx(similarity(x, x), rel=1e-13)
    rows[:, 4] = x
    kernel_row(kernel.native, rows, 11, x, out)
    assert out[4] == kernel_at(kernel.native, x)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_matrix_has_the_row_of_every_stored_example(kernel):
    rows = np.random.default_rng(2).standard_normal((5, 9))
    matrix = kernel_matrix(kernel.native, rows, 7)
    assert matrix.shape == (7, 7)
    np.testing.assert_array_equal(matrix, matrix.T)
    for i in range(7):
        out = np.empty(7)
        kernel_row(kernel.native, rows, 7, rows[:, i].copy(), out)
        np.testing.assert_array_equal(matrix[i], out)


@pytest.mark.parametrize("size", [1, 7, 8, 9, 15, 31, 32, 33, 40, 64, 75])
@pytest.mark.parametrize("dim", [1, 3, 4, 9, 24])
def test_four_features_are_added_together_and_the_rest_in_turn(size, dim):
    generator = np.random.default_rng(size)
    rows, x = generator.standard_normal((dim, size + 2)), generator.standard_normal(dim)
    whole = dim - dim % 4
    for fill, terms in (
        (squared_distances, (rows - x[:, None]) ** 2),
        (products, rows * x[:, None]),
    ):
        expected = np.zeros(size + 2)
        for j in range(0, whole, 4):
            expected += (terms[j] + terms[j + 1]) + (terms[j + 2] + terms[j + 3])
        for j in range(whole, dim):
            expected += terms[j]
        out = np.full(size + 2, 7.0)
        fill(rows, size, x, out)
        np.testing.assert_array_equal(out[:size], expected[:size])
        assert out[size:].tolist() == [7.0, 7.0]
    for other in range(size):
        squared_distances(rows, size, rows[:, other].copy(), out)
        assert [squared_distance(rows, i, other) for i in range(size)] == out[:size].tolist()


@pytest.mark.parametrize("size", [1, 7, 8, 9, 16, 17, 40, 75])
@pytest.mark.parametrize(
    ("fill_some", "fill"),
    [(products_of_some, products), (distances_of_some, squared_distances)],
    ids=["products", "distances"],
)
def test_events_together_have_what_each_has(fill_some, fill, size):
    generator = np.random.default_rng(size)
    rows, X = generator.standard_normal((9, size + 2)), generator.standard_normal((4, 9))
    for count in range(5):
        out, own = np.full((4, size + 2), 7.0), np.full(size + 2, 7.0)
        fill_some(rows, size, X[:count], out)
        for e in range(count):
            fill(rows, size, X[e], own)
            np.testing.assert_array_equal(out[e], own)
        assert (out[count:] == 7.0).all()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("size", [3, 13, 40])
def test_rows_together_are_the_row_of_each(kernel, size):
    generator = np.random.default_rng(size)
    rows, X = generator.standard_normal((9, size + 2)), generator.standard_normal((4, 9))
    for count in range(5):
        out, own = np.full((4, size), 7.0), np.empty(size)
        kernel_rows(kernel.native, rows, X[:count], out)
        for e in range(count):
            kernel_row(kernel.native, rows, size, X[e], own)
            np.testing.assert_array_equal(out[e], own)
        assert (out[count:] == 7.0).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_normalized_means_one_at_itself(kernel):
    x = np.array([0.3, -2.0])
    assert kernel.is_normalized == (plain.kernel_of(kernel)(x, x) == 1.0)


def test_a_far_example_has_no_similarity():
    out = np.empty(1)
    kernel_row(Gaussian(bandwidth=1.0).native, np.array([[1e6]]), 1, np.zeros(1), out)
    assert out[0] == 0.0


def test_every_kernel_is_tested():
    assert {kernel.name for kernel in KERNELS} == set(Kernel.members)


@pytest.mark.parametrize("kernel", [Gaussian(bandwidth=0.7), Laplacian(), Polynomial(), Linear()])
def test_a_row_from_known_distances_is_the_row(kernel):
    generator = np.random.default_rng(5)
    rows, x = generator.standard_normal((5, 13)), generator.standard_normal(5)
    squares, row, again = np.empty(13), np.empty(13), np.empty(13)
    squared_distances(rows, 11, x, squares)
    kernel_row(kernel.native, rows, 11, x, row)
    kernel_row_from(kernel.native, squares, rows, 11, x, again)
    np.testing.assert_array_equal(again[:11], row[:11])
