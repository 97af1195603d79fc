"""Jobs that are killed, over and over: what they leave is what an undisturbed run leaves."""

import json
import math
import subprocess
import sys
import time

import numpy as np
import pytest
from bytewax.recovery import init_db_dir

from okl_flow import snapshot
from okl_flow.events import Event, Forget
from okl_flow.operators import rocks
from okl_flow.operators.inspection import newest
from okl_flow.operators.record import RecordCodec
from okl_flow.operators.store import StateDirectory
from okl_flow.wire import Columns, Decoder, Raw, decode_outgoing
from tests.operators.job import DIM, FAILPOINTS, LEARNER, PARTITIONS
from tests.operators.oracle import Oracle, as_oracle_says, mixed_stream, rejects_as_oracle_says
from tests.ports import free_ports
from tests.waiting import all_ended, kill

EVENTS = 6000
FILES = 2
BATCH = 20
KILLS = 10
PATIENCE = 120.0


def as_json(item):
    record = {"key": item.key, "id": getattr(item, "id", None), "time": item.time}
    if isinstance(item, Forget):
        return {**record, "type": "forget"}
    record["label"] = item.label
    if isinstance(item, Event):
        usable = np.where(np.isinf(item.features), 1e31, item.features).tolist()
        record["features"] = [None if math.isnan(x) else x for x in usable]
        return record
    return {**record, "type": "label"}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Two files of events, with keys of their own."""
    folder = tmp_path_factory.mktemp("inputs")
    paths = []
    for number in range(FILES):
        items = mixed_stream(20 + number, EVENTS // FILES, keys=40, dim=DIM)
        records = [as_json(item) for item in items]
        for record in records:
            record["key"] = f"{'ab'[number]}-{record['key']}"
        paths.append(folder / f"{number}.jsonl")
        lines = [
            json.dumps({n: v for n, v in record.items() if v is not None or n == "features"})
            for record in records
        ]
        paths[-1].write_text("\n".join(lines) + "\n")
    return paths


@pytest.fixture(scope="module")
def expected(inputs):
    """What a plain loop makes of each file, and the records of its keys."""
    oracles, refused = [], []
    decoder = Decoder("json", Columns(DIM))
    for number, path in enumerate(inputs):
        raws = [
            Raw(line, None, path.name, number, at)
            for at, line in enumerate(path.read_bytes().splitlines(), 1)
        ]
        items, rejects = decoder(raws)
        oracles.append(Oracle(LEARNER, count=4, wait=700, forget_after=None).run(items))
        refused += rejects_as_oracle_says(rejects)
    return oracles, refused


class Job:
    """A job in a folder, run by as many processes as one likes, killed as one likes."""

    def __init__(self, folder, inputs, *, pause=0.01, epoch=100):
        self.folder = folder
        self.settings = {
            "folder": str(folder),
            "inputs": [str(path) for path in inputs],
            "batch": BATCH,
            "pause": pause,
            "epoch": epoch,
            "learner": LEARNER.describe(),
        }
        (folder / "recovery").mkdir(parents=True)
        init_db_dir(folder / "recovery", 2)

    def start(self, processes, **more):
        settings = {**self.settings, "addresses": addresses(processes), **more}
        path = self.folder / "settings.json"
        path.write_text(json.dumps(settings))
        with (self.folder / "log").open("ab") as log:
            return [
                subprocess.Popen(
                    [sys.executable, "-m", "tests.operators.job", str(path), str(number)],
                    stdout=log,
                    stderr=log,
                )
                for number in range(processes)
            ]

    def run(self, processes):
        """Run until all processes have ended; True if the job is done."""
        return self.wait(self.start(processes))

    def wait(self, started):
        """Wait for the end; if one of them dies the others go as well."""
        return all_ended(started, PATIENCE, self.log)

    def wait_for_reading(self, started, batches):
        """Wait until the processes have read so much together, or one has ended."""
        before = self.batches_read()
        while all(one.poll() is None for one in started):
            if self.batches_read() >= before + batches:
                return
            time.sleep(0.01)

    def batches_read(self):
        log = self.folder / "read"
        return log.read_bytes().count(b"\n") if log.exists() else 0

    def log(self):
        return (self.folder / "log").read_text()[-4000:]

    def first_offsets(self):
        """Of each process that read a file: which file, and at which line it began."""
        found = {}
        for line in (self.folder / "read").read_text().splitlines():
            process, partition, offset, _count = line.split()
            found.setdefault((process, partition), int(offset))
        return [(partition, offset) for (_process, partition), offset in found.items()]

    def outputs(self, name):
        return [decode_outgoing(line) for line in (self.folder / name).read_bytes().splitlines()]

    def records(self):
        """Every record in the state directory, as it is stored."""
        directory, found = StateDirectory.find(self.folder / "state"), {}
        for number in range(PARTITIONS):
            path = directory.place(number).path
            if path.exists():
                database = rocks.open_to_read(path)
                found |= {key: packed for key, _, packed in newest(database, sys.maxsize)}
                database.close()
        return found


def addresses(count):
    """Addresses that are free, as many as there are processes."""
    return [f"127.0.0.1:{port}" for port in free_ports(count)] if count > 1 else []


def by_key(found):
    return {key: [one for one in found if one[0] == key] for key in {one[0] for one in found}}


def check(job, expected):
    """Each prediction and each reject once, those of the plain loop, and so are the models."""
    oracles, refused = expected
    predictions = as_oracle_says(job.outputs("predictions"))
    wanted = [one for oracle in oracles for one in oracle.predictions]
    assert by_key(predictions) == by_key(wanted)
    rejects = rejects_as_oracle_says(job.outputs("rejects"))
    wanted = [one for oracle in oracles for one in oracle.rejects]
    assert sorted(rejects, key=repr) == sorted(refused + wanted, key=repr)
    codec, records = RecordCodec([LEARNER]), job.records()
    keys = {key: one for oracle in oracles for key, one in oracle.keys.items()}
    for key, one in keys.items():
        if one.state is None:
            continue
        record = codec.unpack(records[key])
        assert snapshot.dumps(LEARNER, record.states[0]) == snapshot.dumps(LEARNER, one.state), key
        assert (record.events, record.time) == (one.events, one.time)


@pytest.fixture(scope="module")
def undisturbed(inputs, expected, tmp_path_factory):
    """The records that a run leaves to which nothing happens."""
    job = Job(tmp_path_factory.mktemp("undisturbed"), inputs, pause=0.0)
    assert job.run(1), job.log()
    check(job, expected)
    return job.records()


@pytest.mark.parametrize("processes", [2, 3])
def test_several_processes_do_what_one_does(processes, inputs, expected, undisturbed, tmp_path):
    job = Job(tmp_path / "job", inputs, pause=0.0)
    assert job.run(processes), job.log()
    check(job, expected)
    assert job.records() == undisturbed


@pytest.mark.parametrize("seed", range(5))
def test_kills_leave_no_trace(seed, inputs, expected, undisturbed, tmp_path):
    rng = np.random.default_rng([6, seed])
    job = Job(tmp_path / "job", inputs)
    for _ in range(KILLS):
        processes = int(rng.integers(1, 4))
        failpoint = {
            "failpoint": str(rng.choice(list(FAILPOINTS))),
            "dies": int(rng.integers(processes)),
            "calls": int(rng.integers(1, 40)),
        }
        started = job.start(processes, **(failpoint if rng.random() < 0.5 else {}))
        job.wait_for_reading(started, int(rng.integers(1, 80)))
        kill(started[: int(rng.integers(1, processes + 1))])
        job.wait(started)
    job.settings["pause"] = 0.0
    assert job.run(int(rng.integers(1, 4))), job.log()
    check(job, expected)
    assert job.records() == undisturbed
    begun = job.first_offsets()
    later = [offset for _file, offset in begun if offset > 1]
    assert len(later) > KILLS // 2, "hardly any run went on from where another was"
