"""Kernel alignment, of a table and of a stream, against the formula."""

import numpy as np
import pytest

from okl_flow import Multiclass, Regression, make_learner, snapshot, streams
from okl_flow.alignment import CANDIDATES, KernelAlignment, kernel_alignment
from okl_flow.factory import make_statistic

WIDTHS = [0.05, 0.4, 1.0, 3.0, 40.0]


def kernel_of(X, bandwidth, kernel="gaussian"):
    if kernel == "gaussian":
        return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / (2 * bandwidth**2))
    return np.exp(-abs(X[:, None] - X[None]).sum(axis=2) / bandwidth)


def plain(X, y, bandwidths, centered, *, kernel="gaussian", classes=False):
    """The formula, one matrix after the other."""
    T = np.where(y[:, None] == y[None], 1.0, -1.0) if classes else np.outer(y, y)
    H = np.eye(len(y)) - centered / len(y)
    found = []
    for bandwidth in bandwidths:
        K = H @ kernel_of(X, bandwidth, kernel) @ H
        found.append(np.sum(K * T) / (np.linalg.norm(K) * np.linalg.norm(T)))
    return np.array(found)


def events(count, task=None, seed=3):
    """A stream of some task, and that task."""
    if task == "regression":
        return *streams.waves(count, dim=3, seed=seed), Regression()
    X, y = streams.rotating(count, dim=3, seed=seed)
    if task == "multiclass":
        return X, (y > 0) + (X[:, 2] > 0.3).astype(float), Multiclass(classes=3)
    return X, y, None


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("kernel", ["gaussian", "laplacian"])
@pytest.mark.parametrize("centered", [True, False])
def test_it_is_the_formula(task, kernel, centered):
    for count in (2, 3, 9, 120):
        X, y, known = events(count, task)
        found = kernel_alignment(X, y, WIDTHS, centered, kernel=kernel, task=known)
        expected = plain(X, y, WIDTHS, centered, kernel=kernel, classes=task == "multiclass")
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("centered", [True, False])
def test_the_kernel_that_is_the_target_has_all_there_is(centered):
    # Two points far apart: K is 1 within a class; across it is 0, which centring turns into -1.
    X, y = np.array([[0.0], [0.0], [9.0], [9.0]]), np.array([1.0, 1.0, -1.0, -1.0])
    found = kernel_alignment(X, y, [0.1], centered)
    np.testing.assert_allclose(found, [1.0 if centered else np.sqrt(0.5)], rtol=1e-14)


def test_a_narrow_kernel_is_the_identity_and_a_wide_one_a_constant():
    X, y, _ = events(50)
    np.testing.assert_allclose(
        kernel_alignment(X, y, [1e-4, 1e6], centered=False),
        [1 / np.sqrt(50), y.sum() ** 2 / 50**2],
        rtol=1e-9,
    )
    # Centred, a wide gaussian is the linear kernel.
    Z = X - X.mean(axis=0)
    linear = np.sum((y @ Z) ** 2) / (np.linalg.norm(Z @ Z.T) * 50)
    found = kernel_alignment(X, y, [1e2], centered=True)
    np.testing.assert_allclose(found, [linear], rtol=1e-3)


def test_a_wide_kernel_is_not_lost_in_round_off():
    X, y, _ = events(200)
    narrower, wider = kernel_alignment(X, y, [1e3, 1e4], centered=True)
    assert wider == pytest.approx(narrower, rel=1e-3)


@pytest.mark.parametrize("centered", [True, False])
def test_units_do_not_matter(centered):
    X, y, task = events(60, "regression")
    expected = kernel_alignment(X, y, WIDTHS, centered, task=task)
    widths = [4 * width for width in WIDTHS]
    np.testing.assert_array_equal(
        kernel_alignment(4 * X, -8 * y, widths, centered, task=task), expected
    )
    order = np.random.default_rng(1).permutation(60)
    np.testing.assert_allclose(
        kernel_alignment(X[order] + 2.0, y[order], WIDTHS, centered, task=task),
        expected,
        rtol=1e-10,
    )


