"""What was admitted to a state partition, scored and learned: one native call for each key."""

import math
from collections.abc import Sequence
from operator import itemgetter

import numpy as np

from okl_flow.events import Alarm, Label, Prediction, Reason
from okl_flow.native import Array
from okl_flow.operators.admission import Admission, Figures, Rules
from okl_flow.operators.judge import Judge
from okl_flow.operators.models import Entry, Row
from okl_flow.operators.refusals import diverged
from okl_flow.outcome import Outcome, outcome_of
from okl_flow.state import ObjectState

__all__ = ["learned"]


def learned(
    rules: Rules, step: str, admission: Admission, figures: Figures
) -> tuple[list[Prediction], list[Alarm]]:
    """The predictions for all rows of the entries, in the order of the items; and the alarms.

    The entries have learned then, and their rows are gone. Where a model has diverged there is
    a reject in place of the prediction.
    """
    by_dim: dict[int, list[tuple[str, Entry]]] = {}
    for key, entry in admission.touched:
        by_dim.setdefault(entry.dim, []).append((key, entry))
    judge = None
    if rules.terms is not None:
        task = rules.learners[0].task
        judge = Judge(rules.terms, task, rules.names, step, admission.items)
    batch = _Batch(rules, admission, judge)
    made = [prediction for touched in by_dim.values() for prediction in batch.learned(touched)]
    if len(admission.touched) > 1:
        made.sort(key=itemgetter(0))
    alarms = [] if judge is None else judge.concluded(figures)
    if judge is None:  # which counts them itself
        for _at, number in batch.failures:
            figures.add(f"failures_{rules.names[number]}")
    return [prediction for _at, prediction in made], alarms


class _Batch:
    """Admitted items on their way."""

    def __init__(self, rules: Rules, admission: Admission, judge: Judge | None) -> None:
        self._rules = rules
        self._admission = admission
        self._judge = judge
        self._items = admission.items
        self.failures: dict[tuple[int, int], str] = {}  # of foreign models, by item and learner

    def learned(self, touched: Sequence[tuple[str, Entry]]) -> list[tuple[int, Prediction]]:
        """The predictions for entries whose events have equally many features."""
        rows = [row for _key, entry in touched for row in entry.rows]
        places, features, labels, seen, times, _waiting = zip(*rows, strict=True)
        X = np.concatenate(features).reshape(len(rows), -1)
        y = np.array(labels, dtype=np.float64)  # None becomes NaN
        learners = self._rules.learners
        scores = np.empty((len(learners), len(rows), learners[0].task.outputs))
        begin = 0
        for key, entry in touched:
            here = slice(begin, begin + len(entry.rows))
            self._step(key, entry, places[here], X[here], y[here], scores[:, here])
            begin = here.stop
        if self._judge is not None:
            self._judge.count_failures(scores)
        begin = 0
        for _key, entry in touched:
            if entry.room is not None:
                self._hand_over(entry.rows, scores[:, begin : begin + len(entry.rows)])
            begin += len(entry.rows)
        predictions = self._predictions(touched, places, seen, times, labels, scores, y)
        for _key, entry in touched:
            entry.rows = []
        return predictions

    def _step(
        self, key: str, entry: Entry, places: Sequence[int], X: Array, y: Array, scores: Array
    ) -> None:
        """Let the models of a key score and learn; for each model a line of scores per event."""
        record = entry.record
        if not record.states:
            record.states = self._rules.begin(key, X.shape[1])
        for number, (learner, state) in enumerate(
            zip(self._rules.learners, record.states, strict=True)
        ):
            if isinstance(state, ObjectState):
                self._step_foreign(number, state, places, X, y, scores[number])
            else:
                scores[number] = learner.step(state, X, y).reshape(y.shape[0], -1)

    def _step_foreign(
        self,
        number: int,
        state: ObjectState,
        places: Sequence[int],
        X: Array,
        y: Array,
        scores: Array,
    ) -> None:
        """The same for a model of another library, whose errors may be of any kind."""
        learner = self._rules.learners[number]
        for t, at in enumerate(places):
            here = slice(t, t + 1)
            try:
                scores[here] = learner.step(state, X[here], y[here]).reshape(1, -1)
            except Exception as error:
                scores[here] = math.nan
                self.failures[at, number] = f"{learner.describe()['model']}: {error!r}"

    def _hand_over(self, rows: Sequence[Row], scores: Array) -> None:
        """Give the events that wait their scores, and the labels the scores of their event."""
        for t, (at, *_event, waiting) in enumerate(rows):
            if waiting is None:
                continue
            own = scores[:, t]
            if isinstance(self._items[at], Label):
                own[:] = np.reshape(waiting.score, own.shape)
            else:
                waiting.score = own.ravel().tolist()

    def _predictions(
        self,
        touched: Sequence[tuple[str, Entry]],
        places: Sequence[int],
        seen: Sequence[int],
        times: Sequence[int | None],
        labels: Sequence[float | None],
        scores: Array,
        y: Array,
    ) -> list[tuple[int, Prediction]]:
        """The predictions, by the place of their items; rejects where a model has diverged."""
        found = [
            outcome_of(learner, own if learner.task.outputs > 1 else own.ravel(), y)
            for learner, own in zip(self._rules.learners, scores, strict=True)
        ]
        names, chosen, own, outcome = self._chosen(touched, scores, found, y)
        given = own if own.shape[1] > 1 else own.ravel()
        made = [
            (at, Prediction(item.key, score, predicted, count, name, item.cause, item.id, *rest))
            for at, item, score, predicted, count, name, *rest in zip(
                places,
                [self._items[at] for at in places],
                given.tolist(),
                outcome.predicted.tolist(),
                seen,
                names,
                times,
                _known(outcome.probability),
                labels,
                _known(outcome.loss),
                strict=True,
            )
        ]
        finite = np.isfinite(own).all(axis=1)
        if finite.all():
            return made
        for place in np.flatnonzero(~finite).tolist():
            at, prediction = made[place]
            failure = self.failures.get((at, chosen[place]))
            if failure is not None:
                self._admission.reject(at, Reason.LEARNER, failure)
            else:
                self._admission.reject(at, Reason.DIVERGED, diverged(prediction.score))
        return [made[place] for place in np.flatnonzero(finite).tolist()]

    def _chosen(
        self,
        touched: Sequence[tuple[str, Entry]],
        scores: Array,
        found: Sequence[Outcome],
        y: Array,
    ) -> tuple[Sequence[str], Sequence[int], Array, Outcome]:
        """Of each row the learner that is reported, by name and number, and what it said."""
        names = self._rules.names
        if self._judge is None:
            return names * y.shape[0], [0] * y.shape[0], scores[0], found[0]
        predicted = np.stack([one.predicted for one in found])
        champions = self._judge.champions(touched, scores, predicted, y)
        rows = np.arange(y.shape[0])
        outcome = Outcome(*(np.stack(lines)[champions, rows] for lines in zip(*found, strict=True)))
        numbers = champions.tolist()
        return [names[number] for number in numbers], numbers, scores[champions, rows], outcome


def _known(numbers: Array) -> list[float | None]:
    """The numbers, with None for NaN."""
    missing = np.isnan(numbers)
    if not missing.any():
        known: list[float | None] = numbers.tolist()
        return known
    if missing.all():
        return [None] * len(numbers)
    return [None if math.isnan(number) else number for number in numbers.tolist()]
