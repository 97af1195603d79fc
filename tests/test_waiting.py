"""Where events and labels wait for each other: limits, memory of ids, and packing."""

import numpy as np

from okl_flow.events import Cause, Event, Label, Reason
from okl_flow.waiting import Limits, Refused, Waiting, WaitingRoom

WIDE = Limits(10, None)


def event(id, *, label=None, time=None):
    return Event("k", np.ones(2), Cause("t", 0, 1), id, time, label)


def label(id, value=1.0, *, time=None, offset=7):
    return Label("k", id, value, Cause("labels", 2, offset), time)


def waiting(time=None):
    return Waiting(np.arange(2.0), time, Cause("t", 0, 5), 3, [0.25])


def test_a_label_finds_its_event_once():
    room = WaitingRoom()
    room.wait("a", waiting(), WIDE)
    assert room.take_label(label("a"), WIDE).score == [0.25]
    assert room.take_label(label("a"), WIDE).reason is Reason.DUPLICATE_LABEL
    refused = room.take_label(label("a", -1.0), WIDE)
    assert refused.reason is Reason.CONTRADICTING_LABEL
    assert refused.message == "the event 'a' has the label 1.0 already, not -1.0"


def test_an_event_finds_the_label_that_came_before_it():
    room = WaitingRoom()
    assert room.take_label(label("a"), WIDE) is None
    assert room.take_label(label("a"), WIDE).reason is Reason.DUPLICATE_LABEL
    assert room.take_event(event("a"), WIDE) == (label("a"), None)
    assert room.take_event(event("a"), WIDE)[1].reason is Reason.DUPLICATE_EVENT


def test_an_event_with_its_own_label_refuses_the_early_one():
    for value, reason in ((1.0, Reason.DUPLICATE_LABEL), (-1.0, Reason.CONTRADICTING_LABEL)):
        room = WaitingRoom()
        room.take_label(label("a", value), WIDE)
        early, refused = room.take_event(event("a", label=1.0), WIDE)
        assert early is None
        assert (refused.reason, refused.label) == (reason, label("a", value))


def test_who_waits_among_too_many_goes_and_is_remembered_as_late():
    room, limits = WaitingRoom(), Limits(2, None)
    assert [room.wait(id, waiting(), limits) for id in "abc"] == [0, 0, 1]
    assert room.take_label(label("a"), limits).reason is Reason.LATE_LABEL
    assert room.take_label(label("b"), limits).features.tolist() == [0.0, 1.0]


def test_a_label_among_too_many_is_unknown():
    room, limits = WaitingRoom(), Limits(1, None)
    room.take_label(label("a", offset=4), limits)
    refused = room.take_label(label("b"), limits)
    assert refused.reason is Reason.UNKNOWN_LABEL and refused.label.id == "a"
    assert "labels, partition 2, offset 4" in refused.message
    assert list(room.labels) == ["b"]


def test_time_ends_every_wait():
    room, limits = WaitingRoom(), Limits(10, 100)
    room.wait("a", waiting(1000), limits)
    room.take_label(label("x", time=1000), limits)
    assert room.expire(1100, limits) == (0, [])
    expired, [refused] = room.expire(1101, limits)
    assert expired == 1 and refused.label.id == "x"
    assert room.take_label(label("a"), limits).reason is Reason.LATE_LABEL
    assert room.take_event(event("x"), limits) == (None, None)


def test_what_has_no_time_waits_for_ever():
    room, limits = WaitingRoom(), Limits(10, 100)
    room.wait("a", waiting(), limits)
    assert room.expire(10**12, limits) == (0, [])


def test_nothing_waits_where_nothing_may():
    refused = WaitingRoom().take_label(label("a"), Limits(0, None))
    assert isinstance(refused, Refused) and refused.reason is Reason.UNKNOWN_LABEL


def test_the_memory_of_ids_is_bounded():
    room, limits = WaitingRoom(), Limits(3, None)
    for number in range(100):
        room.wait(str(number), waiting(), limits)
        room.take_label(label(str(number)), limits)
    assert list(room.past) == ["97", "98", "99"]


def test_a_room_is_packed_and_unpacked():
    room, limits = WaitingRoom(), Limits(2, None)
    for id in "abc":
        room.wait(id, waiting(5), limits)
    room.take_label(label("c"), limits)
    room.take_label(label("d", -1.0, time=9), limits)
    again = WaitingRoom.unpack("k", room.pack())
    assert again.pack() == room.pack()
    assert again.labels == room.labels and again.past == room.past
    assert again.events["b"].features.tolist() == [0.0, 1.0]
    assert (again.events["b"].time, again.events["b"].seen, again.events["b"].score) == (
        5,
        3,
        [0.25],
    )
    assert bool(again) and not WaitingRoom()
