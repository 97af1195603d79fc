"""Incremental randomized sketching: its sketches, its map, and how well that stands in."""

import numpy as np
import pytest

from okl_flow import Gaussian, Laplacian, Linear, Polynomial, make_map, snapshot
from okl_flow.approximation.irs import IRS, sketch_projection, take_into_sketches
from okl_flow.rng import seeded
from okl_flow.sketches import change_sketches, draw_entries, sketch_rows
from tests import plain

KERNELS = [Gaussian(bandwidth=1.5), Laplacian(bandwidth=3.0), Polynomial(degree=2), Linear()]


def examples(count, dim, seed=0):
    return np.random.default_rng(seed).standard_normal((count, dim))


def matrix(kernel, X, Z):
    similarity = plain.kernel_of(kernel)
    return np.array([[similarity(x, z) for z in Z] for x in X])


def filled(irs, X, seed=0):
    """A state that has taken in all examples."""
    state = irs.init(X.shape[1], seed=seed)
    irs.update(state, X)
    return state


def dense(state):
    """S_p, written out."""
    blocks = state.entries.shape[1]
    S = np.zeros((state.size, state.phi_pp.shape[0]))
    for line, entries in zip(S, state.entries[: state.size], strict=True):
        line[np.abs(entries) - 1] = np.sign(entries) / np.sqrt(blocks)
    return S


def made_anew(irs, state):
    """The sketches of a state's rows, by their definition."""
    rows = state.rows[:, : state.size].T
    K, S = matrix(irs.kernel, rows, rows), dense(state)
    return S.T @ K @ S, S.T @ K[:, : state.phi_pm.shape[1]]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("count", [12, 17, 40])
def test_the_features_are_the_plain_formula(kernel, count):
    irs = IRS(budget=12, rank=4, stored_rows=20, update_every=2, kernel=kernel)
    X, Z = examples(count, 3), examples(9, 3, seed=1)
    state = filled(irs, X, seed=5)
    oracle = plain.Sketched(irs, 5)
    oracle.begin(list(X[:12]))
    for x in X[13::2]:
        oracle.take(x)
    expected = oracle.gram(Z) @ oracle.projection()
    features = irs.features(state, Z)
    assert features.shape == (9, state.rank)
    # Features may be turned, by signs at least; their products may not.
    np.testing.assert_allclose(features @ features.T, expected @ expected.T, atol=1e-9)


