"""The brokers of the tests are what the other tests take them for."""

import subprocess
import sys
import time

import pytest
from confluent_kafka import Producer

from tests.kafka import jars
from tests.kafka.judge import make_topic, read, write


def test_the_shared_broker_ends_with_the_run(tmp_path):
    owner = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    command = [sys.executable, "-m", "tests.kafka.broker", "--shared", str(tmp_path)]
    run = subprocess.Popen([*command, str(owner.pid)])
    while not (tmp_path / "broker.json").exists():
        time.sleep(0.05)
    assert "bootstrap" in (tmp_path / "broker.json").read_text()
    assert (tmp_path / "kafka").exists()
    owner.communicate(b"\n")
    assert run.wait(60) == 0
    assert not (tmp_path / "kafka").exists()


def test_three_brokers_lose_nothing_when_one_is_killed(three):
    make_topic(three.bootstrap, "t", partitions=3, replicas=3)
    write(three.bootstrap, "t", [b"%d" % number for number in range(30)])
    three.brokers[2].kill()
    producer = Producer({"bootstrap.servers": three.bootstrap, "log_level": 0})
    for number in range(30, 60):
        producer.produce("t", b"%d" % number)
    assert producer.flush(30) == 0
    three.restart()
    assert {int(one.value) for one in read(three.bootstrap, "t")} == set(range(60))


@pytest.mark.parametrize("tool", ["java", "mvn"])
def test_what_is_missing_is_said(tool, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(jars, "KEPT", tmp_path)
    with pytest.raises(RuntimeError, match=f"no `{tool}`"):
        jars.java() if tool == "java" else jars.libraries()
