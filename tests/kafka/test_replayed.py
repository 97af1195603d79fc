"""What a replay leaves out, where events and labels come from two topics in any order."""

from collections import Counter
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from okl_flow.events import Cause, Event, Label
from okl_flow.kafka.replayed import Replayed
from okl_flow.wire import Encoded, Encoder
from tests.operators.test_partition import partition_of

EVENTS, LABELS = ("events", 0), ("labels", 0)
PARTS = 2


class Job:
    """A job whose runs are killed: what the engine goes on from, and what brokers keep."""

    def __init__(self, events, labels):
        self.inputs = {EVENTS: events, LABELS: labels}
        self.closed = (None, dict.fromkeys(self.inputs, 0), [{} for _ in range(PARTS)])
        self.topics = [[] for _ in range(PARTS)]
        self.committed = [{} for _ in range(PARTS)]

    def run(self, choose, epochs, commits):
        """Some epochs; the parts in `commits` still commit the one in which the run is killed."""
        snapshot, offsets, ends = self.closed
        offsets, ends = dict(offsets), [dict(one) for one in ends]
        partition = partition_of(snapshot=snapshot)
        replayed = [Replayed(end, known) for end, known in zip(ends, self.committed, strict=True)]
        for number, size in enumerate(epochs):
            items = []
            for _ in range(size):
                left = [one for one in self.inputs if offsets[one] < len(self.inputs[one])]
                if left:
                    topic = left[choose(len(left))]
                    items.append(self.inputs[topic][offsets[topic]])
                    offsets[topic] += 1
            outputs = partition.process(items)
            fresh = self.written(outputs, ends, replayed)
            is_last = number == len(epochs) - 1
            for part in commits if is_last else range(PARTS):
                self.topics[part] += fresh[part]
                self.committed[part] |= replayed[part].to_commit(ends[part])
            if not is_last:
                self.closed = partition.snapshot(), dict(offsets), [dict(one) for one in ends]

    def written(self, outputs, ends, replayed):
        """What is new for each part."""
        fresh = [[] for _ in range(PARTS)]
        for record in Encoder()([one for each in outputs for one in each.predictions]):
            part = crc32(record.key) % PARTS
            fresh[part] += replayed[part].fresh([record])
            for cause in (record.cause, record.event):
                if cause is not None:
                    place = (cause.topic, cause.partition)
                    ends[part][place] = max(cause.offset, ends[part].get(place, -1))
        return fresh

    def is_over(self):
        return all(self.closed[1][one] == len(self.inputs[one]) for one in self.inputs)


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_each_event_and_each_label_is_told_of_once_whatever_runs_are_killed(data):
    count = data.draw(st.integers(1, 12))
    names = data.draw(st.lists(st.sampled_from("abc"), min_size=count, max_size=count))
    events = [
        Event(key, np.ones(2), Cause("events", 0, at), str(at)) for at, key in enumerate(names)
    ]
    order = data.draw(st.permutations(range(count)))[: data.draw(st.integers(0, count))]
    labels = [
        Label(names[at], str(at), 1.0, Cause("labels", 0, place)) for place, at in enumerate(order)
    ]
    job = Job(events, labels)
    for _ in range(data.draw(st.integers(1, 5))):
        job.run(
            lambda most: data.draw(st.integers(0, most - 1)),
            data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=3)),
            data.draw(st.sets(st.integers(0, PARTS - 1))),
        )
    job.run(lambda most: data.draw(st.integers(0, most - 1)), [2 * count, 0], range(PARTS))
    assert job.is_over()
    told = Counter((one.cause, one.event) for topic in job.topics for one in topic)
    wanted = [(event.cause, None) for event in events]
    wanted += [(label.cause, events[int(label.id)].cause) for label in labels]
    assert told == Counter(wanted)


def record(*places):
    cause, *event = [Cause(topic, 0, offset) for topic, offset in places]
    return Encoded(b"k", b"v", cause, *event)


def fresh(replayed, *places):
    return replayed.fresh([record(*places)]) != []


def test_a_label_has_appeared_if_one_run_had_read_it_and_its_event():
    replayed = Replayed({}, {EVENTS: (19, "2:19,1:10"), LABELS: (9, "2:4,1:9")})
    assert not fresh(replayed, ("labels", 9), ("events", 10))
    assert not fresh(replayed, ("labels", 4), ("events", 19))
    assert fresh(replayed, ("labels", 9), ("events", 11))
    assert fresh(replayed, ("labels", 5), ("events", 19))
    assert not fresh(replayed, ("events", 19)) and fresh(replayed, ("events", 20))


def test_what_was_known_to_the_engine_comes_late():
    replayed = Replayed({EVENTS: 5, LABELS: 5}, {EVENTS: (9, "1:9"), LABELS: (9, "1:9")})
    assert fresh(replayed, ("labels", 5), ("events", 5))
    assert not fresh(replayed, ("labels", 6), ("events", 5))


def test_a_run_is_forgotten_when_a_later_one_has_gone_as_far():
    replayed = Replayed({}, {EVENTS: (9, "3:9"), LABELS: (4, "3:4")})
    assert replayed
    assert replayed.to_commit({EVENTS: 12, LABELS: 3}) == {
        EVENTS: (12, "4:12,3:9"),
        LABELS: (4, "4:3,3:4"),
    }
    assert replayed.to_commit({EVENTS: 12, LABELS: 4}) == {EVENTS: (12, "4:12"), LABELS: (4, "4:4")}
    assert not replayed


def test_of_runs_that_went_as_far_one_is_kept():
    notes = {EVENTS: (9, "3:9,2:8,1:9"), LABELS: (5, "3:4,2:4,1:5")}
    replayed = Replayed({}, notes)
    assert replayed.to_commit({EVENTS: 0}) == {EVENTS: (9, "4:0,1:9")}


def test_an_offset_without_a_note_is_one_run():
    replayed = Replayed({}, {EVENTS: (9, "")})
    assert not fresh(replayed, ("events", 9)) and fresh(replayed, ("events", 10))
    assert not Replayed({EVENTS: 9}, {EVENTS: (9, "")})


@pytest.mark.parametrize("committed", [{}, {EVENTS: (3, "1:3")}])
def test_a_record_without_a_cause_is_always_fresh(committed):
    assert Replayed({}, committed).fresh([Encoded(b"k", b"v")]) != []
