"""A model for every user, whose labels come later, if at all.

Make events of 20 users, of whom every fifth changes his ways half-way through. Half of the labels
are records of their own, a minute later on average; a tenth never comes:

    $ okl-flow make-stream users --keys 20 > events.jsonl
    $ python -m bytewax.run dataflows.per_user:flow
    evaluate, 1,000 labels: 21.1 % mistakes (16.8 to 25.8), lately 21.1 %; commonest label 46.1 %
    ...
    drift at line 15678 of events.jsonl: the mean error of the key 'user-000004' rose from 0.0...
    drift at line 15435 of events.jsonl: the mean error of the stream rose from 0.1052 to 0.2312
    evaluate, 10,000 labels: 11.1 % mistakes (10.1 to 12.3), lately 16.8 %; commonest label 44.2 %
    ...
    drift at line 17705 of events.jsonl: the mean error of the key 'user-000009' rose from 0.0...
    ...
    evaluate, 18,037 labels: 9.6 % mistakes (8.8 to 10.4), lately 7.7 %; commonest label 44.3 %

Users 4 and 9 have changed; so have 14 and 19, who send too few events to tell. An event
is predicted when it comes, and reported again with its label when that comes, as it was predicted:

    $ grep '"id":"e310"' out/predictions.jsonl | grep -o '"probability.*'
    "probability":0.9478810421911236,"label":null,"loss":null,"ordinal":0}
    "probability":0.9478810421911236,"label":1.0,"loss":0.053526267521511385,"ordinal":0}

This keeps the models in memory. With a state directory they are on disk, for as many users as
there are, and with a recovery store a run that was stopped or killed goes on where it was, when
the last line is given again. So does one whose file has grown:

    $ mkdir recovery
    $ python -m bytewax.recovery recovery 1
    $ export OKL_STATE=state
    $ python -m bytewax.run dataflows.per_user:flow -r recovery -s 10 -b 0
    ...

State directory and recovery store belong together: begin anew without both, or with both. Three
workers, or two processes, share the users:

    $ python -m bytewax.run dataflows.per_user:flow -w 3
    ...
    $ python -m bytewax.testing dataflows.per_user:flow -p 2
    ...

How long events wait for labels, and when a user is forgotten who sends nothing more, in the time
of the events:

    $ export OKL_LABELS_WAIT=0.5    # hours
    $ export OKL_FORGET_AFTER=7     # days
    $ python -m bytewax.run dataflows.per_user:flow
    ...

The learner here takes at most 10 kB per user at two features. Other variables say what to read and
where to write: docs/dataflows.md. To change more, copy this file: the whole flow is below.
"""

from dataclasses import dataclass
from datetime import timedelta

from bytewax.dataflow import Dataflow

from dataflows import pieces
from dataflows.settings import Settings, learner_of, runnable, settings_of
from okl_flow.operators import prequential

__all__ = ["PerUser", "flow"]


@dataclass(frozen=True, kw_only=True)
class PerUser(Settings):
    """The settings of this flow, besides those of all."""

    learner: str = "ons budget=20 scale=standard bandwidth=1 forgetting=0.995"
    state: str | None = None  # directory of the models; without one the engine keeps them
    labels_wait: float = 24.0  # hours that an event waits for its label
    forget_after: float = 30.0  # days without an event after which a user is forgotten
    partitions: int = 64


@runnable
def flow() -> Dataflow:
    """A model for every user."""
    settings = settings_of(PerUser)
    learner = learner_of(settings.learner)
    flow = Dataflow("per_user")
    decoded = pieces.read(flow, settings)
    learned = prequential(
        "learn",
        decoded.events,
        learner,
        labels_wait=timedelta(hours=settings.labels_wait),
        partitions=settings.partitions,
        state_dir=settings.state,
        forget_after=timedelta(days=settings.forget_after),
    )
    judged = pieces.judge("evaluate", learned.predictions, learner, partitions=settings.partitions)
    pieces.write(settings, decoded, learned, [judged])
    return flow
