"""What settings are called: by section and key, and as variables."""

import importlib

import pytest

from okl_flow.job import RunSettings, declared
from okl_flow.job.names import SHORT, SILENT, nearest_path, variable_of

FLOWS = ("classify", "regress", "per_user", "choose_kernel", "compare")
CLASSES = [importlib.import_module(f"dataflows.{one}").flow.settings for one in FLOWS]


def all_settings():
    for one in (*CLASSES, RunSettings):
        yield from declared(one)


@pytest.mark.parametrize("settings", CLASSES, ids=FLOWS)
def test_no_two_settings_of_a_job_have_one_name(settings):
    known = [*declared(settings), *declared(RunSettings)]
    for names in ([one.path for one in known], [one.variable for one in known]):
        assert len(set(names)) == len(names)


def test_a_variable_is_section_and_key_but_for_what_says_no_more():
    for one in all_settings():
        words = [word for word in (one.section, one.key) if word]
        if one.key in SILENT and one.section:
            words = [one.section]
        elif one.section in SHORT:
            words = [one.key]
        assert one.variable == f"OKL_{'_'.join(words).upper()}" == variable_of(one.path)


def test_sections_come_one_after_the_other():
    for settings in CLASSES:
        sections = [one.section for one in declared(settings)]
        begun = [one for at, one in enumerate(sections) if at == 0 or sections[at - 1] != one]
        assert len(set(begun)) == len(begun), begun


def test_every_setting_says_what_it_is_for_and_what_holds_without_it():
    for one in all_settings():
        assert one.about, one.path
        assert one.about[0] not in " ." and not one.about.endswith("."), one.path
        if one.default is None:
            assert one.example, f"{one.path} has no example"


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("epoch", "run.epoch"),
        ("run.epok", "run.epoch"),
        ("settings.processes", "run.processes"),
        ("evaluation.windw", "evaluation.window"),
        ("source.evnts", "source.events"),
        ("learner.processes", "run.processes"),
        ("proceses", "run.processes"),
    ],
)
def test_the_nearest_setting_is_named(word, meant):
    paths = [one.path for one in all_settings()]
    assert nearest_path(word, dict.fromkeys(paths)) == f"; did you mean {meant!r}?"


def test_nothing_is_meant_by_what_is_like_nothing():
    assert nearest_path("qqqqqq", ["run.epoch", "name"]) == ""
