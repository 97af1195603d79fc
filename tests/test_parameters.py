"""What a configuration accepts, and what it says when it refuses."""

import pytest

from okl_flow import Gaussian, Polynomial, make_learner, make_map
from okl_flow.learners.expansion.kogd import KOGD


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": -1}, "budget must be a whole number at least 1 or None, not -1"),
        ({"budget": 0}, "budget must be a whole number at least 1 or None, not 0"),
        ({"budget": 2.0}, "budget must be a whole number"),
        ({"budget": True}, "budget must be a whole number"),
        ({"bandwidth": 0}, "bandwidth must be a real number above 0, not 0"),
        ({"bandwidth": float("nan")}, "bandwidth must be a real number above 0, not nan"),
        ({"learning_rate": float("inf")}, "learning_rate must be a real number above 0, not inf"),
        ({"learning_rate": "0.1"}, "learning_rate must be a real number above 0, not '0.1'"),
        ({"regularization": -0.1}, "regularization must be a real number at least 0, not -0.1"),
        ({"regularization": 10.0}, "learning_rate [*] regularization must be below 1"),
        ({"schedule": "fast"}, "schedule must be one of constant, inverse_sqrt, inverse"),
        ({"kernel": "gausian"}, "there is no kernel 'gausian'; did you mean 'gaussian'"),
        ({"kernel": 3}, "kernel must be one of gaussian, laplacian, polynomial, linear, not 3"),
        ({"kernel": "linear", "bandwidth": 1.0}, "'bandwidth' belongs to kernel=gaussian"),
        ({"degree": 3}, "'degree' belongs to kernel=polynomial"),
        ({"kernel": "polynomial", "degree": 0}, "degree must be a whole number at least 1"),
        ({"loss": "epsilon_insensitive"}, "does not fit binary; use hinge, squared_hinge"),
        ({"task": "regression", "loss": "hinge"}, "does not fit regression; use square, eps"),
        ({"task": "multiclass", "classes": 1}, "classes must be a whole number at least 2"),
        ({"budgit": 3}, "kogd has no parameter 'budgit'; did you mean 'budget'"),
        ({"nothing_like_it": 3}, "kogd has no parameter 'nothing_like_it'$"),
    ],
)
def test_what_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        make_learner("kogd", **settings)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="no learner 'kogdd'; did you mean 'kogd'"):
        make_learner("kogdd")
    with pytest.raises(ValueError, match="there is no map 'irss'"):
        make_map("irss")


def test_parts_are_made_from_flat_names():
    learner = make_learner(
        "kogd", budget=7, kernel="polynomial", degree=3, task="multiclass", classes=4
    )
    assert learner.kernel == Polynomial(degree=3)
    assert learner.task.outputs == 4
    assert make_learner("kogd", bandwidth=2.5).kernel == Gaussian(bandwidth=2.5)
    assert make_learner("kogd", kernel=Gaussian(bandwidth=2.5)).kernel.bandwidth == 2.5


def test_the_default_loss_follows_the_task():
    assert make_learner("kogd").loss.name == "hinge"
    assert make_learner("kogd", task="regression").loss.name == "square"


def test_a_description_makes_the_learner_again():
    learner = make_learner(
        "kogd", task="regression", loss="epsilon_insensitive", epsilon=0.25, kernel="laplacian"
    )
    assert make_learner(**learner.describe()) == learner
    assert KOGD(**{"budget": 5}) == make_learner("kogd", budget=5)
