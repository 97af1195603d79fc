"""Figures have one form, in memory, on disk, and in what is committed."""

import pytest

from benchmarks.report import RESULTS
from benchmarks.speed.figures import Figure, Figures, parsed, results, shown
from benchmarks.speed.parts import PARTS
from benchmarks.speed.report import Report, write_report


def made():
    figures = Figures("learners")
    figures.add("kogd", "score", "µs", [0.3, 0.9, 0.4])
    figures.add_ratio("kogd", "bare rows", [2.0, 9.0, 4.0], [1.0, 3.0, 4.0])
    figures.count("kogd", "snapshot", "bytes", 1_234_567)
    return figures


def test_a_figure_is_the_median_of_its_rounds_and_tells_their_ends():
    assert list(made()) == [
        Figure("learners", "kogd", "score", 0.4, "µs", 0.3, 0.9, 3),
        Figure("learners", "kogd", "bare rows", 2.0, "×", 1.0, 3.0, 3),  # not 4.0 / 3.0
        Figure("learners", "kogd", "snapshot", 1_234_567, "bytes", 1_234_567, 1_234_567, 0),
    ]


def test_what_is_written_is_read_again(tmp_path):
    made().write(tmp_path)
    assert list(results("learners", tmp_path)) == list(made())
    assert list(results("engine", tmp_path)) == []


def test_a_figure_is_there_once():
    figures = made()
    with pytest.raises(ValueError, match="'kogd', 'score' already"):
        figures.add("kogd", "score", "µs", [1.0])


def test_other_columns_are_refused():
    with pytest.raises(ValueError, match=r"engine.csv has the columns \['job', 'µs'\]"):
        parsed("engine", "job,µs\none,2\n")


def test_numbers_are_shown_with_the_digits_that_one_can_use():
    assert [shown(value) for value in (0.256, 12.34, 80_123.4, -0.071, -0.001)] == [
        "0.26",
        "12.3",
        "80,123",
        "-0.07",
        "0.00",
    ]
    assert made().text("kogd", "score") == "0.40"
    assert made().spread("kogd", "score") == "0.30 to 0.90"
    assert made().text("kogd", "learn") == made().spread("kogd", "learn") == "-"


@pytest.mark.parametrize("part", PARTS)
def test_committed_results_have_the_form(part):
    found = list(results(part))
    assert found and (RESULTS / f"{part}.md").exists()
    for one in found:
        assert one.part == part
        assert one.low <= one.value <= one.high, one
        assert one.rounds > 0 or one.low == one.high, one


def test_a_part_is_written_as_figures_and_a_page(tmp_path):
    report = Report(made(), "Cost of an event", ["Text.", "| a |"], packages=["numpy"])
    write_report(report, tmp_path / "new", "2 cores")
    title, said, *sections = (tmp_path / "new" / "learners.md").read_text().split("\n\n")
    assert title == "# Cost of an event" and sections == ["Text.", "| a |\n"]
    assert "numpy" in said and said.endswith("; 2 cores")
    assert list(results("learners", tmp_path / "new")) == list(made())
