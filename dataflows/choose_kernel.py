"""A model for every user that finds the width of its kernel, beside one whose width is fixed.

Make events of 20 users, and run the flow over them:

    $ okl-flow make-stream users --keys 20 --drifting 0 > events.jsonl
    $ python -m bytewax.run dataflows.choose_kernel:flow
    judge_choosing, 1,000 labels: 25.6 % mistakes (21.0 to 30.6), lately 25.6 %; commonest ...
    judge_fixed, 1,000 labels: 29.4 % mistakes (24.6 to 34.6), lately 29.4 %; commonest ...
    choosing, user-000000 after 644 events: bandwidth 0.5501
    ...
    choosing, user-000001 after 2,761 events: bandwidth 0.5834
    choosing, user-000003 after 1,375 events: bandwidth 0.6331
    judge_choosing, 18,037 labels: 11.3 % mistakes (10.5 to 12.1), lately 8.2 %; commonest ...
    judge_fixed, 18,037 labels: 15.1 % mistakes (14.1 to 16.0), lately 11.9 %; commonest ...

Both begin with a width of 1. After every 1000 records of a state partition the latest user's model
tells what it has chosen. The predictions are those of the models that choose; what they chose is
among the reports:

    $ grep -m 1 '"bandwidth"' out/reports.jsonl | cut -c 1-96
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
    $ okl-flow run dataflows.choose_kernel:flow --processes 2
    ...

With brokers the same variables name topics, in which the events of a user have their order:

    $ okl-flow produce events.jsonl --brokers localhost:9092 --topic incoming --create 4
    $ export OKL_EVENTS=incoming OKL_DELIVERY=exactly_once OKL_TAIL=false
    $ okl-flow run dataflows.choose_kernel:flow --brokers localhost:9092 --create-topics 4
    ...

Predictions are in the topic incoming.predictions, and so on. Without OKL_TAIL=false the flow waits
for more. A recovery directory lets it go on where it was: docs/dataflows.md.

Both learners are names and parameters. "auto" tries several widths side by side and keeps the best,
here against the width that suits most users best:

    $ export OKL_LEARNER="kogd budget=50 bandwidth=auto" OKL_FIXED="kogd budget=50 bandwidth=0.5"
    $ python -m bytewax.run dataflows.choose_kernel:flow
    ...

Other variables say what to read and where to write: docs/dataflows.md. To change more, copy this
file: the whole flow is below.
"""

from dataclasses import dataclass
from datetime import timedelta

from bytewax.dataflow import Dataflow

from dataflows import pieces
from dataflows.sections import Learning
from dataflows.settings import Keyed, learner_of, runnable, settings_of
from okl_flow.job import Learner, setting
from okl_flow.operators import prequential

__all__ = ["ChooseKernel", "flow"]


@dataclass(frozen=True, kw_only=True)
class ChooseKernel(Keyed, Learning):
    """The settings of this flow, besides those of all."""

    name: str = "choose_kernel"
    learner: str = "oks_sil bandwidth=1"  # which finds its bandwidth, from this one on
    fixed: str = setting(
        "oks_sil bandwidth=1 bandwidth_rate=0",
        "name and parameters of the learner to compare with",
        Learner(),
        section="fixed",
        key="",
    )
    counts_every: int = 1000  # then the latest key's model tells what it has chosen
    evaluation_keys: str = "none"

    @property
    def learners_used(self) -> list[tuple[str, str]]:
        """Both learners, each with the name of its setting."""
        return [("learner", self.learner), ("fixed", self.fixed)]


@runnable(ChooseKernel)
def flow() -> Dataflow:
    """A model that chooses its kernel, and one that does not, for every user."""
    settings = settings_of(ChooseKernel)
    flow = Dataflow(settings.name)
    decoded = pieces.read(flow, settings)
    outs, judged = [], []
    for name, text in (("choosing", settings.learner), ("fixed", settings.fixed)):
        learner, partitions = learner_of(text), settings.partitions
        out = prequential(
            name,
            decoded.events,
            learner,
            labels_wait=pieces.after(settings.labels_wait, timedelta(hours=1)),
            labels_wait_count=settings.labels_wait_count,
            partitions=partitions,
            state_dir=settings.state and f"{settings.state}/{name}",
            keys_in_memory=settings.keys_in_memory,
            forget_after=pieces.after(settings.forget_after, timedelta(days=1)),
            report_every=settings.counts_every,
        )
        outs.append(out)
        judged.append(
            pieces.judge(f"judge_{name}", out.predictions, learner, settings, partitions=partitions)
        )
    # The other model is there for comparison: what it predicts and rejects would come twice.
    pieces.write(settings, decoded, outs[0], judged)
    return flow
