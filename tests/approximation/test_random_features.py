"""Random Fourier features: their directions, and how well they stand in for a kernel."""

import numpy as np
import pytest

from okl_flow import Gaussian, Laplacian, Polynomial, make_map, snapshot
from okl_flow.approximation.random_features import RandomFourier, fourier_directions
from tests import plain

KERNELS = [Gaussian(bandwidth=1.5), Laplacian(bandwidth=3.0)]


def examples(count, dim, seed=0):
    return np.random.default_rng(seed).standard_normal((count, dim))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("feature_count", "dim"), [(1, 1), (7, 3), (20, 8)])
def test_the_features_are_the_plain_formula(kernel, feature_count, dim):
    fourier = RandomFourier(feature_count=feature_count, kernel=kernel, seed=5)
    X = examples(10, dim)
    oracle = plain.Fourier(kernel, feature_count, dim, seed=5)
    features = fourier.features(fourier.init(dim), X)
    np.testing.assert_allclose(features, [oracle.features(x) for x in X], atol=1e-13)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_kernel_estimate_closes_in_as_directions_are_added(kernel):
    X, Z = examples(40, 4), examples(30, 4, seed=1)
    similarity = plain.kernel_of(kernel)
    true = np.array([[similarity(x, z) for z in Z] for x in X])
    errors = []
    for feature_count in (30, 300, 3000, 30000):
        fourier = RandomFourier(feature_count=feature_count, kernel=kernel)
        estimate = fourier.kernel_estimate(fourier.init(4), X, Z)
        errors.append(np.sqrt(np.mean((estimate - true) ** 2)))
    # An average over D directions is off by at most 1/sqrt(2 D) in the root mean square.
    assert errors == sorted(errors, reverse=True)
    for error, feature_count in zip(errors, (30, 300, 3000, 30000), strict=True):
        assert error < 1.2 / np.sqrt(2 * feature_count)


def test_an_example_is_at_similarity_one_with_itself():
    fourier = RandomFourier(feature_count=3)
    x = examples(1, 6)
    assert fourier.kernel_estimate(fourier.init(6), x, x)[0, 0] == pytest.approx(1.0, abs=1e-14)


def test_more_directions_begin_with_the_same_ones():
    few, many = (fourier_directions(Gaussian(), count, 4, 9) for count in (10, 25))
    np.testing.assert_array_equal(few, many[:, :10])


def test_directions_are_shared_and_cannot_be_written_to():
    first = fourier_directions(Gaussian(bandwidth=0.5), 10, 4, 9)
    assert fourier_directions(Gaussian(bandwidth=0.5), 10, 4, 9) is first
    assert fourier_directions(Gaussian(bandwidth=0.5), 10, 4, 8) is not first
    with pytest.raises(ValueError, match="read-only"):
        first[0, 0] = 1.0


def test_the_directions_kept_are_bounded():
    for seed in range(100):
        fourier_directions(Gaussian(), 2, 1, seed)
    assert fourier_directions.cache_info().currsize <= 32


@pytest.mark.parametrize("kernel", KERNELS)
def test_directions_of_a_seed_never_change(kernel):
    golden = {
        "gaussian": [
            -0.22630398599614512,
            0.7806716508975665,
            -0.4389649593376142,
            0.23540787884361825,
        ],
        "laplacian": [
            0.02563501023027757,
            -0.250428381183289,
            -0.3471207766026024,
            -0.08373912436564811,
        ],
    }
    drawn = fourier_directions(kernel, 2, 2, 2024)
    np.testing.assert_allclose(drawn.T.ravel(), golden[kernel.name], rtol=1e-13)


def test_an_update_only_counts():
    fourier = RandomFourier(feature_count=4)
    state = fourier.init(2)
    before = fourier.features(state, examples(3, 2))
    fourier.update(state, examples(50, 2))
    np.testing.assert_array_equal(fourier.features(state, examples(3, 2)), before)
    assert state.seen == 50
    assert fourier.state_bytes_max(2) == 0


def test_a_snapshot_keeps_the_count_and_draws_the_directions_again():
    fourier = make_map("random_fourier", feature_count=4, kernel="laplacian", bandwidth=0.3)
    state = fourier.init(2)
    fourier.update(state, examples(50, 2))
    again, restored = snapshot.loads(snapshot.dumps(fourier, state))
    assert again == fourier
    assert restored == state
    X = examples(3, 2)
    before = fourier.features(state, X)
    fourier_directions.cache_clear()
    np.testing.assert_array_equal(again.features(restored, X), before)


def test_other_kernels_are_refused():
    with pytest.raises(ValueError, match="kernel must be gaussian or laplacian, not polynomial"):
        RandomFourier(kernel=Polynomial())


def test_examples_of_another_dimension_are_refused():
    fourier = RandomFourier(feature_count=4)
    with pytest.raises(ValueError, match=r"shape \(events, 3\)"):
        fourier.features(fourier.init(3), np.zeros((2, 2)))
