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

    $ grep '"id":"e310"' out/predictions.jsonl | grep -o '"probability.*"loss":[^,]*'
    "probability":0.9478810421911236,"label":null,"loss":null
    "probability":0.9478810421911236,"label":1.0,"loss":0.053526267521511385

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
    $ okl-flow run dataflows.per_user:flow --processes 2
    ...

With brokers the same variables name topics, in which the events of a user have their order:

    $ okl-flow produce events.jsonl --brokers localhost:9092 --topic incoming --create 4
    $ export OKL_EVENTS=incoming OKL_DELIVERY=exactly_once OKL_TAIL=false
    $ okl-flow run dataflows.per_user:flow --brokers localhost:9092 --create-topics 4
    ...

Predictions are in the topic incoming.predictions, and so on. Without OKL_TAIL=false the flow waits
for more. A recovery directory lets it go on where it was: docs/dataflows.md.

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
from dataflows.sections import Learning
from dataflows.settings import Keyed, learner_of, runnable, settings_of
from okl_flow.operators import prequential

__all__ = ["PerUser", "flow"]


@dataclass(frozen=True, kw_only=True)
class PerUser(Keyed, Learning):
    """The settings of this flow, besides those of all."""

    name: str = "per_user"
    learner: str = "ons budget=20 scale=standard bandwidth=1 forgetting=0.995"
    forget_after: float | None = 30.0


@runnable(PerUser)
def flow() -> Dataflow:
    """A model for every user."""
    settings = settings_of(PerUser)
    learner = learner_of(settings.learner)
    flow = Dataflow(settings.name)
    decoded = pieces.read(flow, settings)
    learned = prequential(
        "learn",
        decoded.events,
        learner,
        labels_wait=pieces.after(settings.labels_wait, timedelta(hours=1)),
        labels_wait_count=settings.labels_wait_count,
        partitions=settings.partitions,
        state_dir=settings.state,
        keys_in_memory=settings.keys_in_memory,
        forget_after=pieces.after(settings.forget_after, timedelta(days=1)),
        report_every=settings.counts_every,
    )
    judged = pieces.judge(
        "evaluate", learned.predictions, learner, settings, partitions=settings.partitions
    )
    pieces.write(settings, decoded, learned, [judged])
    return flow
