"""Apache Kafka for the tests: a real broker, or several, in KRaft mode on free ports.

By hand: `python -m tests.kafka.broker [COUNT]` runs it until Ctrl-C, with its data in a temporary
folder that goes with it.
"""

import argparse
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.kafka.jars import java, libraries
from tests.ports import free_ports

START_SECONDS = 180
STOP_SECONDS = 30
LOG_TAIL = 6000

JVM = [
    "-Xmx400m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",  # a broker of the tests starts often and does not run long
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
]

PROPERTIES = """\
process.roles=broker,controller
node.id={node}
controller.quorum.voters={voters}
controller.listener.names=CONTROLLER
listeners={advertised},CONTROLLER://127.0.0.1:{controller}
advertised.listeners={advertised}
listener.security.protocol.map={protocols},CONTROLLER:PLAINTEXT
log.dirs={data}
auto.create.topics.enable=false
offsets.topic.num.partitions=2
offsets.topic.replication.factor={replicas}
transaction.state.log.num.partitions=2
transaction.state.log.replication.factor={replicas}
transaction.state.log.min.isr={in_sync}
default.replication.factor={replicas}
min.insync.replicas={in_sync}
group.initial.rebalance.delay.ms=0
log.initial.task.delay.ms=500
log.retention.check.interval.ms=500
file.delete.delay.ms=100
controlled.shutdown.enable=true
"""


class Broker:
    """One broker, which is a controller as well; its ports and data stay over a restart."""

    def __init__(self, folder, node, host, ports, voters, cluster_id, listeners, more):
        self.folder = folder
        controller, *own = ports
        self.port = own[0]
        protocols = {"PLAINTEXT": "PLAINTEXT", **listeners}
        self.addresses = {name: f"{host}:{port}" for name, port in zip(protocols, own, strict=True)}
        self.address = self.addresses["PLAINTEXT"]
        self.process = None
        folder.mkdir(parents=True)
        self._properties = folder / "server.properties"
        several = len(voters) > 1
        properties = PROPERTIES.format(
            node=node,
            voters=",".join(voters),
            advertised=",".join(f"{name}://{at}" for name, at in self.addresses.items()),
            protocols=",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
            controller=controller,
            data=folder / "data",
            replicas=len(voters),
            in_sync=2 if several else 1,
        )
        properties += "".join(f"{name}={value}\n" for name, value in more.items())
        self._properties.write_text(properties)
        self._java = [java(), *JVM, "-cp", f"{libraries()}/*"]
        form = ["kafka.tools.StorageTool", "format", f"--cluster-id={cluster_id}"]
        form += ["--config", str(self._properties)]
        done = subprocess.run([*self._java, *form], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"the broker's folder was not formatted:\n{done.stderr}")

    def start(self):
        """Start, without waiting."""
        command = [*self._java, "kafka.Kafka", str(self._properties)]
        if shutil.which("setpriv"):  # so that no broker outlives the process that started it
            command = ["setpriv", "--pdeathsig", "KILL", *command]
        with (self.folder / "log").open("ab") as log:
            # In a session of its own: Ctrl-C is for whoever started it.
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.folder, start_new_session=True
            )

    def check(self):
        """Raise if the broker has ended."""
        if self.process.poll() is not None:
            raise RuntimeError(f"the broker ended by itself:\n{self.log()}")

    def stop(self):
        """Ask it to end, and wait."""
        if self.process is None or self.process.poll() is not None:
            return
        self.go_on()
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self):
        """End it at once, as a power cut would."""
        self.process.kill()
        self.process.wait()

    def pause(self):
        """Let it hang with all its connections open."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        """End of `pause`."""
        self.process.send_signal(signal.SIGCONT)

    def log(self):
        """The end of what it wrote."""
        path = self.folder / "log"
        return path.read_text(errors="replace")[-LOG_TAIL:] if path.exists() else ""


class Cluster:
    """One broker or several, and where to find them.

    Beside the listener PLAINTEXT there are those of `listeners`, each with its protocol.
    """

    def __init__(self, folder, count=1, *, host="127.0.0.1", listeners=None, **more):
        listeners = listeners or {}
        each = 2 + len(listeners)
        ports = free_ports(each * count)
        groups = [ports[each * i : each * (i + 1)] for i in range(count)]
        voters = [f"{node}@127.0.0.1:{group[0]}" for node, group in enumerate(groups, 1)]
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        self.brokers = [
            Broker(
                Path(folder) / f"broker{node}",
                *(node, host, group, voters, cluster_id, listeners, more),
            )
            for node, group in enumerate(groups, 1)
        ]
        self.bootstrap = ",".join(one.address for one in self.brokers)

    def start(self):
        """Start all, and wait until they are ready."""
        for one in self.brokers:
            one.start()
        try:
            self.wait_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def wait_ready(self):
        """Wait until every broker is in the metadata that the cluster gives."""
        end = time.monotonic() + START_SECONDS
        client = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        while True:
            for one in self.brokers:
                one.check()
            try:
                if len(client.list_topics(timeout=1.0).brokers) == len(self.brokers):
                    return
            except KafkaException:
                pass  # it has not answered yet
            if time.monotonic() > end:
                raise RuntimeError(f"Kafka is not ready in {START_SECONDS} s:\n{self.log()}")
            time.sleep(0.05)

    def restart(self):
        """Start those that do not run, with their data and ports, and wait until all are ready."""
        for one in self.brokers:
            if one.process.poll() is not None:
                one.start()
        self.wait_ready()

    def stop(self):
        """End all."""
        for one in self.brokers:
            if one.process is not None and one.process.poll() is None:
                one.go_on()
                one.process.terminate()
        for one in self.brokers:
            one.stop()

    def log(self):
        """The end of what each wrote."""
        return "\n".join(f"--- {one.folder.name}\n{one.log()}" for one in self.brokers)


def shared(folder, owner):
    """Run a broker for all processes of a test run, until the process `owner` ends.

    `folder` gets the file "broker.json", which says where it is, or why there is none.
    """
    part, place = folder / "broker.part", folder / "broker.json"
    watched = os.pidfd_open(owner)
    try:
        # On a busy machine its own heartbeats come late.
        cluster = Cluster(folder / "kafka", **{"broker.session.timeout.ms": 60_000})
        cluster.start()
    except Exception as error:  # goes on to whoever asked for the broker
        part.write_text(json.dumps({"error": str(error)}))
        part.rename(place)
        return
    log = str(cluster.brokers[0].folder / "log")
    part.write_text(json.dumps({"bootstrap": cluster.bootstrap, "log": log}))
    part.rename(place)
    select.select([watched], [], [])
    cluster.stop()
    shutil.rmtree(folder / "kafka", ignore_errors=True)


def main():
    """Run brokers by hand, or for a test run."""
    parser = argparse.ArgumentParser(prog="python -m tests.kafka.broker", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=1, help="brokers (default: 1)")
    parser.add_argument("--shared", nargs=2, metavar=("FOLDER", "PID"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.shared:
        shared(Path(asked.shared[0]), int(asked.shared[1]))
        return
    folder = tempfile.mkdtemp(prefix="okl-flow-kafka-")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        cluster = Cluster(folder, asked.count)
        try:
            cluster.start()
            print(f"KAFKA_BOOTSTRAP={cluster.bootstrap}   (logs and data in {folder}; Ctrl-C ends)")
            sys.stdout.flush()
            signal.pause()
        finally:
            cluster.stop()
    except KeyboardInterrupt:
        print("ended")
    except RuntimeError as error:
        sys.exit(str(error))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
