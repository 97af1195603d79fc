"""A record as bytes, before anything is known of it but where it came from."""

import msgspec

__all__ = ["Part", "Raw"]

Part = tuple[str, int]
"""A topic and the number of a partition."""


class Raw(msgspec.Struct, frozen=True, gc=False):
    """A record of a topic, or a line of a file."""

    value: bytes | None  # None in a tombstone, which asks that its key be forgotten
    key: bytes | None = None
    topic: str = ""
    partition: int = 0
    offset: int = 0
    time: int | None = None  # of the record, in milliseconds since 1970
