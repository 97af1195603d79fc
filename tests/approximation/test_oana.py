"""OANA: landmarks that move, and the map that goes with them."""

import numpy as np
import pytest

from okl_flow import Gaussian, Laplacian, Linear, Polynomial, make_map, snapshot
from okl_flow.approximation.nystrom import IncrementalNystrom
from okl_flow.approximation.oana import OANA, fill_roots
from tests import plain

KERNELS = [Gaussian(bandwidth=1.5), Laplacian(bandwidth=3.0), Polynomial(degree=2), Linear()]


def examples(count, dim, seed=0):
    return np.random.default_rng(seed).standard_normal((count, dim))


def drifting(count, dim, seed=0):
    """Examples whose centre wanders, so that landmarks have somewhere to go."""
    centre = 3 * np.sin(np.arange(count)[:, None] / 400 + np.arange(dim))
    return examples(count, dim, seed) + centre


def matrix(kernel, X, Z):
    similarity = plain.kernel_of(kernel)
    return np.array([[similarity(x, z) for z in Z] for x in X])


def follow_plainly(oana, X):
    """The landmarks after all of X, and how often one moved."""
    landmarks = list(X[: oana.budget].copy())
    followers = plain.Followers(oana, landmarks, 0)
    followers.nearest_at = list(range(1, oana.budget + 1))
    moves = 0
    for number, x in enumerate(X[oana.budget :], start=oana.budget + 1):
        place, to = followers.move_of(x, number)
        if place is not None:
            landmarks[place] = to
            moves += 1
    return np.array(landmarks), moves


def tail_error(gram, values, vectors):
    """What V S V' misses of a matrix, in units of the least that this rank must miss."""
    exact = np.linalg.eigvalsh(gram)[: len(gram) - len(values)]
    return np.linalg.norm(gram - vectors * values @ vectors.T) / np.linalg.norm(exact)


def nystrom_error(gram, vectors):
    """The same of the Nyström form E V (V'EV)^-1 V'E, which the features make."""
    images = gram @ vectors
    exact = np.linalg.eigvalsh(gram)[: len(gram) - vectors.shape[1]]
    estimate = images @ np.linalg.solve(vectors.T @ images, images.T)
    return np.linalg.norm(gram - estimate) / np.linalg.norm(exact)


def test_equation_8_by_hand():
    oana = OANA(budget=2, squared_distance=1.0)
    state = oana.init(1)
    oana.update(state, [[0.0], [10.0]])
    for x, landmarks, counts in (
        (0.5, [0.0, 10.0], [1, 1]),  # nearer than 1: nothing moves, nothing is counted
        (1.0, [0.5, 10.0], [2, 1]),  # (1 * 0 + 1) / 2
        (2.0, [1.0, 10.0], [3, 1]),  # (2 * 0.5 + 2) / 3
        (7.0, [1.0, 8.5], [3, 2]),  # (1 * 10 + 7) / 2
    ):
        oana.update(state, [[x]])
        np.testing.assert_allclose(oana.landmarks(state).ravel(), landmarks, atol=1e-15)
        assert state.counts.tolist() == counts
    assert state.moves == 3


def test_counting_examples_weighs_those_that_moved_nothing():
    oana = OANA(budget=1, squared_distance=1.0, counting="examples")
    state = oana.init(1)
    oana.update(state, [[0.0], [0.5], [0.1], [2.0]])
    np.testing.assert_allclose(oana.landmarks(state), [[0.5]])  # (3 * 0 + 2) / 4
    assert state.counts.tolist() == [4]


def test_a_memory_keeps_a_landmark_moving():
    oana = OANA(budget=1, squared_distance=0.0, landmark_memory=3)
    state = oana.init(1)
    oana.update(state, [[0.0]] * 20)
    assert state.counts.tolist() == [3]
    oana.update(state, [[4.0]])
    np.testing.assert_allclose(oana.landmarks(state), [[1.0]])
    oana.update(state, [[4.0]] * 60)
    np.testing.assert_allclose(oana.landmarks(state), [[4.0]], atol=1e-6)


def test_a_landmark_past_its_time_jumps_to_the_next_example_that_is_far():
    oana = OANA(budget=2, squared_distance=1.0, landmark_ttl=3)
    state = oana.init(1)
    oana.update(state, [[0.0], [100.0], [0.1], [0.1], [3.0]])  # 100 was last nearest 3 ago
    np.testing.assert_allclose(oana.landmarks(state).ravel(), [1.5, 100.0])
    oana.update(state, [[1.6]])
    np.testing.assert_allclose(oana.landmarks(state).ravel(), [1.5, 100.0])  # 1.6 is near 1.5
    oana.update(state, [[8.0], [8.5]])
    np.testing.assert_allclose(oana.landmarks(state).ravel(), [1.5, 8.0])
    assert state.counts.tolist() == [2, 1]
    assert state.nearest_at.tolist() == [7, 8]


