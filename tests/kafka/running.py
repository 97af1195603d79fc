"""Jobs over Kafka that are run by several processes, killed, and judged by the plain oracle."""

import json
import subprocess
import sys
import time
import uuid

import numpy as np
from bytewax.recovery import init_db_dir

from okl_flow.wire import Columns, Decoder, Raw, decode_outgoing
from tests.kafka.job import DIM, LEARNER
from tests.kafka.judge import make_topic, read, write
from tests.operators.oracle import Oracle, as_oracle_says, mixed_stream, rejects_as_oracle_says
from tests.operators.test_recovery import addresses, as_json, by_key
from tests.waiting import all_ended, kill

PATIENCE = 240.0


def write_stream(bootstrap, topic, seed, count, partitions, begin=0):
    """Events with labels, damaged ones among them, each key in one partition."""
    records = []
    for number in range(partitions):
        for item in mixed_stream(seed + number, count // partitions, keys=15, dim=DIM):
            record = as_json(item)
            record["key"] = f"{number}-{begin}-{record['key']}"
            value = {n: v for n, v in record.items() if v is not None or n == "features"}
            when = len(records) * 10
            records.append((record["key"].encode(), json.dumps(value).encode(), number, when))
        records.append((None, b"{damaged", number, 0))
    order = np.random.default_rng(seed).permutation(partitions)
    write(bootstrap, topic, [one for number in order for one in records if one[2] == number])


def as_raws(records):
    """What kafka-python has read, as our source should hand it over."""
    return [
        Raw(one.value, one.key, one.topic, one.partition, one.offset, one.timestamp)
        for one in records
    ]


class Job:
    """A job in a folder with topics of its own."""

    def __init__(self, folder, bootstrap, *, delivery="exactly_once", partitions=3, **more):
        name = f"job{uuid.uuid4().hex[:8]}"
        replicas = more.pop("replicas", 1)
        self.folder = folder
        self.bootstrap = bootstrap
        self.settings = {
            "name": name,
            "folder": str(folder),
            "brokers": bootstrap,
            "delivery": delivery,
            "inputs": [f"{name}-in"],
            "predictions": f"{name}-predictions",
            "rejects": f"{name}-rejects",
            "parts": 3,
            "pause": 0.0005,
            "epoch": 100,
            "tail": False,
            "patience": PATIENCE / 2,  # then it says where it is
            **more,
        }
        self.input = f"{name}-in"
        # Its records' times are of 1970, and are not to be too old for the broker.
        make_topic(bootstrap, self.input, partitions, replicas, retention_ms=-1)
        for output in ("predictions", "rejects"):
            make_topic(bootstrap, self.settings[output], 2, replicas)
        self.started = []
        (folder / "recovery").mkdir(parents=True)
        init_db_dir(folder / "recovery", 2)

    def start(self, processes, within=None, **more):
        """Start so many processes, each `within` the words of a command that runs others."""
        settings = {**self.settings, "addresses": addresses(processes), **more}
        within = within or [[]] * processes
        path = self.folder / "settings.json"
        path.write_text(json.dumps(settings))
        with (self.folder / "log").open("ab") as log:
            started = [
                subprocess.Popen(
                    [*words, sys.executable, "-m", "tests.kafka.job", str(path), str(number)],
                    stdout=log,
                    stderr=log,
                )
                for number, words in enumerate(within)
            ]
        self.started += started
        return started

    def end(self):
        """Kill what still runs."""
        kill(self.started)
        for one in self.started:
            one.wait()

    def run(self, processes, **more):
        """Run until all processes have ended; True if the job is done."""
        return self.wait(self.start(processes, **more))

    def wait(self, started, patience=PATIENCE):
        """Wait for the end; if one of them dies the others go as well."""
        return all_ended(started, patience, self.log)

    def wait_for_reading(self, started, count, patience=PATIENCE):
        """Wait until the processes have read so many records more, or one has ended."""
        end, before = time.monotonic() + patience, self.reads()
        while all(one.poll() is None for one in started) and time.monotonic() < end:
            if self.reads() >= before + count:
                return True
            time.sleep(0.01)
        return False

    def reads(self):
        log = self.folder / "read"
        return log.read_bytes().count(b"\n") if log.exists() else 0

    def begun(self):
        """Of each process and partition that it read: the offset where it began."""
        found = {}
        for line in (self.folder / "read").read_text().splitlines():
            process, _topic, partition, offset = line.split()
            found.setdefault((process, partition), int(offset))
        return list(found.values())

    def log(self):
        """What its processes said, but for what librdkafka repeats."""
        lines = (self.folder / "log").read_text().splitlines()
        return "\n".join(one for one in lines if "[rdkafka#" not in one)[-6000:]

    def outputs(self, name, isolation="read_committed"):
        records = read(self.bootstrap, self.settings[name], isolation)
        return [decode_outgoing(one.value) for one in records]

    def expected(self):
        """What a plain loop over each partition makes of the input, as kafka-python reads it."""
        decoder, predictions, rejects = Decoder("json", Columns(DIM)), [], []
        raws = as_raws(read(self.bootstrap, self.input))
        for number in sorted({raw.partition for raw in raws}):
            items, refused = decoder([raw for raw in raws if raw.partition == number])
            oracle = Oracle(LEARNER, count=4, wait=700, forget_after=None).run(items)
            predictions += oracle.predictions
            rejects += rejects_as_oracle_says(refused) + oracle.rejects
        assert predictions and rejects
        return predictions, rejects

    def check_exactly_once(self):
        """Each output once, those of the oracle, and a key's in their order."""
        predictions, rejects = self.expected()
        assert by_key(as_oracle_says(self.outputs("predictions"))) == by_key(predictions)
        found = rejects_as_oracle_says(self.outputs("rejects"))
        assert sorted(found, key=repr) == sorted(rejects, key=repr)

    def check_at_least_once(self):
        """Each output, those of the oracle, and what is repeated is the same; how many are."""
        predictions, rejects = self.expected()
        outputs = self.outputs("predictions")
        said = {(one.key, one.cause, one.ordinal): one for one in outputs}
        assert all(said[one.key, one.cause, one.ordinal] == one for one in outputs)
        assert len(said) == len(predictions)
        # Without the repeats, each at its first place, a key's outputs are in their order.
        once = list(dict.fromkeys(as_oracle_says(outputs)))
        assert by_key(once) == by_key(predictions)
        found = rejects_as_oracle_says(self.outputs("rejects"))
        assert set(found) == set(rejects)
        return len(outputs) - len(once)
