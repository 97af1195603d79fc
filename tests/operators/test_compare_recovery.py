"""A job that compares learners and is killed: who was promoted, and when, is the same."""

import json

import numpy as np
import pytest

from okl_flow import make_learner
from okl_flow.wire import Columns, Decoder, Raw
from tests.operators.compare_oracle import (
    CompareOracle,
    alarms_as_oracle_says,
    as_compare_oracle_says,
)
from tests.operators.job import DIM
from tests.operators.oracle import mixed_stream, rejects_as_oracle_says
from tests.operators.test_recovery import Job, as_json, by_key
from tests.waiting import kill

LEARNERS = {
    "poor": make_learner("bogd", budget=2, bandwidth=0.05),
    "good": make_learner("bpa_s", budget=10),
}
CONFIDENCE = 0.9
KILLS = 4


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    path = tmp_path_factory.mktemp("inputs") / "events.jsonl"
    records = [as_json(item) for item in mixed_stream(31, 3000, keys=20, dim=DIM)]
    lines = [
        json.dumps({n: v for n, v in record.items() if v is not None or n == "features"})
        for record in records
    ]
    path.write_text("\n".join(lines) + "\n")
    return [path]


@pytest.fixture(scope="module")
def expected(inputs):
    """What a plain loop makes of the file, and what was no event."""
    [path] = inputs
    raws = [
        Raw(line, None, path.name, 0, at)
        for at, line in enumerate(path.read_bytes().splitlines(), 1)
    ]
    items, rejects = Decoder("json", Columns(DIM))(raws)
    oracle = CompareOracle(
        LEARNERS, "poor", promotes=True, confidence=CONFIDENCE, count=4, wait=700
    )
    return oracle.run(items), rejects_as_oracle_says(rejects)


def job_in(folder, inputs):
    job = Job(folder, inputs)
    job.settings |= {
        "learners": {name: learner.describe() for name, learner in LEARNERS.items()},
        "champion": "poor",
        "confidence": CONFIDENCE,
    }
    return job


@pytest.mark.parametrize("seed", range(2))
def test_kills_promote_nobody_and_forget_no_promotion(seed, inputs, expected, tmp_path):
    oracle, refused = expected
    assert len(oracle.alarms) >= 5
    rng = np.random.default_rng([7, seed])
    job = job_in(tmp_path / "job", inputs)
    for _ in range(KILLS):
        started = job.start(int(rng.integers(1, 3)))
        job.wait_for_reading(started, int(rng.integers(10, 50)))
        kill(started[:1])
        job.wait(started)
    assert job.run(1), job.log()
    assert by_key(as_compare_oracle_says(job.outputs("predictions"))) == by_key(oracle.predictions)
    assert sorted(alarms_as_oracle_says(job.outputs("alarms"))) == sorted(oracle.alarms)
    rejects = rejects_as_oracle_says(job.outputs("rejects"))
    assert sorted(rejects, key=repr) == sorted(refused + oracle.rejects, key=repr)
    assert any(offset > 1 for _file, offset in job.first_offsets())
