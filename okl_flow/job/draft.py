"""A job that is being made up, setting by setting."""

from collections.abc import Sequence

from okl_flow.job.checking import Checked, checked, settings_in
from okl_flow.job.plan import Given, plan_of
from okl_flow.job.reading import Problem
from okl_flow.job.running import RunSettings
from okl_flow.job.settings import Setting, declared

__all__ = ["Draft"]

_CLASSES, _LEARNER = "labels.classes", "learner"
_TWO = 2


class Draft:
    """A flow and the settings that were chosen so far.

    Parameters:
        flow: its name; a FlowError says that there is none of it.
        given: what is chosen already.
    """

    def __init__(self, flow: str, given: Sequence[Given]) -> None:
        self.flow = flow
        settings = settings_in(flow)
        of_flow = [] if settings is None else declared(settings)
        self.declared: list[Setting] = [*of_flow, *declared(RunSettings)]
        self._given = list(given)

    def can(self, path: str) -> bool:
        """Whether there is such a setting."""
        return any(one.path == path for one in self.declared)

    def has(self, path: str) -> bool:
        """Whether a setting was chosen."""
        return any(one.path == path for one in self._given)

    def value(self, path: str) -> str:
        """What holds, in words; empty if there is no such setting."""
        found = [one.value for one in self._checked().effective if one.path == path]
        return found[0] if found else ""

    def take(self, path: str, value: str) -> list[str]:
        """Choose a setting; what is wrong with it, in which case it is not chosen."""
        if not self.can(path):
            return []
        before = list(self._given)
        self._given.append(Given(path, value, path))
        if path == _CLASSES and not self.has(_LEARNER) and self.can(_LEARNER):
            self._fit(value)
        wrong = [one.message for one in self.problems() if one.place.startswith(path)]
        if wrong:
            self._given = before
        return wrong

    def _fit(self, classes: str) -> None:
        """Let the learner have as many classes as there are."""
        count = len(classes.split(","))
        if count > _TWO:
            line = f"{self.value(_LEARNER)} task=multiclass classes={count}"
            self._given.append(Given(_LEARNER, line, _LEARNER))

    def problems(self) -> list[Problem]:
        """All that is wrong with what was chosen; a password must not stand in a file."""
        shown = [
            Problem(one.place, "expected no password, but where it is: ${REGISTRY_PASSWORD}")
            for one in self._given
            if one.path in self._secret and "${" not in one.value
        ]
        return [*self._checked().problems, *shown]

    def chosen(self) -> dict[str, str]:
        """What was chosen, as texts by section and key; of a learner the whole line."""
        found = {one.path: one.value for one in self._checked().effective if one.place != "default"}
        secret = {one.path: one.value for one in self._given if one.path in self._secret}
        return {**found, **secret}

    @property
    def _secret(self) -> list[str]:
        return [one.path for one in self.declared if one.is_secret]

    def _checked(self) -> Checked:
        return checked(plan_of(self.flow, self._given, {}), {})
