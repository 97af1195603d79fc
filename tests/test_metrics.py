"""Running metrics against plain numpy."""

import numpy as np
import pytest

from okl_flow import (
    Binary,
    EpsilonInsensitive,
    Hinge,
    Logistic,
    Multiclass,
    Regression,
    Square,
    SquaredHinge,
)
from okl_flow.metrics import (
    ClassificationMetrics,
    Curve,
    RegressionMetrics,
    Window,
    running_metrics,
)

PLAIN = {
    Hinge(): lambda f, y: np.maximum(0.0, 1.0 - y * f),
    SquaredHinge(): lambda f, y: np.maximum(0.0, 1.0 - y * f) ** 2,
    Logistic(): lambda f, y: np.logaddexp(0.0, -y * f),
    Square(): lambda f, y: (f - y) ** 2,
    EpsilonInsensitive(epsilon=0.3): lambda f, y: np.maximum(0.0, np.abs(f - y) - 0.3),
}
CLASSIFYING = [loss for loss in PLAIN if loss.classifies]
REGRESSING = [loss for loss in PLAIN if loss.regresses]


def stream(task, count=400, seed=5):
    """Scores with zeros and ties among them, and labels of which some are missing."""
    generator = np.random.default_rng(seed)
    shape = (count,) if task.outputs == 1 else (count, task.outputs)
    scores = np.round(generator.normal(size=shape), 1)
    if isinstance(task, Binary):
        y = generator.choice([-1.0, 1.0], size=count, p=[0.3, 0.7])
    elif isinstance(task, Multiclass):
        y = generator.integers(0, task.classes, size=count).astype(float)
    else:
        y = generator.normal(3.0, 2.0, size=count)
    y[generator.random(count) < 0.1] = np.nan
    return scores, y


def fed(task, scores, y, loss, cuts=()):
    """Metrics of a stream that is cut into batches."""
    metrics = running_metrics(task)
    parts = zip(np.split(scores, cuts), np.split(y, cuts), strict=True)
    errors = [metrics.update(f, labels, loss) for f, labels in parts]
    return metrics, np.concatenate(errors)


@pytest.mark.parametrize("loss", CLASSIFYING, ids=lambda loss: loss.name)
def test_binary_metrics_are_those_of_numpy(loss):
    scores, y = stream(Binary())
    metrics, errors = fed(Binary(), scores, y, loss)
    known = ~np.isnan(y)
    f, labels = scores[known], y[known]
    assert np.any(f == 0.0)
    assert (metrics.events, metrics.labelled) == (len(y), known.sum())
    assert metrics.mistake_rate == pytest.approx(np.mean(labels * f <= 0))
    assert metrics.mistake_rate_papers == pytest.approx(np.mean(labels * f < 0))
    assert metrics.majority_rate == pytest.approx(min(np.mean(labels > 0), np.mean(labels < 0)))
    assert metrics.loss == pytest.approx(np.mean(PLAIN[loss](f, labels)), rel=1e-13)
    np.testing.assert_array_equal(errors[known], labels * f <= 0)
    assert np.isnan(errors[~known]).all()


@pytest.mark.parametrize("loss", CLASSIFYING, ids=lambda loss: loss.name)
@pytest.mark.parametrize("classes", [2, 4])
def test_multiclass_metrics_are_those_of_numpy(loss, classes):
    task = Multiclass(classes=classes)
    scores, y = stream(task)
    metrics, errors = fed(task, scores, y, loss)
    known = ~np.isnan(y)
    f, labels = scores[known], y[known].astype(int)
    true = f[np.arange(len(f)), labels]
    targets = np.where(np.arange(classes) == labels[:, None], 1.0, -1.0)
    wrong = np.argmax(f, axis=1) != labels
    assert metrics.mistake_rate == pytest.approx(np.mean(wrong))
    assert metrics.mistake_rate_papers == pytest.approx(np.mean(true < f.max(axis=1)))
    assert metrics.mistake_rate_papers < metrics.mistake_rate, "the stream should have ties"
    assert metrics.majority_rate == pytest.approx(1 - np.bincount(labels).max() / len(labels))
    assert metrics.loss == pytest.approx(np.mean(PLAIN[loss](f, targets)), rel=1e-13)
    np.testing.assert_array_equal(errors[known], wrong)


@pytest.mark.parametrize("loss", REGRESSING, ids=lambda loss: loss.name)
def test_regression_metrics_are_those_of_numpy(loss):
    scores, y = stream(Regression())
    metrics, errors = fed(Regression(), scores, y, loss)
    known = ~np.isnan(y)
    f, labels = scores[known], y[known]
    means = np.concatenate([[0.0], np.cumsum(labels)[:-1] / np.arange(1, len(labels))])
    assert (metrics.events, metrics.labelled) == (len(y), known.sum())
    assert metrics.rmse == pytest.approx(np.sqrt(np.mean((f - labels) ** 2)), rel=1e-13)
    assert metrics.mae == pytest.approx(np.mean(np.abs(f - labels)), rel=1e-13)
    baseline = np.sqrt(np.mean((means - labels) ** 2))
    assert metrics.rmse_of_running_mean == pytest.approx(baseline, rel=1e-13)
    assert metrics.loss == pytest.approx(np.mean(PLAIN[loss](f, labels)), rel=1e-13)
    np.testing.assert_allclose(errors[known], (f - labels) ** 2, rtol=1e-15)


