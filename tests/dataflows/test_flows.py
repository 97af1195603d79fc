"""What flows make of their events: each predicted once, learned from, and as if never stopped."""

import json
from collections import Counter

import numpy as np
import pytest

from okl_flow import make_learner, streams
from okl_flow.murmur import seeds_of
from tests.dataflows.conftest import ROOT, Folder, shell

CLASSIFY = "python -m bytewax.run dataflows.classify:flow"
REGRESS = "python -m bytewax.run dataflows.regress:flow"
PER_USER = "python -m bytewax.run dataflows.per_user:flow"
CHOOSE = "python -m bytewax.run dataflows.choose_kernel:flow"
LIGHT = "kogd budget=20 bandwidth=0.5"
COMPARE = "python -m bytewax.run dataflows.compare:flow"
RECOVERY = (
    "mkdir -p recovery; [ -f recovery/part-0.sqlite3 ] || python -m bytewax.recovery recovery 1"
)
RESUMED = f"{RECOVERY}; {PER_USER} -r recovery -s 10 -b 0"


def last_report(folder, step):
    """The last report of the whole stream."""
    reports = [one for one in folder.records("reports") if one["step"] == step]
    return [one for one in reports if one["subject"] == "stream"][-1]


def test_classify_predicts_each_event_once_and_learns(folder):
    folder.run(f"okl-flow make-stream rings --events 4000 > events.jsonl; {CLASSIFY}")
    predictions = folder.records("predictions")
    assert [one["id"] for one in predictions] == [f"e{at}" for at in range(1, 4001)]
    assert [one["seen"] for one in predictions] == list(range(4000))
    values = last_report(folder, "classify.evaluate")["values"]
    mistakes = [one["predicted"] != one["label"] for one in predictions]
    assert values["labelled"] == 4000
    assert values["mistake_rate"] == np.mean(mistakes)
    assert np.mean(mistakes[2000:]) < 0.1
    assert values["baseline_mistake_rate"] > 0.4
    assert folder.records("rejects") == []


def test_every_format_comes_to_the_same_predictions(folder):
    scores = []
    for format in ("jsonl", "csv", "libsvm"):
        file = f"events.{format}"
        make = f"okl-flow make-stream rings --events 500 --format {format}"
        folder.run(f"{make} > {file}; {CLASSIFY}", OKL_EVENTS=file, OKL_LEARNER=LIGHT)
        scores.append([one["score"] for one in folder.records("predictions")])
    assert len(scores[0]) == 500
    assert scores[0] == scores[1] == scores[2]


def test_one_model_takes_all_keys_names_and_labels(folder):
    X, y = streams.rings(300)
    lines = [
        {"key": f"k{at % 3}", "features": {"a": x[0], "b": x[1]}, "label": "in" if t > 0 else "out"}
        for at, (x, t) in enumerate(zip(X.tolist(), y, strict=True))
    ]
    (folder.path / "a.jsonl").write_text("\n".join(map(json.dumps, lines[:100])))
    (folder.path / "b.jsonl").write_text("\n".join(map(json.dumps, lines[100:])))
    folder.run(
        CLASSIFY,
        OKL_EVENTS="a.jsonl,b.jsonl",
        OKL_FEATURES="b,a",
        OKL_LABELS_CLASSES="out,in",
        OKL_LEARNER=LIGHT,
    )
    predictions = folder.records("predictions")
    assert {one["key"] for one in predictions} == {"all"}
    assert sorted(one["seen"] for one in predictions) == list(range(300))
    assert Counter(one["label"] for one in predictions) == Counter(y.tolist())


def test_several_classes_are_a_matter_of_the_learner(folder):
    rows = [f"{x:g},{'abc'[int(3 * x)]}" for x in np.random.default_rng(0).random(600)]
    (folder.path / "e.csv").write_text("\n".join(["x,label", *rows]))
    learner = "ons task=multiclass classes=3 bandwidth=0.2"
    folder.run(CLASSIFY, OKL_EVENTS="e.csv", OKL_LABELS_CLASSES="a,b,c", OKL_LEARNER=learner)
    late = folder.records("predictions")[300:]
    assert np.mean([one["predicted"] != one["label"] for one in late]) < 0.1


