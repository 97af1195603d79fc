"""Reports become the curves that they stand for, also those that come twice."""

import math

import pytest

from okl_flow.events import Report
from okl_flow.plotting.curves import curves_of_keys, curves_of_learners, curves_of_stream


def report(labelled, rate, subject="stream", name="", step="evaluate", **values):
    figures = {"labelled": float(labelled), "mistake_rate": rate, **values}
    return Report(step, subject, name, labelled, figures)


def test_the_curve_of_a_stream_has_all_that_reports_say():
    more = {
        "mistake_rate_low": 0.1,
        "mistake_rate_high": 0.4,
        "baseline_mistake_rate": 0.5,
        "window_mistake_rate": None,
    }
    reports = [report(100, 0.2, **more), report(200, 0.1, **more), report(7, 0.9, "key", "ann")]
    [curve] = curves_of_stream(reports)
    assert (curve.name, curve.is_rate, curve.span) == ("evaluate", True, "window")
    assert (curve.labels, curve.error) == ([100.0, 200.0], [0.2, 0.1])
    assert (curve.low, curve.high, curve.baseline) == ([0.1] * 2, [0.4] * 2, [0.5] * 2)
    assert all(map(math.isnan, curve.lately))


def test_each_step_has_a_curve_of_its_own():
    found = curves_of_stream([report(10, 0.2, step="a"), report(10, 0.3, step="b")])
    assert [(one.name, one.error) for one in found] == [("a", [0.2]), ("b", [0.3])]


def test_repeated_reports_count_once_and_a_new_job_begins_a_new_curve():
    [curve] = curves_of_stream([report(n, n / 100) for n in (10, 20, 30, 20, 30, 40)])
    assert curve.labels == [10.0, 20.0, 30.0, 40.0]
    [curve] = curves_of_stream([report(n, r) for n, r in ((10, 0.1), (20, 0.1), (10, 0.3))])
    assert (curve.labels, curve.error) == ([10.0], [0.3])


def test_reports_without_labels_make_no_curve():
    assert curves_of_stream([report(0, None)]) == []


def test_keys_come_in_the_order_asked_for_from_one_step():
    reports = [
        report(10, 0.1, "key", "ann", fading_mistake_rate=0.2),
        report(10, 0.3, "key", "bob"),
        report(20, 0.9, "key", "ann", step="other"),
        report(30, 0.2, "key", "ann"),
        report(10, 0.5, "stream"),
    ]
    found = curves_of_keys(reports, ["bob", "nobody", "ann"])
    assert [(one.name, one.error) for one in found] == [("bob", [0.3]), ("ann", [0.1, 0.2])]
    assert [one.span for one in found] == ["fading", "fading"]


def test_regression_is_a_root():
    values = {"labelled": 5.0, "rmse": 2.0, "window_rmse": 1.0, "baseline_rmse": 3.0}
    [curve] = curves_of_stream([Report("evaluate", "stream", "", 5, values)])
    assert (curve.is_rate, curve.error, curve.lately) == (False, [2.0], [1.0])


def counts(partition, labelled, **values):
    return Report("learn", "partition", partition, labelled, {"labelled": labelled, **values})


def test_learners_of_a_compare_are_added_up_over_partitions():
    found = curves_of_learners(
        [
            counts("0", 10.0, mistakes_old=4.0, mistakes_new=1.0),
            counts("1", 30.0, mistakes_old=4.0, mistakes_new=3.0),
            counts("1", 30.0, mistakes_old=4.0, mistakes_new=3.0),  # after a crash
            counts("0", 20.0, mistakes_old=6.0, mistakes_new=2.0),
            Report("learn", "partition", "0", 99, {"labelled": 99.0, "rejected": 1.0}),
        ]
    )
    assert [one.labels for one in found] == [[10.0, 40.0, 50.0]] * 2
    assert found[0].error == pytest.approx([0.4, 0.2, 0.2])
    assert found[1].error == pytest.approx([0.1, 0.1, 0.1])


def test_learners_of_a_regression_have_roots():
    [curve] = curves_of_learners([counts("0", 4.0, mistakes_a=1.0, squared_error_a=16.0)])
    assert (curve.is_rate, curve.error) == (False, [2.0])
