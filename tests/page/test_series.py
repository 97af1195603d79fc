"""Points of curves: bounded in number, the latest all there, and repeats taken back."""

from hypothesis import given
from hypothesis import strategies as st

from okl_flow.page.series import Series


def progress_of(series, after=0):
    return [row[1] for row in series.rows(after)]


def test_many_rows_leave_few_and_the_latest_are_all_there():
    series = Series(width=2, per_level=100)
    for at in range(300_000):
        series.add([at, -at])
    found = progress_of(series)
    assert len(series) == len(found) < 100 * 14
    assert found == sorted(found)
    assert found[-100:] == list(range(299_900, 300_000))
    gaps = [b - a for a, b in zip(found, found[1:], strict=False)]
    ages = [300_000 - one for one in found[:-1]]
    assert all(gap <= 1 + age / 25 for gap, age in zip(gaps, ages, strict=True))
    assert found[0] < 300_000 / 25


@given(st.lists(st.integers(0, 40), max_size=200), st.integers(2, 9))
def test_progress_grows_within_a_run_and_places_grow_always(steps, per_level):
    series = Series(width=1, per_level=per_level)
    for step in steps:
        series.add([step])
    rows = list(series.rows())
    assert [row[0] for row in rows] == sorted({row[0] for row in rows})
    falls = sum(b[1] <= a[1] for a, b in zip(rows, rows[1:], strict=False))
    assert falls <= max(0, series.runs - 1)
    assert not steps or rows[-1][1] == steps[-1]


def test_what_is_repeated_after_a_resume_takes_the_place_of_what_was_there():
    series = Series(width=2)
    for progress in (10, 20, 30, 40):
        series.add([progress, 1])
    epoch = series.epoch
    series.add([30, 2])
    assert [row[1:] for row in series.rows()] == [[10, 1], [20, 1], [30, 2]]
    assert series.epoch > epoch, "who has the old rows is not told"
    assert series.runs == 1


def test_a_job_that_begins_anew_leaves_the_curve_of_the_one_before():
    series = Series(width=1, per_level=4)
    for progress in range(10, 500, 10):
        series.add([progress])
    for progress in (10, 20, 15):
        series.add([progress])
    assert series.runs == 2
    assert progress_of(series)[-3:] == [490, 10, 15]


def test_rows_after_a_place_are_the_new_ones():
    series = Series(width=1, per_level=4)
    for progress in range(20):
        series.add([progress])
    known = series.last
    series.add([20])
    assert progress_of(series, known) == [20]
    assert progress_of(series, series.last) == []
