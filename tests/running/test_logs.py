"""Lines of logs, and what is not in them."""

import io
import json
import os

import pytest

from okl_flow.running.logs import Log, masked
from okl_flow.running.messages import Logged

SECRET = "hunter2"


@pytest.mark.parametrize(
    "text",
    [
        "sasl.password=hunter2",
        "sasl.password = hunter2, acks=all",
        "{'sasl.password': 'hunter2', 'acks': 'all'}",
        '{"sasl.password": "hunter2 and more", "acks": "all"}',
        "OKL_SECRET=hunter2",
        "ssl.key.password: hunter2",
        "api_key=hunter2 api-key=hunter2 ApiKey=hunter2",
        "sasl.jaas.config='x required password=\"hunter2\";'",
        "see https://ann:hunter2@host:8081/path",
        "access_token=hunter2; user=ann",
    ],
)
def test_what_stands_behind_the_name_of_a_secret_is_masked(text):
    assert SECRET not in masked(text)
    assert "***" in masked(text)


@pytest.mark.parametrize(
    "text",
    [
        "no password was given",
        "tokens: expected 3 of them, found 2 at line 7",
        "line 8 of events.jsonl: key: expected one",
        "http://host:8081/path",
    ],
)
def test_other_texts_stay_as_they_are(text):
    assert masked(text) == text


def test_secrets_that_are_handed_to_processes_are_masked_too():
    file = io.StringIO()
    Log(file, "text", {"OKL_REGISTRY_PASSWORD": SECRET}).say("info", f"refused: {SECRET}")
    assert SECRET not in file.getvalue()


def test_secrets_of_the_environment_are_masked_wherever_they_stand(monkeypatch):
    monkeypatch.setenv("OKL_KAFKA_PASSWORD", SECRET)
    file = io.StringIO()
    for form in ("text", "json"):
        log = Log(file, form)
        log.say("error", f"refused {SECRET}!", f"in login\n  {SECRET}")
        log.pass_on(f"printed {SECRET}", 0)
        log.write(Logged(0.0, "info", "confluent", f"sent {SECRET}"), 1)
    assert SECRET not in file.getvalue()
    assert file.getvalue().count("***") == 8


def test_json_has_a_record_per_line_whatever_is_in_it():
    file = io.StringIO()
    log = Log(file, "json")
    log.write(Logged(1.5, "warning", "okl_flow.disk", 'two\nlines "quoted"', "a\nb"), 3)
    log.pass_on("printed", 0)
    first, second = map(json.loads, file.getvalue().splitlines())
    assert first == {
        "time": "1970-01-01T00:00:01.500+00:00",
        "level": "warning",
        "process": 3,
        "logger": "okl_flow.disk",
        "message": 'two\nlines "quoted"',
        "trace": "a\nb",
    }
    assert (second["message"], second["logger"], second["process"]) == ("printed", "stderr", 0)


def test_text_has_a_line_per_record_and_what_was_printed_as_it_is(monkeypatch):
    file = io.StringIO()
    log = Log(file, "text")
    log.write(Logged(1.5, "warning", "okl_flow.disk", "two\nlines"), 3)
    log.pass_on("printed", 0)
    log.say("info", "started")
    lines = [line.partition(" ")[2] for line in file.getvalue().splitlines()]
    assert lines[0] == "warning process 3 okl_flow.disk: two lines"
    assert file.getvalue().splitlines()[1] == "printed"
    assert lines[2] == "info: started"


def test_nobody_who_reads_is_no_reason_to_stop():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", closefd=False) as file:
        Log(file, "text").say("info", "unheard")
        os.dup2(os.open(os.devnull, os.O_WRONLY), writing)
