"""`okl-flow plot` of topics of reports, on the real broker."""

import re

import pytest

from tests.dataflows.conftest import shell
from tests.kafka.flows import unique
from tests.kafka.judge import make_topic, write


def texts(folder, name="errors.svg"):
    return set(re.findall(r"<text[^>]*>([^<]*)</text>", (folder.path / name).read_text()))


@pytest.mark.parametrize("form", ["json", "msgpack"])
def test_a_topic_of_reports_becomes_the_picture_of_the_file(form, broker, folder):
    topic = unique("events")
    folder.run("okl-flow make-stream users --keys 20 --events 6000 > events.jsonl")
    folder.run("python -m bytewax.run dataflows.per_user:flow")
    folder.run(
        f"okl-flow produce events.jsonl --brokers {broker} --topic {topic} --create 1;"
        "python -m bytewax.run dataflows.per_user:flow",
        OKL_BROKERS=broker,
        OKL_EVENTS=topic,
        OKL_TAIL="false",
        OKL_CREATE_TOPICS="3",
        OKL_OUTPUT_FORMAT=form,
    )
    (folder.path / "client.properties").write_text("client.id=${CLIENT}\n")
    whole = f"--brokers {broker} --topic {topic}.reports --config client.properties"
    folder.run("okl-flow plot out/reports.jsonl --out of_file.svg")
    folder.run(f"okl-flow plot {whole} --out errors.svg", CLIENT="plot")
    [known] = [one for one in texts(folder, "of_file.svg") if one.startswith("per_user.")]
    assert {known, "baseline", f"{topic}.reports"} <= texts(folder)
    folder.run(f"okl-flow plot {whole} --key user-000001 --out errors.svg", CLIENT="plot")
    assert any(one.startswith("user-000001 ") for one in texts(folder))


def test_what_is_wrong_with_a_topic_is_said_in_a_line(broker, folder):
    def said(topic, config="client.id=a"):
        (folder.path / "client.properties").write_text(config)
        ran = shell(
            f"okl-flow plot --brokers {broker} --topic {topic} --config client.properties "
            "--out errors.svg",
            folder.path,
        )
        assert ran.code == 2, ran.output
        assert not (folder.path / "errors.svg").exists()
        return ran.output

    absent, empty = unique("absent"), make_topic(broker, unique("reports"), 2)
    assert f"okl-flow: cannot read from {broker}: topic {absent}: " in said(absent)
    assert said(empty) == f"okl-flow: the topic {empty} has no reports yet\n"
    secret = said(empty, "sasl.pasword=hunter2")
    assert 'No such configuration property: "sasl.pasword"' in secret
    assert "hunter2" not in secret
    assert "config: group.id is set by okl_flow" in said(empty, "group.id=ours")
    write(broker, empty, [b"\x93nothing"])
    assert f"okl-flow: {empty}, record 1: expected a report, in JSON or" in said(empty)


def test_brokers_that_do_not_answer_are_named(folder):
    ran = shell("okl-flow plot --brokers 127.0.0.1:1 --topic a --out a.svg", folder.path)
    assert ran.code == 2
    assert "okl-flow: no answer from 127.0.0.1:1 in 15 s" in ran.output
