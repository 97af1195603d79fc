"""What a container starts: checks its environment, waits for brokers, becomes `okl-flow run`.

Its words are those of `okl-flow run`: a flow, and options. Variables that begin with OKL_ are the
flow's, of which brokers, topics and the state directory matter here; those that begin with
ENTRYPOINT_ are for this program. Exit codes are those of `okl-flow run`: 2 refused, 3 gave up.
"""

import logging
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import admin as clients_admin

from okl_flow.kafka.connection import BrokerError, Connection
from okl_flow.kafka.properties import read_properties
from okl_flow.parameters import nearest
from okl_flow.running.logs import Log

METRICS_PORT = 9100
WAIT_SECONDS = 60
KNOWN = (
    "ENTRYPOINT_RECOVERY_DIR",
    "ENTRYPOINT_METRICS_PORT",
    "ENTRYPOINT_WAIT_SECONDS",
    "ENTRYPOINT_TOPIC_PARTITIONS",
    "ENTRYPOINT_TOPIC_REPLICAS",
)
OURS = {  # options of the run, and what says it here
    "--recovery-dir": "ENTRYPOINT_RECOVERY_DIR",
    "--metrics-port": "ENTRYPOINT_METRICS_PORT",
    "--metrics-host": "the container itself",
    "--state-dir": "OKL_STATE",
    "--brokers": "OKL_BROKERS",
}
OUTPUTS = ("predictions", "reports", "alarms", "rejects")
COMPACTED = "reports"  # of which the last one about each subject counts
REFUSED, GAVE_UP = 2, 3
PORT_MAX = 65535
WAIT_MAX = 86_400
PARTITIONS_MAX = 100_000
REPLICAS_MAX = 1000
TOPIC_SECONDS = 30.0
TRY_SECONDS = 2.0
BROKERS_DEFAULT = -1


class RefusedError(Exception):
    """What has to be mended before anything can run."""


class SilentError(Exception):
    """No broker has answered in time."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is done before the run, and the run."""

    brokers: str  # empty if the flow has none
    config: Mapping[str, str]  # settings of their clients, such as those of security
    wait: int  # seconds
    topics: Sequence[str]  # to be made if they are not there
    compacted: str  # one of them
    partitions: int
    replicas: int
    command: list[str]


def plan_of(words: Sequence[str], variables: Mapping[str, str]) -> Plan:
    """The plan that words and variables make, if nothing is wrong with them."""
    own = {name: value for name, value in variables.items() if name.startswith("ENTRYPOINT_")}
    for name in own:
        if name not in KNOWN:
            hint = nearest(name, KNOWN) or f"; known: {', '.join(KNOWN)}"
            raise RefusedError(f"{name} is no setting of the container{hint}")
    if not words:
        raise RefusedError("name a flow, such as dataflows.per_user:flow, then options of its run")
    for word in (*words, *variables):
        option = word.partition("=")[0].replace("OKL_RUN_", "--")
        option = option.replace("OKL_METRICS", "--METRICS").replace("_", "-").lower()
        if option in OURS:
            raise RefusedError(f"{word}: this is said by {OURS[option]} in a container")
    recovery, state = own.get("ENTRYPOINT_RECOVERY_DIR", ""), variables.get("OKL_STATE", "")
    if state and not recovery:
        raise RefusedError(
            "OKL_STATE needs ENTRYPOINT_RECOVERY_DIR: one without the other is of no use"
        )
    brokers = variables.get("OKL_BROKERS", "")
    for one in brokers.split(",") if brokers else []:
        _check_address(one)
    port = _number(own, "ENTRYPOINT_METRICS_PORT", METRICS_PORT, PORT_MAX)
    partitions = _number(own, "ENTRYPOINT_TOPIC_PARTITIONS", 0, PARTITIONS_MAX)
    replicas = _number(own, "ENTRYPOINT_TOPIC_REPLICAS", BROKERS_DEFAULT, REPLICAS_MAX)
    if partitions and not brokers:
        raise RefusedError("ENTRYPOINT_TOPIC_PARTITIONS needs OKL_BROKERS: where to make topics")
    if replicas != BROKERS_DEFAULT and not partitions:
        raise RefusedError(
            "ENTRYPOINT_TOPIC_REPLICAS needs ENTRYPOINT_TOPIC_PARTITIONS: without it none is made"
        )
    topics, compacted = _topics(variables) if partitions else ([], "")
    config = _config(variables) if brokers else {}
    for name, path in (("ENTRYPOINT_RECOVERY_DIR", recovery), ("OKL_STATE", state)):
        if path:
            _check_folder(name, Path(path))
    options = ["--metrics-host", "0.0.0.0", "--metrics-port", str(port)]
    options += ["--recovery-dir", recovery] if recovery else []
    return Plan(
        brokers=brokers,
        config=config,
        wait=_number(own, "ENTRYPOINT_WAIT_SECONDS", WAIT_SECONDS, WAIT_MAX),
        topics=topics,
        compacted=compacted,
        partitions=partitions,
        replicas=replicas,
        command=["okl-flow", "run", *options, *words],
    )


