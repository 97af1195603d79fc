"""One model for all events, whose labels are numbers.

Make events, and run the flow over them:

    $ okl-flow make-stream waves --events 5000 > events.jsonl
    $ python -m bytewax.run dataflows.regress:flow
    evaluate, 1,000 labels: root mean squared error 0.219, lately 0.219; mean label 0.9589
    ...
    evaluate, 5,000 labels: root mean squared error 0.1279, lately 0.06062; mean label 0.9866

The mean label is what one errs by who always predicts that. The predictions, a record per line:

    $ tail -1 out/predictions.jsonl | cut -c 1-90
    {"type":"prediction","key":"all","score":0.24340034222288637,"predicted":0.243400342222886

With a recovery store, a run that was stopped or killed goes on where it was, when the last line
is given again; so does one whose file has grown:

    $ mkdir recovery
    $ python -m bytewax.recovery recovery 1
    $ python -m bytewax.run dataflows.regress:flow -r recovery -s 10 -b 0
    ...

Three workers, or two processes, share reading, judging and writing; one model has one of them:

    $ python -m bytewax.run dataflows.regress:flow -w 3
    ...
    $ python -m bytewax.testing dataflows.regress:flow -p 2
    ...

The learner is a name and its parameters, here one that weighs all errors beyond 0.1 alike:

    $ export OKL_LEARNER="kogd task=regression loss=epsilon_insensitive epsilon=0.1 budget=100"
    $ python -m bytewax.run dataflows.regress:flow
    ...

Other variables say what to read and where to write: docs/dataflows.md. To change more, copy this
file: the whole flow is below.
"""

from dataclasses import dataclass

from bytewax.dataflow import Dataflow

from dataflows import pieces
from dataflows.settings import Settings, learner_of, runnable, settings_of
from okl_flow.operators import prequential

__all__ = ["Regress", "flow"]


@dataclass(frozen=True, kw_only=True)
class Regress(Settings):
    """The settings of this flow, besides those of all."""

    learner: str = "ons task=regression scale=standard bandwidth=auto"


@runnable
def flow() -> Dataflow:
    """One model for all events, whose labels are numbers."""
    settings = settings_of(Regress)
    learner = learner_of(settings.learner)
    flow = Dataflow("regress")
    decoded = pieces.read(flow, settings, key=pieces.ONE)
    events = pieces.under_one_key(decoded.events)
    learned = prequential("learn", events, learner, partitions=1)
    judged = pieces.judge("evaluate", learned.predictions, learner, partitions=1, keys="none")
    pieces.write(settings, decoded, learned, [judged])
    return flow
