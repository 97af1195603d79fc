"""What a learner that finds its parameters by itself has come to."""

import pytest

from okl_flow import make_learner, streams
from okl_flow.chosen import chosen_by


def after(count, name, **settings):
    learner = make_learner(name, **settings)
    state = learner.init(dim=2)
    learner.step(state, *streams.rings(count))
    return learner, state


@pytest.mark.parametrize("name", ["oks_sil", "okl_gd", "proj_ka"])
@pytest.mark.parametrize("scale", ["none", "standard"])
def test_the_width_that_a_state_has_come_to(name, scale):
    learner, state = after(500, name, scale=scale)
    inner = state.inner if scale == "standard" else state
    assert chosen_by(learner, state) == {"bandwidth": inner.bandwidth}


def test_of_several_candidates_the_most_believed():
    learner, state = after(2000, "kogd", budget=20, bandwidth="auto", learning_rate="auto")
    assert chosen_by(learner, state) == learner.chosen(state)[0]
    assert set(chosen_by(learner, state)) == {"bandwidth", "learning_rate"}


def test_of_competing_kernels_the_cheapest():
    learner, state = after(2000, "oks", budget=20)
    best = learner.bandwidths[state.losses.argmin()]
    assert chosen_by(learner, state) == {"bandwidth": best}
    assert len(learner.chosen(state)) == len(learner.bandwidths)


def test_nothing_where_nothing_is_chosen():
    assert chosen_by(*after(50, "kogd", budget=5)) == {}
    assert chosen_by(*after(5, "kogd", budget=5, bandwidth="auto")) == {}
