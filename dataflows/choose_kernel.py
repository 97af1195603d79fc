"""A model for every user that finds the width of its kernel, beside one whose width is fixed.

Make events of 20 users, and run the flow over them:

    $ okl-flow make-stream users --keys 20 --drifting 0 > events.jsonl
    $ python -m bytewax.run dataflows.choose_kernel:flow
    judge_choosing, 1,000 labels: 25.8 % mistakes (21.2 to 30.8), lately 25.8 %; commonest ...
    judge_fixed, 1,000 labels: 29.4 % mistakes (24.6 to 34.6), lately 29.4 %; commonest ...
    choosing, user-000000 after 644 events: bandwidth 0.5479
    ...
    choosing, user-000001 after 2,761 events: bandwidth 0.5766
    choosing, user-000003 after 1,375 events: bandwidth 0.6308
    judge_choosing, 18,037 labels: 11.3 % mistakes (10.5 to 12.2), lately 8.5 %; commonest ...
    judge_fixed, 18,037 labels: 15.0 % mistakes (14.0 to 15.9), lately 11.9 %; commonest ...

Both begin with a width of 1. After every 1000 records of a state partition the latest user's model
tells what it has chosen. The predictions are those of the models that choose; what they chose is
among the reports:

    $ grep '"bandwidth"' out/reports.jsonl | head -1 | cut -c 1-96
    {"type":"report","step":"choose_kernel.choosing","subject":"key","name":"user-000000","events":6

With a recovery store, a run that was stopped or killed goes on where it was, when the last line
is given again; so does one whose file has grown:

    $ mkdir recovery
    $ python -m bytewax.recovery recovery 1
    $ python -m bytewax.run dataflows.choose_kernel:flow -r recovery -s 10 -b 0
    ...

Three workers, or two processes, share the users:

    $ python -m bytewax.run dataflows.choose_kernel:flow -w 3
    ...
    $ python -m bytewax.testing dataflows.choose_kernel:flow -p 2
    ...

Both learners are names and parameters. "auto" tries several widths side by side and keeps the best,
here against the width that suits most users best:

    $ export OKL_LEARNER="kogd budget=50 bandwidth=auto" OKL_FIXED="kogd budget=50 bandwidth=0.5"
    $ python -m bytewax.run dataflows.choose_kernel:flow
    ...

Other variables say what to read and where to write: docs/dataflows.md. To change more, copy this
file: the whole flow is below.
"""

from dataclasses import dataclass

from bytewax.dataflow import Dataflow

from dataflows import pieces
from dataflows.settings import Settings, learner_of, runnable, settings_of
from okl_flow.operators import prequential

__all__ = ["ChooseKernel", "flow"]


@dataclass(frozen=True, kw_only=True)
class ChooseKernel(Settings):
    """The settings of this flow, besides those of all."""

    learner: str = "oks_sil bandwidth=1"  # which finds its bandwidth, from this one on
    fixed: str = "oks_sil bandwidth=1 bandwidth_rate=0"  # the same learner, whose width stays
    partitions: int = 64
    chosen_every: int = 1000  # records of a partition after which one model tells what it chose


@runnable
def flow() -> Dataflow:
    """A model that chooses its kernel, and one that does not, for every user."""
    settings = settings_of(ChooseKernel)
    flow = Dataflow("choose_kernel")
    decoded = pieces.read(flow, settings)
    outs, judged = [], []
    for name, text in (("choosing", settings.learner), ("fixed", settings.fixed)):
        learner, partitions = learner_of(text), settings.partitions
        out = prequential(
            name,
            decoded.events,
            learner,
            partitions=partitions,
            report_every=settings.chosen_every,
        )
        outs.append(out)
        judged.append(
            pieces.judge(
                f"judge_{name}", out.predictions, learner, partitions=partitions, keys="none"
            )
        )
    # The other model is there for comparison: what it predicts and rejects would come twice.
    pieces.write(settings, decoded, outs[0], judged)
    return flow
