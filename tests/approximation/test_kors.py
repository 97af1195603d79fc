"""KORS: its dictionary against the paper's equation 4, its theorem, and its features."""

import math

import numpy as np
import pytest

from okl_flow import Gaussian, Laplacian, Linear, Polynomial, make_map, snapshot
from okl_flow.approximation.kors import KORS
from tests import plain

KERNELS = [Gaussian(bandwidth=1.5), Laplacian(bandwidth=3.0), Polynomial(degree=2), Linear()]


def examples(count, dim, seed=0):
    return np.random.default_rng(seed).standard_normal((count, dim))


def matrix(kernel, X, Z):
    similarity = plain.kernel_of(kernel)
    return np.array([[similarity(x, z) for z in Z] for x in X]).reshape(len(X), len(Z))


def plain_dictionary(kors, X, seed):
    """Algorithm 2 with equation 4 as it is printed, the new example in the dictionary."""
    generator = plain.Generator(seed)
    rows, weights = [], []
    for x in X:
        if kors.budget is not None and len(rows) == kors.budget:
            break
        S = np.sqrt([*weights, 1.0])
        known = np.array([*rows, x])
        k = S * matrix(kors.kernel, [x], known)[0]
        K = S[:, None] * matrix(kors.kernel, known, known) * S
        inverse = np.linalg.inv(K + kors.regularization * np.eye(len(k)))
        own = plain.kernel_of(kors.kernel)(x, x)
        tau = (1 + kors.accuracy) / kors.regularization * (own - k @ inverse @ k)
        probability = min(kors.oversampling * tau, 1.0)
        if generator.unit() < probability:
            rows.append(x)
            weights.append(1 / probability)
    return np.array(rows), np.array(weights)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"regularization": 0.5, "accuracy": 1.0},
        {"oversampling": 4.0, "accuracy": 0.1},
        {"budget": 9, "oversampling": 0.5},
    ],
)
def test_the_dictionary_is_that_of_the_plain_formula(kernel, settings):
    kors = KORS(kernel=kernel, **settings)
    X = examples(120, 2)
    state = kors.init(2, seed=5)
    kors.update(state, X)
    rows, weights = kors.dictionary(state)
    expected_rows, expected_weights = plain_dictionary(kors, X, 5)
    np.testing.assert_array_equal(rows, expected_rows)
    np.testing.assert_allclose(weights, expected_weights, rtol=1e-9)
    assert 3 < len(rows) < 120
    assert state.seen == 120
    if kors.budget:
        assert len(rows) == kors.budget


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_triangle_is_that_of_the_weighted_dictionary(kernel):
    kors = KORS(kernel=kernel, regularization=0.3, oversampling=2.0)
    state = kors.init(3)
    kors.update(state, examples(200, 3))
    rows, weights = kors.dictionary(state)
    S = np.sqrt(weights)
    R = np.triu(state.factor[: len(S), : len(S)])
    E = S[:, None] * matrix(kernel, rows, rows) * S + 0.3 * np.eye(len(S))
    np.testing.assert_allclose(R.T @ R, E, rtol=1e-11, atol=1e-11)


def theorem_runs(oversampling, accuracy=0.5, dim=2, count=1500, runs=20):
    """For each of some runs with a linear kernel: the extreme eigenvalues of A^-1/2 A^I A^-1/2
    over all steps, those of the estimate over the score, and the share of examples kept."""
    for seed in range(runs):
        X = examples(count, dim, seed=seed)
        kors = KORS(kernel=Linear(), accuracy=accuracy, oversampling=oversampling)
        state = kors.init(dim, seed=seed)
        kors.update(state, X)
        rows, weights = kors.dictionary(state)
        own = np.zeros(count)
        own[[np.flatnonzero((X == row).all(axis=1))[0] for row in rows]] = weights
        outer = X[:, :, None] * X[:, None, :]
        A = np.eye(dim) + np.cumsum(outer, axis=0)
        sketch = np.eye(dim) + np.cumsum(own[:, None, None] * outer, axis=0)
        values = np.linalg.eigvals(np.linalg.solve(A, sketch)).real
        score = np.einsum("ti,ti->t", X, np.linalg.solve(A, X[:, :, None])[:, :, 0])
        before = np.concatenate([np.eye(dim)[None], sketch[:-1]]) + outer
        estimate = np.einsum("ti,ti->t", X, np.linalg.solve(before, X[:, :, None])[:, :, 0])
        ratio = (1 + accuracy) * estimate / score
        yield values.min(), values.max(), ratio.min(), ratio.max(), np.mean(own > 0)


def test_the_promise_of_the_theorem_is_kept():
    delta, accuracy = 0.1, 0.5
    rho = (1 + accuracy) / (1 - accuracy)
    kept = 0
    shares = []
    for low, high, ratio_low, ratio_high, share in theorem_runs(
        3 * math.log(1500 / delta) / accuracy**2
    ):
        near = low >= 1 - accuracy and high <= 1 + accuracy
        kept += near and ratio_low >= 1 and ratio_high <= rho
        shares.append(share)
    assert kept >= (1 - delta) * 20
    assert max(shares) < 0.75  # and it is a sample