def test_bad_records_are_named_and_the_others_go_on(folder):
    good = '{"key": "ann", "features": [0.5, 1], "label": 1}'
    bad = ['{"features": [0.5, 1]}', '{"key": "ann", "features": [0.5]}', "{", '{"key": "ann"}']
    label = '{"type": "label", "key": "ann", "id": "e9", "label": 1}'
    lines = [good, *bad, good, label, good]
    (folder.path / "events.jsonl").write_text("\n".join(lines))
    said = folder.run(PER_USER)
    assert [one["cause"]["offset"] for one in folder.records("predictions")] == [1, 6, 8]
    rejects = {one["cause"]["offset"]: one["reason"] for one in folder.records("rejects")}
    # A label that came too early waits, and is no reject.
    assert rejects == {2: "key", 3: "features", 4: "malformed", 5: "features"}
    for line, words in ((2, "key: expected one"), (3, "expected 2 numbers, found 1")):
        assert f"line {line} of events.jsonl: " in said
        assert words in said


def test_of_many_rejects_the_first_are_shown(folder):
    (folder.path / "events.jsonl").write_text("{\n" * 50)
    said = folder.run(PER_USER)
    assert said.count("rejected, line") == 5
    assert said.endswith("more rejects are not shown; see out/rejects.jsonl\n")
    assert len(folder.records("rejects")) == 50


