"""The board: what it makes of the records of a job, and what it says has changed."""

import math

import msgspec
import pytest

from okl_flow.events import Reason
from okl_flow.page.board import STEPS_MAX, Board
from okl_flow.page.happenings import Alarms, Rejects
from okl_flow.page.pace import Pace
from tests.page.records import (
    BEGIN,
    STEP,
    alarm,
    chosen,
    key,
    partition,
    regression,
    reject,
    stream,
)


def board_of(*records):
    board = Board()
    for number, record in enumerate(records):
        board.take(record, BEGIN + 1000 * number)
    return board


def curve(board, of="stream", step=STEP, figure="mistake_rate", after=0, epoch=-1):
    found = board.curves(of, step, figure, after, epoch)
    rows = [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]
    return found, rows


def test_only_what_has_changed_is_told():
    board = board_of(stream(1000))
    seen = board.revision
    assert list(board.changed(0)) == ["streams"]
    board.take(alarm(), BEGIN)
    board.take(reject(), BEGIN)
    assert sorted(board.changed(seen)) == ["alarms", "rejects"]
    assert board.changed(board.revision) == {}


def test_reports_of_the_stream_make_curves_of_each_figure():
    board = board_of(*(stream(1000 * n, 0.5 / n) for n in range(1, 5)))
    [shown] = board.part("streams")
    assert (shown["step"], shown["figure"], shown["events"]) == (STEP, "mistake_rate", 6000)
    assert shown["figures"] == ["mistake_rate", "loss"]
    assert shown["rate"] == pytest.approx(1500.0)
    _found, rows = curve(board)
    assert [row["labelled"] for row in rows] == [1000, 2000, 3000, 4000]
    assert rows[-1]["window_mistake_rate_high"] == pytest.approx(0.1625)
    assert rows[-1]["written"] == BEGIN + 3000
    _found, rows = curve(board, figure="loss")
    assert [row["loss"] for row in rows] == pytest.approx([1, 0.5, 1 / 3, 0.25], rel=1e-5)


def test_new_points_alone_come_to_who_has_the_others():
    board = board_of(stream(1000), stream(2000))
    found, rows = curve(board)
    board.take(stream(3000), BEGIN + 5000)
    more, new = curve(board, after=rows[-1]["place"], epoch=found["epoch"])
    assert [row["labelled"] for row in new] == [3000]
    assert more["from"] == rows[-1]["place"]
    board.take(stream(2000, 0.3), BEGIN + 6000)  # a resumed job repeats itself
    all_new, rows = curve(board, after=new[-1]["place"], epoch=more["epoch"])
    assert all_new["from"] == 0
    assert [row["mistake_rate"] for row in rows] == [0.1, 0.3]


def test_a_regression_has_its_own_figures():
    board = board_of(regression(1000), regression(2000, 1.5))
    [shown] = board.part("streams")
    assert (shown["figure"], shown["figures"]) == ("rmse", ["rmse", "mae"])
    _found, rows = curve(board, figure="rmse")
    assert rows[-1]["window_baseline_rmse"] == 3


def test_no_curve_of_what_is_not_there():
    found, rows = curve(board_of(), step="nowhere")
    assert (found["epoch"], rows) == (-1, [])


def test_partitions_of_a_contest_are_added_up():
    board = board_of(
        partition("p000", labelled=100, mistakes_old=30, mistakes_new=10),
        partition("p001", labelled=300, mistakes_old=60, mistakes_new=40, promotion_new=2),
        partition("p000", labelled=200, mistakes_old=50, mistakes_new=20, failures_old=1),
    )
    [contest] = board.part("contests")
    assert (contest["labelled"], contest["partitions"]) == (500, 2)
    assert [(one["learner"], one["error"]) for one in contest["table"]] == [
        ("new", 0.12),
        ("old", 0.22),
    ]
    assert contest["table"][0]["promotion"] == 2
    assert contest["table"][1]["failures"] == 1
    _found, rows = curve(board, "contest", "shop.learn")
    assert [row["labelled"] for row in rows] == [100, 400, 500]
    assert rows[-1]["new"] == 0.12


def test_in_a_regression_the_contest_is_of_squared_errors():
    board = board_of(
        partition("p000", labelled=10, squared_error_a=40, squared_error_b=9, failures_b=1)
    )
    [contest] = board.part("contests")
    assert contest["figure"] == "rmse"
    assert [(one["learner"], one["error"]) for one in contest["table"]] == [("b", 1.0), ("a", 2.0)]


