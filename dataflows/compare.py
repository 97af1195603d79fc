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
    $ python -m bytewax.testing dataflows.compare:flow -p 2
    ...

The learners have names of your own. Here nobody is promoted: an alarm tells who is ahead, and a run
that is started again with another OKL_CHAMPION has that one for all users:

    $ export OKL_LEARNERS="old: kogd budget=20; new: bpa_s budget=50" OKL_CHAMPION=old
    $ export OKL_PROMOTE=manual OKL_CONFIDENCE=0.99
    $ python -m bytewax.run dataflows.compare:flow
    ...

Other variables say what to read and where to write: docs/dataflows.md. To change more, copy this
file: the whole flow is below.
"""

from dataclasses import dataclass
from datetime import timedelta

from bytewax.dataflow import Dataflow

from dataflows import pieces
from dataflows.settings import PREFIX, Settings, learner_of, runnable, settings_of
from okl_flow.learner import Learner
from okl_flow.operators import compare

__all__ = ["Compare", "flow"]


@dataclass(frozen=True, kw_only=True)
class Compare(Settings):
    """The settings of this flow, besides those of all."""

    learners: str = (
        "linear: arow scale=standard; "
        "kernel: ons budget=20 scale=standard bandwidth=1 forgetting=0.995"
    )
    champion: str = "linear"  # which of them predicts, to begin with
    promote: str = "significant"  # or manual: an alarm tells who is better, and nothing changes
    confidence: float = 0.999  # that a user's champion is not displaced by chance
    state: str | None = None  # directory of the models; without one the engine keeps them
    labels_wait: float = 24.0  # hours that an event waits for its label
    partitions: int = 64


@runnable
def flow() -> Dataflow:
    """A champion for every user, and its challengers."""
    settings = settings_of(Compare)
    learners = _learners_of(settings.learners)
    flow = Dataflow("compare")
    decoded = pieces.read(flow, settings)
    compared = compare(
        "learn",
        decoded.events,
        learners,
        settings.champion,
        promote=settings.promote,
        confidence=settings.confidence,
        labels_wait=timedelta(hours=settings.labels_wait),
        partitions=settings.partitions,
        state_dir=settings.state,
    )
    judged = pieces.judge(
        "evaluate",
        compared.predictions,
        learners[settings.champion],
        partitions=settings.partitions,
        keys="none",
    )
    pieces.write(settings, decoded, compared, [judged])
    return flow


def _learners_of(text: str) -> dict[str, Learner]:
    """Learners by their names: "one: kogd budget=50; other: arow"."""
    found = {}
    for part in text.split(";"):
        name, colon, learner = part.partition(":")
        if not colon or not name.strip() or name.strip() in found:
            raise ValueError(
                f'{PREFIX}LEARNERS must be like "one: kogd budget=50; other: arow", each '
                f"name once, not {text!r}"
            )
        found[name.strip()] = learner_of(learner)
    return found
