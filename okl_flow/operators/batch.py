"""What was admitted to a state partition, scored and learned: one native call for each key."""

import math
from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from operator import itemgetter

import numpy as np

from okl_flow.events import Alarm, Cause, Label, Prediction, Reason
from okl_flow.native import Array, count_missing, first_not_finite
from okl_flow.operators.admission import Admission, Figures, Rules
from okl_flow.operators.judge import Judge
from okl_flow.operators.models import Models
from okl_flow.operators.refusals import diverged
from okl_flow.operators.work import Work
from okl_flow.outcome import Outcome, outcome_of

__all__ = ["learned"]


def learned(
    rules: Rules,
    models: Models,
    step: str,
    admission: Admission,
    works: Sequence[Work],
    figures: Figures,
) -> tuple[list[Prediction], list[Alarm]]:
    """The predictions for all rows, in the order of the items; and the alarms.

    The models have learned then. Where one has diverged there is a reject in place of the
    prediction.
    """
    judge = None
    if rules.terms is not None:
        task = rules.learners[0].task
        judge = Judge(rules.terms, task, rules.names, step, models.contests)
    batch = _Batch(rules, models, admission, judge)
    made = [batch.learned(work) for work in works]
    alarms = [] if judge is None else judge.concluded(figures)
    if judge is None:  # which counts them itself
        for _at, number in batch.failures:
            figures.add(f"failures_{rules.names[number]}")
    if len(made) == 1 and works[0].in_order:
        return made[0][1], alarms
    pairs = chain.from_iterable(zip(places, own, strict=True) for places, own in made)
    return [prediction for _at, prediction in sorted(pairs, key=itemgetter(0))], alarms


class _Batch:
    """Admitted items on their way."""

    def __init__(
        self, rules: Rules, models: Models, admission: Admission, judge: Judge | None
    ) -> None:
        self._rules = rules
        self._models = models
        self._admission = admission
        self._judge = judge
        self.failures: dict[tuple[int, int], str] = {}  # of foreign models, by item and learner

    def learned(self, work: Work) -> tuple[Sequence[int], list[Prediction]]:
        """The predictions for some rows, and the places of their items."""
        scores = self._stepped(work)
        if self._judge is not None:
            self._judge.count_failures(scores)
        if work.waiting is not None:
            self._hand_over(work, scores)
        return self._predictions(work, scores)

    def _stepped(self, work: Work) -> Array:
        """Let all models score and learn; by learner a line of scores per event."""
        held = self._models.states(work.slots, work.X.shape[1])
        scores = []
        for number, keeper in enumerate(self._models.keepers):
            scores.append(keeper.step(held[number], work.ends, work.X, work.y))
            for t, error in keeper.failures.items():
                self.failures[work.places[t], number] = error
        return scores[0][np.newaxis] if len(scores) == 1 else np.stack(scores)

    def _hand_over(self, work: Work, scores: Array) -> None:
        """Give the events that wait their scores, and the labels the scores of their event."""
        assert work.waiting is not None
        for t, waiting in enumerate(work.waiting):
            if waiting is None:
                continue
            own = scores[:, t]
            if isinstance(work.items[t], Label):
                own[:] = np.reshape(waiting.score, own.shape)
            else:
                waiting.score = own.ravel().tolist()

    def _predictions(self, work: Work, scores: Array) -> tuple[Sequence[int], list[Prediction]]:
        """The predictions and the places of their items; rejects where a model has diverged."""
        found = [
            outcome_of(learner, own if learner.task.outputs > 1 else own.ravel(), work.y)
            for learner, own in zip(self._rules.learners, scores, strict=True)
        ]
        names, chosen, own, outcome = self._chosen(work, scores, found)
        given = own if own.shape[1] > 1 else own.ravel()
        items = work.items
        # By columns: a loop over the rows would take three times as long.
        made = list(
            map(
                Prediction,
                [item.key for item in items],
                given.tolist(),
                outcome.predicted.tolist(),
                work.seen,
                names,
                [item.cause for item in items],
                [item.id for item in items],
                work.times,
                _known(outcome.probability),
                work.labels,
                _known(outcome.loss),
                repeat(0),
                _events_of(work),
            )
        )
        if first_not_finite(own) < 0:
            return work.places, made
        finite = np.isfinite(own).all(axis=1)
        for place in np.flatnonzero(~finite).tolist():
            at = work.places[place]
            failure = self.failures.get((at, chosen[place]))
            if failure is not None:
                self._admission.reject(at, Reason.LEARNER, failure, items[place])
            else:
                message = diverged(made[place].score)
                self._admission.reject(at, Reason.DIVERGED, message, items[place])
        left = np.flatnonzero(finite).tolist()
        return [work.places[place] for place in left], [made[place] for place in left]

    def _chosen(
        self, work: Work, scores: Array, found: Sequence[Outcome]
    ) -> tuple[Sequence[str], Sequence[int], Array, Outcome]:
        """Of each row the learner that is reported, by name and number, and what it said."""
        names, count = self._rules.names, work.y.shape[0]
        if self._judge is None:
            return names * count, [0] * count, scores[0], found[0]
        predicted = np.stack([one.predicted for one in found])
        champions = self._judge.champions(work, scores, predicted)
        rows = np.arange(count)
        outcome = Outcome(*(np.stack(lines)[champions, rows] for lines in zip(*found, strict=True)))
        numbers = champions.tolist()
        return [names[number] for number in numbers], numbers, scores[champions, rows], outcome


def _events_of(work: Work) -> Iterable[Cause | None]:
    """Of each label where its event came from."""
    if work.waiting is None:
        return repeat(None)
    return [
        waiting.cause if waiting is not None and isinstance(item, Label) else None
        for item, waiting in zip(work.items, work.waiting, strict=True)
    ]


def _known(numbers: Array) -> list[float | None]:
    """The numbers, with None for NaN."""
    missing = count_missing(numbers)
    if missing == numbers.shape[0]:
        return [None] * missing
    listed = numbers.tolist()
    return [None if math.isnan(number) else number for number in listed] if missing else listed