def test_one_learner_is_no_contest():
    board = board_of(partition("p000", events=100, labelled=10), partition("p001", events=50))
    assert board.changed(0) == {"counts": 2}
    assert board.part("counts") == {"shop.learn": {"events": 150, "labelled": 10}}


def test_a_key_has_its_curve_its_choice_and_its_alarms():
    board = board_of(
        key("ann", 100, 0.4),
        key("ann", 200, 0.2),
        chosen("ann", 210, bandwidth=0.5),
        alarm("ann", 5),
        alarm("bob", 6),
        alarm("", 7),
    )
    shown = board.key("ann")
    figures, model = shown["steps"]
    rows = [dict(zip(figures["columns"], row, strict=True)) for row in figures["rows"]]
    assert [(row["labelled"], row["error"], row["low"]) for row in rows] == [
        (100, 0.4, 0.32),
        (200, 0.2, 0.16),
    ]
    assert model["values"] == {"bandwidth": 0.5}
    assert [one["name"] for one in shown["alarms"]] == ["ann"]
    assert board.key("nobody")["steps"] == []


def test_alarms_are_by_their_time_and_repeats_count_once():
    alarms = Alarms(alarms_max=3)
    for at, moment in ((1, 10), (3, 30), (2, 20), (3, 31)):
        alarms.take(alarm("ann", at, message=f"the {at}."), BEGIN + moment)
    assert [one["message"] for one in alarms.latest()] == ["the 3.", "the 2.", "the 1."]
    assert sum(alarms.counts.values()) == 3
    alarms.take(alarm("ann", 4, message="the 4."), BEGIN + 40)
    assert [one["message"] for one in alarms.latest(2)] == ["the 4.", "the 3."]
    assert (alarms.dropped, sum(alarms.counts.values())) == (1, 4)


def test_rejects_keep_the_latest_of_each_reason_cut_to_a_size():
    rejects = Rejects(examples_max=2)
    for at in range(5):
        rejects.take(reject(at=at), BEGIN + at)
    rejects.take(
        reject(Reason.MALFORMED, "m" * 5000, b"\xff\x00<img>" * 1000, "k" * 1024), BEGIN + 9
    )
    features, malformed = rejects.by_reason()
    assert (features["reason"], features["count"]) == ("features", 5)
    assert [one["cause"]["offset"] for one in features["latest"]] == [4, 3]
    [one] = malformed["latest"]
    assert one["original"].startswith("\\xff\x00<img>")
    assert one["original_bytes"] == 7000
    assert len(msgspec.json.encode(one)) < 5000


def test_pace_is_by_offsets_and_time():
    pace = Pace(span_ms=10_000)
    for second in range(31):
        pace.take(
            BEGIN + 1000 * second,
            {("events", 0): (100 * second, 500 + 150 * second), ("events", 1): (7, 7)},
        )
    shown = pace.shown()
    assert (shown["read_rate"], shown["come_rate"]) == (100, 150)
    assert (shown["lag"], shown["by_topic"]) == (500 + 50 * 30, {"events": 2000})
    drawn = list(pace.series.rows())
    assert len(drawn) == 7
    assert math.isnan(drawn[0][3]), "one sample tells of no speed"


def test_pace_bears_new_partitions_and_a_clock_that_is_set_back():
    pace = Pace()
    pace.take(BEGIN, {("events", 0): (0, 10)})
    pace.take(BEGIN + 10_000, {("events", 0): (100, 110), ("events", 1): (1000, 1000)})
    assert pace.rate("read") == 10
    pace.take(BEGIN - 60_000, {("events", 0): (100, 110)})
    assert (pace.rate("read"), pace.lag) == (None, 10)


def test_what_there_is_no_room_for_is_counted():
    board = board_of(*(stream(1000, step=f"s{n}.e") for n in range(STEPS_MAX + 3)))
    assert len(board.part("streams")) == STEPS_MAX
    assert board.part("left_out") == {"reports of more steps": 3}


def test_flows_are_known_by_their_steps():
    assert board_of(stream(1000), partition("p000", "duel.learn", events=1)).flows == [
        "shop",
        "duel",
    ]


def test_all_of_it_goes_into_json():
    board = board_of(stream(1000), key('<img src="x">', 10), alarm("\x00"), reject(key="\u202e"))
    board.measure(BEGIN, {("events", 0): (1, 2)})
    board.leave_out("nothing")
    for name in board.changed(0):
        msgspec.json.encode(board.part(name))
