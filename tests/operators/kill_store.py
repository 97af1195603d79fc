"""A store that is killed again and again, and has to go on from where the engine would.

    python -m tests.operators.kill_store FOLDER SEED ROUNDS

Each round a process resumes at one of the last two pointers that got out of the one before, checks
every record against a model, and commits until it is killed. Prints what the rounds came to.
"""

import os
import random
import signal
import sys
import time

from okl_flow import make_learner
from okl_flow.operators.store import StateDirectory
from tests.operators.changes import changes

KEYS = [f"key {at}" for at in range(60)]


def changed_in(epoch):
    """What an epoch changes: keys, each with its record or None."""
    draw = random.Random(epoch)
    keys = draw.sample(KEYS, draw.randrange(1, 30))
    return {
        key: draw.randbytes(draw.randrange(1, 3000)) if draw.random() < 0.8 else None
        for key in keys
    }


def stored_after(epoch):
    records = {}
    for number in range(1, epoch + 1):
        records.update(changed_in(number))
    return {key: packed for key, packed in records.items() if packed}


def work(folder, pointer, epoch, out):
    """Resume after an epoch, and go on until killed; tell each pointer once it is safe."""
    directory = StateDirectory.open(
        folder,
        step="flow.learn",
        partitions=2,
        learners=[make_learner("kogd")],
        versions_kept=3,
        journal_max=100,
    )
    store = directory.store(0, pointer)
    expected = stored_after(epoch)
    found = store.read(KEYS)
    assert {key: one[1] for key, one in zip(KEYS, found, strict=True) if one} == expected, epoch
    assert dict(store.sweep(1000)).items() <= expected.items()
    out.write("resumed\n")
    while True:
        epoch += 1
        told = list(changed_in(epoch).items())
        early = len(told) // 3 if epoch % 3 == 0 else 0
        store.spill(*changes(dict(told[:early])))
        pointer = store.commit(*changes(dict(told[early:])))
        out.write(f"{epoch} {pointer.hex()}\n")


def one_round(folder, pointer, epoch, seconds, patient):
    """The lines that a process got out before it was killed, patiently: after it had resumed."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        with os.fdopen(writing, "w", buffering=1) as out:
            try:
                work(folder, pointer, epoch, out)
            except Exception as error:  # the parent is to hear of any
                out.write(f"failed {type(error).__name__} {error}\n")
        os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as lines:
        told = lines.readline() if patient else ""
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
        told += lines.read()
    os.waitpid(pid, 0)
    return told.splitlines()


def main(folder, seed, rounds):
    draw = random.Random(seed)
    known = [(0, None)]
    resumed = back = 0
    for number in range(rounds):
        epoch, pointer = draw.choice(known[-2:])
        back += epoch < known[-1][0]
        known = [(epoch, pointer)]  # no later round goes back further
        seconds = draw.uniform(0.001, 0.06)
        for line in one_round(folder, pointer, epoch, seconds, patient=number % 2 == 0):
            first, *rest = line.split()
            assert first != "failed", line
            if first == "resumed":
                resumed += 1
            elif len(rest) == 1 and len(rest[0]) % 2 == 0 and line.endswith(rest[0]):
                known.append((int(first), bytes.fromhex(rest[0])))
    print(f"resumed={resumed} back={back} epochs={known[-1][0]}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