def test_with_every_row_a_landmark_the_kernel_matrix_of_the_rows_is_exact():
    irs = IRS(
        budget=20,
        sketch_size=20,
        landmark_count=20,
        rank=20,
        block_count=20,
        kernel=Gaussian(bandwidth=1.0),
    )
    X = examples(20, 3)
    for seed in range(5):
        estimate = irs.kernel_estimate(filled(irs, X, seed), X, X)
        np.testing.assert_allclose(estimate, matrix(irs.kernel, X, X), atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_updates_leave_the_sketches_that_the_rows_make(kernel):
    irs = IRS(budget=12, block_count=3, stored_rows=15, kernel=kernel)
    X = examples(60, 3)
    state = irs.init(3)
    for count in (12, 13, 15, 16, 27, 28, 60):
        irs.update(state, X[state.seen : count])
        phi_pp, phi_pm = made_anew(irs, state)
        np.testing.assert_allclose(state.phi_pp, phi_pp, atol=1e-9)
        np.testing.assert_allclose(state.phi_pm, phi_pm, atol=1e-9)
        assert state.size == min(count, 15)


def test_what_is_taken_away_undoes_what_was_added():
    irs = IRS(budget=12, stored_rows=15)
    state = filled(irs, examples(14, 3))
    phi_pp, phi_pm = state.phi_pp.copy(), state.phi_pm.copy()
    scratch = np.empty(14), np.empty(9)
    for sign, differs in ((-1.0, True), (1.0, False)):
        place = 14, 13, sign, state.phi_pp, state.phi_pm
        change_sketches(irs.kernel.native, state.rows, state.entries, *place, *scratch)
        assert np.allclose(state.phi_pp, phi_pp, atol=1e-9) != differs
        assert np.allclose(state.phi_pm, phi_pm, atol=1e-9) != differs


def test_the_oldest_row_that_is_no_landmark_goes():
    irs = IRS(budget=4, landmark_count=2, rank=1, block_count=1, stored_rows=5)
    X = np.arange(12.0)[:, None]
    state = filled(irs, X[:4], seed=3)
    landmarks = state.rows[0, :2].tolist()
    others = [x for x in range(4) if x not in landmarks]
    for x in range(4, 12):
        irs.update(state, X[x : x + 1])
        others = [*others, x][-3:]
        assert state.rows[0, :2].tolist() == landmarks
        assert sorted(state.rows[0, 2:].tolist()) == others


def test_landmarks_are_drawn_evenly_and_each_once():
    irs = IRS(budget=6, landmark_count=2, rank=1, block_count=1)
    X = np.arange(6.0)[:, None]
    counts = np.zeros(6)
    for seed in range(600):
        drawn = filled(irs, X, seed).rows[0].astype(int)
        assert sorted(drawn) == list(range(6))
        counts[drawn[:2]] += 1
    assert counts.sum() == 1200
    assert (np.abs(counts - 200) < 50).all()  # four standard deviations are 46


def test_sketches_keep_squared_lengths_on_average():
    irs = IRS(budget=8, sketch_size=7, block_count=2, rank=1)
    a = examples(8, 1)[:, 0]
    squares = []
    for seed in range(2000):
        S = dense(filled(irs, examples(8, 1), seed))
        np.testing.assert_allclose((S**2).sum(axis=1), 1.0)
        assert (np.count_nonzero(S[:, :3], axis=1) == 1).all()
        assert (np.count_nonzero(S[:, 3:6], axis=1) == 1).all()
        squares.append(np.sum((S.T @ a) ** 2))
    mean, spread = np.mean(squares), np.std(squares) / np.sqrt(len(squares))
    assert abs(mean - a @ a) < 4 * spread
    assert np.var(squares) < 2 / 6 * (a @ a) ** 2  # Lemma 1 of the paper


def test_the_entries_of_a_row_are_drawn_evenly():
    entries = np.zeros((6000, 2), dtype=np.int32)
    draw_entries(seeded(4), 3, entries, 0, 6000)
    for block, columns in enumerate(entries.T):
        found, counts = np.unique(columns, return_counts=True)
        first = 3 * block + 1
        assert found.tolist() == [*range(-first - 2, -first + 1), *range(first, first + 3)]
        assert (np.abs(counts - 1000) < 120).all()  # four standard deviations are 115


def test_later_examples_change_the_map_and_bring_it_nearer():
    kernel = Gaussian(bandwidth=2.0)
    irs = IRS(budget=40, landmark_count=20, rank=20, stored_rows=400, kernel=kernel)
    Z = examples(50, 3, seed=2)
    true = matrix(kernel, Z, Z)
    errors = []
    for seed in range(10):
        state = filled(irs, examples(40, 3, seed=1), seed)
        first = np.linalg.norm(irs.kernel_estimate(state, Z, Z) - true)
        irs.update(state, examples(360, 3, seed=9))
        errors.append([first, np.linalg.norm(irs.kernel_estimate(state, Z, Z) - true)])
    first, last = np.mean(errors, axis=0)
    assert last != first
    assert last < first


def test_a_larger_sketch_brings_the_estimate_nearer():
    kernel = Gaussian(bandwidth=2.0)
    X = examples(80, 6, seed=1)
    true = matrix(kernel, X, X)
    errors = []
    for sketch_size in (30, 60, 400):
        irs = IRS(budget=40, sketch_size=sketch_size, kernel=kernel)
        states = [filled(irs, X, seed) for seed in range(5)]
        errors.append(np.mean([np.sum((irs.kernel_estimate(s, X, X) - true) ** 2) for s in states]))
    assert errors[1] < 0.7 * errors[0]
    assert errors[2] < 0.9 * errors[1]


def test_one_example_is_budget_enough():
    irs = IRS(budget=1)
    state = filled(irs, examples(5, 2))
    assert state.size == 2
    landmark = np.ascontiguousarray(state.rows[:, :1].T)
    assert irs.kernel_estimate(state, landmark, landmark)[0, 0] > 0.0


def test_every_so_many_examples_one_is_taken_in():
    irs = IRS(budget=4, landmark_count=2, rank=1, block_count=1, update_every=3, stored_rows=40)
    X = np.arange(20.0)[:, None]
    for cuts in ([], [4], [5, 6, 7], [2, 9, 13], range(1, 20)):
        state = irs.init(1)
        for part in np.split(X, list(cuts)):
            irs.update(state, part)
        assert state.rows[0, 4 : state.size].tolist() == [6.0, 9.0, 12.0, 15.0, 18.0]


def test_a_batch_is_its_rows_and_snapshots_are_complete():
    irs = make_map("irs", budget=12, stored_rows=15, update_every=2)
    X = examples(50, 4)
    whole = filled(irs, X, seed=1)
    state = irs.init(4, seed=1)
    for x in X:
        state = snapshot.restore(irs, snapshot.dumps(irs, state))
        irs.update(state, x[None])
        before = snapshot.dumps(irs, state)
        irs.features(state, X)
        assert snapshot.dumps(irs, state) == before
    assert snapshot.dumps(irs, state) == snapshot.dumps(irs, whole)
    features = irs.features(whole, X)
    np.testing.assert_array_equal(irs.features(state, X), features)
    np.testing.assert_array_equal(np.vstack([irs.features(state, x[None]) for x in X]), features)


def test_the_rows_reach_their_bound_and_memory_stays_within_its_own():
    irs = IRS(budget=12, stored_rows=29)
    state = irs.init(4)
    for x in examples(90, 4):
        irs.update(state, x[None])
        arrays = (state.rows, state.entries, state.phi_pp, state.phi_pm, state.projection)
        used = sum(array.nbytes for array in (*arrays, state.words))
        assert used <= irs.state_bytes_max(4)
    assert state.size == 29
    assert used == irs.state_bytes_max(4)


def test_a_million_examples_with_an_update_every_fifty_leave_no_round_off():
    irs = IRS(budget=40, update_every=50, stored_rows=60)
    state = irs.init(3)
    sizes = []
    for part in range(20):
        irs.update(state, examples(50_000, 3, seed=part))
        sizes.append(len(snapshot.dumps(irs, state)))
    assert state.seen == 1_000_000
    assert max(sizes) - min(sizes) < 10
    phi_pp, phi_pm = made_anew(irs, state)
    assert np.abs(state.phi_pp - phi_pp).max() < 1e-12
    assert np.abs(state.phi_pm - phi_pm).max() < 1e-12


def test_the_sketches_are_made_anew_now_and_then():
    irs = IRS(budget=12, stored_rows=15)
    state = filled(irs, examples(12, 3))
    state.phi_pp += 1.0
    state.phi_pm += 1.0
    take_into_sketches(irs, state, examples(999, 3, seed=1))
    assert state.updates == 999
    assert np.abs(state.phi_pp - made_anew(irs, state)[0]).max() > 0.9
    take_into_sketches(irs, state, examples(1, 3, seed=2))
    assert state.updates == 0
    phi_pp, phi_pm = made_anew(irs, state)
    np.testing.assert_allclose(state.phi_pp, phi_pp, atol=1e-12)
    np.testing.assert_allclose(state.phi_pm, phi_pm, atol=1e-12)


def test_a_far_example_leaves_no_round_off_behind():
    irs = IRS(budget=12, stored_rows=13, kernel=Polynomial(degree=2))
    state = filled(irs, examples(12, 3))
    irs.update(state, np.full((1, 3), 1e5))
    irs.update(state, examples(7, 3, seed=1))
    phi_pp, phi_pm = made_anew(irs, state)
    np.testing.assert_allclose(state.phi_pp, phi_pp, atol=1e-9)
    np.testing.assert_allclose(state.phi_pm, phi_pm, atol=1e-9)


def test_an_overflow_makes_features_of_zeros_until_its_rows_are_gone():
    irs = IRS(budget=4, landmark_count=2, rank=2, block_count=1, stored_rows=5, kernel=Polynomial())
    state = filled(irs, examples(4, 2))
    good = irs.features(state, np.ones((1, 2)))
    irs.update(state, np.full((1, 2), 1e200))
    assert irs.features(state, np.ones((1, 2))).tolist() == [[0.0]]
    irs.update(state, examples(3, 2, seed=1))
    features = irs.features(state, np.ones((1, 2)))
    assert features.any()
    assert features.tolist() != good.tolist()


def test_before_the_buffer_is_full_there_are_no_features():
    irs = IRS(budget=5)
    state = irs.init(2)
    assert irs.features(state, np.zeros((4, 2))).shape == (4, 0)
    irs.update(state, np.zeros((0, 2)))
    irs.update(state, examples(4, 2))
    assert irs.features(state, np.zeros((4, 2))).shape == (4, 0)
    assert state.phi_pp.size == 0
    irs.update(state, examples(1, 2))
    assert state.rank > 0


def test_examples_without_similarity_make_one_feature_of_zeros():
    irs = IRS(budget=5, kernel=Linear())
    state = filled(irs, np.zeros((9, 2)))
    assert irs.features(state, examples(3, 2)).tolist() == [[0.0]] * 3


def test_repeated_examples_lower_the_rank():
    irs = IRS(budget=8, landmark_count=8, rank=6)
    state = filled(irs, np.tile([[0.0], [1.0]], (8, 1)))
    assert state.rank <= 2
    assert np.isfinite(state.projection).all()


def test_the_map_is_a_function_of_the_sketches():
    irs = IRS(budget=12)
    state = filled(irs, examples(30, 3))
    np.testing.assert_array_equal(sketch_projection(irs, state), state.projection)
    anew = state.phi_pp.copy(), state.phi_pm.copy()
    sketch_rows(irs.kernel.native, state.rows, state.entries, state.size, *anew)
    np.testing.assert_allclose(anew[0], state.phi_pp, atol=1e-12)
    np.testing.assert_allclose(anew[1], state.phi_pm, atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"landmark_count": 21}, "landmark_count must be at most the budget of 20, not 21"),
        ({"block_count": 9, "sketch_size": 8}, "block_count must be at most the sketch_size of 8"),
        ({"rank": 11}, "rank must be at most the landmark_count of 10, not 11"),
        ({"rank": 9, "sketch_size": 8}, "rank must be at most the sketch_size of 8, not 9"),
        ({"stored_rows": 19}, "stored_rows must be at least 20, .* not 19"),
        ({"stored_rows": 20, "landmark_count": 20}, "stored_rows must be at least 21, .* not 20"),
    ],
)
def test_sizes_that_do_not_go_together_are_refused(settings, reason):
    with pytest.raises(ValueError, match=f"irs: {reason}"):
        IRS(budget=20, **settings)
    with pytest.raises(ValueError, match=f"irs: {reason}"):
        make_map("irs", budget=20, **settings)
