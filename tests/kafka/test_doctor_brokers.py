"""`okl-flow doctor` and brokers that cannot be reached, or do not let us in."""

import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from okl_flow.doctor import Level
from tests.dataflows.conftest import shell
from tests.doctor.looked import FLOW, the, wrong
from tests.kafka.broker import Cluster
from tests.kafka.doctored import Topics, config
from tests.kafka.secured import PASSWORD, PLAIN, SCRAM, SECRETS, TLS, USERS, WAYS


@contextmanager
def listening(serve):
    """An address at which something else than a broker listens."""
    with socket.create_server(("127.0.0.1", 0), backlog=16) as server:
        threading.Thread(target=serve, args=(server,), daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


def speaks_http(server):
    http = HTTPServer(server.getsockname(), BaseHTTPRequestHandler, bind_and_activate=False)
    http.socket.close()
    http.socket = server
    http.serve_forever()


def nothing(server):
    pass


@pytest.mark.parametrize(
    ("serve", "words"),
    [
        (speaks_http, "does not answer as a broker does: it speaks another protocol"),
        (nothing, "does not answer as a broker does: timed out"),
    ],
)
def test_something_else_listens_there(serve, words, broker, folder):
    topics = Topics(broker, events=0)
    with listening(serve) as address:
        found = topics.examined(folder, address, seconds=1.0)
    the(found, "brokers", Level.PROBLEM, words)


def test_a_machine_that_does_not_answer(broker, folder):
    topics = Topics(broker, events=0)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        held = []
        for _ in range(3):  # until nobody more is let in
            held.append(socket.socket())
            held[-1].setblocking(False)
            held[-1].connect_ex(server.getsockname())
        address = f"127.0.0.1:{server.getsockname()[1]}"
        found = topics.examined(folder, address, seconds=1.0)
        for one in held:
            one.close()
    the(found, "brokers", Level.PROBLEM, f"{address} does not answer in 1 s")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1:1", "127.0.0.1:1: Connection refused"),
        ("nowhere.invalid:9092", "the name nowhere.invalid is not known here"),
    ],
)
def test_an_address_that_is_wrong(address, words, broker, folder):
    topics = Topics(broker, events=0)
    the(topics.examined(folder, address, seconds=1.0), "brokers", Level.PROBLEM, words)
    found = topics.examined(folder, f"{broker},{address}")  # one is enough, for the time being
    the(found, "brokers", Level.OK, f"{broker} can be reached")
    the(found, "topics", Level.OK, "all are there")


def test_what_is_no_address_is_told_by_the_flow(broker, folder):
    found = Topics(broker, events=0).examined(folder, "localhost", seconds=1.0)
    the(found, "flow", Level.PROBLEM, "expected host:port, or several with commas between them")


WRONG = {
    "without TLS": (SCRAM, {"security.protocol": "SASL_PLAINTEXT"}, "speaks TLS, and security.pr"),
    "without SASL": (SCRAM, {"security.protocol": "SSL"}, "lets nobody go on without SASL"),
    "with SASL": (
        TLS,
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "ann",
            "sasl.password": PASSWORD,
        },
        "takes nobody by SASL",
    ),
    "mechanism": (PLAIN, {"sasl.mechanism": "SCRAM-SHA-256"}, "does not take SCRAM-SHA-256, but "),
    "CA": (PLAIN, {"ssl.ca.location": "other-ca.pem"}, "the broker's certificate is not trusted"),
    "no CA": (PLAIN, {"ssl.ca.location": "/none"}, "ssl.ca.location: "),
    "key": (TLS, {"ssl.key.password": "not-this"}, "ssl.key.password do not fit"),
    "certificate": (TLS, "stranger", "the broker does not take our certificate"),
}


@pytest.mark.parametrize("which", WRONG)
def test_security_that_does_not_fit(which, secured, folder):
    way, changed, words = WRONG[which]
    changed = secured.identity(changed) if isinstance(changed, str) else dict(changed)
    if changed.get("ssl.ca.location") == "other-ca.pem":
        changed["ssl.ca.location"] = str(secured.folder / "other-ca.pem")
    topics = Topics(secured.bootstrap, events=0)
    given = config(folder, {**secured.config(way), **changed})
    found = topics.examined(folder, secured.brokers(way), kafka_config=given, seconds=2.0)
    the(found, "brokers", Level.PROBLEM, words)
    assert not [one for one in SECRETS if one in repr(found)]


def test_tls_where_there_is_none(secured, folder):
    topics = Topics(secured.bootstrap, events=0)
    given = config(folder, secured.config(TLS))
    found = topics.examined(folder, kafka_config=given, seconds=2.0)
    the(found, "brokers", Level.PROBLEM, "does not speak TLS")


