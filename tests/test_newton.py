"""The triangle of the curvature, against numpy and scipy."""

import math

import numpy as np
import pytest
from scipy import linalg

from okl_flow import Hinge, Logistic, Polynomial, Square, SquaredHinge
from okl_flow.newton import (
    append_line,
    clip_to,
    curvature_of,
    drop_line,
    is_sound,
    rest_of,
    scale_of,
    shorten,
    slope_bound,
    solve_scaled,
    value_at,
)

SIZES = (1, 2, 3, 4, 5, 9, 14)


def triangle(size, seed=0):
    """An upper triangle of positive diagonal, and the generator."""
    generator = np.random.default_rng(seed)
    root = generator.standard_normal((size + 2, size))
    return np.linalg.cholesky(root.T @ root).T, generator


def in_the_ring(R, oldest, room=0):
    """R with its first line at place `oldest`, and rubbish where nothing is read."""
    size = len(R)
    held = np.full((size + room, size + room), 1e9)
    order = (oldest + np.arange(size)) % size
    for i in range(size):
        for j in range(i, size):
            held[order[i], order[j]] = R[i, j]
    return held, order


@pytest.mark.parametrize("size", SIZES)
def test_a_solve_goes_round_the_ring(size):
    R, generator = triangle(size)
    row, scales = generator.standard_normal((2, size))
    for oldest in range(size):
        held, order = in_the_ring(R, oldest)
        z = np.empty(size)
        solve_scaled(held, oldest, scales, size, row, z)
        expected = linalg.solve_triangular(R, (scales * row)[order], trans="T")
        np.testing.assert_allclose(z[order], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_without_its_oldest_line_it_is_the_triangle_of_the_rest(size):
    R, generator = triangle(size)
    s, z = generator.standard_normal((2, size))
    right = R.T @ np.array([s, z]).T
    for oldest in range(size):
        held, order = in_the_ring(R, oldest)
        turned = np.zeros((2, size))
        turned[:, order] = s, z
        drop_line(held, oldest, size, s[0], turned[0], turned[1])
        left = order[1:]
        rest = np.triu(held[np.ix_(left, left)])
        np.testing.assert_allclose(rest.T @ rest, (R.T @ R)[1:, 1:], rtol=1e-12, atol=1e-12)
        assert (np.diag(rest) > 0).all()
        # s and z solve what is left of their systems.
        np.testing.assert_allclose(rest.T @ turned[:, left].T, right[1:], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_what_comes_last_gets_the_line_of_the_larger_triangle(size):
    R, _ = triangle(size)
    for oldest in range(size):
        held, order = in_the_ring(R, oldest)
        last, before = order[-1], order[:-1]
        held[last, last] = held[before, last] = 7e9
        z = np.zeros(size)
        z[before] = R[:-1, -1] / -0.5
        rest = (R[-1, -1] ** 2 - 0.1) / 0.25
        assert append_line(held, last, size, -0.5, rest, 0.1, z) == pytest.approx(R[-1, -1])
        np.testing.assert_allclose(np.triu(held[np.ix_(order, order)]), R, rtol=1e-12)


def test_the_value_is_that_of_weights_and_solution():
    R, generator = triangle(6)
    rows = generator.standard_normal((2, 6))
    scales, weights, solution = generator.standard_normal((3, 6))
    x = np.array([0.3, -0.2])
    row, z = np.empty(6), np.empty(6)
    kernel = Polynomial(degree=2, offset=40.0)  # long enough for any z.z
    value = value_at(kernel.native, rows, scales, weights, solution, R, 0, 6, x, row, z)
    k = (rows.T @ x + 40.0) ** 2
    expected = weights @ k + scales * linalg.solve_triangular(R, solution) @ k
    long = np.linalg.norm(linalg.solve_triangular(R, scales * k, trans="T"))
    own = x @ x + 40.0
    if long > own:
        expected = weights @ k + (expected - weights @ k) * own / long
    assert value == pytest.approx(expected, rel=1e-9)


def test_no_z_is_longer_than_the_example():
    z = np.array([3.0, 4.0, 100.0])
    shorten(z, 25.0, 2)
    assert z.tolist() == [3.0, 4.0, 100.0]
    shorten(z, 6.25, 2)
    np.testing.assert_allclose(z, [1.5, 2.0, 100.0], rtol=1e-14)
    for lost in ([math.inf, 1.0], [math.nan, 1.0], [1e300, 1.0]):
        z = np.array(lost)
        shorten(z, 1.0, 2)
        assert np.isfinite(z).all()


def test_the_rest_never_vanishes():
    z = np.array([0.6, 0.8])
    assert rest_of(1.5, z, 2) == pytest.approx(0.5)
    assert rest_of(1.0, z, 2) == 1e-11
    assert rest_of(1e6, 1e3 * z, 2) == pytest.approx(1e-5)


def test_small_matters():
    assert scale_of(-0.5, 0.25) == -0.25
    assert scale_of(1e-120, 1.0) == 0.0
    assert [clip_to(value, 2.0) for value in (-3.0, -2.0, 0.1, 2.5)] == [-2.0, -2.0, 0.1, 2.0]
    assert is_sound(-3.0, 2.0)
    assert not is_sound(math.nan, 1.0)
    assert not is_sound(math.inf, 1.0)
    assert not is_sound(1.0, 0.0)


def test_curvature_and_slopes_of_the_losses():
    assert curvature_of(Square(), 2.0, 2.0) == 1 / 32  # the paper's 1 / (8 C^2)
    assert curvature_of(Square(), 1.0, 1.0) == curvature_of(SquaredHinge(), 1.0, 1.0) == 1 / 8
    assert curvature_of(SquaredHinge(), 2.0, 1.0) == 5 / 96
    assert curvature_of(Logistic(), 1.0, 1.0) == math.exp(-1)
    assert curvature_of(Hinge(), 1.0, 1.0) == 0.0
    assert slope_bound(Hinge(), 3.0, 1.0) == 1.0
    assert slope_bound(SquaredHinge(), 3.0, 1.0) == 8.0
    assert slope_bound(Logistic(), 3.0, 1.0) == 1 / (1 + math.exp(-3))
