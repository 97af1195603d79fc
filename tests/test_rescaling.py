"""Moments of features and what is made of them."""

import numpy as np
import pytest

from okl_flow.rescaling import Moments, Rescaling


def of(*parts):
    moments = Moments()
    for part in parts:
        moments.add(np.asarray(part))
    return moments


@pytest.mark.parametrize("cuts", [[], [1], [1, 2, 3], [100, 100, 499]])
def test_moments_are_those_of_numpy_however_the_rows_are_cut(cuts):
    X = np.random.default_rng(0).normal(size=(500, 4)) + [0.0, 1e8, -3.0, 0.0]
    moments = of(*np.split(X, cuts))
    assert (moments.count, moments.dim) == (500, 4)
    np.testing.assert_array_equal(moments.minimum, X.min(axis=0))
    np.testing.assert_array_equal(moments.maximum, X.max(axis=0))
    np.testing.assert_allclose(moments.mean, X.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(moments.deviation, X.std(axis=0), rtol=1e-7)


def test_a_feature_that_comes_late_was_zero():
    late = of([[1.0], [3.0]], [[2.0, 5.0]], [[4.0, 1.0, -2.0]])
    X = np.array([[1.0, 0.0, 0.0], [3.0, 0.0, 0.0], [2.0, 5.0, 0.0], [4.0, 1.0, -2.0]])
    np.testing.assert_array_equal(late.minimum, X.min(axis=0))
    np.testing.assert_array_equal(late.maximum, X.max(axis=0))
    np.testing.assert_allclose(late.mean, X.mean(axis=0))
    np.testing.assert_allclose(late.deviation, X.std(axis=0))


def test_minmax_reaches_both_ends_exactly():
    X = np.random.default_rng(1).normal(size=(1000, 7)) * 10.0 ** np.arange(-3, 4)
    scaled = Rescaling("minmax", of(X)).apply(X)
    np.testing.assert_array_equal(scaled.min(axis=0), -1.0)
    np.testing.assert_array_equal(scaled.max(axis=0), 1.0)


def test_standard_has_mean_zero_and_deviation_one():
    X = np.random.default_rng(1).normal(5.0, 3.0, size=(1000, 4))
    scaled = Rescaling("standard", of(X)).apply(X)
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-14)
    np.testing.assert_allclose(scaled.std(axis=0), 1.0, rtol=1e-14)


@pytest.mark.parametrize("kind", ["minmax", "standard"])
def test_a_constant_feature_becomes_zero(kind):
    """Even one whose mean is not a float: its deviation is then not exactly 0."""
    X = np.array([[0.1, 1.0]] * 10 + [[0.1, 2.0]] * 7)
    scaled = Rescaling(kind, of(X[:3], X[3:])).apply(X)
    np.testing.assert_array_equal(scaled[:, 0], 0.0)
    assert np.ptp(scaled[:, 1]) > 1.0


def test_none_leaves_the_features_alone():
    X = np.array([[1e308], [-1e308]])
    assert Rescaling("none", of(X)).apply(X) is X


@pytest.mark.parametrize("kind", ["minmax", "standard"])
def test_features_too_far_apart_are_refused_by_name(kind):
    with pytest.raises(ValueError, match="feature 2 cannot be rescaled: it goes from -1e.308"):
        Rescaling(kind, of([[0.0, -1e308], [1.0, 1e308]]))


def test_an_unknown_rescaling_is_refused():
    with pytest.raises(ValueError, match="no rescaling 'standart'; did you mean 'standard'"):
        Rescaling("standart", of([[1.0]]))
