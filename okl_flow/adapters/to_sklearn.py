"""A learner as a scikit-learn estimator: `fit` is one pass over the events, or several.

A learner goes by the name and the settings that `make_learner` takes; the task, the classes and
the number of features come with the data. `settings__budget` and the like are parameters too,
so that a grid search finds them.
"""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from okl_flow.adapters.probability import has_probabilities, probabilities, why_none
from okl_flow.factory import make_learner
from okl_flow.learner import Learner
from okl_flow.native import Array
from okl_flow.registry import REGISTRY
from okl_flow.tasks import Regression

__all__ = ["Sklearn", "SklearnClassifier", "SklearnRegressor"]

_FROM_THE_DATA = ("task", "classes")
_PREFIX = "settings__"
_TWO = 2


def Sklearn(  # noqa: N802 - it stands for the two classes
    learner: Learner, *, passes: int = 1, seed: int = 0
) -> "SklearnClassifier | SklearnRegressor":
    """The scikit-learn estimator that a learner's task asks for, with the learner's settings.

    >>> from okl_flow import make_learner
    >>> Sklearn(make_learner("passive_aggressive", task="regression"))
    SklearnRegressor(learner='passive_aggressive', settings={...})
    """
    chosen = SklearnRegressor if isinstance(learner.task, Regression) else SklearnClassifier
    settings = learner.describe()
    name = settings.pop("learner")
    for parameter in _FROM_THE_DATA:
        settings.pop(parameter, None)
    return chosen(name, settings=settings, passes=passes, seed=seed)


class _Adapted(BaseEstimator):
    """What both estimators share: their parameters, and the learner's state."""

    def __init__(
        self,
        learner: str = "nogd",
        *,
        settings: Mapping[str, Any] | None = None,
        passes: int = 1,
        seed: int = 0,
    ) -> None:
        self.learner = learner
        self.settings = settings
        self.passes = passes
        self.seed = seed

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; if `deep`, each setting too, as settings__name."""
        params: dict[str, Any] = super().get_params(deep)
        if deep and isinstance(self.settings, Mapping):
            params |= {f"{_PREFIX}{name}": value for name, value in self.settings.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, or single settings as settings__name."""
        single = {name for name in params if name.startswith(_PREFIX)}
        super().set_params(**{name: params[name] for name in params if name not in single})
        if single:
            changed = {name.removeprefix(_PREFIX): params[name] for name in single}
            self.settings = {**(self.settings or {}), **changed}
        return self

    def _made(self, **task: Any) -> Learner:
        """The learner for a task."""
        # A grid search over an array hands on numpy's numbers.
        settings = {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in (self.settings or {}).items()
        }
        for name in _FROM_THE_DATA:
            if name in settings:
                raise ValueError(f"settings must not have {name!r}: it comes with the data")
        return make_learner(self.learner, **settings, **task)

    def _begin(self, learner: Learner, dim: int) -> None:
        """A fresh state."""
        self.learner_ = learner
        self.state_ = learner.init(dim, seed=self.seed)

    def _pass_over(self, X: Array, y: Array) -> Self:
        """Learn all events, in their order, as many times as `passes` says."""
        whole = isinstance(self.passes, int | np.integer) and not isinstance(self.passes, bool)
        if not whole or self.passes < 1:
            raise ValueError(f"passes must be a whole number at least 1, not {self.passes!r}")
        for _ in range(self.passes):
            self.learner_.step(self.state_, X, y)
        return self

    def _scores(self, X: ArrayLike) -> Array:
        """Scores of the events."""
        check_is_fitted(self)
        features = validate_data(self, X, reset=False, dtype=np.float64)
        return self.learner_.score(self.state_, features)


def _gives_probabilities(estimator: "SklearnClassifier") -> bool:
    """Whether there is a predict_proba; if not, an AttributeError says why."""
    try:
        learner = estimator._made(task="binary")
    except (TypeError, ValueError):
        return False  # `fit` says what is wrong with the settings
    if not has_probabilities(learner):
        raise AttributeError(why_none(learner))
    return True


