"""Keys on the page: the worst and busiest, search, and the bound on their number."""

import pytest

from okl_flow.page.keys import Keys
from tests.page.records import BEGIN, STEP, chosen, key


def names(keys):
    return [one.name for one in keys]


def taken(*reports, **limits):
    keys = Keys(**limits)
    for number, report in enumerate(reports):
        assert keys.take(report, BEGIN + number)
    return keys


def test_of_keys_that_are_all_reported_the_worst_are_those_with_proof():
    keys = taken(key("lucky", 1000, 0.1), key("bad", 1000, 0.4), key("unlucky", 3, 1.0))
    lists = keys.lists(2)[STEP]
    assert names(lists.worst) == ["bad", "unlucky"], "three mistakes of three prove little"
    assert names(lists.busiest) == ["lucky", "bad"]
    assert (lists.known, lists.listed) == (3, None)


def test_a_list_of_the_job_is_believed():
    ranks = ({"rank_worst": 2.0}, {"rank_worst": 1.0, "rank_busiest": 1.0})
    first = [key(name, 100, at=7, **rank) for name, rank in zip("ab", ranks, strict=True)]
    lists = taken(*first).lists(5)[STEP]
    assert (names(lists.worst), names(lists.busiest)) == (["b", "a"], ["b"])
    then = key("c", 100, at=8, rank_worst=1.0)
    lists = taken(*first, then).lists(5)[STEP]
    assert (names(lists.worst), names(lists.busiest)) == (["c"], [])
    assert lists.known == 3


def test_an_older_list_from_another_partition_of_the_topic_changes_nothing():
    keys = Keys()
    keys.take(key("new", 200, at=8, rank_worst=1.0), BEGIN + 9000)
    keys.take(key("old", 100, at=7, rank_worst=2.0), BEGIN)
    assert names(keys.lists(5)[STEP].worst) == ["new"]


def test_search_finds_a_part_of_the_name_and_the_name_itself_first():
    keys = taken(key("ann", 10), key("Anna", 500), key("bob", 900), key("joANNe", 50))
    found, count = keys.found(STEP, "ann", 2)
    assert (names(found), count) == (["ann", "Anna"], 3)
    assert keys.found("other.step", "ann", 2) == ([], 0)


@pytest.mark.parametrize("limits", [{"keys_max": 3}, {"names_max": 9}])
def test_where_there_is_no_room_the_key_reported_longest_ago_goes(limits):
    order = ["kk1", "kk2", "kk3", "kk1", "kk4"]
    keys = taken(*(key(name, 10) for name in order), **limits)
    assert keys.dropped == 1
    assert [name for name in ("kk1", "kk2", "kk3", "kk4") if keys.named(name)] == [
        "kk1",
        "kk3",
        "kk4",
    ]


def test_what_a_model_chose_stands_beside_its_figures():
    keys = taken(key("ann", 10, 0.3), chosen("ann", 12, bandwidth=0.5))
    figures, model = keys.named("ann")
    assert (figures.step, figures.values["mistake_rate"]) == (STEP, 0.3)
    assert (model.step, model.events, model.values) == ("shop.learn", 12, {"bandwidth": 0.5})
    assert model.series is None
    assert "shop.learn" not in keys.lists(5)


def test_figures_that_are_not_known_stay_unknown():
    keys = taken(key("ann", 0, rate=None))
    [figures] = keys.named("ann")
    assert figures.values["mistake_rate"] is None
    assert figures.series is not None


def test_no_more_steps_than_there_is_room_for():
    keys = Keys()
    assert all(keys.take(key("ann", 10, step=f"step{n}"), BEGIN) for n in range(32))
    assert not keys.take(key("ann", 10, step="one more"), BEGIN)
