"""Who looks at a job sees its stages."""

import ast
import sys
import threading
from pathlib import Path

import pytest

import okl_flow
from benchmarks.speed import picture
from benchmarks.speed.profile import COST, JOB, SHARE, STAGES, figures_of, table
from benchmarks.speed.profile_job import RULES, Window
from benchmarks.speed.sampling import ELSEWHERE, Rule, Sampler, stage_of

ROOT = Path(okl_flow.__file__).parents[1]


def called(*places):
    """The innermost frame of functions in files, each called by the one before it."""
    names = {"frame": sys._getframe}
    for file, function in reversed(places):
        call = "inner()" if "inner" in names else "frame()"
        own = dict(names)
        exec(compile(f"def {function}(): return {call}", f"/any/{file}", "exec"), own)
        names["inner"] = own[function]
    return names["inner"]()


def test_the_innermost_frame_that_is_known_says_the_stage():
    rules = [Rule("pack", "b.py", "pack_all"), Rule("learn", "b.py"), Rule("hold", "a.py")]
    assert stage_of(called(("a.py", "hold"), ("b.py", "step")), rules) == "learn"
    assert stage_of(called(("a.py", "hold"), ("b.py", "pack_all")), rules) == "pack"
    assert stage_of(called(("a.py", "hold"), ("c.py", "helper")), rules) == "hold"
    assert stage_of(called(("c.py", "helper")), rules) == ELSEWHERE
    assert stage_of(None, rules) == ELSEWHERE


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_rules_name_files_and_functions_that_are_there(rule):
    place = ROOT / rule.file
    if rule.file.endswith("/"):
        assert any(place.glob("*.py"))
        return
    tree = ast.parse(place.read_text())
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert rule.function is None or rule.function in names


def test_every_stage_has_a_rule():
    assert {rule.stage for rule in RULES} | {ELSEWHERE} == set(STAGES)


def test_a_sampler_sees_what_another_thread_is_at():
    names = {}
    exec(compile("def turn(end):\n  while not end.is_set(): pass", "/any/busy.py", "exec"), names)
    end = threading.Event()
    busy = threading.Thread(target=names["turn"], args=(end,))
    sampler = Sampler([Rule("turn", "/any/busy.py")])
    before = sys.getswitchinterval()
    busy.start()
    sampler.start()
    try:
        for _ in range(1000):
            if sampler.seen["turn"] > 3:
                break
            end.wait(0.01)
    finally:
        end.set()
        busy.join()
        sampler.stop()
    assert sampler.seen["turn"] > 3
    assert sys.getswitchinterval() == before


def test_the_first_events_are_not_in_the_window():
    window = Window(100, 300, None)
    for _ in range(2):
        window.pass_by(60)
        assert window.seconds == 0.0
    for _ in range(3):
        window.pass_by(60)
    assert window.seconds > 0.0
    assert window.microseconds == pytest.approx(1e6 * window.seconds / 180)


def test_an_event_is_shared_out_by_what_was_seen(tmp_path):
    seen = {"decode": 30, "score and learn": 60, ELSEWHERE: 10}
    watched = [{"microseconds": 11.0, "seen": seen}, {"microseconds": 12.0, "seen": seen}]
    figures = figures_of(watched, [{"microseconds": 10.0}, {"microseconds": 10.0}])
    assert figures.value("decode", COST) == pytest.approx(3.0)
    assert figures.value("admit", SHARE) == 0.0
    assert sum(figures.value(stage, SHARE) for stage in STAGES) == pytest.approx(100.0)
    assert figures.value(JOB, "watched to unwatched") == pytest.approx(1.15)
    assert all(f"| {stage} | " in table(figures) for stage in STAGES)
    picture.draw_profile(figures, tmp_path / "profile.svg")
    drawn = (tmp_path / "profile.svg").read_text()
    assert all(stage in drawn for stage in STAGES) and "10.0 µs" in drawn
