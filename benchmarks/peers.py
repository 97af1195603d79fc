"""The neighbours that we compare ourselves with, behind one interface, and what they achieve.

A peer is a model of River, scikit-learn or Vowpal Wabbit in one setting of a small stated grid;
the setting called "default" is what the library gives without being asked. River's and
scikit-learn's stand behind the library's own running standardisation, as their documentations
have it; Vowpal Wabbit normalises by itself.

`python -m benchmarks.peers` runs each setting over the files, event by event, predict first and
learn after, and adds a line per run to `benchmarks/results/compare_peers.csv`; runs that are in it
already are not repeated: all of them together take hours. Vowpal Wabbit takes part where it is
installed (the extra `peers`).
"""

import argparse
import csv
import functools
import importlib
import importlib.util
import math
import pickle
import tempfile
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import feature_extraction as river_features
from river import forest, linear_model, multiclass, optim, preprocessing, tree
from sklearn import kernel_approximation
from sklearn import linear_model as sklearn_linear
from sklearn import preprocessing as sklearn_preprocessing
from threadpoolctl import threadpool_limits

from benchmarks.papers.harness import Options, Stream, streams
from benchmarks.report import RESULTS
from okl_flow.native import Array
from okl_flow.tasks import Binary, Multiclass, Regression, Task

COMPONENTS = 100
"""Random Fourier features of every peer that has them."""

IN_ORDER = ("elec2",)
"""Files whose order is that of time; the others are permuted."""

PERMUTATIONS = 5
LARGE = 9000
"""Rows from which on one permutation has to do: some peers take milliseconds for an event."""

OUT = RESULTS / "compare_peers.csv"

Setting = Mapping[str, float]


class Contender(ABC):
    """A model on its way through one stream."""

    @abstractmethod
    def event(self, x: Array) -> Any:
        """The event as the library wants it; this is not on the clock."""

    @abstractmethod
    def step(self, event: Any, y: float) -> float:
        """Predict a label, then learn from the true one. NaN where there is no prediction."""

    def state_bytes(self) -> int:
        """The size of what is kept: the pickled model."""
        return len(pickle.dumps(self))


@dataclass(frozen=True)
class Peer:
    """A neighbour in one setting; `make(dim, task, seed)` is one that has seen nothing."""

    name: str
    setting: str
    make: Callable[[int, Task, int], Contender]


@dataclass(frozen=True)
class Achieved:
    """What a peer did on one stream."""

    error: float  # share of mistakes, or root mean squared error
    microseconds: float  # per event, to predict and to learn
    state_bytes: int


class RiverModel(Contender):
    """A River model behind River's StandardScaler."""

    def __init__(self, model: Any, task: Task) -> None:
        self.model = preprocessing.StandardScaler() | model
        self.binary, self.classes = isinstance(task, Binary), not isinstance(task, Regression)

    def event(self, x: Array) -> dict[int, float]:
        """A dictionary of features."""
        return dict(enumerate(x.tolist()))

    def step(self, event: dict[int, float], y: float) -> float:
        """Predict a label, then learn from the true one."""
        predicted = self.model.predict_one(event)
        label = y > 0.0 if self.binary else int(y) if self.classes else y
        self.model.learn_one(event, label)
        if predicted is None:
            return math.nan
        return (1.0 if predicted else -1.0) if self.binary else float(predicted)


class SklearnModel(Contender):
    """Scikit-learn's SGD on random Fourier features, behind its StandardScaler."""

    def __init__(self, model: Any, gamma: float, dim: int, task: Task, seed: int) -> None:
        self.scaler = sklearn_preprocessing.StandardScaler()
        self.features = kernel_approximation.RBFSampler(
            gamma=gamma, n_components=COMPONENTS, random_state=seed
        ).fit(np.zeros((1, dim)))
        self.model = model
        self.more: dict[str, Any] = {}
        if isinstance(task, Binary):
            self.more = {"classes": np.array([-1.0, 1.0])}
        elif isinstance(task, Multiclass):
            self.more = {"classes": np.arange(float(task.classes))}
        self.fresh = True

    def event(self, x: Array) -> Array:
        """A matrix of one row."""
        return x[None]

    def step(self, event: Array, y: float) -> float:
        """Predict a label, then learn from the true one."""
        row = self.features.transform(self.scaler.partial_fit(event).transform(event))
        # Before its first label it refuses to predict; in regression 0 stands for that.
        none = math.nan if self.more else 0.0
        predicted = none if self.fresh else float(self.model.predict(row)[0])
        self.model.partial_fit(row, [y], **self.more)
        self.fresh = False
        return predicted


