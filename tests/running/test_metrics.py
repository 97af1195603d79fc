"""What a run and its processes serve to Prometheus."""

import os
import signal
import socket
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from okl_flow.running.supervisor import Code
from tests.ports import free_ports


def served(port):
    """What is served at a port, summed over labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    found = {}
    for family in text_string_to_metric_families(text):
        for one in family.samples:
            found[one.name] = found.get(one.name, 0.0) + one.value
    return found


def test_a_run_and_its_processes_can_be_watched(start, tmp_path):
    first = free_ports(3)[0]
    words = ("--processes", 2, "--metrics-port", first, "--recovery-dir", "recovery")
    run = start("tests.running.flows:endless", *words, "--pause", 0.01)
    pids = run.started()
    assert served(first)["okl_flow_up"] == 1
    assert served(first)["okl_flow_processes"] == 2
    assert served(first)["okl_flow_restarts_total"] == 0
    for port in (first + 1, first + 2):
        assert "process_cpu_seconds_total" in served(port)
    os.kill(pids[0], signal.SIGKILL)
    run.started(2)
    assert served(first)["okl_flow_restarts_total"] == 1


def test_processes_tell_what_their_partitions_count(start, tmp_path):
    first = free_ports(2)[0]
    lines = ['{"key": "ann", "features": [0.5, 1], "label": 1}'] * 2000 + ["{"]
    (tmp_path / "events.jsonl").write_text("\n".join(lines * 20))
    variables = {"READ": "read", "PAUSE": "0.05", "OKL_LEARNER": "kogd budget=5"}
    run = start("tests.running.flows:slow", "--metrics-port", first, **variables)
    run.started()

    def told_between_batches():
        """Within one there are events whose predictions are still to come."""
        told = served(first + 1)
        events, predictions = (
            told.get(f"okl_flow_{name}_total", 0) for name in ("events", "predictions")
        )
        return told.get("okl_flow_rejects_total", 0) > 1 and events == predictions and told

    samples = run.wait_for(told_between_batches)
    assert samples["okl_flow_events_total"] >= 1000
    assert samples["okl_flow_predictions_total"] == samples["okl_flow_events_total"]
    assert samples["okl_flow_keys_in_memory"] == 1
    assert samples["okl_flow_info"] == 1
    assert "ann" not in urllib.request.urlopen(f"http://127.0.0.1:{first + 1}").read().decode()


@pytest.mark.parametrize("which", [0, 2])
def test_a_port_that_is_taken_is_refused(which, start):
    first = free_ports(3)[0]
    with socket.create_server(("127.0.0.1", first + which)):
        words = ("--processes", 2, "--metrics-port", first)
        run = start("tests.running.flows:endless", *words)
        assert run.end() == Code.REFUSED
    assert f"--metrics-port: 127.0.0.1:{first + which}: Address already in use" in run.text
    assert run.text.count("\n") == 1
