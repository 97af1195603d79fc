"""Goals are held to figures, and every one of them has a figure."""

import pytest

from benchmarks.speed.figures import Figures, results
from benchmarks.speed.goals import GOALS, Goal, goal_table


def figures(**rounds):
    found = Figures("engine")
    for case, own in rounds.items():
        found.add(case, "an event", "µs", own)
    return found


AT_MOST = Goal("an event, µs", "engine", ["one"], "an event", 2.0)
AT_LEAST = Goal("an event, µs", "engine", ["one"], "an event", 2.0, at_least=True)


@pytest.mark.parametrize(
    ("goal", "rounds", "judged"),
    [
        (AT_MOST, [1.0, 1.5, 1.9], "yes"),
        (AT_MOST, [1.0, 1.5, 2.1], "yes, but not in every round"),
        (AT_MOST, [1.9, 2.1, 2.2], "no, but not in every round"),
        (AT_MOST, [2.1, 2.2, 2.3], "no"),
        (AT_LEAST, [2.1, 2.2, 2.3], "yes"),
        (AT_LEAST, [1.0, 1.5, 1.9], "no"),
    ],
)
def test_a_goal_is_reached_or_not(goal, rounds, judged):
    assert goal.judged(goal.worst(figures(one=rounds))) == judged


def test_of_several_the_worst_counts():
    several = Goal("an event, µs", "engine", ["one", "two"], "an event", 2.0)
    found = figures(one=[1.0], two=[3.0])
    assert several.worst(found).case == "two"
    at_least = Goal("an event, µs", "engine", ["one", "two"], "an event", 2.0, at_least=True)
    assert at_least.worst(found).case == "one"
    assert several.worst(figures(one=[1.0])).case == "one"
    assert several.worst(figures()) is None


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: f"{goal.words}, {goal.bound}")
def test_every_goal_was_measured(goal):
    assert goal.worst(results(goal.part)) is not None


def test_the_table_has_a_line_per_goal():
    lines = goal_table(Figures).splitlines()
    assert len(lines) == 2 + len(GOALS)
    assert all(line.endswith("| not measured |") for line in lines[2:])
