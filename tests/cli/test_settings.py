"""--set and --grid."""

import pytest

from okl_flow.cli.errors import CommandError
from okl_flow.cli.settings import (
    MedianMultiple,
    candidates,
    check_choices,
    parse_choices,
    parse_value,
)

TASK = {"task": "binary"}


def made(names, sets=(), grids=(), median=2.0):
    choices = parse_choices(sets, grids, names)
    check_choices(names, choices)
    return candidates(names, choices, TASK, lambda: median)


def configs(names, key, sets=(), grids=()):
    return [
        [candidate.learner.describe()[key] for candidate in own] for own in made(names, sets, grids)
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-3", -3),
        ("3.0", 3.0),
        ("1e-3", 0.001),
        ("True", True),
        ("false", False),
        ("None", None),
        ("hinge", "hinge"),
        ("median", "median"),
        ("1_0", "1_0"),
    ],
)
def test_values_are_numbers_truths_nothing_or_words(text, value):
    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)


@pytest.mark.parametrize(
    ("text", "factor"), [("median", 1.0), ("median*0.5", 0.5), ("2*median", 2.0)]
)
def test_a_bandwidth_may_be_a_multiple_of_the_median(text, factor):
    assert parse_value(text, key="bandwidth") == MedianMultiple(factor)


@pytest.mark.parametrize(
    "text", ["median*", "median*x", "median*0", "-1*median", "median*2*3", "medians"]
)
def test_other_words_with_median_are_refused(text):
    with pytest.raises(CommandError, match="expected median or"):
        parse_value(text, key="bandwidth")


def test_a_setting_goes_to_every_learner_that_has_it():
    [[kogd], [perceptron]] = made(["kogd", "perceptron"], ["budget=5", "learning_rate=0.3"])
    assert kogd.learner.describe()["budget"] == 5
    assert kogd.learner.describe()["learning_rate"] == 0.3
    assert perceptron.learner.describe()["budget"] == 5
    assert kogd.chosen == {}


def test_what_is_not_set_keeps_its_default():
    assert configs(["kogd", "perceptron"], "budget") == [[None], [None]]


@pytest.mark.parametrize("sets", [["budget=5", "kogd.budget=9"], ["kogd.budget=9", "budget=5"]])
def test_a_setting_for_one_learner_prevails(sets):
    assert configs(["kogd", "perceptron"], "budget", sets) == [[9], [5]]


def test_a_setting_for_all_that_is_replaced_everywhere_is_no_error():
    assert configs(["kogd"], "budget", ["budget=5", "kogd.budget=9"]) == [[9]]


def test_a_grid_has_all_combinations():
    [own] = made(["kogd"], ["budget=5"], ["bandwidth=1,median*2", "learning_rate=0.1,0.2,0.3"])
    assert len(own) == 6
    assert own[5].chosen == {"bandwidth": (4.0, "median*2"), "learning_rate": (0.3, "0.3")}
    assert own[5].learner.describe()["bandwidth"] == 4.0


def test_a_grid_varies_only_what_a_learner_has():
    [kogd, perceptron] = made(["kogd", "perceptron"], grids=["learning_rate=0.1,0.2"])
    assert (len(kogd), len(perceptron)) == (2, 1)


def test_a_kernel_brings_its_own_parameters():
    """The bandwidth is none of a linear kernel, the degree only of a polynomial one."""
    grids = ["kernel=gaussian,linear,polynomial", "bandwidth=1,2", "degree=2,3,4"]
    [own] = made(["kogd"], grids=grids)
    assert len(own) == 2 + 1 + 3
    kernels = [candidate.learner.describe()["kernel"] for candidate in own]
    assert [kernels.count(name) for name in ("gaussian", "linear", "polynomial")] == [2, 1, 3]
    linear = own[kernels.index("linear")]
    assert linear.chosen == {"kernel": ("linear", "linear")}


def test_the_median_is_asked_for_only_if_it_is_needed():
    def unasked():
        raise AssertionError

    candidates(["kogd"], parse_choices(["bandwidth=2"], [], ["kogd"]), TASK, unasked)


@pytest.mark.parametrize(
    ("sets", "grids", "message"),
    [
        (["budget"], [], "--set expects key=value, not 'budget'"),
        (["=5"], [], "--set expects key=value, not '=5'"),
        (["budget="], [], "--set expects key=value, not 'budget='"),
        ([], ["budget=1,,2"], "--grid budget=1,,2: a value is missing"),
        (["rbp.budget=5"], [], "--set rbp.budget=5: 'rbp' is none of the learners here: kogd"),
        (["task=binary"], [], "the task is set by --task"),
        ([], ["classes=3,4"], "the task is set by --task"),
        (["bandwith=1"], [], "kogd has no parameter 'bandwith'; did you mean 'bandwidth'"),
        (["zzz=1"], [], "no parameter 'zzz'; known: budget, kernel, "),
        (["degree=2"], [], "--set degree: kogd has it with kernel=polynomial only"),
        (["kogd.degree=2"], [], "parameter 'degree' belongs to kernel=polynomial"),
        (["kernel=linear", "kogd.bandwidth=2"], [], "'bandwidth' belongs to kernel=gaussian"),
        (["kernel=linear", "bandwidth=2"], [], "--set bandwidth: kogd has it with kernel=gaussian"),
        (["budget=1", "budget=2"], [], "budget is given twice"),
        (["budget=1"], ["budget=2,3"], "budget is given twice"),
        (["kernel=gausian"], [], "no kernel 'gausian'; did you mean 'gaussian'"),
        (["budget=2.5"], [], "budget must be a whole number at least 1 or None, not 2.5"),
        (["learning_rate=fast"], [], "learning_rate must be a real number above 0, not 'fast'"),
    ],
)
def test_what_no_learner_takes_is_refused(sets, grids, message):
    with pytest.raises(CommandError) as caught:
        made(["kogd"], sets, grids)
    assert message in str(caught.value)


def test_a_parameter_of_none_of_several_learners_is_refused():
    with pytest.raises(CommandError, match="none of the learners has a parameter 'budgte'"):
        made(["kogd", "perceptron"], ["budgte=5"])
    with pytest.raises(CommandError, match="perceptron has no parameter 'learning_rate'"):
        made(["kogd", "perceptron"], ["perceptron.learning_rate=5"])
