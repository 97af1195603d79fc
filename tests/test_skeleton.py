"""The skeleton that newcomers copy is a learner that keeps the laws."""

import pytest

from docs.skeleton import Skeleton
from okl_flow.registry import REGISTRY, Row
from tests.conformance import checks

LAWS = [law for law in checks.LAWS if law not in (checks.it_learns, checks.limits_meet)]


@pytest.mark.parametrize("law", LAWS)
def test_the_skeleton_keeps_the_laws(monkeypatch, law):
    row = Row(Skeleton, paper="none", memory="dim", cost="dim", tasks=("binary",))
    monkeypatch.setitem(REGISTRY, "skeleton", row)
    law("skeleton")