def test_less_oversampling_breaks_the_promise():
    far = [low < 0.5 or high > 1.5 for low, high, *_ in theorem_runs(0.3)]
    assert np.mean(far) > 0.5


def test_the_dictionary_follows_the_effective_dimension():
    sizes, dimensions = [], []
    for dim in (2, 4, 8, 16):
        X = examples(4000, dim)
        kors = KORS(kernel=Linear(), oversampling=2.0)
        state = kors.init(dim)
        kors.update(state, X)
        online = sum(
            x @ np.linalg.solve(np.eye(dim) + X[: t + 1].T @ X[: t + 1], x) for t, x in enumerate(X)
        )
        sizes.append(state.size)
        dimensions.append(online)
    ratios = np.array(sizes) / np.array(dimensions)
    # Between beta (1 + epsilon) scores and, with rho for it, three times as many.
    assert ratios.min() > 0.7 * 2.0
    assert ratios.max() < 3 * 3.0 * 2.0
    assert ratios.max() < 2 * ratios.min()


def test_ever_more_of_the_same_hardly_enters():
    kors = KORS(kernel=Gaussian(bandwidth=0.3))
    state = kors.init(2)
    X = np.tile(examples(5, 2), (1000, 1))
    kors.update(state, X[:1000])
    first = state.size
    kors.update(state, X)
    assert 5 <= first < 100
    assert state.size < 2 * first


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_features_are_nystrom_features_of_the_dictionary(kernel):
    kors = KORS(kernel=kernel, budget=14, oversampling=3.0)
    state = kors.init(3)
    kors.update(state, examples(100, 3))
    rows, _ = kors.dictionary(state)
    X = examples(20, 3, seed=1)
    K = matrix(kernel, rows, rows)
    expected = matrix(kernel, X, rows) @ np.linalg.pinv(K, 1e-10) @ matrix(kernel, rows, X)
    np.testing.assert_allclose(kors.kernel_estimate(state, X, X), expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(
        kors.kernel_estimate(state, rows, X), matrix(kernel, rows, X), rtol=1e-7, atol=1e-8
    )


def test_the_kernel_estimate_closes_in_as_the_regularization_falls():
    X, Z = examples(400, 2, seed=1), examples(40, 2, seed=2)
    true = matrix(Gaussian(), Z, Z)
    errors, sizes = [], []
    for regularization in (10.0, 1.0, 0.1, 0.01):
        kors = KORS(regularization=regularization)
        state = kors.init(2)
        kors.update(state, X)
        errors.append(np.linalg.norm(kors.kernel_estimate(state, Z, Z) - true))
        sizes.append(state.size)
    assert errors == sorted(errors, reverse=True)
    assert sizes == sorted(sizes)
    assert errors[-1] < 0.05 * errors[0]


def test_batches_and_seeds():
    kors = KORS(budget=20)
    X = examples(300, 2)
    by_batch, by_row, other = kors.init(2, seed=3), kors.init(2, seed=3), kors.init(2, seed=4)
    kors.update(by_batch, X)
    kors.update(other, X)
    for x in X:
        kors.update(by_row, x[None])
        features = kors.features(by_row, X[:4])
        _, restored = snapshot.loads(snapshot.dumps(kors, by_row))
        np.testing.assert_array_equal(kors.features(restored, X[:4]), features)
    assert snapshot.dumps(kors, by_batch) == snapshot.dumps(kors, by_row)
    assert not np.array_equal(other.rows, by_batch.rows)


def test_before_any_example_there_are_no_features():
    kors = KORS()
    state = kors.init(2)
    kors.update(state, np.zeros((0, 2)))
    assert kors.features(state, np.zeros((4, 2))).shape == (4, 0)
    assert kors.kernel_estimate(state, np.zeros((4, 2)), np.zeros((3, 2))).shape == (4, 3)
    assert kors.dictionary(state)[0].shape == (0, 2)


def test_an_example_without_length_does_not_enter():
    kors = KORS(kernel=Linear(), oversampling=100.0)
    state = kors.init(2)
    kors.update(state, np.zeros((50, 2)))
    assert (state.size, state.seen) == (0, 50)
    assert np.isfinite(kors.features(state, np.ones((1, 2)))).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_huge_norms_stay_finite(kernel):
    kors = KORS(kernel=kernel, regularization=1e-6, oversampling=10.0)
    state = kors.init(3)
    kors.update(state, 1e6 * examples(100, 3))
    kors.update(state, examples(100, 3))
    for array in (state.factor, state.scales, kors.features(state, examples(5, 3))):
        assert np.isfinite(array).all()


def test_memory_stays_within_its_bound():
    kors = make_map("kors", budget=11, oversampling=5.0)
    state = kors.init(4)
    bound = kors.state_bytes_max(4)
    for x in examples(100, 4):
        kors.update(state, x[None])
        arrays = (state.rows, state.scales, state.factor, state.projection, state.words)
        assert sum(array.nbytes for array in arrays) <= bound
    assert state.size == 11
    assert KORS().state_bytes_max(4) is None
