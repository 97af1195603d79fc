"""Slots are given, counted in and taken back; what was used is passed over once."""

import numpy as np
import pytest

from okl_flow.operators.shelf import NEVER, NOTHING, Shelf, fit, group, note_events, note_times

COLUMNS = ("events", "times", "dims", "versions", "states", "changed", "groups")


def shelf_of(count):
    shelf = Shelf(2)
    assert [shelf.take(f"user-{number}") for number in range(count)] == list(range(count))
    return shelf


def test_a_shelf_grows_and_its_new_slots_are_empty():
    shelf = shelf_of(10)
    shelf.events[:10], shelf.states[:, :10] = 7, 3
    for number in range(10, 300):
        slot = shelf.take(f"user-{number}")
        assert (shelf.events[slot], shelf.times[slot], shelf.changed[slot]) == (0, NEVER, False)
        assert shelf.states[:, slot].tolist() == [NOTHING, NOTHING]
    assert shelf.events[:10].tolist() == [7] * 10
    assert {getattr(shelf, name).shape[-1] for name in COLUMNS} == {shelf.events.shape[0]}


def test_a_slot_that_was_taken_back_is_like_a_new_one():
    shelf = shelf_of(5)
    for name in ("events", "times", "dims", "versions", "changed"):
        getattr(shelf, name)[3] = 1
    shelf.states[:, 3] = 8
    shelf.free(np.array([3]))
    assert shelf.take("other") == 3
    assert shelf.names == ["user-0", "user-1", "user-2", "other", "user-4"]
    fresh = Shelf(2)
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(shelf, name)[..., 3], getattr(fresh, name)[..., 3])


def test_what_was_used_is_passed_over_once():
    shelf = shelf_of(6)
    going = shelf.unused(2)  # all were used: round once, and then the first that come
    shelf.free(going)
    assert shelf.take("new") in going.tolist() and shelf.take("newer") in going.tolist()
    kept = [slot for slot in range(6) if slot not in going.tolist()]
    shelf.use(np.array(kept[:2]))
    assert sorted(shelf.unused(2).tolist()) == kept[2:]


def test_no_slot_goes_twice():
    shelf = shelf_of(9)
    shelf.free(shelf.unused(1))
    shelf.take("new")  # the only one that is passed over
    assert sorted(shelf.unused(9).tolist()) == list(range(9))


@pytest.mark.parametrize("seed", range(5))
def test_rows_of_a_key_come_together_in_their_order(seed):
    rows = np.random.default_rng(seed).integers(0, 12, 40)
    groups = np.full(12, NOTHING)
    slots, ends, order = np.empty((3, rows.shape[0]), np.int64)
    count = group(rows, groups, slots, ends, order)
    assert slots[:count].tolist() == list(dict.fromkeys(rows.tolist()))
    expected = [np.flatnonzero(rows == slot).tolist() for slot in slots[:count]]
    assert [one.tolist() for one in np.split(order, ends[: count - 1])] == expected
    assert ends[count - 1] == 40 and (groups == NOTHING).all()


def test_rows_are_counted():
    events, dims = np.array([4, 0, 9]), np.array([3, 0, 3])
    changed, seen = np.array([False, False, True]), np.empty(6, np.int64)
    slots, ends = np.array([1, 0, 2]), np.array([2, 5, 6])
    assert note_events(slots, ends, 3, events, dims, changed, seen) == (1, 2)
    assert seen.tolist() == [0, 1, 4, 5, 6, 9]
    assert (events.tolist(), dims.tolist(), changed.all()) == ([7, 2, 10], [3, 3, 3], True)
    times = np.array([50, NEVER, 7])
    given = np.array([NEVER, NEVER, 20, 60, 30, NEVER])
    assert note_times(slots, ends, given, times) == 60
    assert times.tolist() == [60, NEVER, 7]


def test_keys_may_have_events_of_their_own_number_of_features():
    dims = np.array([0, 3, 4])
    assert fit(np.array([0, 1]), dims, 0, 3) and fit(np.array([0, 1]), dims, 3, 3)
    assert not fit(np.array([0, 1, 2]), dims, 0, 3)
    assert not fit(np.array([0]), dims, 4, 3)
