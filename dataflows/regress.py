"""One model for all events, whose labels are numbers.

Make events, and run the flow over them:

    $ okl-flow make-stream waves --events 5000 > events.jsonl
    $ python -m bytewax.run dataflows.regress:flow
    evaluate, 1,000 labels: root mean squared error 0.219, lately 0.219; mean label 0.9589
    ...
    evaluate, 5,000 labels: root mean squared error 0.1279, lately 0.06062; mean label 0.9866

The mean label is what one errs by who always predicts that. The predictions, a record per line:

    $ tail -1 out/predictions.jsonl | cut -c 1-51
    {"type":"prediction","key":"all","score":0.24340034

With a recovery store, a run that was stopped or killed goes on where it was, when the last line
is given again; so does one whose file has grown:

    $ mkdir recovery
    $ python -m bytewax.recovery recovery 1
    $ python -m bytewax.run dataflows.regress:flow -r recovery -s 10 -b 0
    ...

Three workers, or two processes, share reading, judging and writing; one model has one of them:

    $ python -m bytewax.run dataflows.regress:flow -w 3
    ...
    $ okl-flow run dataflows.regress:flow --processes 2
    ...

With brokers the same variables name topics. The one model learns in the order of the events, which
only a topic of one partition fixes:

    $ okl-flow produce events.jsonl --brokers localhost:9092 --topic incoming --create 1
    $ export OKL_EVENTS=incoming OKL_DELIVERY=exactly_once OKL_TAIL=false
    $ okl-flow run dataflows.regress:flow --brokers localhost:9092 --create-topics 4
    ...

Predictions are in the topic incoming.predictions, and so on. Without OKL_TAIL=false the flow waits
for more. A recovery directory lets it go on where it was: docs/dataflows.md.

The learner is a name and its parameters, here one that weighs all errors beyond 0.1 alike:

    $ export OKL_LEARNER="kogd task=regression loss=epsilon_insensitive epsilon=0.1 budget=100"
    $ python -m bytewax.run dataflows.regress:flow
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

__all__ = ["Regress", "flow"]


@dataclass(frozen=True, kw_only=True)
class Regress(Settings, Learning, Stored):
    """The settings of this flow, besides those of all."""

    name: str = "regress"
    learner: str = "ons task=regression scale=standard bandwidth=auto"


@runnable(Regress)
def flow() -> Dataflow:
    """One model for all events, whose labels are numbers."""
    settings = settings_of(Regress)
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