class VowpalWabbit(Contender):
    """Vowpal Wabbit with the update that it has by default: adaptive, normalised, invariant."""

    def __init__(self, task: Task, seed: int, rate: float | None, quadratic: bool) -> None:
        options = ["--quiet", f"--random_seed {seed}"]
        if isinstance(task, Binary):
            options.append("--loss_function logistic --binary")
        elif isinstance(task, Multiclass):
            options.append(f"--oaa {task.classes}")
        if rate is not None:
            options.append(f"--learning_rate {rate}")
        if quadratic:
            options.append("--interactions ::")
        self.model = importlib.import_module("vowpalwabbit").Workspace(" ".join(options))
        self.first_class = 1 if isinstance(task, Multiclass) else 0

    def event(self, x: Array) -> str:
        """A line of its text format, without the label."""
        return " | " + " ".join(f"{j}:{value:.9g}" for j, value in enumerate(x) if value)

    def step(self, event: str, y: float) -> float:
        """Predict a label, then learn from the true one."""
        predicted = float(self.model.predict(event)) - self.first_class
        self.model.learn(f"{y + self.first_class:.9g}{event}")
        return predicted

    def state_bytes(self) -> int:
        """The size of the model as it saves it: it cannot be pickled."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            self.model.save(str(path))
            return path.stat().st_size


def run_peer(peer: Peer, X: Array, y: Array, task: Task, seed: int = 0) -> Achieved:
    """Run a peer through a stream, event by event: predict, then learn.

    A prediction that is missing or no number is a mistake, or an infinite error.
    """
    contender = peer.make(X.shape[1], task, seed)
    events = [contender.event(x) for x in X]
    labels = y.tolist()
    predicted = np.empty(y.shape[0])
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numbers that overflow: the error says it
        begin = time.perf_counter()
        for t, (event, label) in enumerate(zip(events, labels, strict=True)):
            predicted[t] = contender.step(event, label)
        seconds = time.perf_counter() - begin
    if isinstance(task, Regression):
        with np.errstate(over="ignore"):
            squares = np.nan_to_num((predicted - y) ** 2, nan=math.inf, posinf=math.inf)
        error = math.sqrt(squares.mean())
    else:
        error = float(np.mean(predicted != y))
    return Achieved(error, 1e6 * seconds / y.shape[0], contender.state_bytes())


def peers(task: Task, dim: int) -> Iterator[Peer]:
    """Every peer of a task, in every setting of its grid, the default first."""
    for name, (make, grid) in _contestants(task, dim).items():
        for setting in grid:
            text = " ".join(f"{key}={value:g}" for key, value in setting.items()) or "default"
            yield Peer(name, text, functools.partial(make, setting))


Make = Callable[[Setting, int, Task, int], Contender]


def _contestants(task: Task, dim: int) -> dict[str, tuple[Make, Sequence[Setting]]]:
    """Each peer: how it is made from a setting, and the settings that are tried."""
    regression = isinstance(task, Regression)
    rates: list[Setting] = [{"rate": rate} for rate in (0.001, 0.003, 0.03, 0.1, 0.3, 1.0)]
    aggressiveness: list[Setting] = [{"C": most} for most in (0.001, 0.01, 0.1, 10.0)]
    steps: list[Setting] = [{}, {"rate": 0.1}]
    if regression:
        # River gives the intercept a rate of its own.
        rates = [{"rate": rate, "intercept_rate": 0.1} for rate in (0.0003, 0.001, 0.003)]
        aggressiveness = [{"C": most} for most in (0.1, 10.0)]
        steps = [{"rate": 0.1}, {"rate": 1.0}]
    # River's map has COMPONENTS features for each feature of the event: its kernel is a sum of
    # kernels of single features. So the length of its vectors asks for small steps.
    additive: list[Setting] = [
        {"gamma": gamma, "rate": rate} | ({"intercept_rate": 0.1} if regression else {})
        for gamma in (0.1, 1.0)
        for rate in (0.0001, 0.001)
    ]
    if isinstance(task, Multiclass):
        additive = additive[:1]  # half an hour each
    joint: list[Setting] = [
        {"gamma": gamma, **step} for gamma in (1.0 / dim, 0.25 / dim) for step in steps
    ]
    found: dict[str, tuple[Make, Sequence[Setting]]] = {
        "river_linear": (_river_linear, [{}, *rates]),
        "river_passive_aggressive": (_river_passive_aggressive, [{}, *aggressiveness]),
        "river_hoeffding_tree": (_river_tree, [{}, {"grace_period": 50}]),
        "river_adaptive_forest": (_river_forest, [{}]),
        "sklearn_rbf_sgd": (_sklearn, [{}, *joint]),
        "river_rbf_linear": (_river_rbf, [{}, *additive]),
    }
    if importlib.util.find_spec("vowpalwabbit"):
        grid = [
            {**more, **rate}
            for more in ({}, {"quadratic": 1})
            for rate in ({}, *({"rate": rate} for rate in (0.02, 0.1, 2.0, 10.0)))
        ]
        found["vowpal_wabbit"] = (_vowpal_wabbit, grid)
    return found


def _linear(setting: Setting, task: Task) -> Any:
    """River's gradient descent on a linear model: logistic, softmax or squared loss."""
    optimizer = optim.SGD(setting["rate"]) if "rate" in setting else None
    if isinstance(task, Binary):
        return linear_model.LogisticRegression(optimizer=optimizer)
    if isinstance(task, Multiclass):
        return linear_model.SoftmaxRegression(optimizer=optimizer)
    intercept = {"intercept_lr": setting["intercept_rate"]} if setting else {}
    return linear_model.LinearRegression(optimizer=optimizer, **intercept)


