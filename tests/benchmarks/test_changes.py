"""Changes are told from noise by the rounds alone."""

import pytest

from benchmarks.speed.changes import Change, report_on
from benchmarks.speed.figures import Figures


def figures(rounds, unit="µs", case="kogd"):
    found = Figures("learners")
    found.add(case, "score", unit, rounds)
    return found


def change(before, after, unit="µs"):
    return Change(*figures(before, unit), *figures(after, unit))


@pytest.mark.parametrize(
    ("before", "after", "judgement"),
    [
        ([1.0, 1.2, 1.1], [1.3, 1.4, 1.5], "beyond the noise"),
        ([1.3, 1.4, 1.5], [1.0, 1.2, 1.1], "beyond the noise"),
        ([1.0, 1.2, 1.1], [1.2, 1.4, 1.5], "within the noise"),  # the rounds touch
        ([1.0, 9.0, 1.1], [1.3, 1.4, 1.5], "within the noise"),  # one bad round hides it
        ([1.0], [9.0, 9.0, 9.0], "not judged"),
        ([1.0, 1.0], [9.0], "not judged"),
    ],
)
def test_a_change_is_beyond_the_noise_where_the_rounds_lie_apart(before, after, judgement):
    assert change(before, after).judgement == judgement


def test_the_chance_is_that_of_all_rounds_on_one_side():
    assert change([1.0] * 3, [2.0] * 3).chance == pytest.approx(2 / 20)
    assert change([1.0] * 7, [2.0] * 7).chance == pytest.approx(2 / 3432)


def test_what_was_counted_is_the_same_or_not():
    def counted(value):
        found = Figures("learners")
        found.count("kogd", "snapshot", "bytes", value)
        return next(iter(found))

    assert Change(counted(100), counted(100)).judgement == "the same"
    assert Change(counted(100), counted(101)).judgement == "beyond the noise"


@pytest.mark.parametrize(
    ("before", "after", "unit", "words"),
    [
        (1.0, 1.5, "µs", "+50.0 % worse"),
        (1.5, 1.2, "s", "-20.0 % better"),
        (1.0, 1.5, "events/s", "+50.0 % better"),
        (2.0, 1.0, "×", "-50.0 %"),  # of a ratio nobody knows
        (-0.1, 0.1, "", "+0.2"),
    ],
)
def test_a_change_has_a_size_and_a_direction(before, after, unit, words):
    assert change([before], [after], unit).words == words


def test_the_report_shows_what_is_beyond_the_noise_and_counts_the_rest():
    before, after = Figures("learners"), Figures("learners")
    for number in range(5):
        before.add(f"steady {number}", "score", "µs", [1.0, 1.1, 1.2])
        after.add(f"steady {number}", "score", "µs", [1.0, 1.15, 1.2])
    before.add("slower", "score", "µs", [1.0, 1.0, 1.0])
    after.add("slower", "score", "µs", [3.0, 3.0, 3.0])
    before.add("gone", "score", "µs", [1.0])
    said = report_on(before, after)
    assert "6 figures: 1 beyond the noise, 5 within the noise." in said
    assert "0.6 of the 6 judged ones would be beyond the noise by chance" in said
    assert "All times have changed by +4.5 % in the median." in said
    assert "| slower | score, µs | 1.00 |" in said and "+200.0 % worse" in said
    assert "steady" not in said
    assert "1 figures are not there any more, such as gone." in said
    assert "| steady 0 |" in report_on(before, after, everything=True)


def test_what_all_times_have_in_common_is_told_apart():
    before, after = Figures("learners"), Figures("learners")
    for number in range(5):
        before.add(f"one {number}", "score", "µs", [1.0, 1.01, 1.02])
        after.add(f"one {number}", "score", "µs", [1.10, 1.11, 1.12])
    before.add("job", "rate", "events/s", [100.0, 101.0, 102.0])
    after.add("job", "rate", "events/s", [91.0, 92.0, 93.0])
    before.add("faster", "score", "µs", [1.0, 1.01, 1.02])
    after.add("faster", "score", "µs", [0.5, 0.51, 0.52])
    before.add("ratio", "bare rows", "×", [1.0, 1.01, 1.02])
    after.add("ratio", "bare rows", "×", [1.10, 1.11, 1.12])
    said = report_on(before, after)
    assert "8 figures: 2 beyond the noise, 6 as all times." in said
    assert "| faster |" in said and "| ratio |" in said  # which no machine explains
    assert "| job |" not in said and "| one 0 |" not in said


def test_without_results_there_is_nothing_to_compare():
    said = report_on(Figures("learners"), figures([1.0]))
    assert said == "## learners\n\nThere is nothing to compare with."
