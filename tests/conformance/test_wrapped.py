"""Learners that scale their features and find their parameters, under the laws of all learners."""

from dataclasses import replace

import pytest

from okl_flow.registry import REGISTRY
from tests.conformance import checks

WRAPPINGS = {
    "scaled": {"scale": "standard"},
    "filling": {"scale": "minmax", "missing": "mean"},
    "tuned": {"bandwidth": "auto", "first_events": 12, "trial_events": 128},
    "both": {"scale": "standard", "bandwidth": "auto", "first_events": 12, "trial_events": 128},
}
LAWS = (
    checks.score_reads_only,
    checks.inputs_are_left_alone,
    checks.snapshots_stand_still,
    checks.resuming_is_going_on,
    checks.memory_is_bounded,
)
LEARNERS = ("kogd", "rbp", "nogd", "fogd", "oks_sil", "nolana")


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("wrapping", list(WRAPPINGS))
@pytest.mark.parametrize("name", LEARNERS)
def test_the_law_holds(name, wrapping, law, monkeypatch):
    row = REGISTRY[name]
    settings = {**row.settings, **WRAPPINGS[wrapping]}
    monkeypatch.setitem(REGISTRY, name, replace(row, settings=settings))
    law(name)


@pytest.mark.parametrize("task", ["multiclass", "regression"])
def test_every_task_resumes(task, monkeypatch):
    row = REGISTRY["fogd"]
    settings = {**row.settings, **WRAPPINGS["both"], "learning_rate": "auto", "task": task}
    monkeypatch.setitem(REGISTRY, "fogd", replace(row, settings=settings))
    checks.score_reads_only("fogd")
    checks.resuming_is_going_on("fogd")
