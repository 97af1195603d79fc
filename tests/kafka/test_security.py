"""Passwords, certificates and ACLs: what a job needs, what it says without, and what it hides."""

import json
import logging
import signal
import time
import traceback
import urllib.request

import pytest

from okl_flow.events import Cause
from okl_flow.kafka import BrokerError
from okl_flow.running.supervisor import Code
from okl_flow.wire import Encoded, decode_outgoing
from tests.dataflows.conftest import shell
from tests.kafka.flows import give, take, unique
from tests.kafka.judge import make_topic, read, write
from tests.kafka.secured import KEY_PASSWORD, PASSWORD, PLAIN, SCRAM, SECRETS, TLS, USERS, WAYS
from tests.ports import free_ports
from tests.running.conftest import start  # noqa: F401  (a fixture)

TOLD = 60.0  # seconds; 15 of them pass before an answer is no longer waited for
DELIVERIES = ("at_least_once", "exactly_once")
KINDS = ("predictions", "reports", "alarms", "rejects")


@pytest.fixture(autouse=True)
def nothing_is_shown(caplog, capfd):
    """Whatever is logged or printed by a test has no secret in it."""
    caplog.set_level(logging.DEBUG)
    yield
    shown = caplog.text + "".join(capfd.readouterr())
    assert not [one for one in SECRETS if one in shown]


def rights(name, inputs, outputs):
    """What a job of this name needs: the list of docs/kafka.md."""
    return [
        *(("TOPIC", topic, "READ") for topic in inputs),
        *(("TOPIC", topic, "WRITE") for topic in outputs),
        ("GROUP", f"{name}.*", "READ"),
        ("TRANSACTIONAL_ID", f"{name}-*", "WRITE"),
        ("GROUP", f"{name}-*", "READ"),
    ]


class Case:
    """Topics for a flow, and a user who has the rights of a job, or all but one."""

    def __init__(self, secured, way, without=None, **changed):
        self.secured, self.brokers = secured, secured.brokers(way)
        self.config = secured.config(way, **changed)
        self.name = unique("flow")
        self.into = make_topic(secured.bootstrap, f"{self.name}.in", 2)
        self.out = make_topic(secured.bootstrap, f"{self.name}.out", 2)
        write(secured.bootstrap, self.into, [(b"key", b"%d" % n) for n in range(30)])
        given = rights(self.name, [self.into], [self.out])
        if without is not None:
            del given[without]
        secured.allow(USERS[way], *given)

    def take(self):
        return take(self.brokers, self.into, name=self.name, config=self.config)

    def give(self, delivery):
        records = [Encoded(b"key", b"%d" % n, Cause(self.into, 0, n)) for n in range(20)]
        give(
            self.brokers,
            self.out,
            records,
            name=self.name,
            delivery=delivery,
            config=self.config,
        )

    def do(self, what):
        return self.take() if what == "input" else self.give(what)

    def written(self):
        return [one.value for one in read(self.secured.bootstrap, self.out)]


def told(raised):
    """The message of ours that is behind an error of the engine, which shows no secret."""
    shown = "".join(traceback.format_exception(raised.value))
    assert not [one for one in SECRETS if one in shown]
    error = raised.value
    while not isinstance(error, BrokerError):
        error = error.__cause__
    return str(error)


@pytest.mark.parametrize("way", WAYS)
def test_who_may_reads_and_writes(way, secured):
    case = Case(secured, way)
    assert len(case.take()) == 30
    for number, delivery in enumerate(DELIVERIES, 1):
        case.give(delivery)
        assert sorted(case.written()) == sorted([b"%d" % n for n in range(20)] * number)


STRANGERS = {
    "a wrong password": (SCRAM, {"sasl_password": "not-this"}, "invalid credentials"),
    "another wrong password": (PLAIN, {"sasl_password": "not-this"}, "Invalid username or passw"),
    "an unknown user": (SCRAM, {"sasl_username": "nobody"}, "invalid credentials"),
    "another mechanism": (SCRAM, {"sasl_mechanism": "SCRAM-SHA-256"}, "supported mechanisms: SCR"),
    "a broker of another CA": (
        SCRAM,
        {"ssl_ca_location": "other-ca.pem"},
        "certificate verify failed",
    ),
    "a certificate of another CA": (TLS, "stranger", "alert bad certificate"),
}


def stranger(secured, which):
    way, changed, words = STRANGERS[which]
    if isinstance(changed, str):
        changed = {one.replace(".", "_"): it for one, it in secured.identity(changed).items()}
    if "ssl_ca_location" in changed:
        changed = {"ssl_ca_location": str(secured.folder / changed["ssl_ca_location"])}
    return Case(secured, way, **changed), words


@pytest.mark.parametrize(
    ("which", "what"),
    [
        *((which, "input") for which in STRANGERS),
        *(("a wrong password", delivery) for delivery in DELIVERIES),
        ("a broker of another CA", "exactly_once"),
    ],
)
def test_who_does_not_get_in_is_told_why(which, what, secured):
    case, words = stranger(secured, which)
    begun = time.monotonic()
    with pytest.raises(Exception) as raised:
        case.do(what)
    assert time.monotonic() - begun < TOLD
    said = told(raised)
    assert words in said
    assert f"{case.brokers}" in said
    assert "in 15 s" in said
    assert "the security settings in config those of the cluster?" in said


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"ssl_key_password": "not-this"}, "ssl.key.location failed"),
        ({"ssl_key_location": "/none"}, "ssl.key.location failed"),
        ({"sasl_mechanism": "GSSAPI", "security_protocol": "SASL_SSL"}, "No provider for SASL mec"),
    ],
)
def test_settings_that_cannot_be_are_refused_at_once(changed, words, secured):
    with pytest.raises(Exception) as raised:
        Case(secured, TLS, **changed).take()
    assert words in told(raised)