@pytest.mark.parametrize(
    "settings",
    [
        {"squared_distance": 0.0},
        {"squared_distance": 4.0},
        {"squared_distance": 2.0, "landmark_memory": 2},
        {"squared_distance": 2.0, "landmark_ttl": 40},
        {"squared_distance": 3.0, "counting": "examples", "landmark_memory": 30},
    ],
)
def test_landmarks_follow_as_plain_online_k_means(settings):
    oana = OANA(budget=15, **settings)
    X = drifting(900, 3)
    state = oana.init(3)
    oana.update(state, X)
    landmarks, moves = follow_plainly(oana, X)
    np.testing.assert_allclose(oana.landmarks(state), landmarks, atol=1e-12)
    assert state.moves == moves > 50


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("rank", [None, 4, 12])
def test_the_features_are_those_of_a_new_map_on_the_landmarks(kernel, rank):
    oana = OANA(budget=12, rank=rank, kernel=kernel, squared_distance=0.5, landmark_memory=5)
    state = oana.init(3)
    oana.update(state, drifting(600, 3))
    assert state.moves > 300
    fresh = IncrementalNystrom(budget=12, rank=rank or 9, kernel=kernel)
    other = fresh.init(3)
    fresh.update(other, oana.landmarks(state))
    X = drifting(30, 3, seed=1)
    assert state.rank == other.rank
    scale = abs(matrix(kernel, X, X)).max()
    np.testing.assert_allclose(
        oana.kernel_estimate(state, X, X), fresh.kernel_estimate(other, X, X), atol=1e-10 * scale
    )
    # Nobody says which of two opposite eigenvectors is the right one.
    np.testing.assert_allclose(
        abs(oana.features(state, X)), abs(fresh.features(other, X)), atol=1e-9 * scale**0.5
    )


@pytest.mark.parametrize("memory", [None, 1])
def test_over_ten_thousand_moves_the_error_stays_that_of_the_exact_eigenpairs(memory):
    """The law is 1.01; with a memory of 1, every move takes a landmark half the way."""
    kernel = Gaussian(bandwidth=3.0)
    oana = OANA(budget=40, kernel=kernel, squared_distance=0.0, landmark_memory=memory)
    state = oana.init(4)
    X = drifting(10_040, 4)
    oana.update(state, X[:40])
    worst = 0.0
    for begin in range(40, len(X), 25):
        oana.update(state, X[begin : begin + 25])
        values, vectors = oana.eigenpairs(state)
        landmarks = oana.landmarks(state)
        squares = ((landmarks[:, None] - landmarks[None]) ** 2).sum(axis=2)
        gram = np.exp(-squares / 18.0)
        worst = max(worst, tail_error(gram, values, vectors), nystrom_error(gram, vectors))
    assert state.moves == 10_000
    assert worst <= 1.0 + 1e-6


def test_the_eigenpairs_stay_those_of_the_exact_kernel_matrix():
    kernel = Laplacian(bandwidth=3.0)
    oana = OANA(budget=20, rank=20, kernel=kernel, squared_distance=0.0, landmark_memory=4)
    state = oana.init(3)
    oana.update(state, drifting(20, 3))
    for part in np.split(drifting(600, 3, seed=1), 20):
        oana.update(state, part)
        landmarks = oana.landmarks(state)
        values, vectors = oana.eigenpairs(state)
        np.testing.assert_allclose(
            vectors * values @ vectors.T, matrix(kernel, landmarks, landmarks), atol=1e-12
        )


def test_a_far_landmark_leaves_no_round_off_behind():
    kernel = Linear()
    oana = OANA(budget=6, rank=3, kernel=kernel, squared_distance=0.0, landmark_ttl=12)
    state = oana.init(3)
    X = examples(100, 3)
    X[60] = 1e7
    oana.update(state, X[:61])
    assert state.values[0] > 1e12
    oana.update(state, X[61:])
    assert state.moves < 128  # until then no decomposition is due
    landmarks = oana.landmarks(state)
    assert abs(landmarks).max() < 10.0
    np.testing.assert_allclose(
        oana.kernel_estimate(state, landmarks, landmarks), landmarks @ landmarks.T, atol=1e-10
    )


def test_the_rank_falls_when_landmarks_meet_and_rises_when_they_part():
    oana = OANA(budget=3, rank=3, squared_distance=0.0, landmark_ttl=1)
    state = oana.init(1)
    oana.update(state, [[0.0], [1.0], [2.0]])
    assert state.rank == 3
    oana.update(state, [[5.0]] * 6)
    assert state.rank < 3
    oana.update(state, [[0.0], [1.0], [2.0], [3.0]])
    assert state.rank == 3