class SklearnClassifier(ClassifierMixin, _Adapted):
    """A learner as a scikit-learn classifier.

    With two classes the learner's task is binary, and the upper class in the order of labels is
    +1; with more it is multiclass. `predict_proba` is there where the loss gives
    probabilities: logistic, squared_hinge and square.

    Parameters:
        learner: name of a learner, as `make_learner` takes it.
        settings: its parameters by name, but for the task.
        passes: how often `fit` goes over the events, in the order given; `partial_fit` goes
            once.
        seed: of the learner's state.

    Cost: that of the learner, and scikit-learn's checks of each call.

    >>> from okl_flow import streams
    >>> X, y = streams.rings(1000)
    >>> model = SklearnClassifier("nogd", settings={"budget": 50, "bandwidth": 0.3})
    >>> bool(model.fit(X[:800], y[:800]).score(X[800:], y[800:]) > 0.8)
    True
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Forget what was learned, and learn the events."""
        features, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        self._begin_with(np.unique(labels), features.shape[1])
        return self._pass_over(features, self._codes(labels))

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn the events after those before; the first call must say all `classes`."""
        first = not hasattr(self, "state_")
        features, labels = validate_data(self, X, y, reset=first, dtype=np.float64)
        check_classification_targets(labels)
        if first:
            if classes is None:
                raise ValueError("classes must be given with the first partial_fit")
            self._begin_with(np.unique(np.asarray(classes)), features.shape[1])
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes must be those of the first partial_fit: {self.classes_}")
        self.learner_.step(self.state_, features, self._codes(labels))
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Scores: one per event, above 0 for the upper class; or a column per class."""
        return self._scores(X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of each event; a score of 0 is the lower class."""
        scores = self._scores(X)
        places = scores.argmax(axis=1) if scores.ndim > 1 else (scores > 0.0).astype(np.intp)
        predicted: NDArray[Any] = self.classes_[places]
        return predicted

    @available_if(_gives_probabilities)
    def predict_proba(self, X: ArrayLike) -> Array:
        """The probability of each class, a column each, where the loss gives one."""
        scores = self._scores(X)
        return probabilities(self.learner_, scores)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        row = REGISTRY.get(self.learner) if isinstance(self.learner, str) else None
        tags.classifier_tags.multi_class = row is None or "multiclass" in row.tasks
        return tags

    def _begin_with(self, classes: NDArray[Any], dim: int) -> None:
        """A fresh state for these classes."""
        if classes.shape[0] < _TWO:
            raise ValueError(f"there must be at least 2 classes, and this is one class: {classes}")
        if classes.shape[0] == _TWO:
            learner = self._made(task="binary")
        elif not self.__sklearn_tags__().classifier_tags.multi_class:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"{self.learner} tells 2 classes apart, and here are {classes.shape[0]}"
            )
        else:
            learner = self._made(task="multiclass", classes=int(classes.shape[0]))
        self._begin(learner, dim)
        self.classes_ = classes

    def _codes(self, labels: NDArray[Any]) -> Array:
        """Labels as the learner takes them."""
        known = np.isin(labels, self.classes_)
        if not known.all():
            raise ValueError(
                f"labels must be among the classes {self.classes_}: "
                f"number {int(known.argmin())} is {labels[known.argmin()]!r}"
            )
        places = np.searchsorted(self.classes_, labels).astype(np.float64)
        return 2.0 * places - 1.0 if self.classes_.shape[0] == _TWO else places


class SklearnRegressor(RegressorMixin, _Adapted):
    """A learner as a scikit-learn regressor.

    Parameters:
        learner: name of a learner, as `make_learner` takes it.
        settings: its parameters by name, but for the task.
        passes: how often `fit` goes over the events, in the order given; `partial_fit` goes
            once.
        seed: of the learner's state.

    Cost: that of the learner, and scikit-learn's checks of each call.

    >>> X = np.linspace(-1.0, 1.0, 200)[:, None]
    >>> model = SklearnRegressor("nogd", settings={"bandwidth": 0.3}, passes=5)
    >>> bool(model.fit(X, np.sin(3.0 * X[:, 0])).score(X, np.sin(3.0 * X[:, 0])) > 0.9)
    True
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Forget what was learned, and learn the events."""
        features, labels = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        self._begin(self._made(task="regression"), features.shape[1])
        return self._pass_over(features, labels.astype(np.float64))

    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the events after those before."""
        first = not hasattr(self, "state_")
        features, labels = validate_data(self, X, y, reset=first, dtype=np.float64, y_numeric=True)
        if first:
            self._begin(self._made(task="regression"), features.shape[1])
        self.learner_.step(self.state_, features, labels.astype(np.float64))
        return self

    def predict(self, X: ArrayLike) -> Array:
        """The score of each event."""
        return self._scores(X)
