"""What is asked of a schema registry, and what becomes of its answers."""

import logging
import socket
import ssl
import subprocess
import traceback

import pytest

from okl_flow.wire.schema_registry import RegistryClient, RegistryError, SchemaRegistry
from tests.wire.registry import serving

SCHEMA = '{"type":"string"}'
RECORD = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "long"}]}


class Clock:
    """A clock that goes on only where somebody sleeps."""

    def __init__(self):
        self.now = 1000.0
        self.slept = []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock():
    return Clock()


def client_of(registry, clock=None, **settings):
    clock = clock or Clock()
    return RegistryClient(SchemaRegistry(registry.url, **settings), clock=clock, sleep=clock.sleep)


def test_a_schema_is_asked_for_once(registry):
    id = registry.add(SCHEMA)
    client = client_of(registry)
    for _ in range(3):
        assert client.schema(id).documents == (SCHEMA,)
        assert client.schema(id).kind == "AVRO"
    assert registry.asked == [("GET", f"/schemas/ids/{id}")]


def test_an_unknown_id_is_asked_for_again_after_a_while(registry, clock):
    client = client_of(registry, clock)
    for _ in range(3):
        assert client.schema(1) is None
    assert len(registry.asked) == 1
    registry.add(SCHEMA)
    clock.now += 59.0
    assert client.schema(1) is None
    clock.now += 2.0
    assert client.schema(1).documents == (SCHEMA,)


def test_an_id_that_can_be_none_is_not_asked_for(registry):
    client = client_of(registry)
    assert client.schema(2**31) is None
    assert client.schema(-1) is None
    assert registry.asked == []


def test_schemas_that_a_schema_refers_to_come_first(registry):
    registry.add('"c"', "c")
    registry.add('"b"', "b", references=[{"name": "C", "subject": "c", "version": 1}])
    more = [
        {"name": "B", "subject": "b", "version": 1},
        {"name": "C", "subject": "c", "version": 1},
    ]
    id = registry.add('"a"', "a", references=more)
    assert client_of(registry).schema(id).documents == ('"c"', '"b"', '"a"')


def test_a_schema_is_registered_once(registry):
    client = client_of(registry)
    assert client.register("a/b-value", SCHEMA) == client.register("a/b-value", SCHEMA) == 1
    assert registry.asked[0] == ("POST", "/subjects/a%2Fb-value/versions")
    assert registry.subjects == {"a/b-value": [1]}
    assert client.latest("a/b-value")[0] == 1
    assert client.latest("a/b-value")[1].documents == (SCHEMA,)
    assert client.latest("nothing") is None


def test_what_is_not_compatible_is_refused_with_the_reason(registry):
    registry.add(RECORD, "t-value")
    longer = '{"type":"record","name":"R","fields":[{"name":"b","type":"long"}]}'
    with pytest.raises(RegistryError, match=r"not compatible .* 't-value': .*R\.b has no default"):
        client_of(registry).register("t-value", longer)


def test_what_is_no_schema_is_refused_with_the_reason(registry):
    with pytest.raises(RegistryError, match=r"'t-value' and answered with the status 422: Inv"):
        client_of(registry).register("t-value", '{"type":"nonsense"}')


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_registry_in_trouble_is_asked_again(registry, clock, status, caplog):
    id = registry.add(SCHEMA)
    registry.faults = [(status, {"error_code": 50001, "message": "down"})] * 4
    with caplog.at_level(logging.WARNING):
        assert client_of(registry, clock).schema(id).documents == (SCHEMA,)
    assert clock.slept == [0.1, 0.2, 0.4, 0.8]
    [said] = caplog.messages
    assert said.endswith(f"is asked again: it answered with the status {status}: down")


def test_a_registry_that_stays_away_ends_the_patience(clock):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        settings = SchemaRegistry(url, patience=30.0)
        client = RegistryClient(settings, clock=clock, sleep=clock.sleep)
        with pytest.raises(RegistryError, match=f"{url} has not served us for 30 s, .*refused"):
            client.schema(1)
    assert sum(clock.slept) == pytest.approx(30.0)
    assert max(clock.slept) == 5.0


def test_a_registry_that_does_not_answer_in_time(clock):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        settings = SchemaRegistry(url, patience=0.0, timeout=0.05)
        client = RegistryClient(settings, clock=clock, sleep=clock.sleep)
        with pytest.raises(RegistryError, match="at last: timed out"):
            client.register("s", SCHEMA)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ((403, {"message": "no"}), "status 403: no; we came as nobody, as no user is given: ch"),
        ((404, {"error_code": 404, "message": "HTTP 404"}), "404: HTTP 404; is its address right"),
        ((404, b"<html>"), "status 404: <html>; is its address right"),
        ((400, {"message": "odd"}), "the schema 1 and answered with the status 400: odd"),
        ((200, b"hello"), "the schema 1 and answered with no schema: hello; is it a schema reg"),
        ((200, {"id": 1}), "answered with no schema: {'id': 1}; is it a schema registry"),
        ((200, b"x" * 999), "x{300}[.]{3};"),
    ],
)
def test_answers_that_no_further_asking_changes(registry, clock, fault, message):
    registry.faults = [fault]
    with pytest.raises(RegistryError, match=message):
        client_of(registry, clock).schema(1)
    assert clock.slept == []