def test_from_a_huge_distance_on_it_is_the_map_of_the_first_examples():
    X, Z = examples(60, 3), examples(20, 3, seed=1)
    oana = OANA(budget=12, squared_distance=1e9, landmark_ttl=1)
    nystrom = IncrementalNystrom(budget=12, rank=9)
    state, other = oana.init(3), nystrom.init(3)
    oana.update(state, X)
    nystrom.update(other, X)
    assert state.moves == 0
    np.testing.assert_allclose(
        oana.kernel_estimate(state, Z, Z), nystrom.kernel_estimate(other, Z, Z), atol=1e-12
    )


def test_on_a_drifting_stream_moving_landmarks_fit_better_than_the_first():
    kernel = Gaussian(bandwidth=2.0)
    X = drifting(4000, 3)
    Z = X[-100:]
    errors = []
    for distance in (1e9, 1.0):
        oana = OANA(budget=40, kernel=kernel, squared_distance=distance, landmark_memory=20)
        state = oana.init(3)
        oana.update(state, X[:-100])
        errors.append(np.linalg.norm(oana.kernel_estimate(state, Z, Z) - matrix(kernel, Z, Z)))
    assert errors[1] < 0.5 * errors[0]


def test_before_any_landmark_there_are_no_features():
    oana = OANA(budget=3)
    state = oana.init(2)
    assert oana.features(state, np.zeros((4, 2))).shape == (4, 0)
    oana.update(state, np.zeros((0, 2)))
    assert oana.kernel_estimate(state, np.zeros((4, 2)), np.zeros((3, 2))).shape == (4, 3)


@pytest.mark.parametrize("scale", [0.0, 1e300])
def test_a_kernel_matrix_without_eigenvectors_makes_no_features_and_heals(scale):
    oana = OANA(budget=3, kernel=Linear(), squared_distance=0.0, landmark_ttl=1)
    state = oana.init(2)
    oana.update(state, scale * np.ones((8, 2)))
    assert state.rank == 0
    assert oana.features(state, np.ones((4, 2))).shape == (4, 0)
    X = examples(12, 2)
    oana.update(state, X)
    landmarks = oana.landmarks(state)
    np.testing.assert_allclose(
        oana.kernel_estimate(state, landmarks, landmarks), landmarks @ landmarks.T, atol=1e-9
    )


def test_beside_an_overflow_nothing_is_taken_for_the_kernel_matrix():
    oana = OANA(budget=2, rank=2, kernel=Linear(), squared_distance=0.0, landmark_memory=1)
    state = oana.init(1)
    oana.update(state, [[1e155], [0.0], [0.002], [0.004]])
    assert oana.landmarks(state).tolist() == [[1e155], [0.0025]]
    assert state.rank == 0


def test_round_off_does_not_gather():
    oana = OANA(
        budget=40,
        rank=20,
        kernel=Gaussian(bandwidth=3.0),
        squared_distance=0.0,
        landmark_memory=1,
    )
    state = oana.init(2)
    oana.update(state, examples(20_000, 2))
    assert state.moves > 19_000
    assert abs(state.vectors.T @ state.vectors - np.eye(40)).max() < 1e-13


def test_memory_stays_within_its_bound_and_the_snapshot_is_complete():
    oana = make_map("oana", budget=7, rank=3, squared_distance=0.5, landmark_ttl=9)
    state, by_batch = oana.init(4), oana.init(4)
    X = drifting(300, 4)
    for x in X:
        blob = snapshot.dumps(oana, state)
        restored = snapshot.restore(oana, blob)
        oana.update(restored, x[None])
        oana.update(state, x[None])
        assert snapshot.dumps(oana, restored) == snapshot.dumps(oana, state)
        arrays = (state.rows, state.counts, state.nearest_at, state.values, state.vectors)
        assert sum(array.nbytes for array in arrays) <= oana.state_bytes_max(4)
    for part in np.split(X, [3, 5, 11, 150]):
        oana.update(by_batch, part)
    assert state.moves > 200
    assert snapshot.dumps(oana, by_batch) == snapshot.dumps(oana, state)
    np.testing.assert_array_equal(oana.features(by_batch, X), oana.features(restored, X))


def test_what_a_parameter_cannot_be_is_refused():
    with pytest.raises(ValueError, match="rank must be at most the budget of 5, or None, not 6"):
        OANA(budget=5, rank=6)
    with pytest.raises(ValueError, match="squared_distance must be a real number at least 0"):
        OANA(squared_distance=-1.0)


def test_a_rank_ends_with_the_eigenvalues_whatever_lies_behind_them_in_memory():
    memory = np.array([4.0, 1.0, 9.0, 9.0])
    roots = np.full(4, np.nan)
    assert fill_roots(memory[:2], 3, roots) == 2
    np.testing.assert_array_equal(roots, [2.0, 1.0, np.nan, np.nan])