def _number(given: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = given.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= most:
        raise RefusedError(f"{name}: expected a whole number from 1 to {most}, found {text!r}")
    return int(text)


def _check_address(text: str) -> None:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 1 <= int(port) <= PORT_MAX:
        raise RefusedError(
            f"OKL_BROKERS: expected host:port, several with commas between them, found {text!r}"
        )


def _topics(variables: Mapping[str, str]) -> tuple[list[str], str]:
    """All topics of the flow, and the one to be compacted."""
    taken = (variables.get("OKL_EVENTS", "") or "events").split(",")
    labels = variables.get("OKL_LABELS", "")
    made = {
        name: variables.get(f"OKL_{name.upper()}", "") or f"{taken[0]}.{name}" for name in OUTPUTS
    }
    return [*taken, *(labels.split(",") if labels else []), *made.values()], made[COMPACTED]


def _config(variables: Mapping[str, str]) -> dict[str, str]:
    path = variables.get("OKL_KAFKA_CONFIG", "")
    try:
        return read_properties(path) if path else {}
    except ValueError as error:
        raise RefusedError(f"OKL_KAFKA_CONFIG: {error}") from None


def _check_folder(name: str, folder: Path) -> None:
    """Refuse a folder that cannot be written; a volume may belong to somebody else."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise RefusedError(
            f"{name}: {folder} cannot be written by user {os.getuid()}: {error.strerror}; "
            "mount a volume that belongs to this user"
        ) from None


def wait_for(plan: Plan, log: Log) -> Any:
    """A client of the brokers, once one of them answers."""
    met: list[str] = []
    try:
        connection = Connection(plan.brokers, plan.config, ())
        settings = {**connection.settings(), "log_level": 2}
        settings["error_cb"] = lambda error: met.append(connection.clean(error.str()))
        client = connection.made(clients_admin.AdminClient, settings)
    except (ValueError, BrokerError) as error:
        raise RefusedError(f"OKL_KAFKA_CONFIG: {error}") from None
    log.say("info", f"waiting for {plan.brokers}, {plan.wait} s at most")
    end = time.monotonic() + plan.wait
    while (left := end - time.monotonic()) > 0.0:
        try:
            client.list_topics(timeout=min(left, TRY_SECONDS))
            return client
        except KafkaException:
            client.poll(0)  # lets it tell what it has met
    raise SilentError(
        f"no answer from {plan.brokers} in {plan.wait} s: {met[-1] if met else 'nothing came'}; "
        "see that they run and that OKL_BROKERS and OKL_KAFKA_CONFIG are right, or give them more "
        "ENTRYPOINT_WAIT_SECONDS"
    )


def make_topics(client: Any, plan: Plan, log: Log) -> None:
    """Make the topics that are not there; those that are stay as they are."""
    admin: Any = clients_admin
    there = client.list_topics(timeout=TOPIC_SECONDS).topics
    wanted = [
        admin.NewTopic(
            name,
            plan.partitions,
            plan.replicas,
            config={"cleanup.policy": "compact"} if name == plan.compacted else {},
        )
        for name in plan.topics
        if name not in there
    ]
    made = client.create_topics(wanted, operation_timeout=TOPIC_SECONDS) if wanted else {}
    for name, future in made.items():
        try:
            future.result(TOPIC_SECONDS)
        except (KafkaException, TimeoutError) as error:
            if _is_there(error):
                continue
            why = error.args[0].str() if isinstance(error, KafkaException) else "no answer"
            raise RefusedError(
                f"the topic {name} cannot be made: {why}; make it by hand, and leave "
                "ENTRYPOINT_TOPIC_PARTITIONS away"
            ) from None
        log.say("info", f"made the topic {name}, with {plan.partitions} partitions")


def _is_there(error: Exception) -> bool:
    """Whether somebody else was quicker."""
    code = error.args[0].code() if isinstance(error, KafkaException) else None
    return bool(code == KafkaError.TOPIC_ALREADY_EXISTS)


def main(words: Sequence[str]) -> int:
    """Do what is to be done first, and become the run; an exit code if that cannot be."""
    log = Log(sys.stderr, "text" if sys.stderr.isatty() else "json")
    logging.getLogger("okl_flow").addHandler(logging.NullHandler())  # errors come to the log
    try:
        plan = plan_of(words, os.environ)
        if plan.brokers:
            client = wait_for(plan, log)
            if plan.topics:
                make_topics(client, plan, log)
    except (RefusedError, SilentError) as error:
        log.say("error", str(error))
        return GAVE_UP if isinstance(error, SilentError) else REFUSED
    os.execvp(plan.command[0], plan.command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
