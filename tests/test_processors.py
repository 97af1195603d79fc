"""The same bits on every processor: a job may be resumed on another machine."""

import hashlib
import os
import subprocess
import sys

import pytest

from okl_flow import make_learner, snapshot
from okl_flow.registry import REGISTRY
from tests.conformance.cases import events_for

PROCESSORS = ("generic", "haswell")  # without AVX, and with AVX2; what runs here may have more


def digests():
    """For every learner and task, a digest of all scores and of the last state."""
    lines = []
    for name, row in REGISTRY.items():
        for task in row.tasks:
            learner = make_learner(name, **row.settings, task=task)
            state = learner.init(5, seed=3)
            scores = learner.step(state, *events_for(task, 600))
            digest = hashlib.sha256(scores.tobytes() + snapshot.dumps(learner, state))
            lines.append(f"{name} {task} {digest.hexdigest()}")
    return lines


@pytest.mark.parametrize("processor", PROCESSORS)
def test_code_for_another_processor_gives_the_same_bits(processor):
    run = subprocess.run(
        [sys.executable, "-m", "tests.test_processors"],
        env={**os.environ, "NUMBA_CPU_NAME": processor},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.splitlines() == digests()


if __name__ == "__main__":
    print("\n".join(digests()))