def _river_linear(setting: Setting, _dim: int, task: Task, _seed: int) -> Contender:
    return RiverModel(_linear(setting, task), task)


def _river_rbf(setting: Setting, _dim: int, task: Task, seed: int) -> Contender:
    rest = dict(setting)
    features = river_features.RBFSampler(
        gamma=rest.pop("gamma", 1.0), n_components=COMPONENTS, seed=seed
    )
    return RiverModel(features | _linear(rest, task), task)


def _river_passive_aggressive(setting: Setting, _dim: int, task: Task, _seed: int) -> Contender:
    if isinstance(task, Regression):
        return RiverModel(linear_model.PARegressor(**setting), task)
    model = linear_model.PAClassifier(**setting)
    if isinstance(task, Multiclass):
        model = multiclass.OneVsRestClassifier(model)
    return RiverModel(model, task)


def _river_tree(setting: Setting, _dim: int, task: Task, _seed: int) -> Contender:
    regression = isinstance(task, Regression)
    model = tree.HoeffdingTreeRegressor if regression else tree.HoeffdingTreeClassifier
    return RiverModel(model(**setting), task)


def _river_forest(_setting: Setting, _dim: int, task: Task, seed: int) -> Contender:
    regression = isinstance(task, Regression)
    model = forest.ARFRegressor if regression else forest.ARFClassifier
    return RiverModel(model(seed=seed), task)


def _sklearn(setting: Setting, dim: int, task: Task, seed: int) -> Contender:
    descent: dict[str, Any] = {}
    if "rate" in setting:
        descent = {"eta0": setting["rate"]}
        if not isinstance(task, Regression):
            descent["learning_rate"] = "constant"
    regression = isinstance(task, Regression)
    model = sklearn_linear.SGDRegressor if regression else sklearn_linear.SGDClassifier
    gamma = setting.get("gamma", 1.0)
    return SklearnModel(model(random_state=seed, **descent), gamma, dim, task, seed)


def _vowpal_wabbit(setting: Setting, _dim: int, task: Task, seed: int) -> Contender:
    return VowpalWabbit(task, seed, setting.get("rate"), bool(setting.get("quadratic")))


def task_of(stream: Stream) -> Task:
    """The task of a file's labels."""
    if stream.task == "multiclass":
        return Multiclass(stream.classes)
    return Binary() if stream.task == "binary" else Regression()


def orders_of(stream: Stream) -> list[NDArray[np.int64]]:
    """The orders that a file is gone through in: its own if that is of time, or permutations."""
    rows = len(stream.y)
    if stream.name in IN_ORDER:
        return [np.arange(rows)]
    count = PERMUTATIONS if rows < LARGE else 1
    return [np.random.default_rng([0, number]).permutation(rows) for number in range(count)]


def main() -> None:
    """Run the peers over the files; one line per run goes into the results as it comes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--files", nargs="*", help="only these")
    parser.add_argument("--peers", nargs="*", help="only these")
    options = parser.parse_args()
    if not importlib.util.find_spec("vowpalwabbit"):
        print("vowpal_wabbit is missing: `pip install vowpalwabbit` adds it")
    done = _done(options.out)
    found = Options(options.data)
    tasks = ("binary", "regression", "multiclass")
    with options.out.open("a", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        if not done:
            lines.writerow(["file", "peer", "setting", "permutation", "error", "bytes"])
        for stream in (stream for task in tasks for stream in streams(found, task)):
            if options.files and stream.name not in options.files:
                continue
            task = task_of(stream)
            asked = [
                (peer, number, order)
                for peer in peers(task, stream.X.shape[1])
                for number, order in enumerate(orders_of(stream))
                if not options.peers or peer.name in options.peers
            ]
            for peer, number, order in asked:
                key = (stream.name, peer.name, peer.setting, str(number))
                if key not in done:
                    got = run_peer(peer, stream.X[order], stream.y[order], task, seed=number)
                    lines.writerow([*key, f"{got.error:.6g}", got.state_bytes])
                    file.flush()
                    print(*key, f"{got.error:.4g}", flush=True)


def _done(out: Path) -> set[tuple[str, ...]]:
    """The runs that a file holds, with its header."""
    if not out.exists():
        return set()
    with out.open(newline="") as file:
        return {tuple(line[:4]) for line in csv.reader(file)}


if __name__ == "__main__":
    main()
