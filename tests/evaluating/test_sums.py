"""The figures of a row against scikit-learn, and rows against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from okl_flow import Binary, Multiclass, Regression
from okl_flow.evaluating.sums import (
    COUNT,
    ENTRY,
    LOSS,
    add,
    add_entries,
    area_under_curve,
    baseline_of,
    class_positions,
    classes_of,
    fade,
    figure_names,
    fill_figures,
    merge,
    width_of,
)


def entries_of(classes, count, seed, known=None):
    """Judged predictions at random, the baseline's beside them, some without a loss."""
    generator = np.random.default_rng(seed)
    entries = np.zeros((count, ENTRY))
    if classes:
        shares = generator.dirichlet(np.full(known or classes, 0.7))
        entries[:, 0] = generator.choice(known or classes, size=count, p=shares)
        guesses = generator.integers(0, classes, size=count)
        entries[:, 1] = np.where(generator.random(count) < 0.6, entries[:, 0], guesses)
    else:
        entries[:, 0] = generator.normal(5.0, 2.0, size=count)
        entries[:, 1] = entries[:, 0] + generator.normal(0.2, 1.0, size=count)
    entries[:, 3] = generator.exponential(size=count)
    entries[4::9, 3] = np.nan
    entries[:, 4] = np.round(generator.normal(entries[:, 0]), 1)
    row = np.zeros(width_of(classes))
    for entry in entries:
        entry[2] = baseline_of(row, classes)
        add(row, classes, 1.0, *entry[:4])
    return entries, row


def figures_of(row, classes):
    figures = np.empty(6)
    fill_figures(row, classes, figures)
    return dict(zip(figure_names(classes), figures.tolist(), strict=True))


@pytest.mark.parametrize(("classes", "known"), [(2, 2), (5, 5), (5, 3), (2, 1)])
@pytest.mark.parametrize("count", [1, 2, 30, 400])
def test_class_figures_are_those_of_sklearn(classes, known, count):
    entries, row = entries_of(classes, count, seed=count + classes, known=known)
    truth, guess = entries[:, 0], entries[:, 1]
    figures = figures_of(row, classes)
    assert figures["mistake_rate"] == pytest.approx(np.mean(truth != guess))
    assert figures["loss"] == pytest.approx(np.nanmean(entries[:, 3]))
    recalls = [np.mean(guess[truth == c] == c) for c in set(truth.tolist())]
    assert figures["balanced_accuracy"] == pytest.approx(np.mean(recalls))
    if len(set(truth) | set(guess)) > 1:
        kappa = metrics.cohen_kappa_score(truth, guess)
        assert figures["kappa"] == pytest.approx(kappa)
    else:
        assert np.isnan(figures["kappa"])
    if classes > 2:
        f1 = metrics.f1_score(truth, guess, average="macro")
        assert figures["f1"] == pytest.approx(f1)
    elif np.any(truth == 1) or np.any(guess == 1):
        assert figures["f1"] == pytest.approx(metrics.f1_score(truth, guess))
    else:
        assert np.isnan(figures["f1"])
    if len(set(truth)) > 1 and set(guess) <= set(truth):
        balanced = metrics.balanced_accuracy_score(truth, guess)
        assert figures["balanced_accuracy"] == pytest.approx(balanced)


@pytest.mark.parametrize("count", [2, 30, 400])
def test_regression_figures_are_those_of_sklearn(count):
    entries, row = entries_of(0, count, seed=count)
    truth, guess, baseline = entries[:, 0], entries[:, 1], entries[:, 2]
    figures = figures_of(row, 0)
    assert figures["rmse"] == pytest.approx(metrics.root_mean_squared_error(truth, guess))
    assert figures["mae"] == pytest.approx(metrics.mean_absolute_error(truth, guess))
    assert figures["r2"] == pytest.approx(metrics.r2_score(truth, guess))
    assert figures["baseline_rmse"] == pytest.approx(np.sqrt(np.mean((truth - baseline) ** 2)))
    assert figures["baseline_mae"] == pytest.approx(np.mean(np.abs(truth - baseline)))
    means = np.concatenate([[0.0], np.cumsum(truth)[:-1] / np.arange(1, count)])
    np.testing.assert_allclose(baseline, means, rtol=1e-12)


