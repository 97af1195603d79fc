"""A broker that lets nobody in without a password or a certificate, and asks what he may do."""

import subprocess
from contextlib import closing

from kafka import KafkaProducer
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourceType,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tests.kafka.broker import Cluster
from tests.kafka.judge import admin

SCRAM, PLAIN, TLS = "scram", "plain", "tls"
WAYS = (SCRAM, PLAIN, TLS)

PASSWORD = "Tr0ub4dor-and-3"
KEY_PASSWORD = "c0rrect-horse"
SECRETS = (PASSWORD, KEY_PASSWORD, "BEGIN ENCRYPTED PRIVATE KEY")

USERS = {SCRAM: "flow", PLAIN: "payments", TLS: "CN=flow-by-certificate"}
"""Who comes in by each way."""


class Secured:
    """A `Cluster` of one, for super users without a lock at PLAINTEXT, and for all others with."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        for ca in ("ca", "other-ca"):
            self._certificate(ca, f"/CN={ca}", "-addext", "basicConstraints=critical,CA:TRUE")
        self._certificate("broker", "/CN=broker", *_signed(folder, "ca", "IP:127.0.0.1"))
        for name, ca in (("client", "ca"), ("stranger", "other-ca")):
            subject = f"/{USERS[TLS]}"
            self._certificate(name, subject, *_signed(folder, ca), password=KEY_PASSWORD)
        both = (folder / "broker.key").read_text() + (folder / "broker.pem").read_text()
        (folder / "store.pem").write_text(both)
        module = "org.apache.kafka.common.security"
        self.cluster = Cluster(
            folder / "kafka",
            listeners={"SASL": "SASL_SSL", "TLS": "SSL"},
            **{
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": folder / "store.pem",
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": folder / "ca.pem",
                "listener.name.tls.ssl.client.auth": "required",
                "sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN",
                "listener.name.sasl.scram-sha-512.sasl.jaas.config": (
                    f"{module}.scram.ScramLoginModule required;"
                ),
                "listener.name.sasl.plain.sasl.jaas.config": (
                    f'{module}.plain.PlainLoginModule required user_{USERS[PLAIN]}="{PASSWORD}";'
                ),
                "authorizer.class.name": (
                    "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
                ),
                "super.users": "User:ANONYMOUS",
                "transaction.state.log.num.partitions": 1,
                "connection.failed.authentication.delay.ms": 50,
            },
        )

    def start(self):
        """Start it, with a user for each way, and with transactions.

        Who asks for the first of a cluster is warned: its coordinator is only just being made.
        """
        self.cluster.start()
        with admin(self.bootstrap) as client:
            client.alter_user_scram_credentials(
                [
                    UserScramCredentialUpsertion(
                        USERS[SCRAM], ScramMechanism.SCRAM_SHA_512, PASSWORD.encode()
                    )
                ]
            )
        settings = {"bootstrap_servers": self.bootstrap, "transactional_id": "the-first"}
        with closing(KafkaProducer(**settings)) as first:
            first.init_transactions()
        return self

    @property
    def bootstrap(self):
        """Where super users come in."""
        return self.cluster.bootstrap

    def brokers(self, way):
        """Where others do."""
        return self.cluster.brokers[0].addresses["TLS" if way == TLS else "SASL"]

    def config(self, way, **changed):
        """What a client needs to come in; changes have underscores in place of dots."""
        config = {"ssl.ca.location": str(self.folder / "ca.pem")}
        if way == TLS:
            config |= {"security.protocol": "SSL", **self.identity("client")}
        else:
            config |= {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": {SCRAM: "SCRAM-SHA-512", PLAIN: "PLAIN"}[way],
                "sasl.username": USERS[way],
                "sasl.password": PASSWORD,
            }
        return config | {name.replace("_", "."): value for name, value in changed.items()}

    def identity(self, name):
        """The settings of one's own certificate."""
        return {
            "ssl.certificate.location": str(self.folder / f"{name}.pem"),
            "ssl.key.location": str(self.folder / f"{name}.key"),
            "ssl.key.password": KEY_PASSWORD,
        }

    def allow(self, user, *rights):
        """Let a user do what is listed: kind, name, operations; a name may end with `*`."""
        with admin(self.bootstrap) as client:
            client.create_acls([acl for right in rights for acl in _acls(user, *right)])

    def forbid(self, user, *rights):
        """Take back what `allow` has given."""
        with admin(self.bootstrap) as client:
            client.delete_acls([acl for right in rights for acl in _acls(user, *right)])

    def _certificate(self, name, subject, *more, password=None):
        """Make NAME.key and NAME.pem."""
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-days", "30", "-subj", subject]
        command += ["-pkeyopt", "ec_paramgen_curve:P-256", *more]
        command += ["-noenc"] if password is None else ["-passout", f"pass:{password}"]
        command += ["-keyout", f"{name}.key", "-out", f"{name}.pem"]
        subprocess.run(command, cwd=self.folder, capture_output=True, check=True)


def _signed(folder, ca, *names):
    """Words for openssl: signed by a CA, for a server of these names."""
    words = ["-CA", str(folder / f"{ca}.pem"), "-CAkey", str(folder / f"{ca}.key")]
    for name in names:
        words += ["-addext", f"subjectAltName={name}"]
    return words


def _acls(user, kind, name, *operations):
    starred = name.endswith("*") and name != "*"
    pattern = ACLResourcePatternType.PREFIXED if starred else ACLResourcePatternType.LITERAL
    resource = ResourcePattern(
        ResourceType[kind], name.removesuffix("*") if starred else name, pattern
    )
    return [
        ACL(f"User:{user}", "*", ACLOperation[one], ACLPermissionType.ALLOW, resource)
        for one in operations
    ]
