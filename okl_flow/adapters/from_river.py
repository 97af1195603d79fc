"""A River model as a learner: to be measured, or run, beside ours.

The model is asked for its prediction and taught event by event in Python, as River does it; so
this is for comparison, not for speed. A state holds the model itself, and no arrays: it can be
pickled, as River's models are, and `snapshot.dumps` refuses it.
"""

from copy import deepcopy
from dataclasses import dataclass
from math import isnan
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike
from river import base

from okl_flow.learner import Learner, check_dim, checked_events, checked_features, shaped
from okl_flow.native import Array
from okl_flow.parameters import flat, part
from okl_flow.state import ObjectState
from okl_flow.tasks import Binary, Multiclass, Regression, Task

__all__ = ["FromRiver"]

_LEAST = float(np.finfo(np.float64).tiny)


@final
@dataclass(frozen=True)
class FromRiver(Learner):
    """A River classifier or regressor behind the interface of a learner.

    Events reach the model as dictionaries with the numbers of the columns, from 0, as names.
    Labels reach it as False and True in a binary task and as 0, 1, 2 and so on in a multiclass
    one. What it answers becomes the scores:

    - binary: 2 p - 1, where p is the probability of the upper class. The sign is that of
      `predict_one`: where p does not say so, as with 1/2, the score is next to 0 on its side.
      A model without probabilities scores -1 or +1, one without an answer 0.
    - multiclass: the probabilities, 0 for a class not known yet. The highest score is at the
      class of `predict_one`. A model without probabilities scores 1 there, and 0 elsewhere.
    - regression: the prediction.

    Parameters:
        model: a River estimator. Each state begins with a clone that has learned nothing, and
            in which every parameter called seed is that of `init`; the model itself never
            learns.
        task: binary, multiclass or regression.

    Cost: that of the model. `score` works on a copy of the model, as some of River's change
    when they predict. Nothing bounds the memory.

    >>> from river import linear_model
    >>> learner = FromRiver(linear_model.LogisticRegression())
    >>> state = learner.init(dim=1)
    >>> learner.step(state, [[1.0], [1.0]], [1.0, 1.0]) > 0.0
    array([False,  True])
    >>> learner.describe()
    {'learner': 'river', 'model': 'LogisticRegression', 'task': 'binary'}
    """

    name: ClassVar[str] = "river"
    model: Any
    task: Task = part(Task, Binary())

    def __post_init__(self) -> None:
        wanted: type[Any] = base.Regressor if isinstance(self.task, Regression) else base.Classifier
        if not isinstance(self.model, wanted):
            raise ValueError(
                f"FromRiver: model must be a River {wanted.__name__.lower()} for a "
                f"{self.task.name} task, not {type(self.model).__name__}"
            )
        if isinstance(self.task, Multiclass) and not self.model._multiclass:
            raise ValueError(
                f"FromRiver: model must be multiclass, and {self.model} is binary; River's "
                "multiclass.OneVsRestClassifier makes it so"
            )

    def init(self, dim: int, seed: int = 0) -> ObjectState:
        """A state with a clone of the model; `seed` is given to every part of it that draws."""
        check_dim(dim)
        model = self.model.clone(_seeded(self.model._get_params(), seed))
        return ObjectState(dim=dim, seen=0, held=model)

    def score(self, state: ObjectState, X: ArrayLike) -> Array:
        """Scores of the events, one per row of X. Changes nothing."""
        features = checked_features(state, X)
        model = deepcopy(state.held)
        scores = np.empty((features.shape[0], self.task.outputs))
        for t, x in enumerate(features.tolist()):
            scores[t] = self._answer(model, dict(enumerate(x)))
        return shaped(self.task, scores)

    def step(self, state: ObjectState, X: ArrayLike, y: ArrayLike) -> Array:
        """Score each event, then learn from its label."""
        features, labels = checked_events(self.task, state, X, y)
        scores = np.empty((features.shape[0], self.task.outputs))
        for t, (x, label) in enumerate(zip(features.tolist(), labels.tolist(), strict=True)):
            event = dict(enumerate(x))
            scores[t] = self._answer(state.held, event)
            if not isnan(label):
                state.held.learn_one(event, self._label(label))
            state.seen += 1
        return shaped(self.task, scores)

    def state_bytes_max(self, dim: int) -> int | None:
        """None: what a model of River takes is its own affair."""
        check_dim(dim)
        return None

    def describe(self) -> dict[str, Any]:
        """The name of the model, and the task."""
        return {"learner": self.name, "model": str(self.model), **flat(self)}

    def _label(self, y: float) -> Any:
        """A label as the model takes it."""
        if isinstance(self.task, Regression):
            return y
        return y > 0.0 if isinstance(self.task, Binary) else int(y)

    def _answer(self, model: Any, event: dict[int, float]) -> Any:
        """The scores of an event, or its one score."""
        if isinstance(self.task, Regression):
            return model.predict_one(event) or 0.0
        decision, shares = _decision(model, event)
        if isinstance(self.task, Binary):
            if decision is None:
                return 0.0
            score = shares.get(True, 0.0) - shares.get(False, 0.0)
            return max(score, _LEAST) if decision else min(score, -_LEAST)
        scores = np.array([shares.get(c, 0.0) for c in range(self.task.outputs)])
        if decision is not None and scores.argmax() != decision:
            scores[decision] = np.nextafter(scores.max(), np.inf)
        return scores


def _decision(model: Any, event: dict[int, float]) -> tuple[Any, dict[Any, float]]:
    """The label that `predict_one` gives, and the probabilities; where there are none, a 1.

    Where `predict_one` is that of River's classifiers, which takes the likeliest label, the
    model is asked only once.
    """
    try:
        shares = model.predict_proba_one(event)
    except NotImplementedError:
        decision = model.predict_one(event)
        return decision, {decision: 1.0}
    last = getattr(model, "_last_step", model)
    if type(last).predict_one is base.Classifier.predict_one:
        return max(shares, key=shares.get, default=None), shares
    return model.predict_one(event), shares


def _seeded(params: dict[str, Any], seed: int) -> dict[str, Any]:
    """The parameters of a model, with this seed wherever one is asked for."""
    return {name: seed if name == "seed" else _reseeded(own, seed) for name, own in params.items()}


def _reseeded(value: Any, seed: int) -> Any:
    """A parameter with this seed in all its parts: River gives a part as its class and these."""
    match value:
        case (type() as part, dict() as own):
            return part, _seeded(own, seed)
        case dict():
            return _seeded(value, seed)
        case list() | tuple():
            return type(value)(_reseeded(item, seed) for item in value)
        case base.Base():
            return value.clone(_seeded(value._get_params(), seed))
    return value
