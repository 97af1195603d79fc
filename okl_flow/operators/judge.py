"""Of several learners, which one is reported for each event, and which are found to be better."""

from collections.abc import Iterator, Sequence
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from okl_flow.contest import Contest, Lead, Terms
from okl_flow.events import Alarm, Event, Label
from okl_flow.native import Array, native
from okl_flow.operators.admission import Figures
from okl_flow.operators.work import Work
from okl_flow.tasks import Regression, Task

__all__ = ["Judge"]


class Judge:
    """The contests of a batch of items, and their figures."""

    def __init__(
        self,
        terms: Terms,
        task: Task,
        names: Sequence[str],
        step: str,
        contests: dict[int, Contest],
    ) -> None:
        """`contests` are those that there are, by the slots of their keys."""
        self._terms = terms
        self._regresses = isinstance(task, Regression)
        self._names = names
        self._step = step
        self._contests = contests
        self._failures = np.zeros(len(names), dtype=np.int64)
        self._judged: list[tuple[Sequence[int], Array]] = []  # places of items, their errors
        self._leads: list[tuple[int, Event | Label, Lead]] = []  # place, and the item there

    def count_failures(self, scores: Array) -> None:
        """Count the scores that are none, by learner."""
        failed = ~np.isfinite(scores)
        if failed.any():
            self._failures += failed.any(axis=2).sum(axis=1)

    def champions(self, work: Work, scores: Array, predicted: Array) -> NDArray[np.int64]:
        """The learner that is reported for each row.

        That of an event is the champion of its key when the event came, whenever its label does.
        """
        errors = self._errors(scores, predicted, work.y)
        champions = np.empty(work.y.shape[0], dtype=np.int64)
        begin = 0
        for slot, end in zip(work.slots.tolist(), work.ends.tolist(), strict=True):
            here = slice(begin, end)
            if slot not in self._contests:
                self._contests[slot] = Contest.of(self._terms)
            champions[here], leads = self._contests[slot].run(errors[here])
            for lead in leads:
                row = begin + lead.place
                self._leads.append((work.places[row], work.items[row], lead))
            begin = end
        if work.waiting is not None:
            self._hand_over(work, champions)
        self._judged.append((work.places, errors))
        return champions

    def concluded(self, figures: Figures) -> list[Alarm]:
        """The alarms in the order of the items; the figures are brought up to date."""
        places = [place for own, _errors in self._judged for place in own]
        if places:
            errors = np.concatenate([errors for _places, errors in self._judged])
            in_order = errors[np.argsort(places, kind="stable")]
            self._count(figures, in_order[~np.isnan(in_order[:, 0])])
        for name, failures in zip(self._names, self._failures.tolist(), strict=True):
            if failures:
                figures.add(f"failures_{name}", failures)
        return list(self._alarms(figures))

    def _errors(self, scores: Array, predicted: Array, y: Array) -> Array:
        """Of each row the errors of the learners; NaN without a label."""
        if self._regresses:
            errors = np.abs(predicted - y)
        else:
            errors = (predicted != y).astype(np.float64)
        errors[~np.isfinite(scores).all(axis=2)] = np.inf if self._regresses else 1.0
        errors[:, np.isnan(y)] = np.nan
        return np.ascontiguousarray(errors.T)

    def _hand_over(self, work: Work, champions: NDArray[np.int64]) -> None:
        """Give the events that wait their champion, and the labels the champion of their event."""
        assert work.waiting is not None
        for t, waiting in enumerate(work.waiting):
            if waiting is None:
                continue
            if isinstance(work.items[t], Label):
                champions[t] = waiting.champion
            else:
                waiting.champion = int(champions[t])

    def _count(self, figures: Figures, errors: Array) -> None:
        """Add up the errors of labelled events, in their order."""
        if not errors.shape[0]:
            return
        figures.add("labelled", errors.shape[0])
        if not self._regresses:
            mistakes = errors.sum(axis=0).astype(np.int64).tolist()
            for name, count in zip(self._names, mistakes, strict=True):
                figures.add(f"mistakes_{name}", count)
            return
        members = [f"squared_error_{name}" for name in self._names]
        sums = np.array([figures.sums.get(member, 0.0) for member in members])
        _add_squares(errors, sums)
        figures.sums.update(zip(members, sums.tolist(), strict=True))

    def _alarms(self, figures: Figures) -> Iterator[Alarm]:
        last, ordinal = -1, 0
        for at, item, lead in sorted(self._leads, key=itemgetter(0)):
            last, ordinal = at, ordinal + 1 if at == last else 0
            challenger, champion = self._names[lead.challenger], self._names[lead.champion]
            kind = "promotion" if self._terms.promotes else "challenger_ahead"
            figures.add(f"{kind}_{challenger}")
            yield Alarm(
                self._step,
                "key",
                item.key,
                kind,
                _message(lead, challenger, champion, self._terms.promotes, self._regresses),
                {
                    "wealth": lead.wealth,
                    "events": float(lead.labels),
                    "difference": lead.difference,
                },
                item.cause,
                item.time,
                ordinal,
                challenger,
            )


def _message(lead: Lead, challenger: str, champion: str, promotes: bool, regresses: bool) -> str:
    what = "takes the place of" if promotes else "is ahead of"
    share = f"{100.0 * lead.difference:.3g}"
    how = (
        f"was the nearer one {share} times more than the farther one, of 100 labels"
        if regresses
        else f"made {share} fewer mistakes per 100 labels"
    )
    return f"{challenger} {what} {champion}: it {how} ({lead.labels} labels)"


@native
def _add_squares(errors: Array, sums: Array) -> None:
    """Add the squares of the errors to the sum of each learner, without those that failed."""
    for t in range(errors.shape[0]):
        for c in range(errors.shape[1]):
            if np.isfinite(errors[t, c]):
                sums[c] += errors[t, c] * errors[t, c]