def test_two_classes_are_two_labels():
    X, y, _ = events(80)
    np.testing.assert_allclose(
        kernel_alignment(X, (y > 0).astype(float), WIDTHS, task=Multiclass(classes=2)),
        kernel_alignment(X, y, WIDTHS),
        rtol=1e-10,
    )


def test_where_there_is_nothing_to_align_it_is_0():
    X, y, _ = events(20)
    np.testing.assert_allclose(kernel_alignment(X, np.ones(20), WIDTHS), 0.0, atol=1e-14)
    np.testing.assert_array_equal(kernel_alignment(np.ones((20, 2)), y, WIDTHS), 0.0)
    np.testing.assert_array_equal(kernel_alignment(X, 0 * y, WIDTHS, task=Regression()), 0.0)


def test_the_right_width_is_found():
    X, y = streams.rings(600, noise=0.0, seed=2)
    best = CANDIDATES[np.argmax(kernel_alignment(X, y))]
    assert 0.3 < best < 1.5
    assert len(CANDIDATES) == 25
    assert (CANDIDATES[0], CANDIDATES[-1]) == (2.0**-5, 2.0**7)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (([[1.0]], [1.0]), "at least 2 labelled examples, not 1"),
        (([[1.0], [2.0], [3.0]], [1.0, np.nan, np.nan]), "at least 2 labelled examples, not 1"),
        (([[1.0], [np.inf]], [1.0, -1.0]), "row 1, feature 0 is inf"),
        (([[1.0], [2.0]], [1.0, 0.5]), "row 1 is 0.5"),
        (([[1.0], [2.0]], [1.0]), r"y must have shape \(2,\)"),
        (([1.0, 2.0], [1.0, -1.0]), "X must be a table"),
        (([[1.0], [2.0]], [1.0, -1.0], [1.0, 0.0]), "bandwidths must be"),
        (([[1.0], [2.0]], [1.0, -1.0], 1.0), "bandwidths must be"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, reason):
    with pytest.raises(ValueError, match=reason):
        kernel_alignment(*arguments)


def test_an_unknown_kernel_is_refused():
    with pytest.raises(ValueError, match="kernel must be one of gaussian, laplacian"):
        kernel_alignment([[1.0], [2.0]], [1.0, -1.0], kernel="linear")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"budget": 1}, "budget must be a whole number at least 2, not 1"),
        ({"centered": 1}, "centered must be True or False, not 1"),
        ({"kernel": "linear"}, "kernel must be one of gaussian, laplacian"),
        ({"bandwidth_min": 2.0, "bandwidth_max": 1.0}, "bandwidth_max must be at least"),
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(settings, reason):
    with pytest.raises(ValueError, match=reason):
        KernelAlignment(**settings)


def test_the_bandwidths_are_those_of_the_papers_unless_told_otherwise():
    np.testing.assert_allclose(KernelAlignment().bandwidths, CANDIDATES, rtol=1e-15)
    few = KernelAlignment(bandwidth_min=0.3, bandwidth_max=3.0, per_octave=1)
    np.testing.assert_allclose(few.bandwidths, [0.3, 0.6, 1.2, 2.4])
    one = KernelAlignment(bandwidth_min=0.3, bandwidth_max=0.3)
    assert one.bandwidths.tolist() == [0.3]
    for steps in range(1, 8):  # round-off loses no last step
        thirds = KernelAlignment(
            bandwidth_min=0.2, bandwidth_max=0.2 * 2.0 ** (steps / 3), per_octave=3
        )
        assert len(thirds.bandwidths) == steps + 1


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("kernel", ["gaussian", "laplacian"])
@pytest.mark.parametrize("centered", [True, False])
def test_a_stream_has_the_alignment_of_its_window(task, kernel, centered):
    X, y, known = events(900, task)
    y[5::17] = np.nan
    alignment = KernelAlignment(
        budget=40,
        centered=centered,
        kernel=kernel,
        bandwidth_min=0.02,
        bandwidth_max=50.0,
        **({"task": known} if known else {}),
    )
    state = alignment.init(3)
    generator = np.random.default_rng(8)
    end = 0
    while end < len(X):
        begin, end = end, min(end + int(generator.integers(1, 30)), len(X))
        alignment.update(state, X[begin:end], y[begin:end])
        labelled = np.flatnonzero(~np.isnan(y[:end]))[-40:]
        if len(labelled) < 2:
            continue
        expected = kernel_alignment(
            X[labelled], y[labelled], alignment.bandwidths, centered, kernel=kernel, task=known
        )
        np.testing.assert_allclose(alignment.alignments(state), expected, rtol=0, atol=1e-10)
        assert alignment.best(state) == alignment.bandwidths[np.argmax(expected)]
    assert (state.size, state.seen) == (40, 900)


