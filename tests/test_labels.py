"""Labels of files as the labels of tasks."""

import numpy as np
import pytest

from okl_flow import Binary, Multiclass, Regression
from okl_flow.labels import LabelCoder, LabelError, LabelsFound, canonical, decide, shown


def found(raws):
    labels = LabelsFound()
    labels.add(raws)
    return labels


@pytest.mark.parametrize(
    ("raw", "label"),
    [
        (b"+1", 1.0),
        (b"-1.0", -1.0),
        ("1e0", 1.0),
        (1, 1.0),
        (2.5, 2.5),
        (True, 1.0),
        ("False", 0.0),
        (" spam ", "spam"),
        ("1_0", "1_0"),
        ("inf", "inf"),
        (b"caf\xc3\xa9", "café"),
        (None, None),
        ("", None),
        ("  ", None),
        (b"NaN", None),
    ],
)
def test_a_label_is_compared_by_what_it_means(raw, label):
    assert canonical(raw) == label


@pytest.mark.parametrize(
    ("labels", "lower", "upper"),
    [
        (["-1", "+1"], "-1", "1"),
        (["1", "0"], "0", "1"),
        (["true", "false"], "False", "TRUE"),
        (["10", "9"], "9", "10"),
        (["up", "down"], "down", "up"),
        (["1", "up"], "1", "up"),
        (["0", "-1"], "-1", "0"),
    ],
)
def test_of_two_labels_the_one_that_sorts_first_is_minus_one(labels, lower, upper):
    coder = LabelCoder.of("binary", found(labels).classes)
    assert coder.task == Binary()
    np.testing.assert_array_equal(coder.codes_of([upper, lower, None, upper]), [1, -1, np.nan, 1])
    np.testing.assert_array_equal(coder.codes_of([lower.encode()]), [-1])


def test_classes_are_numbered_by_value_or_by_the_alphabet():
    coder = LabelCoder.of("multiclass", found(["10", "9", "-1", "9.0"]).classes)
    assert coder.task == Multiclass(classes=3)
    np.testing.assert_array_equal(coder.codes_of(["9", "10", "-1"]), [1, 2, 0])
    coder = LabelCoder.of("multiclass", found(["b", "10", "9", "a"]).classes)
    np.testing.assert_array_equal(coder.codes_of(["10", "9", "a", "b"]), [0, 1, 2, 3])


@pytest.mark.parametrize("lower", ["-1", "0", "false"])
def test_without_labels_either_lower_class_is_understood_but_not_both(lower):
    coder = LabelCoder.of("binary")
    np.testing.assert_array_equal(coder.codes_of(["1", lower, "1"]), [1, -1, 1])
    other = "0" if lower == "-1" else "-1"
    with pytest.raises(LabelError, match=f"found '{other}'") as caught:
        coder.codes_of([lower, "1", other])
    assert caught.value.position == 2


def test_labels_outside_the_set_are_named_with_their_position():
    coder = LabelCoder.of("binary", ["ham", "spam"])
    coder.codes_of(["ham", "spam"])
    with pytest.raises(
        LabelError, match="expected one of the labels ham, spam, found 'egg'"
    ) as caught:
        coder.codes_of(["ham", None, "egg", "foo"])
    assert caught.value.position == 2


def test_a_regression_takes_numbers():
    coder = LabelCoder.of("regression")
    assert coder.task == Regression()
    np.testing.assert_array_equal(coder.codes_of(["1.5", 2, None, b"-3"]), [1.5, 2, np.nan, -3])
    for bad in ("x", "inf", 10**400):
        with pytest.raises(LabelError, match="expected a finite number as label") as caught:
            coder.codes_of([1, bad])
        assert caught.value.position == 1


@pytest.mark.parametrize(
    ("raws", "task"),
    [
        (["-1", "1", None], "binary"),
        (["0.5", "1.5"], "binary"),
        (["a", "b"], "binary"),
        (["1", "2", "3"], "multiclass"),
        (["a", "b", "c"], "multiclass"),
        ([*map(str, range(50)), "a", None][:50], "multiclass"),
        ([*map(str, range(51))], "regression"),
        (["1", "2", "2.5"], "regression"),
        ([*map(str, np.linspace(0, 1, 20_000))], "regression"),
    ],
)
def test_the_labels_speak_of_the_task(raws, task):
    assert decide(found(raws))[0] == task


def test_a_task_that_cannot_be_told_is_asked_for():
    with pytest.raises(ValueError, match="no event has a label"):
        decide(found([None, ""]))
    with pytest.raises(ValueError, match="the only label is spam"):
        decide(found(["spam", "spam"]))
    with pytest.raises(ValueError, match=r"no numbers \(a\), and there are 52"):
        decide(found(["a", *map(str, range(51))]))


@pytest.mark.parametrize(
    ("task", "labels", "message"),
    [
        ("binary", ["a"], "2 labels, and here are 1: a"),
        ("binary", ["a", "b", "c"], "2 labels, and here are 3: a, b, c"),
        ("multiclass", ["a"], "2 to 10000 labels"),
        ("multiclass", list(range(10_001)), "2 to 10000 labels"),
        ("multiclass", None, "must be known beforehand"),
        ("multi", ["a", "b"], "no task 'multi'; did you mean 'multiclass'"),
    ],
)
def test_labels_that_do_not_suit_the_task_are_refused(task, labels, message):
    with pytest.raises(ValueError, match=message):
        LabelCoder.of(task, None if labels is None else found(labels).classes)


def test_one_of_the_usual_binary_labels_is_enough_if_the_task_is_given():
    coder = LabelCoder.of("binary", [1.0])
    np.testing.assert_array_equal(coder.codes_of(["1", "1"]), [1, 1])


def test_labels_are_gathered_in_bounded_memory():
    labels = LabelsFound()
    for begin in range(0, 50_000, 1000):
        labels.add([str(number) for number in range(begin, begin + 1000)])
    assert labels.too_many
    assert labels.labelled == 50_000
    assert len(labels.distinct) == 10_001
    labels.add(["x"])
    assert not labels.numbers


def test_long_lists_of_labels_are_cut():
    assert (
        shown([float(number) for number in range(12)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"
    )