def test_the_password_is_sent_and_nowhere_seen(registry, caplog):
    registry.user = ("ann", "s3cret")
    id = registry.add(SCHEMA)
    settings = SchemaRegistry(registry.url, user="ann", password="s3cret", patience=0.0)
    assert RegistryClient(settings).schema(id).documents == (SCHEMA,)
    wrong = SchemaRegistry(registry.url, user="ann", password="wr0ng", patience=0.0)
    with caplog.at_level(logging.DEBUG), pytest.raises(RegistryError) as refused:
        RegistryClient(wrong).schema(id)
    assert "401: Unauthorized; we came as the user 'ann': check user, pass" in str(refused.value)
    registry.faults = [(500, b"")]
    with caplog.at_level(logging.DEBUG), pytest.raises(RegistryError) as broken:
        RegistryClient(settings).register("s", SCHEMA)
    told = [repr(settings), str(settings), caplog.text, repr(vars(RegistryClient(settings)))]
    told += ["".join(traceback.format_exception(one.value)) for one in (refused, broken)]
    for text in told:
        assert "s3cret" not in text
        assert "wr0ng" not in text


def test_whoever_we_are_sent_to_does_not_learn_the_password(registry):
    with serving() as other:
        id = other.add(SCHEMA)
        registry.faults = [(302, b"", ("Location", f"{other.url}/schemas/ids/{id}"))]
        client = client_of(registry, user="ann", password="s3cret")
        assert client.schema(id).documents == (SCHEMA,)
        assert "Authorization" in registry.headers[0]
        assert "Authorization" not in other.headers[0]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for 127.0.0.1 that vouches for itself, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=registry "
        "-addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out certificate.pem".split(),
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return str(folder / "certificate.pem"), str(folder / "key.pem")


def test_tls_with_a_certificate_of_our_own(certificate):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate)
    with serving(context) as registry:
        id = registry.add(SCHEMA)
        assert client_of(registry, ca=certificate[0]).schema(id).documents == (SCHEMA,)
        clock = Clock()
        with pytest.raises(RegistryError, match="certificate that is not to be trusted: self-sig"):
            client_of(registry, clock).schema(id)
        assert clock.slept == []


def test_tls_where_the_registry_asks_who_we_are(certificate):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=certificate[0])
    context.load_cert_chain(*certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    own, key = certificate
    with serving(context) as registry:
        id = registry.add(SCHEMA)
        known = client_of(registry, ca=own, certificate=own, certificate_key=key)
        assert known.schema(id).documents == (SCHEMA,)
        with pytest.raises(RegistryError, match="has not served us for 0 s, at last:"):
            client_of(registry, ca=own, patience=0.0).schema(id)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"url": "registry:8081"}, "url must be an address such as .*, not 'registry:8081'"),
        ({"url": "https://"}, "url must be an address such as .*, not 'https://'"),
        ({"url": "http://r:x"}, "url must be an address such as"),
        ({"url": None}, "url must be an address such as"),
        ({"url": "http://r?a=b"}, r"such as .*, without \? and #"),
        ({"url": "http://ann:s3cret@r"}, "url must hold no user and no password; give user= an"),
        ({"user": "ann"}, "user and password must be given together, or neither"),
        ({"password": "s3cret"}, "user and password must be given together, or neither"),
        ({"user": "a:b", "password": "s3cret"}, "user must have no colon in it"),
        ({"certificate_key": "key.pem"}, "certificate_key is given without a certificate"),
        ({"ca": "ca.pem"}, "ca and certificate are for an address with https://"),
        ({"timeout": 0.0}, "timeout must be a real number above 0, not 0.0"),
        ({"patience": -1.0}, "patience must be a real number at least 0, not -1.0"),
    ],
)
def test_what_a_registry_cannot_be(settings, message):
    with pytest.raises(ValueError, match=message) as refused:
        SchemaRegistry(**{"url": "http://registry:8081", **settings})
    assert "s3cret" not in str(refused.value)


def test_files_that_are_no_certificates(tmp_path):
    (tmp_path / "x.pem").write_text("x")
    for settings, message in (
        ({"ca": str(tmp_path / "none.pem")}, "ca must be a file of certificates in PEM, not "),
        ({"ca": str(tmp_path / "x.pem")}, "ca must be a file of certificates in PEM, not "),
        ({"certificate": str(tmp_path / "x.pem")}, "certificate and certificate_key must be f"),
    ):
        with pytest.raises(ValueError, match=message):
            RegistryClient(SchemaRegistry("https://registry", **settings))


def test_the_path_of_an_address_is_kept(registry):
    client = RegistryClient(SchemaRegistry(f"{registry.url}/apis/ccompat/"))
    with pytest.raises(RegistryError, match="status 404: HTTP 404 Not Found; is its address"):
        client.schema(1)
    assert registry.asked == [("GET", "/apis/ccompat/schemas/ids/1")]