@pytest.mark.parametrize("way", [SCRAM, PLAIN])
def test_a_wrong_password(way, secured, folder):
    topics = Topics(secured.bootstrap, events=0)
    given = config(folder, secured.config(way, sasl_password="not-this-one"))
    found = topics.examined(folder, secured.brokers(way), kafka_config=given, seconds=3.0)
    bad = the(found, "brokers.security", Level.PROBLEM, "does not let us in: ")
    assert "Authentication failed" in bad.message
    assert "mend user, password or certificate" in bad.message
    assert "not-this-one" not in repr(found)


def allow(secured, way, topics, *more):
    """All that a job needs, and what a doctor does besides."""
    secured.allow(
        USERS[way],
        ("TOPIC", topics.name, "READ"),
        *(("TOPIC", topic, "WRITE") for topic in topics.outputs),
        ("GROUP", f"{topics.name}.*", "READ"),
        ("GROUP", f"{topics.name}-*", "READ"),
        ("TRANSACTIONAL_ID", f"{topics.name}-*", "WRITE"),
        *more,
    )


@pytest.mark.parametrize("way", WAYS)
def test_a_job_with_all_rights_is_well(way, secured, folder):
    topics = Topics(secured.bootstrap)
    allow(
        secured,
        way,
        topics,
        ("TOPIC", f"{topics.name}*", "DESCRIBE_CONFIGS"),
        ("CLUSTER", "kafka-cluster", "DESCRIBE_CONFIGS"),
    )
    given = config(folder, secured.config(way))
    found = topics.examined(folder, secured.brokers(way), kafka_config=given)
    assert wrong(found) == []
    secured.forbid(USERS[way], ("CLUSTER", "kafka-cluster", "DESCRIBE_CONFIGS"))


def test_rights_that_are_missing(secured, folder):
    topics = Topics(secured.bootstrap)
    allow(secured, SCRAM, topics)
    given = config(folder, secured.config(SCRAM))
    settings = {"brokers": secured.brokers(SCRAM), "kafka_config": given}
    found = topics.examined(folder, **settings)
    [only] = wrong(found)
    assert (only.check, only.level) == ("topics.settings", Level.WARNING)
    assert "DescribeConfigs" in only.remedy
    first = ("TOPIC", topics.outputs[0])
    secured.forbid(USERS[SCRAM], (*first, "WRITE"))
    the(topics.examined(folder, **settings), "topics", Level.PROBLEM, topics.outputs[0])
    secured.allow(USERS[SCRAM], (*first, "DESCRIBE"))
    found = topics.examined(folder, **settings)
    the(found, "topics.rights", Level.PROBLEM, f"the user may not Write: {topics.outputs[0]}")
    secured.forbid(USERS[SCRAM], ("GROUP", f"{topics.name}.*", "READ"))
    found = topics.examined(folder, **settings)
    the(found, "lag", Level.WARNING, "group authorization failed")


def test_a_password_in_an_error_is_not_shown_by_the_command(secured, folder):
    topics = Topics(secured.bootstrap, events=0)
    settings = secured.config(SCRAM, sasl_mechanism="GSSAPI", sasl_password="${KAFKA_PASSWORD}")
    config(folder, settings)
    ran = shell(
        f"okl-flow doctor {FLOW} --brokers {secured.brokers(SCRAM)} --timeout 2",
        folder.path,
        OKL_EVENTS=topics.name,
        OKL_KAFKA_CONFIG="client.properties",
        KAFKA_PASSWORD=PASSWORD,
    )
    assert ran.code == 1
    assert "GSSAPI" in ran.output
    assert PASSWORD not in ran.output


def test_a_broker_that_gives_a_wrong_address_and_forgets_soon(tmp_path, folder):
    made = Cluster(
        tmp_path / "kafka",
        listeners={"OTHER": "PLAINTEXT"},
        **{"offsets.retention.minutes": 60, "transaction.max.timeout.ms": 60_000},
    )
    one = made.brokers[0]
    properties = one._properties.read_text()
    other = one.addresses["OTHER"]
    before, name, after = properties.partition("advertised.listeners=")
    after = after.replace(f"OTHER://{other}", "OTHER://nowhere.invalid:9092", 1)
    one._properties.write_text(before + name + after)
    made.start()
    try:
        topics = Topics(made.bootstrap, events=0)
        found = topics.examined(folder, other, seconds=3.0)
        the(found, "brokers", Level.OK, f"{other} can be reached")
        the(found, "brokers.advertised", Level.PROBLEM, "broker 1 gives itself an address at")
        found = topics.examined(folder)
        the(found, "transactions.memory", Level.WARNING, "after an outage of 1 h")
        the(found, "transactions.limit", Level.PROBLEM, "2 min, and the brokers allow 1 min")
    finally:
        one.kill()
