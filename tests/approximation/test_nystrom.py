"""The Nyström map: its features, and how well they stand in for a kernel."""

import numpy as np
import pytest

from okl_flow import Gaussian, Laplacian, Linear, Polynomial, make_map, snapshot
from okl_flow.approximation.nystrom import IncrementalNystrom, nystrom_projection
from tests import plain

KERNELS = [Gaussian(bandwidth=1.5), Laplacian(bandwidth=3.0), Polynomial(degree=2), Linear()]


def examples(count, dim, seed=0):
    return np.random.default_rng(seed).standard_normal((count, dim))


def matrix(kernel, X, Z):
    similarity = plain.kernel_of(kernel)
    return np.array([[similarity(x, z) for z in Z] for x in X])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("rank", [None, 4])
def test_the_features_are_the_plain_formula(kernel, rank):
    nystrom = IncrementalNystrom(budget=12, rank=rank, kernel=kernel)
    state = nystrom.init(3)
    landmarks, X = examples(12, 3), examples(20, 3, seed=1)
    nystrom.update(state, landmarks)
    values, vectors = np.linalg.eigh(matrix(kernel, landmarks, landmarks))
    kept = [i for i in range(11, -1, -1) if values[i] > 1e-10 * values[-1]][:rank]
    expected = matrix(kernel, X, landmarks) @ vectors[:, kept] / np.sqrt(values[kept])
    features = nystrom.features(state, X)
    assert features.shape == (20, len(kept)) == (20, state.rank)
    # numpy's eigenvectors have signs of their own.
    np.testing.assert_allclose(np.abs(features), np.abs(expected), atol=1e-9)


def test_the_largest_component_of_an_eigenvector_is_positive():
    for seed in range(20):
        projection = nystrom_projection(matrix(Gaussian(), *[examples(9, 2, seed=seed)] * 2), None)
        largest = np.argmax(np.abs(projection), axis=0)
        assert (projection[largest, range(projection.shape[1])] > 0).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_at_full_rank_the_estimate_is_exact_at_the_landmarks(kernel):
    nystrom = IncrementalNystrom(budget=12, kernel=kernel)
    state = nystrom.init(3)
    landmarks, X = examples(12, 3), examples(20, 3, seed=1)
    nystrom.update(state, landmarks)
    estimate = nystrom.kernel_estimate(state, landmarks, X)
    np.testing.assert_allclose(estimate, matrix(kernel, landmarks, X), atol=1e-10)


def test_the_kernel_estimate_closes_in_as_the_rank_grows():
    X = examples(60, 3)
    true = matrix(Gaussian(bandwidth=1.5), X, X)
    values = np.sort(np.linalg.eigvalsh(true))[::-1]
    errors = []
    for rank in (1, 5, 20, 60):
        nystrom = IncrementalNystrom(budget=60, rank=rank, kernel=Gaussian(bandwidth=1.5))
        state = nystrom.init(3)
        nystrom.update(state, X)
        errors.append(np.linalg.norm(nystrom.kernel_estimate(state, X, X) - true))
        # On the landmarks themselves no map of this rank has a smaller error.
        assert errors[-1] == pytest.approx(np.sqrt(np.sum(values[rank:] ** 2)), abs=1e-8)
    assert errors == sorted(errors, reverse=True)


def test_the_kernel_estimate_closes_in_as_landmarks_are_added():
    X, Z = examples(40, 3, seed=1), examples(40, 3, seed=2)
    true = matrix(Laplacian(bandwidth=3.0), X, Z)
    errors = []
    for budget in (2, 10, 50, 250):
        nystrom = IncrementalNystrom(budget=budget, kernel=Laplacian(bandwidth=3.0))
        state = nystrom.init(3)
        nystrom.update(state, examples(250, 3))
        errors.append(np.linalg.norm(nystrom.kernel_estimate(state, X, Z) - true))
    assert errors[1] < 0.7 * errors[0]
    assert errors[2] < 0.7 * errors[1]
    assert errors[3] < 0.7 * errors[2]


def test_before_any_landmark_there_are_no_features():
    nystrom = IncrementalNystrom(budget=3)
    state = nystrom.init(2)
    assert nystrom.features(state, np.zeros((4, 2))).shape == (4, 0)
    nystrom.update(state, np.zeros((0, 2)))
    assert nystrom.features(state, np.zeros((4, 2))).shape == (4, 0)
    assert nystrom.kernel_estimate(state, np.zeros((4, 2)), np.zeros((3, 2))).shape == (4, 3)


def test_the_first_examples_stay_landmarks():
    nystrom = IncrementalNystrom(budget=5)
    X = examples(20, 2)
    by_batch, by_row = nystrom.init(2), nystrom.init(2)
    nystrom.update(by_batch, X[:3])
    nystrom.update(by_batch, X[3:])
    for x in X:
        nystrom.update(by_row, x[None])
    np.testing.assert_array_equal(by_batch.rows[:, :5], X[:5].T)
    assert snapshot.dumps(nystrom, by_batch) == snapshot.dumps(nystrom, by_row)
    assert (by_batch.size, by_batch.seen) == (5, 20)


def test_a_repeated_landmark_adds_no_feature():
    nystrom = IncrementalNystrom(budget=6)
    state = nystrom.init(1)
    nystrom.update(state, [[0.0], [1.0], [0.0], [1.0], [1.0]])
    assert (state.size, state.rank) == (5, 2)
    X = np.array([[0.0], [1.0]])
    np.testing.assert_allclose(nystrom.kernel_estimate(state, X, X), matrix(Gaussian(), X, X))


@pytest.mark.parametrize("gram", [np.zeros((3, 3)), np.full((3, 3), np.inf)])
def test_a_kernel_matrix_without_eigenvectors_makes_one_feature_of_zeros(gram):
    assert nystrom_projection(gram, None).tolist() == [[0.0]] * 3


def test_memory_stays_within_its_bound_and_the_snapshot_is_complete():
    nystrom = make_map("incremental_nystrom", budget=7, rank=3)
    state = nystrom.init(4)
    X = examples(30, 4)
    for x in X:
        blob = snapshot.dumps(nystrom, state)
        restored = snapshot.restore(nystrom, blob)
        nystrom.update(restored, x[None])
        nystrom.update(state, x[None])
        assert snapshot.dumps(nystrom, restored) == snapshot.dumps(nystrom, state)
        assert state.rows.nbytes + state.projection.nbytes <= nystrom.state_bytes_max(4)
    np.testing.assert_array_equal(nystrom.features(restored, X), nystrom.features(state, X))


def test_a_rank_above_the_budget_is_refused():
    with pytest.raises(ValueError, match="rank must be at most the budget of 5, or None, not 6"):
        IncrementalNystrom(budget=5, rank=6)
