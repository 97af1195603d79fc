"""A flow of one's own has settings of its own."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from dataflows.per_user import PerUser
from dataflows.settings import Settings, settings_of
from okl_flow.job import Fault, Real, declared, read, setting


@dataclass(frozen=True, kw_only=True)
class Mine(Settings):
    learner: str = "arow"
    count: int = 3
    share: float = 0.5
    loud: bool = False
    threshold: float = setting(0.5, "scores below it are told", Real(low=0.0), section="alarms")

    def faults(self) -> Iterator[Fault]:
        yield from super().faults()
        if self.count > 5 and self.loud:
            yield Fault(("count", "loud"), "is too many to be loud about")


def test_a_flow_of_ones_own_has_settings_of_its_own():
    variables = {"OKL_COUNT": "4", "OKL_LOUD": "true", "OKL_ALARMS_THRESHOLD": "2"}
    found = settings_of(Mine, variables)
    assert (found.count, found.share, found.loud, found.threshold) == (4, 0.5, True, 2.0)
    paths = {one.path for one in declared(Mine)}
    assert {"settings.count", "settings.share", "alarms.threshold", "source.events"} <= paths
    with pytest.raises(ValueError, match="OKL_COUNT: is too many to be loud about"):
        settings_of(Mine, {**variables, "OKL_COUNT": "6"})
    with pytest.raises(ValueError, match="OKL_COUNT: expected a whole number at least 0, found"):
        settings_of(Mine, {"OKL_COUNT": "few", "OKL_LOUD": "true"})
    with pytest.raises(ValueError, match="OKL_ALARMS_THRESHOLD: expected a number at least 0"):
        settings_of(Mine, {"OKL_ALARMS_THRESHOLD": "-1"})


def test_a_setting_without_a_kind_is_refused():
    @dataclass(frozen=True, kw_only=True)
    class Vague(Settings):
        what: list[str] | None = None

    with pytest.raises(TypeError, match="Vague: what must be int, float, bool or str, or say"):
        settings_of(Vague, {})


def test_variables_of_the_run_are_none_of_the_flow():
    found = read(PerUser, {"OKL_PARTITIONS": "3", "HOME": "/"}, {})
    assert (found.settings.partitions, found.problems) == (3, [])
    assert settings_of(PerUser, {"OKL_RUN_PROCESSES": "x", "OKL_METRICS_PORT": "y"}) == PerUser()
    assert os.environ.get("OKL_PARTITIONS") is None
