"""One model for all events, whose labels are classes.

Make events, and run the flow over them:

    $ okl-flow make-stream rings > events.jsonl
    $ python -m bytewax.run dataflows.classify:flow
    evaluate, 1,000 labels: 11.4 % mistakes (8.2 to 15.3), lately 11.4 %; commonest label 49.9 %
    ...
    learn, all after 20,000 events: bandwidth 1.414
    evaluate, 20,000 labels: 6.4 % mistakes (5.8 to 7.0), lately 6.3 %; commonest label 47.5 %

The commonest label is what one mistakes who always predicts that. Predictions are in
out/predictions.jsonl, reports, alarms and rejects beside them, a record per line:

    $ head -1 out/predictions.jsonl | cut -c 1-90
    {"type":"prediction","key":"all","score":0.0,"predicted":-1.0,"seen":0,"learner":"ons","ca

An event has no more than features, and a label if it is known: docs/events.md. Files may also be
LIBSVM text, or CSV whose header names a column "label":

    $ okl-flow make-stream rings --format libsvm > events.libsvm
    $ OKL_EVENTS=events.libsvm python -m bytewax.run dataflows.classify:flow
    ...
    $ okl-flow make-stream rings --format csv > events.csv
    $ OKL_EVENTS=events.csv python -m bytewax.run dataflows.classify:flow
    ...

With a recovery store, a run that was stopped or killed goes on where it was, when the last line
is given again; so does one whose file has grown:

    $ mkdir recovery
    $ python -m bytewax.recovery recovery 1
    $ python -m bytewax.run dataflows.classify:flow -r recovery -s 10 -b 0
    ...

Three workers, or two processes, share reading, judging and writing; one model has one of them:

    $ python -m bytewax.run dataflows.classify:flow -w 3
    ...
    $ okl-flow run dataflows.classify:flow --processes 2
    ...

With brokers the same variables name topics. The one model learns in the order of the events, which
only a topic of one partition fixes:

    $ okl-flow produce events.jsonl --brokers localhost:9092 --topic incoming --create 1
    $ export OKL_EVENTS=incoming OKL_DELIVERY=exactly_once OKL_TAIL=false
    $ okl-flow run dataflows.classify:flow --brokers localhost:9092 --create-topics 4
    ...

Predictions are in the topic incoming.predictions, and so on. Without OKL_TAIL=false the flow waits
for more. A recovery directory lets it go on where it was: docs/dataflows.md.

The learner is a name and its parameters; OKL_LABELS_CLASSES
names several classes, of which the learner has to know:

    $ OKL_LEARNER="arow forgetting=0.99" python -m bytewax.run dataflows.classify:flow
    ...

Other variables say what to read and where to write: docs/dataflows.md. To change more, copy this
file: the whole flow is below.
"""

from dataclasses import dataclass
from datetime import timedelta

from bytewax.dataflow import Dataflow

from dataflows import pieces
from dataflows.sections import Learning, Stored
from dataflows.settings import Settings, learner_of, runnable, settings_of
from okl_flow.operators import prequential

__all__ = ["Classify", "flow"]


@dataclass(frozen=True, kw_only=True)
class Classify(Settings, Learning, Stored):
    """The settings of this flow, besides those of all."""

    name: str = "classify"
    learner: str = "ons scale=standard bandwidth=auto"


@runnable(Classify)
def flow() -> Dataflow:
    """One model for all events."""
    settings = settings_of(Classify)
    learner = learner_of(settings.learner)
    flow = Dataflow(settings.name)
    decoded = pieces.read(flow, settings, key=pieces.ONE)
    events = pieces.under_one_key(decoded.events)
    learned = prequential(
        "learn",
        events,
        learner,
        labels_wait=pieces.after(settings.labels_wait, timedelta(hours=1)),
        labels_wait_count=settings.labels_wait_count,
        partitions=1,
        state_dir=settings.state,
    )
    judged = pieces.judge("evaluate", learned.predictions, learner, settings, partitions=1)
    pieces.write(settings, decoded, learned, [judged])
    return flow