NEEDED = {  # by its place in the list: what fails without it, and how
    0: {
        "input": "Topic authorization failed; an ACL has to let the user Read inputs and Write",
        "exactly_once": "Topic authorization failed",
    },
    1: dict.fromkeys(DELIVERIES, "an ACL has to let the user"),
    3: {"exactly_once": "authorization failed; an ACL has to let the user Write the transac"},
    4: {"exactly_once": "Group authorization failed; an ACL has to let the user Read the group"},
}


@pytest.mark.parametrize("without", NEEDED)
def test_each_right_is_needed_and_named(without, secured):
    case = Case(secured, SCRAM, without)
    for what in ("input", *DELIVERIES):
        if what not in NEEDED[without]:
            case.do(what)
            continue
        begun = time.monotonic()
        with pytest.raises(Exception) as raised:
            case.do(what)
        assert time.monotonic() - begun < TOLD
        said = told(raised)
        assert NEEDED[without][what] in said
        assert "docs/kafka.md lists what a job needs" in said


def test_without_its_group_a_job_is_warned_and_goes_on(secured, caplog):
    case = Case(secured, SCRAM, 2)
    begun = time.monotonic()
    assert len(case.take()) == 30
    assert time.monotonic() - begun < TOLD / 2, "the end waits for what cannot come"
    ours = [one for one in caplog.records if one.name == "okl_flow.kafka"]
    [warned] = [one.getMessage() for one in ours if one.levelname == "WARNING"]
    assert "the offsets for lag tools were not committed" in warned
    assert "an ACL has to let the user Read the group" in warned


class Commands:
    """A job by commands: topics, a client's properties, and what is in the environment."""

    def __init__(self, secured, way, folder):
        self.folder = folder
        self.topic = unique("events")
        self.brokers = secured.brokers(way)
        outputs = [f"{self.topic}.{kind}" for kind in KINDS]
        for topic in (self.topic, *outputs):
            make_topic(secured.bootstrap, topic, 2)
        secured.allow(
            USERS[way],
            *rights(self.topic, [self.topic], outputs),
            ("TOPIC", self.topic, "WRITE"),  # to produce
        )
        config = secured.config(way)
        named = {PASSWORD: "${KAFKA_PASSWORD}", KEY_PASSWORD: "${KAFKA_PASSWORD}"}
        lines = [f"{name}={named.get(value, value)}\n" for name, value in config.items()]
        assert "${KAFKA_PASSWORD}" in "".join(lines)
        (folder.path / "client.properties").write_text("".join(lines))
        self.variables = {
            "KAFKA_PASSWORD": KEY_PASSWORD if way == TLS else PASSWORD,
            "OKL_KAFKA_CONFIG": "client.properties",
            "OKL_EVENTS": self.topic,
            "OKL_NAME": self.topic,
            "OKL_DELIVERY": "exactly_once",
        }
        self.run = ["dataflows.per_user:flow", "--brokers", self.brokers, "--epoch", 0.3]
        self.run += ["--recovery-dir", "recovery", "--state-dir", "state"]
        self.produce = (
            f"okl-flow produce events.jsonl --brokers {self.brokers} --topic {self.topic} "
            "--config client.properties --timeout 10"
        )
        folder.run("okl-flow make-stream users --keys 10 --events 400 > events.jsonl")


@pytest.mark.parametrize("way", WAYS)
def test_the_commands_go_in_by_a_file_of_settings(way, secured, folder, start):  # noqa: F811
    job = Commands(secured, way, folder)
    said = folder.run(job.produce, **job.variables)
    port = free_ports(1)[0]
    run = start(*job.run, "--metrics-port", port, **job.variables)

    def seen():
        return [decode_outgoing(one.value) for one in read(secured.bootstrap, predictions)]

    predictions = f"{job.topic}.predictions"
    run.wait_for(lambda: len(seen()) >= 400)
    for number in (port, port + 1):
        with urllib.request.urlopen(f"http://127.0.0.1:{number}/metrics") as page:
            said += page.read().decode()
    assert "okl_flow_events_total" in said
    run.signal(signal.SIGTERM)
    assert run.end() == Code.TERMINATED, run.text
    assert run.messages("warning") == run.messages("error") == []
    assert not [one for one in SECRETS if one in said + run.text]
    lines = [json.loads(line) for line in (folder.path / "events.jsonl").read_text().splitlines()]
    events = [one["id"] for one in lines if one.get("type", "event") == "event"]
    assert sorted({one.id for one in seen()}) == sorted(events)


def test_the_commands_do_not_get_in_with_a_wrong_password(secured, folder, start):  # noqa: F811
    job = Commands(secured, SCRAM, folder)
    wrong = {**job.variables, "KAFKA_PASSWORD": "not-this-one"}
    ran = shell(job.produce, folder.path, **wrong)
    assert ran.code == 2
    run = start(*job.run, "--failures", 1, **wrong)
    assert run.end(TOLD) == Code.GAVE_UP, run.text
    for said in (ran.output, run.text):
        assert "invalid credentials" in said
        assert "mend user, password or certificate in config" in said
        assert "not-this-one" not in said


def test_produce_without_the_right_says_which(secured, folder):
    job = Commands(secured, SCRAM, folder)
    secured.forbid(USERS[SCRAM], ("TOPIC", job.topic, "WRITE"))
    ran = shell(job.produce, folder.path, **job.variables)
    assert ran.code in (1, 2)
    assert "authorization failed; an ACL has to let the user" in ran.output
    assert "Traceback" not in ran.output