def test_the_baseline_of_classes_is_the_commonest_label_before():
    entries, row = entries_of(4, 300, seed=3)
    truth = entries[:, 0].astype(int)
    wrong = 0
    for i, label in enumerate(truth):
        counts = np.bincount(truth[:i], minlength=4)
        assert entries[i, 2] == np.argmax(counts)
        wrong += np.argmax(counts) != label
    assert figures_of(row, 4)["baseline_mistake_rate"] == pytest.approx(wrong / 300)


@pytest.mark.parametrize("classes", [2, 5, 0])
def test_fading_forwards_is_weighing_backwards_is_the_plain_sum(classes):
    entries, _row = entries_of(classes, 500, seed=8)
    keep = 1.0 - 1.0 / 50
    forwards, backwards = np.zeros((2, width_of(classes)))
    for entry in entries:
        fade(forwards, classes, keep)
        add(forwards, classes, 1.0, *entry[:4])
    following = add_entries(backwards, classes, 1.0, keep, entries)
    np.testing.assert_allclose(forwards, backwards, rtol=1e-9)
    weights = keep ** np.arange(499, -1, -1)
    assert following == pytest.approx(keep**500)
    assert forwards[COUNT] == pytest.approx(weights.sum())
    assert forwards[LOSS] == pytest.approx(np.nansum(weights * entries[:, 3]))
    figures = figures_of(forwards, classes)
    truth, guess = entries[:, 0], entries[:, 1]
    if classes:
        kappa = metrics.cohen_kappa_score(truth, guess, sample_weight=weights)
        assert figures["kappa"] == pytest.approx(kappa)
    else:
        r2 = metrics.r2_score(truth, guess, sample_weight=weights)
        assert figures["r2"] == pytest.approx(r2)


@pytest.mark.parametrize("classes", [2, 5, 0])
def test_merged_rows_are_the_row_of_all(classes):
    entries, whole = entries_of(classes, 300, seed=4)
    merged = np.zeros(width_of(classes))
    for part in (entries[:0], entries[:7], entries[7:100], entries[100:]):
        row = np.zeros(width_of(classes))
        for entry in part:
            add(row, classes, 1.0, *entry[:4])
        merge(merged, row, classes)
    np.testing.assert_allclose(merged, whole, rtol=1e-12)


def test_the_spread_of_far_off_labels_keeps_its_digits():
    row = np.zeros(width_of(0))
    labels = 1e9 + np.tile([0.0, 1.0], 2000)
    for label in labels:
        add(row, 0, 1.0, label, label + 0.1, 0.0, np.nan)
    assert figures_of(row, 0)["r2"] == pytest.approx(1.0 - 0.01 / 0.25, rel=1e-6)


@pytest.mark.parametrize("count", [2, 5, 300])
def test_the_area_is_that_of_sklearn_with_ties(count):
    entries, _row = entries_of(2, count, seed=count)
    entries[:2, 0] = 0.0, 1.0
    area = metrics.roc_auc_score(entries[:, 0], entries[:, 4])
    assert area_under_curve(entries) == pytest.approx(area)


def test_the_area_of_one_class_or_nothing_is_not_known():
    assert np.isnan(area_under_curve(np.zeros((0, ENTRY))))
    assert np.isnan(area_under_curve(np.zeros((3, ENTRY))))


@pytest.mark.parametrize("classes", [2, 3, 0])
def test_nothing_is_known_before_the_first_label(classes):
    assert all(
        np.isnan(value) for value in figures_of(np.zeros(width_of(classes)), classes).values()
    )


@pytest.mark.parametrize("guess", [np.nan, np.inf, -1.0, 7.0, 0.5])
def test_what_is_no_class_is_a_mistake(guess):
    row = np.zeros(width_of(3))
    assert add(row, 3, 1.0, 1.0, guess, 0.0, 0.0) == 1.0
    assert figures_of(row, 3)["mistake_rate"] == 1.0


def test_an_estimate_that_is_no_number_has_an_infinite_error():
    assert add(np.zeros(width_of(0)), 0, 1.0, 1.0, np.nan, 0.0, 0.0) == np.inf


@given(st.sampled_from([Binary(), Multiclass(classes=4), Regression()]))
def test_labels_become_positions(task):
    assert classes_of(task) == {"binary": 2, "multiclass": 4, "regression": 0}[task.name]
    labels = np.array([-1.0, 1.0, np.nan] if isinstance(task, Binary) else [0.0, 1.0, np.nan])
    np.testing.assert_array_equal(class_positions(task, labels), [0.0, 1.0, np.nan])
