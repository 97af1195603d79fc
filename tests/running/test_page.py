"""`okl-flow run --dashboard`: the page beside a run, which ends with it."""

import http.client
import json
import re
import signal
import time

import pytest

from okl_flow.wire import Encoder
from tests.page.records import stream
from tests.running.conftest import PATIENCE

ENDLESS = "tests.running.flows:endless"


def ask(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", "/api/now", headers={"Host": "localhost"})
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def port_of(run):
    said = run.wait_for(lambda: re.search(r"the page is at http://localhost:(\d+)/", run.text))
    return int(said[1])


def wait_until_gone(port):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            ask(port)
        except OSError:
            return
        time.sleep(0.05)
    pytest.fail("the page outlives its run")


def test_the_page_shows_what_the_file_of_the_run_says_it_writes(start, tmp_path):
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / "job.toml").write_text(f'flow = "{ENDLESS}"\n[sinks]\nreports = "told.jsonl"\n')
    run = start("jobs/job.toml", "--dashboard", "--grace", 0.1, OKL_DASHBOARD_PORT="0")
    port = port_of(run)
    [said] = Encoder()([stream(1000)])
    (folder / "told.jsonl").write_bytes(said.value + b"\n")
    run.wait_for(lambda: ask(port).get("streams"))
    run.started()
    run.signal(signal.SIGTERM)
    assert run.end() == 4
    wait_until_gone(port)


def test_the_page_ends_with_its_run_whatever_becomes_of_that(start):
    run = start(ENDLESS, "--dashboard", OKL_DASHBOARD_PORT="0")
    port = port_of(run)
    run.started()
    assert ask(port)["standing"]["kind"] == "files"
    run.signal(signal.SIGKILL)
    run.end()
    wait_until_gone(port)


def test_a_page_that_cannot_be_is_told_before_anything_is_started(start):
    run = start(ENDLESS, "--dashboard", OKL_DASHBOARD_PORT="0", OKL_DASHBOARD_TOKEN="short")
    assert run.end() == 2
    assert "--dashboard: --token: expected at least 8 characters" in run.text
    assert "starting" not in run.text