@pytest.mark.parametrize("task", [Binary(), Multiclass(classes=3), Regression()])
def test_batches_change_nothing(task):
    scores, y = stream(task)
    whole, errors = fed(task, scores, y, Square())
    cut, cut_errors = fed(task, scores, y, Square(), cuts=[0, 1, 2, 50, 50, 399])
    assert whole.values() == cut.values()
    np.testing.assert_array_equal(errors, cut_errors)


def test_the_running_mean_of_far_off_labels_keeps_its_digits():
    y = 1e9 + np.tile([0.0, 1.0], 5000)
    metrics = RegressionMetrics()
    metrics.update(y, y, Square())
    assert metrics.label_mean == pytest.approx(1e9 + 0.5, rel=1e-15)


def test_before_the_first_label_nothing_is_known():
    for task in (Binary(), Multiclass(classes=3), Regression()):
        metrics = running_metrics(task)
        metrics.update(np.zeros((2, 3) if task.outputs == 3 else 2), [np.nan, np.nan], Square())
        assert metrics.events == 2
        assert all(np.isnan(value) for value in metrics.values().values())
        metrics.update(np.zeros((0, 3) if task.outputs == 3 else 0), [], Square())
        assert metrics.events == 2


def test_a_score_that_is_no_number_is_wrong():
    binary = running_metrics(Binary())
    binary.update([np.nan, np.nan], [1.0, -1.0], Hinge())
    assert (binary.mistakes, binary.mistakes_papers) == (2, 2)
    several = running_metrics(Multiclass(classes=2))
    several.update([[np.nan, 0.0], [1.0, np.nan]], [0.0, 0.0], Hinge())
    assert (several.mistakes, several.mistakes_papers) == (2, 2)
    regression = running_metrics(Regression())
    assert regression.update([np.nan], [1.0], Square()) == [np.inf]
    assert regression.rmse == np.inf


@pytest.mark.parametrize(
    ("task", "scores", "y", "message"),
    [
        (Binary(), [0.0], [0.5], "must be -1 or .1"),
        (Binary(), [0.0], [0.0, 1.0], "one label per event"),
        (Multiclass(classes=3), [[0.0, 0.0, 0.0]], [3.0], "from 0 to 2"),
        (Multiclass(classes=3), [[0.0, 0.0]], [1.0], "3 columns"),
        (Multiclass(classes=3), [0.0], [1.0], "3 columns"),
        (Regression(), [[0.0, 1.0]], [1.0], "one number per event"),
        (Regression(), [0.0], [np.inf], "finite"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(task, scores, y, message):
    metrics = running_metrics(task)
    with pytest.raises(ValueError, match=message):
        metrics.update(scores, y, Square())
    assert metrics.events == 0
    assert metrics.labelled == 0


@pytest.mark.parametrize("length", [1, 3, 50, 1000])
@pytest.mark.parametrize("batch", [1, 7, 400])
def test_the_window_holds_the_last_errors(length, batch):
    errors = np.random.default_rng(2).random(400)
    errors[::9] = np.nan
    window = Window(np.zeros(length))
    assert np.isnan(window.mean)
    for end in range(batch, 401, batch):
        window.update(errors[end - batch : end])
        known = errors[:end][~np.isnan(errors[:end])]
        if known.size:
            assert window.mean == pytest.approx(known[-length:].mean(), rel=1e-14)


def test_a_window_forgets_huge_errors_without_a_trace():
    window = Window(np.zeros(2))
    window.update([1e300, 1e-3, 1e-3])
    assert window.mean == 1e-3


def test_a_window_needs_a_length():
    with pytest.raises(ValueError, match="at least 1"):
        Window(np.zeros(0))


@pytest.mark.parametrize("batch", [1, 64, 5000])
def test_a_curve_of_any_stream_is_short_and_exact_at_its_points(batch):
    errors = np.random.default_rng(4).random(5000)
    errors[:3] = np.nan
    errors[100::11] = np.nan
    curve = Curve(Window(np.zeros(30)))
    for begin in range(0, 5000, batch):
        curve.update(errors[begin : begin + batch])
    assert 500 <= len(curve.events) <= 1000
    assert set(np.diff(curve.events)) == {8}
    assert curve.events[0] == 8
    assert curve.events[-1] == 5000
    for at in (0, 1, 17, -1):
        known = errors[: curve.events[at]]
        known = known[~np.isnan(known)]
        assert curve.cumulative[at] == pytest.approx(known.mean(), rel=1e-13)
        assert curve.sliding[at] == pytest.approx(known[-30:].mean(), rel=1e-13)


def test_a_curve_does_not_depend_on_the_batches():
    errors = np.random.default_rng(4).random(3000)
    curves = []
    for batch in (1, 777, 3000):
        curve = Curve(Window(np.zeros(30)))
        for begin in range(0, 3000, batch):
            curve.update(errors[begin : begin + batch])
        curves.append((curve.events, curve.cumulative, curve.sliding))
    assert curves[0] == curves[1] == curves[2]


def test_counts_are_of_the_classes():
    metrics = running_metrics(Binary())
    assert isinstance(metrics, ClassificationMetrics)
    metrics.update([0.0, 0.0, 0.0], [1.0, -1.0, 1.0], Hinge())
    assert metrics.counts.tolist() == [1, 2]
