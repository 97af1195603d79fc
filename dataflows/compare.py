"""A champion and challengers on the same events, for every user; who is better takes over.

Make events of 20 users, and run the flow over them:

    $ okl-flow make-stream users --keys 20 --drifting 0 > events.jsonl
    $ python -m bytewax.run dataflows.compare:flow
    evaluate, 1,000 labels: 26.5 % mistakes (21.8 to 31.5), lately 26.5 %; commonest label 46.1 %
    promotion of user-000000 at line 1940 of events.jsonl: kernel takes the place of linear: it ...
    ...
    evaluate, 18,037 labels: 11.8 % mistakes (11.0 to 12.7), lately 8.1 %; commonest label 44.0 %

All begin with a linear model. Its challenger has a kernel, and takes its place for one user after
the other, as soon as that user's own events leave no doubt. The promotions are among the alarms:

    $ grep -c '"promotion"' out/alarms.jsonl
    16

With a state directory the models are on disk, and with a recovery store a run that was stopped or
killed goes on where it was, with the champions that there were, when the last line is given again:

    $ mkdir recovery
    $ python -m bytewax.recovery recovery 1
    $ export OKL_STATE=state
    $ python -m bytewax.run dataflows.compare:flow -r recovery -s 10 -b 0
    ...

Three workers, or two processes, share the users:

    $ python -m bytewax.run dataflows.compare:flow -w 3
    ...
    $ okl-flow run dataflows.compare:flow --processes 2
    ...

With brokers the same variables name topics, in which the events of a user have their order:

    $ okl-flow produce events.jsonl --brokers localhost:9092 --topic incoming --create 4
    $ export OKL_EVENTS=incoming OKL_DELIVERY=exactly_once OKL_TAIL=false
    $ okl-flow run dataflows.compare:flow --brokers localhost:9092 --create-topics 4
    ...

Predictions are in the topic incoming.predictions, and so on. Without OKL_TAIL=false the flow waits
for more. A recovery directory lets it go on where it was: docs/dataflows.md.

The learners have names of your own. Here nobody is promoted: an alarm tells who is ahead, and a run
that is started again with another OKL_CHAMPION has that one for all users:

    $ export OKL_LEARNERS="old: kogd budget=20; new: bpa_s budget=50" OKL_CHAMPION=old
    $ export OKL_PROMOTE=manual OKL_CONFIDENCE=0.99
    $ python -m bytewax.run dataflows.compare:flow
    ...

Other variables say what to read and where to write: docs/dataflows.md. To change more, copy this
file: the whole flow is below.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from bytewax.dataflow import Dataflow

from dataflows import pieces
from dataflows.settings import Keyed, learners_of, runnable, settings_of
from okl_flow.job import Fault, Learners, OneOf, Real, Text, parted, setting
from okl_flow.operators import compare
from okl_flow.parameters import nearest

__all__ = ["Compare", "flow"]

_LEARNERS_MIN = 2


@dataclass(frozen=True, kw_only=True)
class Compare(Keyed):
    """The settings of this flow, besides those of all."""

    name: str = "compare"
    learners: str = setting(
        "linear: arow scale=standard; "
        "kernel: ons budget=20 scale=standard bandwidth=1 forgetting=0.995",
        "the learners by names of your own, each a table [learners.NAME]; or in one line",
        Learners(),
        section="learners",
        key="",
    )
    champion: str = setting(
        "linear", "which of them predicts, to begin with", Text("the name of a learner")
    )
    promote: str = setting(
        "significant",
        "significant: who is found to be better takes over; manual: an alarm tells it",
        OneOf("significant", "manual"),
    )
    confidence: float = setting(
        0.999, "that a key's champion is not displaced by chance", Real(above=0.0, below=1.0)
    )
    evaluation_keys: str = "none"

    @property
    def learners_used(self) -> list[tuple[str, str]]:
        """All learners, each with the name of its setting."""
        return [("learners", line) for line in parted(self.learners).values()]

    def faults(self) -> Iterator[Fault]:
        """What does not go together, of learners and champion besides."""
        yield from super().faults()
        made = learners_of(self.learners)
        if len(made) < _LEARNERS_MIN:
            yield Fault(("learners",), f"expected two or more of them, found {' '.join(made)}")
        if self.champion not in made:
            yield Fault(
                ("champion", "learners"),
                f"expected one of the learners {', '.join(made)}, found {self.champion!r}"
                f"{nearest(self.champion, made)}",
            )
        tasks = {name: learner.task for name, learner in made.items()}
        first, *others = tasks
        for name in others:
            if tasks[name] != tasks[first]:
                yield Fault(
                    ("learners",),
                    f"all must have one task; that of {first} is {tasks[first]}, and that of "
                    f"{name} {tasks[name]}",
                )


@runnable(Compare)
def flow() -> Dataflow:
    """A champion for every user, and its challengers."""
    settings = settings_of(Compare)
    learners = learners_of(settings.learners)
    flow = Dataflow(settings.name)
    decoded = pieces.read(flow, settings)
    compared = compare(
        "learn",
        decoded.events,
        learners,
        settings.champion,
        promote=settings.promote,
        confidence=settings.confidence,
        labels_wait=pieces.after(settings.labels_wait, timedelta(hours=1)),
        labels_wait_count=settings.labels_wait_count,
        partitions=settings.partitions,
        state_dir=settings.state,
        keys_in_memory=settings.keys_in_memory,
        forget_after=pieces.after(settings.forget_after, timedelta(days=1)),
        report_every=settings.counts_every,
    )
    judged = pieces.judge(
        "evaluate",
        compared.predictions,
        learners[settings.champion],
        settings,
        partitions=settings.partitions,
    )
    pieces.write(settings, decoded, compared, [judged])
    return flow
