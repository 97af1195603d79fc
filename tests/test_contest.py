"""The test that one may look at all the time: how often it errs, and how soon it sees."""

import math

import numpy as np
import pytest

from okl_flow.contest import REMEMBERED_MAX, Contest, Terms

STREAMS, EVENTS = 2000, 2000


def terms(learners=2, *, champion=0, promotes=False, confidence=0.95):
    return Terms(learners, champion, promotes, confidence)


def streams_of(rng, kind):
    """Mistakes of a champion and of challengers that are not better, whatever came before."""
    if kind == "independent":
        for _ in range(STREAMS):
            yield (rng.random((EVENTS, 2)) < 0.2).astype(float)
    elif kind == "bursts":  # hard stretches; and when both differ, a coin says who is right
        for _ in range(STREAMS):
            hard = np.cumsum(rng.random(EVENTS) < 0.01) % 2
            yield (rng.random((EVENTS, 2)) < np.where(hard, 0.5, 0.02)[:, None]).astype(float)
    elif kind == "alike":  # they hardly ever differ, and do so for long when they do
        for _ in range(STREAMS):
            differ = np.cumsum(rng.random(EVENTS) < 0.02) % 2
            coin = rng.random(EVENTS) < 0.5
            yield np.column_stack([coin & (differ == 1), ~coin & (differ == 1)]).astype(float)
    elif kind == "lures":  # after a run of luck the challenger is worse, and fair again
        for _ in range(STREAMS):
            u = rng.random(EVENTS)
            errors = np.zeros((EVENTS, 2))
            luck = 0.0
            for t in range(EVENTS):
                wins = u[t] < (0.45 if luck > 2.0 else 0.5)
                errors[t] = (1.0, 0.0) if wins else (0.0, 1.0)
                luck = 0.9 * luck + (1.0 if wins else -1.0)
            yield errors
    else:
        for _ in range(STREAMS):
            yield (rng.random((EVENTS, 6)) < 0.2).astype(float)


@pytest.mark.parametrize("kind", ["independent", "bursts", "alike", "lures", "five"])
def test_equal_challengers_are_hardly_ever_found_to_be_better(kind):
    found = 0
    for errors in streams_of(np.random.default_rng([1, len(kind)]), kind):
        _champions, leads = Contest.of(terms(errors.shape[1])).run(errors)
        found += bool(leads)
    assert found <= 0.05 * STREAMS
    assert found > 0, "nothing was at stake"


def test_a_fixed_sample_test_looked_at_all_the_time_is_fooled():
    fooled = 0
    for errors in streams_of(np.random.default_rng([1, 11]), "independent"):
        d = errors[:, 0] - errors[:, 1]
        n = np.arange(1, EVENTS + 1)
        mean = np.cumsum(d) / n
        spread = np.sqrt(np.maximum(np.cumsum(d * d) / n - mean * mean, 1e-12))
        fooled += bool((mean * np.sqrt(n) > 1.645 * spread)[50:].any())
    assert fooled > 0.25 * STREAMS


@pytest.mark.parametrize(("difference", "most"), [(0.01, 15_000), (0.03, 1_800), (0.1, 250)])
def test_a_better_challenger_is_found_soon(difference, most):
    rng = np.random.default_rng(2)
    needed = []
    for _ in range(100):
        u = rng.random(60_000)
        alone = (0.1 - difference) / 2  # the two differ at every tenth event
        errors = np.column_stack([u < alone + difference, u > 1.0 - alone]).astype(float)
        _champions, leads = Contest.of(terms()).run(errors)
        needed.append(leads[0].labels if leads else math.inf)
    assert np.median(needed) <= most


def test_a_challenger_that_was_behind_for_long_comes_up_when_things_change():
    rng = np.random.default_rng(3)
    behind = np.column_stack([np.zeros(100_000), rng.random(100_000) < 0.2]).astype(float)
    ahead = np.column_stack([rng.random(50_000) < 0.2, np.zeros(50_000)]).astype(float)
    contest = Contest.of(terms())
    assert contest.run(behind)[1] == []
    [lead] = contest.run(ahead)[1]
    assert lead.place < len(behind) / 2
    assert lead.difference < 0.0, "over all labels it is still behind"