def test_regress_comes_near_the_noise(folder):
    folder.run(f"okl-flow make-stream waves --events 3000 > events.jsonl; {REGRESS}")
    assert len(folder.records("predictions")) == 3000
    values = last_report(folder, "regress.evaluate")["values"]
    assert values["window_rmse"] < 0.1
    assert values["baseline_rmse"] > 0.9


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A run of per_user that nothing disturbs, over 6000 events of 10 users."""
    folder = Folder(tmp_path_factory.mktemp("undisturbed"))
    make = "okl-flow make-stream users --keys 10 --drifting 0.5 --events 6000 > events.jsonl"
    folder.run(f"{make}; {PER_USER}")
    return folder


def test_per_user_is_a_loop_over_each_user(undisturbed):
    """An oracle without the engine: events as they come, labels when they come."""
    made = streams.delayed_users(6000, users=10, drifting=0.5)
    learner = make_learner("ons", budget=20, scale="standard", bandwidth=1, forgetting=0.995)
    later = np.flatnonzero(made.label_times > made.times)
    records = [(time, 0, at) for at, time in enumerate(made.times)]
    records += [(made.label_times[at], 1, at) for at in later]
    states, wanted = {}, {}
    for _time, is_label, at in sorted(records):
        key = streams.user_name(made.users[at])
        state = states.setdefault(key, learner.init(2, seed=seeds_of([key])[0]))
        known = is_label or made.label_times[at] == made.times[at]
        y = made.y[at] if known else np.nan
        score = learner.step(state, made.X[at : at + 1], [y])[0]
        # A label that comes later is reported with the score that its event got.
        wanted.setdefault(f"e{at + 1}", (key, float(score), []))[2].append(float(y))
    found = {}
    for one in undisturbed.records("predictions"):
        label = float("nan") if one["label"] is None else one["label"]
        entry = found.setdefault(one["id"], (one["key"], one["score"], []))
        assert entry[:2] == (one["key"], one["score"])
        entry[2].append(label)
    np.testing.assert_equal(found, wanted)
    assert undisturbed.records("rejects") == []


def test_drift_rings_for_those_who_drifted(undisturbed):
    made = streams.delayed_users(6000, users=10, drifting=0.5)
    drifted = {streams.user_name(number) for number in set(made.users[made.drifted])}
    alarms = undisturbed.records("alarms")
    assert {one["kind"] for one in alarms} == {"drift"}
    rung = {one["name"] for one in alarms if one["subject"] == "key"}
    assert rung
    assert rung <= drifted
    reports = undisturbed.records("reports")
    keys = {one["name"] for one in reports if one["subject"] == "key"}
    assert len(keys) == 10


def sorted_lines(folder, name):
    return sorted((folder.path / "out" / f"{name}.jsonl").read_text().splitlines())


@pytest.mark.parametrize(
    "command",
    [
        f"{PER_USER} -w 3",
        "okl-flow run dataflows.per_user:flow --processes 2 --recovery-dir recovery",
    ],
    ids=["three workers", "two processes"],
)
def test_predictions_do_not_depend_on_who_works(command, undisturbed, folder):
    events = str(undisturbed.path / "events.jsonl")
    folder.run(command, OKL_EVENTS=events, OKL_STATE="state")
    for name in ("predictions", "rejects"):
        assert sorted_lines(folder, name) == sorted_lines(undisturbed, name)


def test_a_resumed_run_goes_on_and_does_not_read_again(undisturbed, folder):
    lines = (undisturbed.path / "events.jsonl").read_text().splitlines(keepends=True)
    file = folder.path / "events.jsonl"
    file.write_text("".join(lines[:4000]))
    folder.run(RESUMED, OKL_STATE="state")
    before = (folder.path / "out" / "predictions.jsonl").read_text()
    assert before.count("\n") == 4000
    assert (folder.path / "state" / "state.json").is_file()
    # What was read is spoilt: if it were read again, the predictions would not be there.
    file.write_text("".join("#" * (len(line) - 1) + "\n" for line in lines[:4000]))
    with file.open("a") as more:
        more.writelines(lines[4000:])
    folder.run(RESUMED, OKL_STATE="state")
    after = (folder.path / "out" / "predictions.jsonl").read_text()
    assert after.startswith(before)
    for name in ("predictions", "rejects"):
        assert sorted_lines(folder, name) == sorted_lines(undisturbed, name)
    keys = [
        [one for one in sorted_lines(where, "alarms") if '"subject":"key"' in one]
        for where in (folder, undisturbed)
    ]
    assert keys[0] == keys[1]


def test_idle_users_are_forgotten_and_labels_do_not_wait_for_ever(undisturbed, folder):
    events = str(undisturbed.path / "events.jsonl")
    folder.run(PER_USER, OKL_EVENTS=events, OKL_FORGET_AFTER="0.0005", OKL_LABELS_WAIT="0.01")
    begun = Counter(one["key"] for one in folder.records("predictions") if one["seen"] == 0)
    assert max(begun.values()) > 3
    reasons = {one["reason"] for one in folder.records("rejects")}
    assert reasons == {"late_label", "unknown_label"}


def test_choose_kernel_tells_what_it_chose_and_what_that_is_worth(folder):
    make = "okl-flow make-stream users --keys 10 --drifting 0 --events 6000 > events.jsonl"
    folder.run(f"{make}; {CHOOSE}", OKL_COUNTS_EVERY="500")
    rates = [
        last_report(folder, f"choose_kernel.judge_{which}")["values"]["mistake_rate"]
        for which in ("choosing", "fixed")
    ]
    assert rates[0] < 0.8 * rates[1]
    chosen = [one for one in folder.records("reports") if one["step"] == "choose_kernel.choosing"]
    widths = {one["name"]: one["values"]["bandwidth"] for one in chosen if one["subject"] == "key"}
    assert len(widths) > 3
    assert all(0.3 < width < 0.8 for width in widths.values())
    predictions = folder.records("predictions")
    assert len({(one["cause"]["offset"], one["ordinal"]) for one in predictions}) == len(
        predictions
    )


def test_the_state_of_another_job_is_refused_in_one_line(folder):
    folder.run("okl-flow make-stream users --events 200 > events.jsonl")
    folder.run(PER_USER, OKL_STATE="state")
    said = folder.refused(PER_USER, OKL_STATE="state", OKL_LEARNER="kogd budget=3")
    assert said.startswith("dataflows.per_user: the state directory")
    assert "was begun with another configuration" in said


def test_compare_lets_the_better_learner_take_over(folder):
    make = "okl-flow make-stream users --keys 10 --drifting 0 --events 6000 > events.jsonl"
    folder.run(f"{make}; {COMPARE}")
    promoted = {one["name"]: one["cause"]["offset"] for one in folder.records("alarms")}
    assert len(promoted) > 4
    predictions = folder.records("predictions")
    assert {one["learner"] for one in predictions} == {"linear", "kernel"}
    early = [one for one in predictions if one["key"] not in promoted]
    assert {one["learner"] for one in early} <= {"linear"}
    for key, offset in promoted.items():
        mine = [one for one in predictions if one["key"] == key and one["label"] is None]
        after = {one["learner"] for one in mine if one["cause"]["offset"] > offset}
        before = {one["learner"] for one in mine if one["cause"]["offset"] < offset}
        assert (before, after) == ({"linear"}, {"kernel"})


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"OKL_EVENTS": "none.jsonl"}, "OKL_EVENTS: there is no file 'none.jsonl' here"),
        ({"OKL_EVENT": "x"}, "OKL_EVENT: there is no such setting; did you mean 'OKL_EVENTS'?"),
        (
            {"OKL_LEARNER": "kogdd"},
            "OKL_LEARNER: there is no learner 'kogdd'; did you mean 'kogd'?",
        ),
        ({"OKL_LEARNER": "kogd"}, "the memory of kogd has no bound"),
        ({"OKL_LEARNER": "ons budget"}, "OKL_LEARNER: expected a name and parameters such as"),
        ({"OKL_PARTITIONS": "many"}, "OKL_PARTITIONS: expected a whole number at least 1, fou"),
        ({"OKL_LABELS_WAIT": "1 h"}, "OKL_LABELS_WAIT: expected a number above 0, or 'forever'"),
        ({"OKL_REJECTS": "./events.jsonl"}, "OKL_REJECTS: ./events.jsonl is read or written"),
        ({"OKL_FORMAT": "xml"}, "OKL_FORMAT: expected one of jsonl, csv, libsvm"),
        ({"OKL_LABELS_CLASSES": "a"}, "OKL_LABELS_CLASSES: expected two or more labels"),
    ],
)
def test_wrong_settings_are_refused_in_one_line(variables, words, folder):
    (folder.path / "events.jsonl").write_text('{"key": "ann", "features": [1, 2]}\n')
    said = folder.refused(PER_USER, **variables)
    assert said.startswith("dataflows.per_user: ")
    assert words in said
    assert (folder.path / "events.jsonl").read_text()


def test_a_file_describes_a_run(folder):
    (folder.path / "job").mkdir()
    text = (ROOT / "dataflows" / "per_user.toml").read_text()
    (folder.path / "job" / "per_user.toml").write_text(text)
    folder.run("okl-flow make-stream users --keys 20 --events 2000 > job/events.jsonl")
    folder.run(f"okl-flow run job/per_user.toml; OKL_EVENTS=job/events.jsonl {PER_USER}")
    assert sorted_lines(folder, "predictions") == sorted_lines(
        Folder(folder.path / "job"), "predictions"
    )
    assert (folder.path / "job" / "state" / "state.json").is_file()
    assert list((folder.path / "job" / "recovery").glob("part-*"))


def test_settings_of_a_file_are_refused_with_their_line_and_give_way(folder):
    (folder.path / "a.jsonl").write_text('{"key": "ann", "features": [1, 2]}\n')
    file = folder.path / "run.toml"
    begin = 'flow = "dataflows.per_user:flow"\n[run]\nlog = "text"\n'
    for line, words in (
        ('[source]\nevent = "a.jsonl"', "source.event: there is no such setting; did you mean"),
        ('[labels]\nwait = "1 h"', "labels.wait: expected a number above 0, or 'forever', fo"),
        ('[source]\nevents = "b.jsonl"', "source.events: there is no file "),
        ('[sinks]\ndelivery = "exactly_once"', "sinks.delivery: is of no use without source"),
        ("[learner]\nbudget = 0", "learner.budget: "),
    ):
        file.write_text(begin + line)
        ran = shell("okl-flow run run.toml", folder.path)
        assert ran.code == 2
        assert f"dataflows.per_user: run.toml, line 5: {words}" in ran.output
    file.write_text(begin + '[source]\nevents = "b.jsonl"\n[state]\nforget_after = "${DAYS}"')
    said = folder.run("okl-flow run run.toml", OKL_EVENTS="a.jsonl", DAYS="3")
    assert "finished" in said
    assert len(folder.records("predictions")) == 1


def test_a_run_tells_all_that_is_wrong_at_once(folder):
    (folder.path / "run.toml").write_text(
        'flow = "dataflows.per_user:flow"\n[source]\nevent = "a"\n[learner]\nbugdet = 3\n'
    )
    ran = shell("okl-flow run run.toml --set run.log=text", folder.path)
    assert ran.code == 2
    assert "line 3: source.event: " in ran.output
    assert "line 5: learner.bugdet: " in ran.output


def test_evaluation_is_as_the_settings_say(folder):
    make = "okl-flow make-stream users --keys 5 --events 600 > events.jsonl"
    folder.run(
        f"{make}; {PER_USER}",
        OKL_EVALUATION_REPORT_EVERY="100",
        OKL_EVALUATION_WINDOW="50",
        OKL_EVALUATION_KEYS="all",
        OKL_EVALUATION_KEY_REPORT_EVERY="40",
        OKL_EVALUATION_DRIFT="none",
        OKL_COUNTS_EVERY="20",
        OKL_LEARNER_BUDGET="5",
    )
    reports = folder.records("reports")
    whole = [one["values"] for one in reports if one["subject"] == "stream"]
    assert [one["labelled"] for one in whole[:3]] == [100.0, 200.0, 300.0]
    mistakes = [one["window_mistake_rate"] * 50 for one in whole]
    assert all(abs(one - round(one)) < 1e-9 for one in mistakes), "the window is not of 50"
    assert len(whole) >= 5
    keys = [one for one in reports if one["subject"] == "key" and "labelled" in one["values"]]
    assert {one["values"]["labelled"] % 40 for one in keys} == {0.0}
    assert any(one["subject"] == "partition" for one in reports)
    assert folder.records("alarms") == []
