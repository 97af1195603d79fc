"""What Prometheus is told is what has come out."""

import importlib
import re
from collections import Counter
from datetime import timedelta
from pathlib import Path

import bytewax.operators as op
import pytest
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, TestingSource, cluster_main
from prometheus_client import REGISTRY

from okl_flow import make_learner, meters
from okl_flow.events import Event
from okl_flow.operators import decode, evaluate, prequential
from okl_flow.wire import Columns, Raw
from tests.operators.oracle import mixed_stream

ROOT = Path(__file__).parents[1]
LABELS = {"step", "topic", "partition", "reason", "over", "le", "version", "bytewax", "python"}
LEARNER = make_learner("bogd", budget=5, bandwidth=1.5)
ITEMS = mixed_stream(8, 3000, keys=30)


@pytest.fixture(autouse=True)
def kept(monkeypatch):
    """The meters of this test only, which are there after the flow as well."""
    monkeypatch.setattr(meters, "_meters", set())


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "recovery").mkdir()
    init_db_dir(tmp_path / "recovery", 1)
    return tmp_path


def run(folder, name, items, *, on_disk=True):
    """Learn, and give the outputs."""
    found = {"predictions": [], "rejects": [], "reports": []}
    flow = Dataflow(name)
    events = op.input("read", flow, TestingSource(items, 100))
    state = folder / "state" if on_disk else None
    out = prequential("learn", events, LEARNER, partitions=4, state_dir=state)
    judged = evaluate("evaluate", out.predictions, report_every=500)
    op.output("predictions", out.predictions, TestingSink(found["predictions"]))
    op.output("rejects", out.rejects, TestingSink(found["rejects"]))
    op.output("reports", judged.reports, TestingSink(found["reports"]))
    recovery = RecoveryConfig(str(folder / "recovery"))
    cluster_main(flow, [], 0, epoch_interval=timedelta(hours=1), recovery_config=recovery)
    return found


def told(step):
    """What is told of a step, by the name and the other labels."""
    return {
        (one.name, *(value for label, value in sorted(one.labels.items()) if label != "step")): (
            one.value
        )
        for family in REGISTRY.collect()
        for one in family.samples
        if one.labels.get("step") == step
    }


@pytest.mark.parametrize("on_disk", [True, False])
def test_what_is_counted_is_what_comes_out(on_disk, folder):
    name = f"metered_{on_disk}"
    found = run(folder, name, ITEMS, on_disk=on_disk)
    samples = told(f"{name}.learn")
    predictions = found["predictions"]
    assert samples["okl_flow_predictions_total",] == len(predictions)
    refused = {one.cause for one in found["rejects"] if one.ordinal == 0}
    scored = [one for one in ITEMS if isinstance(one, Event) and one.cause not in refused]
    assert samples["okl_flow_events_total",] == len(scored)
    joined = samples["okl_flow_labels_joined_total",]
    assert 0 < joined
    reasons = Counter(str(one.reason) for one in found["rejects"])
    refused = {key[1]: n for key, n in samples.items() if key[0] == "okl_flow_rejects_total"}
    assert refused == reasons
    keys = {one.key for one in predictions}
    assert samples["okl_flow_keys_in_memory",] >= len(keys)
    assert samples["okl_flow_state_bytes",] > 1000
    assert samples["okl_flow_snapshot_seconds_count",] == 4
    assert ("okl_flow_resume_seconds",) not in samples


def test_a_resumed_run_counts_what_it_does_itself(folder):
    items = [*ITEMS[:2000], TestingSource.EOF(), *ITEMS[2000:]]
    run(folder, "metered_again", items)
    counted = told("metered_again.learn")["okl_flow_events_total",]
    meters._meters.clear()
    found = run(folder, "metered_again", items)
    assert 0 < len(found["predictions"]) < counted
    samples = told("metered_again.learn")
    assert samples["okl_flow_predictions_total",] == len(found["predictions"])
    assert 0 < samples["okl_flow_events_total",] < counted
    assert samples["okl_flow_resume_seconds",] > 0.0


def test_figures_are_those_of_the_last_report(folder):
    found = run(folder, "metered_figures", ITEMS)
    samples, last = told("metered_figures.evaluate"), found["reports"][-1].values
    assert last["labelled"] >= 500
    for over, prefix in (("all", ""), ("window", "window_"), ("fading", "fading_")):
        for figure in ("mistake_rate", "loss"):
            assert samples[f"okl_flow_{figure}", over] == last[prefix + figure]
    assert ("okl_flow_rmse", "all") not in samples


def test_records_that_cannot_be_read_are_counted_by_reason():
    flow, out = Dataflow("metered_records"), []
    lines = [b'{"key": "ann", "features": [0.5]}', b"{", b'{"key": "ann", "features": [1]}', b"["]
    up = op.input("read", flow, TestingSource([Raw(line) for line in lines]))
    decoded = decode("decode", up, features=Columns(2))
    op.output("rejects", decoded.rejects, TestingSink(out))
    cluster_main(flow, [], 0)
    reasons = Counter(str(one.reason) for one in out)
    assert sum(reasons.values()) == 4
    samples = told("metered_records.decode")
    assert {key[1]: n for key, n in samples.items()} == reasons


def test_no_label_names_a_key(folder):
    run(folder, "metered_labels", ITEMS)
    for family in REGISTRY.collect():
        for one in family.samples:
            if one.name.startswith("okl_flow_"):
                assert one.labels.keys() <= LABELS


def test_the_page_knows_every_metric(folder):
    importlib.import_module("okl_flow.kafka")  # where the lag is measured
    run(folder, "metered_page", ITEMS)
    page = (ROOT / "docs" / "running.md").read_text()
    page += page.replace("_total", "")  # by which Prometheus calls the families of counters
    names = {one.name for one in REGISTRY.collect() if one.name.startswith("okl_flow_")}
    assert len(names) >= 12
    assert {name for name in names if f"`{name}`" not in page} == set()
    listed = set(re.findall(r"`(okl_flow_[a-z_]+)`", page))
    known = {f"okl_flow_{name}" for name in ("up", "processes", "restarts")} | names
    assert {name.removesuffix("_total") for name in listed} == known
