"""What was admitted to a state partition, scored and learned: one native call for each key."""

import math
from collections.abc import Sequence
from operator import itemgetter

import numpy as np

from okl_flow.events import Label, Prediction, Reason
from okl_flow.murmur import seed_of
from okl_flow.native import Array
from okl_flow.operators.admission import Admission, Rules
from okl_flow.operators.models import Entry, Row
from okl_flow.operators.refusals import diverged
from okl_flow.outcome import outcome_of
from okl_flow.state import ObjectState

__all__ = ["learned"]


def learned(rules: Rules, admission: Admission) -> list[Prediction]:
    """The predictions for all rows of the entries, in the order of the items.

    The entries have learned then, and their rows are gone. Where a model has diverged there is
    a reject in place of the prediction.
    """
    by_dim: dict[int, list[tuple[str, Entry]]] = {}
    for key, entry in admission.touched:
        by_dim.setdefault(entry.dim, []).append((key, entry))
    batch = _Batch(rules, admission)
    made = [prediction for touched in by_dim.values() for prediction in batch.learned(touched)]
    if len(admission.touched) > 1:
        made.sort(key=itemgetter(0))
    return [prediction for _at, prediction in made]


class _Batch:
    """Admitted items on their way."""

    def __init__(self, rules: Rules, admission: Admission) -> None:
        self._rules = rules
        self._admission = admission
        self._items = admission.items
        self._failures: dict[int, str] = {}  # of foreign models

    def learned(self, touched: Sequence[tuple[str, Entry]]) -> list[tuple[int, Prediction]]:
        """The predictions for entries whose events have equally many features."""
        rows = [row for _key, entry in touched for row in entry.rows]
        places, features, labels, seen, times, _waiting = zip(*rows, strict=True)
        X = np.concatenate(features).reshape(len(rows), -1)
        y = np.array(labels, dtype=np.float64)  # None becomes NaN
        scores = np.empty((len(rows), self._rules.learner.task.outputs))
        begin = 0
        for key, entry in touched:
            end = begin + len(entry.rows)
            here = slice(begin, end)
            scores[here] = self._step(key, entry, places[here], X[here], y[here])
            if entry.room is not None:
                self._hand_over(entry.rows, scores[here])
            entry.rows = []
            begin = end
        return self._predictions(places, seen, times, labels, scores, y)

    def _step(self, key: str, entry: Entry, places: Sequence[int], X: Array, y: Array) -> Array:
        """Let the model of a key score and learn; a line of scores for each event."""
        record, rules = entry.record, self._rules
        if not record.states:
            if rules.warm_start is not None:
                record.states = [rules.packer.unpack(rules.warm_start)]
            else:
                record.states = [rules.learner.init(X.shape[1], seed=seed_of(key))]
        state = record.states[0]
        if isinstance(state, ObjectState):
            return self._step_foreign(state, places, X, y)
        return rules.learner.step(state, X, y).reshape(y.shape[0], -1)

    def _step_foreign(self, state: ObjectState, places: Sequence[int], X: Array, y: Array) -> Array:
        """The same for a model of another library, whose errors may be of any kind."""
        learner = self._rules.learner
        scores = np.full((y.shape[0], learner.task.outputs), math.nan)
        for number, at in enumerate(places):
            here = slice(number, number + 1)
            try:
                scores[here] = learner.step(state, X[here], y[here]).reshape(1, -1)
            except Exception as error:
                self._failures[at] = f"{learner.describe()['model']}: {error!r}"
        return scores

    def _hand_over(self, rows: Sequence[Row], scores: Array) -> None:
        """Give the events that wait their score, and the labels the score of their event."""
        for (at, *_event, waiting), score in zip(rows, scores, strict=True):
            if waiting is None:
                continue
            if isinstance(self._items[at], Label):
                score[:] = waiting.score
            else:
                waiting.score = score.tolist()

    def _predictions(
        self,
        places: Sequence[int],
        seen: Sequence[int],
        times: Sequence[int | None],
        labels: Sequence[float | None],
        scores: Array,
        y: Array,
    ) -> list[tuple[int, Prediction]]:
        """The predictions, by the place of their items; rejects where a model has diverged."""
        learner = self._rules.learner
        given = scores if learner.task.outputs > 1 else scores.ravel()
        found = outcome_of(learner, given, y)
        name = learner.name
        made = [
            (at, Prediction(item.key, score, predicted, count, name, item.cause, item.id, *rest))
            for at, item, score, predicted, count, *rest in zip(
                places,
                [self._items[at] for at in places],
                given.tolist(),
                found.predicted.tolist(),
                seen,
                times,
                _known(found.probability),
                labels,
                _known(found.loss),
                strict=True,
            )
        ]
        finite = np.isfinite(scores).all(axis=1)
        if finite.all():
            return made
        for place in np.flatnonzero(~finite).tolist():
            at, prediction = made[place]
            if at in self._failures:
                self._admission.reject(at, Reason.LEARNER, self._failures[at])
            else:
                self._admission.reject(at, Reason.DIVERGED, diverged(prediction.score))
        return [made[place] for place in np.flatnonzero(finite).tolist()]


def _known(numbers: Array) -> list[float | None]:
    """The numbers, with None for NaN."""
    missing = np.isnan(numbers)
    if not missing.any():
        known: list[float | None] = numbers.tolist()
        return known
    if missing.all():
        return [None] * len(numbers)
    return [None if math.isnan(number) else number for number in numbers.tolist()]
