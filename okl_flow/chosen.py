"""What a learner that finds its parameters by itself has come to."""

from typing import Any

from okl_flow.learner import Learner
from okl_flow.scaled import Scaled

__all__ = ["chosen_by"]


def chosen_by(learner: Learner, state: Any) -> dict[str, float]:
    """The parameters that the state has chosen by now; nothing for a learner that chooses none.

    Where several values are still in the running, they are those most believed. A bandwidth is
    in units of the scaled features, if they are scaled.

    >>> from okl_flow import make_learner, streams
    >>> learner = make_learner("oks_sil", bandwidth=2.0, scale="standard")
    >>> state = learner.init(dim=2)
    >>> scores = learner.step(state, *streams.rings(3000))
    >>> chosen_by(learner, state)["bandwidth"] < 1.0
    True
    """
    if isinstance(learner, Scaled):
        return chosen_by(learner.learner, state.inner)
    choosing = getattr(learner, "chosen", None)
    if choosing is not None:
        return next(iter(choosing(state)), {})
    bandwidth = getattr(state, "bandwidth", None)
    return {} if bandwidth is None else {"bandwidth": float(bandwidth)}
