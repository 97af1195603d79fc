"""The checker finds what it is there to find."""

import msgspec
import pytest

from okl_flow.demo.checker import judged
from okl_flow.demo.outputs import Outputs, TornError
from okl_flow.events import Alarm, Cause, Prediction, Reason, Reject, Report
from okl_flow.operators.encode import Encoder

IDS = [f"e{number}" for number in range(1, 7)]


def prediction(number, *, label=None, topic="events", by=None, score=0.5, key="ann"):
    place = Cause(topic, 0, number)
    return Prediction(
        key=key,
        score=score,
        predicted=1.0,
        seen=number - 1,
        learner="ons",
        cause=place if by is None else Cause(topic, 0, by),
        id=f"e{number}",
        label=label,
        event=None if by is None else place,
    )


def reject(offset, *, topic="events", key=None, message="malformed"):
    return Reject(Reason.MALFORMED, message, Cause(topic, 0, offset), key, None, b"{")


def written(records):
    """What a flow writes, as it is read."""
    outputs = Outputs()
    outputs.take([one.value for one in Encoder()(records)])
    return outputs


def run(topic="events", key=None):
    """Six events, one label that comes later, and two rejects that say the same."""
    events = [prediction(n, label=1.0 if n % 2 else None, topic=topic) for n in range(1, 7)]
    later = prediction(2, label=-1.0, topic=topic, by=20)
    return [*events, later, *(reject(n, topic=topic, key=key) for n in (30, 31))]


def verdict(records, *, hides_aborted=True):
    undisturbed = written(run("events.jsonl"))
    return judged(written(records), undisturbed, IDS, hides_aborted=hides_aborted)


@pytest.mark.parametrize("hides_aborted", [False, True])
def test_the_same_from_another_place_is_good(hides_aborted):
    found = verdict(run(key="ann"), hides_aborted=hides_aborted)
    assert found.is_good
    assert (found.events, found.predictions, found.rejects, found.repeats) == (6, 7, 2, 0)
    assert all(good for good, _ in found.findings())


@pytest.mark.parametrize("number", range(9))
def test_whatever_is_lost_is_missed(number):
    records = run()
    lost = records.pop(number)
    found = verdict(records)
    assert not found.is_good
    assert len(found.missing) == 1
    assert found.wrong == []
    is_lost = number < len(IDS)
    assert found.lost == ([lost.id] if is_lost else [])
    assert [good for good, _ in found.findings()] == [not is_lost, False, True]


@pytest.mark.parametrize(
    "change",
    [
        {"score": 0.5000000000000001},
        {"score": -0.5},
        {"predicted": -1.0},
        {"seen": 7},
        {"learner": "nogd"},
        {"label": -1.0},
        {"time": 5},
        {"probability": 0.5},
        {"loss": 0.25},
        {"ordinal": 1},
    ],
)
def test_whatever_is_different_is_wrong(change):
    records = run()
    records[2] = msgspec.structs.replace(records[2], **change)
    found = verdict(records)
    assert not found.is_good
    assert found.wrong == ["e3 of ann"]
    assert "e3 of ann" in found.findings()[1][1]


def test_a_prediction_of_another_key_is_wrong_and_its_own_is_missing():
    records = run()
    records[0] = msgspec.structs.replace(records[0], key="bob")
    found = verdict(records)
    assert (found.missing, found.wrong) == (
        ["e1 of ann"],
        ["e1 of bob"],
    )


def test_a_prediction_that_nothing_asked_for_is_wrong():
    found = verdict([*run(), prediction(9)])
    assert (found.is_good, found.wrong) == (False, ["e9 of ann"])


def test_a_second_prediction_of_an_event_is_wrong_whatever_it_says():
    again = msgspec.structs.replace(prediction(4), cause=Cause("events", 0, 40))
    found = verdict([*run(), again])
    assert not found.is_good
    assert found.wrong == ["predictions of one name"]


def test_rejects_are_counted():
    found = verdict([*run(), reject(32)])
    assert (found.is_good, found.missing, found.wrong) == (False, [], ["a reject, malformed"])
    found = verdict([*run()[:-1], reject(31, message="key: expected one")])
    assert found.missing == ["a reject, malformed"]
    assert found.wrong == ["a reject, key: expected one"]


def test_repeats_are_good_where_aborted_ones_show_and_only_there():
    records = run()
    records += [records[0], records[6], records[8]]
    found = verdict(records, hides_aborted=False)
    assert (found.is_good, found.repeats) == (True, 3)
    assert "3 of them are there again, each the same to the byte" in found.findings()[2][1]
    found = verdict(records, hides_aborted=True)
    assert (found.is_good, found.repeats) == (False, 3)
    assert [good for good, _ in found.findings()] == [True, True, False]


@pytest.mark.parametrize("hides_aborted", [False, True])
@pytest.mark.parametrize(
    "again", [prediction(1, label=1.0, score=0.25), reject(30, message="key: expected one")]
)
def test_repeats_that_differ_are_bad_everywhere(again, hides_aborted):
    found = verdict([*run(), again], hides_aborted=hides_aborted)
    assert not found.is_good
    assert found.changed == [f"events, 0, {again.cause.offset}"]


def test_of_many_the_first_are_told():
    found = verdict(run()[:1])
    assert found.findings()[0][1].endswith("1 of 6: e2; e3; e4, and 2 more")


def test_what_is_no_record_is_torn():
    with pytest.raises(TornError, match="the flow has written b'{'"):
        Outputs().take([b"{"])
    with pytest.raises(TornError, match="the flow has written None"):
        Outputs().take([None])


def test_reports_and_alarms_are_noted_and_may_come_again():
    values = {"window_mistake_rate": 0.25, "labelled": 1000.0}
    report = Report("demo.evaluate", "stream", "", 1500, values)
    newer = msgspec.structs.replace(
        report, values={"window_mistake_rate": 0.125, "labelled": 2000.0}
    )
    alarm = Alarm("demo.evaluate", "key", "ann", "drift", "it rose", {}, Cause("events", 0, 7))
    of_key = Report("demo.evaluate", "key", "ann", 10, {})
    outputs = written([report, alarm, report, alarm, newer, of_key])
    assert outputs.report == newer
    assert outputs.rates == {1000.0: 0.25, 2000.0: 0.125}
    assert len(outputs.alarms) == 1
    assert outputs.repeats == 0
