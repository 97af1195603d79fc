"""Changes of records, as stores take them."""

from okl_flow.packing import Pieces

NOTHING = [], Pieces.of([])


def changes(records):
    """Keys, and records for them; None deletes what a key has."""
    return list(records), Pieces.of([packed or b"" for packed in records.values()])


def idle(store, commits=3):
    """Commit nothing so many times; the last pointer."""
    for _ in range(commits):
        pointer = store.commit(*NOTHING)
    return pointer
