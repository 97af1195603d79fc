"""What flows: events and labels in; predictions, reports, alarms and rejects out.

These are the records as operators see them. How they look on the wire is the affair of
`okl_flow.wire`.

Every record that goes out names its cause: topic, partition and offset of the record that came
in and made it, and an ordinal that tells apart several of one cause. A replay after a crash
therefore makes records with the same names. On the wire each has a member "type" besides its
fields: its name in lower case.
"""

from enum import StrEnum

import msgspec

from okl_flow.native import Array

__all__ = [
    "Alarm",
    "Cause",
    "Event",
    "Forget",
    "Incoming",
    "Label",
    "Outgoing",
    "Prediction",
    "Reason",
    "Reject",
    "Report",
]


class Cause(msgspec.Struct, frozen=True, gc=False):
    """Where a record came from: a topic, or a file, with the line in place of the offset."""

    topic: str
    partition: int
    offset: int


class Event(msgspec.Struct, frozen=True, gc=False):
    """Something that happened to a key, to be scored, and learned if it has a label.

    A label that comes later, as a `Label` with the same id, finds the event by it.
    """

    key: str
    features: Array  # one dimension, float64; NaN for a missing value
    cause: Cause
    id: str | None = None
    time: int | None = None  # milliseconds since 1970
    label: float | None = None  # -1 or +1, a class from 0, or a number, as the task has it


class Label(msgspec.Struct, frozen=True, gc=False):
    """The label of an event of the same key and id, which came before or is to come."""

    key: str
    id: str
    label: float
    cause: Cause
    time: int | None = None  # milliseconds since 1970


class Forget(msgspec.Struct, frozen=True, gc=False):
    """The wish that everything kept for a key be deleted."""

    key: str
    cause: Cause
    time: int | None = None  # milliseconds since 1970


class Prediction(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag=str.lower):
    """The score of an event, made before its label was learned.

    An event whose label is a record of its own makes two: one without a label, and one whose
    cause is the label, with the score that the event got when it came. So do a label that comes
    before its event, and one that comes after it.
    """

    key: str
    score: float | list[float]  # one number; in a multiclass task one for each class
    predicted: float  # the label that the score stands for
    seen: int  # events that the key's model had seen before this one
    learner: str
    cause: Cause
    id: str | None = None
    time: int | None = None  # that of the event
    probability: float | None = None  # of the predicted label, where the loss gives one
    label: float | None = None
    loss: float | None = None  # that the learner is measured by; None without a label
    ordinal: int = 0
    event: Cause | None = None  # where the event came from, if the cause is its label


class Report(msgspec.Struct, frozen=True, tag_field="type", tag=str.lower):
    """Figures about a key, a partition or the whole stream at one moment of it."""

    step: str  # of the operator that reports
    subject: str  # what the figures are about: "key", "partition" or "stream"
    name: str  # which key or partition; empty for the stream
    events: int  # that the figures cover
    values: dict[str, float | None]  # None where there is nothing to divide by yet
    cause: Cause | None = None  # the last record that the figures cover; None by a timer
    time: int | None = None  # that of the cause
    ordinal: int = 0


class Alarm(msgspec.Struct, frozen=True, tag_field="type", tag=str.lower):
    """The moment when a figure of a key or of the whole stream left what it used to be."""

    step: str
    subject: str  # "key" or "stream"
    name: str  # which key; empty for the stream
    kind: str  # such as "drift" or "promotion"
    message: str
    values: dict[str, float | None]
    cause: Cause | None = None
    time: int | None = None
    ordinal: int = 0
    learner: str | None = None  # that it is about, where there are several


class Reason(StrEnum):
    """Why a record was rejected."""

    MALFORMED = "malformed"  # not of the format
    KEY = "key"  # no key, or none that can be one
    FEATURES = "features"  # not as many, not of the names, or not of the kind that was agreed
    LABEL = "label"  # not one of the task
    DUPLICATE_EVENT = "duplicate_event"  # an event with its id waits for a label already
    UNKNOWN_LABEL = "unknown_label"  # no event of its id came in time
    LATE_LABEL = "late_label"  # its event has waited long enough and is gone
    DUPLICATE_LABEL = "duplicate_label"  # the same label was learned before
    CONTRADICTING_LABEL = "contradicting_label"  # another label was learned before
    DIVERGED = "diverged"  # the model's score is not a finite number
    LEARNER = "learner"  # the learner refused the event
    UNWRITABLE = "unwritable"  # a record that the wire format cannot hold


class Reject(msgspec.Struct, frozen=True, tag_field="type", tag=str.lower):
    """A record that came in and could not be used; nothing was changed by it."""

    reason: Reason
    message: str  # what was expected, and what came
    cause: Cause
    key: str | None = None
    id: str | None = None
    original: bytes | None = None  # the record as it came, where it was not understood
    ordinal: int = 0


Incoming = Event | Label | Forget
Outgoing = Prediction | Report | Alarm | Reject