def test_batches_leave_no_trace():
    X, y, _ = events(200)
    alignment = KernelAlignment(budget=30)
    whole, pieces = alignment.init(3), alignment.init(3)
    alignment.update(whole, X, y)
    for x, label in zip(X, y, strict=True):
        alignment.update(pieces, x[None], [label])
    assert snapshot.dumps(alignment, whole) == snapshot.dumps(alignment, pieces)


def test_a_long_stream_does_not_drift_away():
    X, y, _ = events(50_000)
    X[777] *= 1e3  # what is far out comes and goes
    alignment = KernelAlignment(budget=25, per_octave=1)
    state = alignment.init(3)
    for begin in range(0, 50_000, 617):
        alignment.update(state, X[begin : begin + 617], y[begin : begin + 617])
        end = min(begin + 617, 50_000)
        expected = kernel_alignment(X[end - 25 : end], y[end - 25 : end], alignment.bandwidths)
        np.testing.assert_allclose(alignment.alignments(state), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("centered", [True, False])
def test_it_is_saved_and_goes_on(centered):
    X, y, _ = events(300)
    alignment = KernelAlignment(budget=50, centered=centered)
    state = alignment.init(3)
    for end in (0, 1, 30, 120):
        alignment.update(state, X[state.seen : end], y[state.seen : end])
        blob = snapshot.dumps(alignment, state)
        again, restored = snapshot.loads(blob)
        assert again == alignment
        assert snapshot.dumps(again, snapshot.restore(alignment, blob)) == blob
        whole = alignment.init(3)
        alignment.update(whole, X, y)
        again.update(restored, X[end:], y[end:])
        assert snapshot.dumps(again, restored) == snapshot.dumps(alignment, whole)
    assert snapshot.inspect(blob)["statistic"] == "kernel_alignment"
    with pytest.raises(snapshot.SnapshotError, match="its centered is"):
        snapshot.restore(KernelAlignment(budget=50, centered=not centered), blob)
    with pytest.raises(snapshot.SnapshotError, match="'kogd'"):
        snapshot.restore(make_learner("kogd"), blob)


@pytest.mark.parametrize("centered", [True, False])
def test_its_memory_is_bounded(centered):
    X, y, _ = events(500)
    alignment = KernelAlignment(budget=50, centered=centered)
    state = alignment.init(3)
    fresh = len(snapshot.dumps(alignment, state))
    assert fresh < 300 + len(str(alignment.describe())) + 2 * 8 * len(CANDIDATES)
    alignment.update(state, X, y)
    held = (state.rows, state.labels, state.aligned, state.squared, state.row_sums)
    assert sum(array.nbytes for array in held) == alignment.state_bytes_max(3)


def test_bad_events_change_nothing():
    X, y, _ = events(60)
    alignment = KernelAlignment(budget=50)
    state = alignment.init(3)
    alignment.update(state, X, y)
    before = snapshot.dumps(alignment, state)
    for bad_X, bad_y in ((X * np.nan, y), (X, y + 0.5), (X[:, 1:], y), (X, y[1:])):
        with pytest.raises(ValueError, match="must"):
            alignment.update(state, bad_X, bad_y)
    assert snapshot.dumps(alignment, state) == before


def test_it_is_made_by_name():
    made = make_statistic("kernel_alignment", budget=60, task="multiclass", classes=4)
    assert made == KernelAlignment(budget=60, task=Multiclass(classes=4))
    assert make_statistic(**made.describe()) == made
    with pytest.raises(ValueError, match="no statistic 'kernel_aligment'; did you mean"):
        make_statistic("kernel_aligment")
    with pytest.raises(ValueError, match="no parameter 'buget'"):
        make_statistic("kernel_alignment", buget=3)
