"""Files for the command line to read, and a way to call it."""

import gzip
import json

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from typer.testing import CliRunner

from okl_flow.cli import app


def libsvm(X, y):
    lines = []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        features = (f"{at}:{value!r}" for at, value in enumerate(row, 1) if value != 0.0)
        lines.append(" ".join([f"{label:g}", *features]))
    return "\n".join(lines) + "\n"


def csv(X, y, names, words=None):
    lines = [",".join([*names, "label"])]
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        lines.append(",".join([*map(repr, row), words[label] if words else f"{label:g}"]))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """A folder with cancer.libsvm.gz (binary), iris.csv (multiclass), diabetes.jsonl."""
    folder = tmp_path_factory.mktemp("data")
    X, y = load_breast_cancer(return_X_y=True)
    (folder / "cancer.libsvm.gz").write_bytes(gzip.compress(libsvm(X, 2.0 * y - 1.0).encode()))
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    words = ["setosa", "versicolor", "virginica"]
    (folder / "iris.csv").write_text(csv(X[order], y[order], names, words))
    X, y = load_diabetes(return_X_y=True)
    records = (
        json.dumps({"features": row, "label": label})
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    )
    (folder / "diabetes.jsonl").write_text("\n".join(records))
    return folder


@pytest.fixture
def call(files, monkeypatch):
    """Call the command line in the folder of the files."""
    monkeypatch.chdir(files)

    def invoke(*words, stdin=None):
        return CliRunner().invoke(app, list(words), input=stdin)

    return invoke


@pytest.fixture
def objects(call):
    """Call with --json, and decode what comes."""

    def invoke(*words, stdin=None):
        result = call(*words, "--json", stdin=stdin)
        assert (result.exit_code, result.stderr) == (0, "")
        return [json.loads(line) for line in result.stdout.splitlines()]

    return invoke


@pytest.fixture
def refusal(call):
    """Call for a refusal, and give its message."""

    def invoke(*words, stdin=None):
        result = call(*words, stdin=stdin)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.startswith("okl-flow: ")
        assert result.stderr.count("\n") == 1
        return result.stderr.removeprefix("okl-flow: ").rstrip("\n")

    return invoke
