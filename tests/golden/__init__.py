"""Golden snapshots: one of every learner and map in every format, to be read for ever.

`python -m tests.golden` writes those that are missing. It never writes over one: a snapshot
that was once released must load, whatever the code has become.
"""

import json
from pathlib import Path

import numpy as np

from okl_flow import make_learner, make_map, snapshot
from okl_flow.approximation.feature_map import FeatureMap
from okl_flow.registry import MAPS, REGISTRY
from tests.conformance.cases import events_for

FOLDER = Path(__file__).parent
EVENTS = 60
DIM = 3
MAP_SETTINGS = {"irs": {"budget": 20, "stored_rows": 30}}  # so that it has its features


def probes():
    """The examples that a golden state is asked about."""
    return np.random.default_rng(99).uniform(-1.0, 1.0, (5, DIM))


def answers(owner, state):
    """What a learner or a map says of the probes."""
    ask = owner.features if isinstance(owner, FeatureMap) else owner.score
    return ask(state, probes())


def path_of(version, name):
    """Where the golden snapshot of a learner or map lies."""
    return FOLDER / str(version) / f"{name}.oklf"


def write_missing():
    """Write the golden snapshots that the present format lacks."""
    owners = [make_learner(name, **row.settings) for name, row in REGISTRY.items()]
    owners += [make_map(name, **MAP_SETTINGS.get(name, {})) for name in MAPS]
    for owner in owners:
        description = owner.describe()
        path = path_of(
            snapshot.FORMAT_VERSION, description.get("learner") or description.get("map")
        )
        if path.exists():
            continue
        state = owner.init(DIM, seed=5)
        if isinstance(owner, FeatureMap):
            owner.update(state, events_for("binary", EVENTS, dim=DIM)[0])
        else:
            owner.step(state, *events_for(owner.task.name, EVENTS, dim=DIM))
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(snapshot.dumps(owner, state))
        path.with_suffix(".json").write_text(json.dumps(answers(owner, state).tolist()) + "\n")
        print(f"wrote {path.relative_to(FOLDER)}")