def test_labels_that_are_missing_change_nothing():
    errors = (np.random.default_rng(4).random((300, 3)) < [0.5, 0.1, 0.4]).astype(float)
    gaps = np.insert(errors, np.arange(0, 300, 3), np.nan, axis=0)
    plain, gappy = Contest.of(terms(3)), Contest.of(terms(3))
    leads, later = plain.run(errors)[1], gappy.run(gaps)[1]
    assert leads
    assert [lead._replace(place=0) for lead in leads] == [one._replace(place=0) for one in later]
    assert plain.pack() == gappy.pack()
    assert plain.labels == 300


def test_a_promotion_is_from_the_next_event_on_and_all_begin_anew():
    errors = np.array([[1.0, 0.0, 1.0]] * 20)
    contest = Contest.of(terms(3, promotes=True, confidence=0.5))
    champions, [lead] = contest.run(errors)
    assert champions.tolist() == [0] * (lead.place + 1) + [1] * (19 - lead.place)
    assert (lead.champion, lead.challenger, lead.wealth >= 4.0) == (0, 1, True)
    assert contest.labels == 19 - lead.place
    assert contest.held[:, 0].tolist() == [1.0, 1.0, 1.0]  # those behind the new one bet nothing


def test_of_two_that_are_ahead_at_once_the_wealthier_is_promoted():
    errors = np.array([[1.0, 1.0, 0.0], *[[1.0, 0.0, 0.0]] * 9])
    contest = Contest.of(terms(3, promotes=True))
    contest.held[:, 0] = [1.0, 39.0, 38.0]
    contest.held[1:, 1] = [4.0, 2.0]
    champions, [lead] = contest.run(errors[1:2])
    assert (lead.challenger, contest.champion) == (1, 1)


def test_manual_tells_each_challenger_once():
    errors = np.array([[1.0, 0.0, 0.0]] * 50)
    contest = Contest.of(terms(3))
    champions, leads = contest.run(errors)
    assert [lead.challenger for lead in leads] == [1, 2]
    assert set(champions.tolist()) == {0}
    again = Contest.unpack(terms(3), contest.pack())
    assert again.run(np.tile(errors, (40, 1)))[1] == []
    assert math.isfinite(again.held[1, 0])


def test_one_that_was_told_is_promoted_where_that_is_asked_for_later():
    errors = np.array([[1.0, 0.0]] * 50)
    contest = Contest.of(terms())
    contest.run(errors)
    contest = Contest.unpack(terms(promotes=True), contest.pack())
    assert contest.run(errors[:1])[1][0].challenger == 1


def test_infinite_errors_of_both_are_equal():
    contest = Contest.of(terms())
    contest.run(np.full((30, 2), np.inf))
    assert contest.held[1].tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("promotes", [False, True])
def test_any_cut_and_packing_in_between_gives_the_same(promotes):
    rng = np.random.default_rng(5)
    rates = np.array([0.3, 0.25, 0.1, 0.28])
    late = np.arange(5000)[:, None] >= 500
    errors = (rng.random((5000, 4)) < np.where(late, rates[::-1], rates)).astype(float)
    whole = Contest.of(terms(4, promotes=promotes))
    champions, leads = whole.run(errors)
    assert len(leads) >= 2
    cut, found, told, begin = Contest.of(terms(4, promotes=promotes)), [], [], 0
    while begin < len(errors):
        end = begin + int(rng.integers(1, 90))
        own, ahead = cut.run(errors[begin:end])
        found += own.tolist()
        told += [lead._replace(place=begin + lead.place) for lead in ahead]
        cut = Contest.unpack(cut.terms, cut.pack())
        begin = end
    assert found == champions.tolist()
    assert told == leads
    assert cut.pack() == whole.pack()


def test_another_first_champion_begins_anew():
    contest = Contest.of(terms(3))
    contest.run(np.array([[1.0, 0.0, 0.0]] * 5))
    anew = Contest.unpack(terms(3, champion=2), contest.pack())
    assert (anew.champion, anew.labels, anew.held[1].tolist()) == (2, 0, [1.0, 0.0, 0.0, 0.0, 0.0])


def test_what_the_stake_remembers_is_bounded():
    contest = Contest.of(terms())
    contest.run(np.tile([[1.0, 0.0], [0.0, 1.0]], (REMEMBERED_MAX, 1)))
    _wealth, wins, losses, net, _told = contest.held[1].tolist()
    assert wins + losses < REMEMBERED_MAX
    assert net == 0.0
