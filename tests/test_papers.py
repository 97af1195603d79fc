"""The papers' benchmarks run, on a small folder, and their tables say what they must."""

import gzip
from importlib import import_module

import numpy as np
import pytest

from benchmarks.papers.__main__ import NAMES
from benchmarks.papers.harness import Options, rescaled, streams, tuned
from okl_flow import make_learner
from okl_flow import streams as seeded

ROWS = 160


def written(path, X, y, label="{:g}"):
    """A file in LIBSVM format."""
    lines = [
        " ".join(
            [label.format(own), *(f"{j}:{value:.5f}" for j, value in enumerate(x, 1) if value)]
        )
        for x, own in zip(X, y, strict=True)
    ]
    text = "\n".join(lines) + "\n"
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small files under the names of the papers' data, and one that the papers do not know."""
    path = tmp_path_factory.mktemp("data")
    X, y = seeded.rings(ROWS, dim=5, seed=1)
    written(path / "german.numer.libsvm", 10 * X, y)
    written(path / "spambase.libsvm.gz", X, y)
    written(path / "clicks.libsvm", X[:, :3], (y > 0).astype(float))
    digits = np.digitize(X[:, 0] + X[:, 1], [-1, -0.3, 0.3, 1]) + 1.0
    written(path / "usps.libsvm", X[:100], digits[:100])
    written(path / "usps.t.libsvm", X[100:, :4], digits[100:])
    waves, values = seeded.waves(ROWS, dim=3, seed=2)
    written(path / "cpusmall_scale.libsvm", waves, values, label="{:.4f}")
    (path / "SOURCES.md").write_text("not data\n")
    return path


def options(folder, permutations=1):
    return Options(folder, permutations=permutations, rows_max=ROWS, workers=1)


def test_every_file_of_the_format_joins_in(folder):
    found = {
        task: [stream.name for stream in streams(options(folder), task)]
        for task in ("binary", "multiclass", "regression")
    }
    assert found == {
        "binary": ["clicks", "german.numer", "spambase"],
        "multiclass": ["usps"],
        "regression": ["cpusmall_scale"],
    }


def test_a_test_part_is_appended(folder):
    (usps,) = streams(options(folder), "multiclass")
    assert usps.X.shape == (ROWS, 5)
    assert (usps.X[100:, 4] == 0).all()
    assert set(usps.y) <= {0.0, 1.0, 2.0, 3.0, 4.0}


def test_a_folder_without_data_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="no file in LIBSVM format"):
        streams(options(tmp_path), "binary")


def test_streams_are_rescaled(folder):
    stream = streams(options(folder), "binary")[1]
    assert rescaled(stream, "none").X is stream.X
    scaled = rescaled(stream, "minmax").X
    np.testing.assert_allclose([scaled.min(axis=0), scaled.max(axis=0)], [[-1] * 5, [1] * 5])
    scaled = rescaled(stream, "standard").X
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), 1)


def test_the_best_of_a_grid_is_measured(folder):
    stream = streams(options(folder), "binary")[2]
    learners = [make_learner("kogd", bandwidth=width) for width in (1e-3, 0.7)]
    result = tuned(stream, learners, 6)
    assert result.learner is learners[1]
    assert result.measures["mistake_rate"].std > 0


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_gives_its_tables(name, folder):
    sections = list(import_module(f"benchmarks.papers.{name}").sections(options(folder)))
    assert sections
    for section in sections:
        assert section.rows, section.title
        assert all(len(row) == len(section.header) for row in section.rows), section.title
        assert "nan" not in str(section), section.title
        assert str(section).startswith(f"## {section.title}\n\n")
