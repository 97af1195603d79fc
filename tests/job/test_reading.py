"""Every kind of mistake in settings, and which value goes before which."""

import pytest

from dataflows.compare import Compare
from okl_flow.job import Given, declared, plan_of
from okl_flow.job.checking import checked

GOOD = """\
flow = "dataflows.per_user:flow"
name = "clicks"

[source]
events = ["a.jsonl", "b.jsonl"]
features = 3

[labels]
classes = ["ham", "spam"]
wait = 1.5

[learner]
name = "kogd"
budget = 50
kernel = "polynomial"
degree = 3

[evaluation]
window = 500
drift = { name = "adwin", chance = 0.01 }

[sinks]
predictions = "-"

[state]
dir = "state"
forget_after = "never"

[run]
processes = 2
recovery_dir = "recovery"

[metrics]
port = 9100
"""


@pytest.fixture
def job(tmp_path):
    """What comes of a job's file: its problems without the folder, and what holds."""

    def told(text, *given, **environment):
        (tmp_path / "a.toml").write_text(text)
        named = [Given(path, value, f"--set {path}") for path, value in given]
        plan = plan_of(f"{tmp_path}/a.toml", named, environment)
        done = checked(plan, environment)
        told.values = {one.path: one.value for one in done.effective}
        told.places = {one.path: one.place.replace(f"{tmp_path}/", "") for one in done.effective}
        return [str(one).replace(f"{tmp_path}/", "") for one in done.problems]

    return told


@pytest.fixture
def wrong(job):
    """What is said about GOOD with another text in one place."""

    def told(old, new, **environment):
        assert old in GOOD
        return job(GOOD.replace(old, new, 1), **environment)

    return told


def test_nothing_is_wrong_with_a_good_file(job, tmp_path):
    assert job(GOOD) == []
    assert job.values["learner"] == "kogd budget=50 kernel=polynomial degree=3"
    assert job.values["evaluation.drift"] == "adwin chance=0.01"
    assert job.values["source.events"] == f"{tmp_path}/a.jsonl,{tmp_path}/b.jsonl"
    assert job.values["state.forget_after"] == "never"
    assert job.places["learner"] == "a.toml, line 12: learner"
    assert job.places["run.processes"] == "a.toml, line 30: run.processes"
    assert job.places["run.epoch"] == "default"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        # names
        ("events =", "event =", "line 5: source.event: there is no such setting; did you mean "),
        ("window", "processes", "line 19: evaluation.processes: there is no such setting; did y"),
        ("processes", "proceses", "line 30: run.proceses: there is no such setting; did you mea"),
        ("port", "prt", "line 34: metrics.prt: there is no such setting; did you mean 'metrics."),
        ('name = "clicks"', "epoch = 5", "line 2: epoch: there is no such setting; did you mean"),
        ('name = "clicks"', "zzz = 5", "line 2: zzz: there is no such setting"),
        ("budget", "bugdet", "line 14: learner.bugdet: kogd has no parameter 'bugdet'; did you m"),
        ("kogd", "kogdd", "line 12: learner: there is no learner 'kogdd'; did you mean 'kogd'?"),
        (
            "polynomial",
            "polynom",
            "line 15: learner.kernel: there is no kernel 'polynom'; did you mean",
        ),
        ("degree", "bandwidth", "line 16: learner.bandwidth: parameter 'bandwidth' belongs to"),
        ("adwin", "adwn", "line 20: evaluation.drift: expected one of page_hinkley, adwin, none"),
        ("chance", "chnce", "line 20: evaluation.drift.chnce: adwin has no parameter 'chnce'; di"),
        ("per_user", "peruser", "line 1: flow: No module named 'dataflows.peruser'; did you mea"),
        ("user:flow", "user:flw", "line 1: flow: the module dataflows.per_user has no 'flw'; di"),
        ('name = "clicks"', 'nme = "clicks"', "line 2: nme: there is no such setting; did you m"),
        ("[source]", "[[source]]", "line 4: source: expected one table, [source], found [[sourc"),
        # types
        ("= 500", '= "500"', "line 19: evaluation.window: expected a whole number at least 1, f"),
        ("= 1.5", "= true", "line 10: labels.wait: expected a number above 0, or 'forever', fou"),
        ('"clicks"', "5", "line 2: name: expected a text, found the number 5"),
        ('"state"', "[1, 2]", "line 26: state.dir: expected a directory, found the list 1,2"),
        ("= 50\n", '= "50"\n', "line 14: learner.budget: KOGD: budget must be a whole number at"),
        ("= 3\n", "= 2026-01-01\n", "line 6: source.features: expected a text, a number, true, "),
        ("= 3\n", "= [[1]]\n", "line 6: source.features: expected a text, a number, true, false"),
        ("= 50\n", "= 07:30:00\n", "line 14: learner.budget: expected a text, a number, true, f"),
        ('"dataflows.per_user:flow"', "5", "line 1: flow: expected module:name, found 5"),
        # ranges
        ("= 500", "= 0", "line 19: evaluation.window: expected a whole number at least 1, found"),
        ("= 500", "= 1.5", "line 19: evaluation.window: expected a whole number at least 1, fou"),
        ("= 1.5", "= 0", "line 10: labels.wait: expected a number above 0, or 'forever', found"),
        ("= 1.5", "= nan", "line 10: labels.wait: expected a number above 0, or 'forever', foun"),
        ("= 3\n", "= 0\n", "line 6: source.features: expected how many features there are"),
        ("= 9100", "= 65536", "line 34: metrics.port: expected a whole number from 1 to 65535, "),
        ("= 50\n", "= -1\n", "line 14: learner.budget: KOGD: budget must be a whole number at l"),
        ("0.01", "2", "line 20: evaluation.drift.chance: Adwin: chance must be a real number ab"),
        ('"never"', '"nver"', "line 27: state.forget_after: expected a number above 0, or 'neve"),
        # what is not there, or empty, or twice
        ("flow =", "# flow =", ": flow: expected module:name, found nothing"),
        ('"clicks"', '""', "line 2: name: expected a value, found an empty text"),
        ('"clicks"', '"${NOT_SET}"', "line 2: name: expected the variable NOT_SET in the enviro"),
        ("b.jsonl", "a.jsonl", "line 5: source.events: expected each word once, found 'a.jsonl' "),
        ('["ham", "spam"]', '["ham"]', "line 9: labels.classes: expected two or more labels, fo"),
        ("features", "events", "line 6: expected TOML: Cannot overwrite a value"),
        ("features = 3", "features =", "line 6: expected TOML: Invalid value"),
        # what does not go together
        ("features", "tail = true\nfeatures", "line 6: source.tail: is of no use without source."),
        ('"ham", ', '"ham", "eggs", ', "line 9: labels.classes: learner (OKL_LEARNER) learns 2 "),
        ('name = "kogd"', 'name = "kogd"\ntask = "regression"', "line 9: labels.classes: learne"),
        ("budget = 50\n", "", "line 12: learner: the memory of kogd has no bound as it is confi"),
        ('"-"', '"b.jsonl"', "line 23: sinks.predictions: "),
        ('"a.jsonl", "b', '"a.jsonx", "b', "line 5: source.events: "),
        ("recovery_dir =", "# ", "line 26: state.dir: needs run.recovery_dir, or --recovery-dir"),
        ("port = 9100", 'host = "::1"', "line 34: metrics.host: needs metrics.port"),
        ("port = 9100", "port = 65534", "line 34: metrics.port: 65534 leaves no ports for 2"),
        ('"state"', '"state"\npartitions = 1', "line 27: state.partitions: expected at least as m"),
    ],
)
def test_a_mistake_is_said_with_its_line_and_what_was_expected(old, new, message, wrong):
    [told] = wrong(old, new)
    if not message.startswith(":"):
        message = f", {message}"
    assert told.startswith(f"a.toml{message}")


@pytest.mark.parametrize(
    ("section", "line", "path", "meant"),
    [
        ("source", "partitions = 4", "source.partitions", "state.partitions"),
        ("settings", 'brokers = "a:1"', "settings.brokers", "source.brokers"),
        ("state", 'delivery = "exactly_once"', "state.delivery", "sinks.delivery"),
        ("source", 'from = "a"', "source.from", "labels.from"),
    ],
)
def test_a_key_in_the_section_of_another_is_none(section, line, path, meant, job):
    told = job(f'flow = "dataflows.per_user:flow"\n[{section}]\n{line}\n')
    assert told == [f"a.toml, line 3: {path}: there is no such setting; did you mean {meant!r}?"]
    [told] = job('flow = "dataflows.per_user:flow"\n', ("evaluation_window", "5"))
    assert told.endswith("there is no such setting; did you mean 'evaluation.window'?")


def test_a_section_that_is_not_there_is_told_of_each_of_its_keys(wrong):
    told = wrong("[evaluation]", "[evalution]")
    assert [one.partition("; ")[2] for one in told] == [
        "did you mean 'evaluation.window'?",
        "did you mean 'evaluation.drift'?",
    ]


def test_all_mistakes_are_told_in_their_order(job):
    text = GOOD
    for old, new in (
        ('"clicks"', "5"),
        ("events =", "event ="),
        ("budget = 50", "bugdet = 50"),
        ("degree = 3", "degree = 0"),
        ("window", "windw"),
        ("processes = 2", "processes = 0"),
        ("port = 9100", "port = -1"),
    ):
        text = text.replace(old, new)
    told = job(text)
    assert [one.split(":")[0] for one in told] == [
        f"a.toml, line {line}" for line in (2, 5, 14, 16, 19, 30, 34)
    ]


def test_of_a_text_that_is_broken_all_is_told_that_is_sure(job):
    told = job(GOOD.replace("features = 3", "features =").replace("window", "windw"))
    assert [one.partition(": ")[0] for one in told] == ["a.toml, line 6", "a.toml, line 19"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("features = 3", 'brokers = "kafka"', "expected host:port, or several with commas betwee"),
        ("features = 3", 'brokers = ["a:1", "b:0"]', "expected host:port, or several"),
        ("features = 3", 'brokers = "a:1"\nformat = "jsn"', "expected one of jsonl, csv, libsvm, "),
        ("features = 3", 'brokers = "a:1"\nformat = "jsonl"', "expected one of json, msgpack, li"),
        ("features = 3", 'format = "float32"', "expected one of jsonl, csv, libsvm of files, fou"),
        (
            "features = 3",
            'brokers = "a:1"\nformat = { name = "float32", labl = "last" }',
            "float32 has no parameter 'labl'; did you mean 'label'?",
        ),
        (
            "features = 3",
            'brokers = "a:1"\nformat = { name = "float32", label = "lst" }',
            "Vectors: label must be one of none, first, last, not 'lst'",
        ),
        (
            "features = 3",
            'brokers = "a:1"\nformat = "float32"\nfeatures = ["x", "y"]',
            "features must be Columns for vectors of floats",
        ),
        ("features = 3", 'brokers = "a:1"\nformat = "avro"', "the format avro needs it"),
        ("features = 3", 'brokers = "a:1"\nschema = "a"', "is for the format avro, and source.fo"),
        ("features = 3", 'brokers = "a:1"\nregistry_user = "a"', "is of no use without source.re"),
        ('"-"', '"a.jsonl"\n[settings]\nx = 1', "there is no such setting"),
    ],
)
def test_formats_of_topics_are_checked_without_brokers(old, new, message, wrong):
    told = wrong(old, new)
    assert any(message in one for one in told), told


def test_the_command_line_goes_before_the_environment_and_that_before_the_file(job):
    given = ("evaluation.window", "7"), ("run.processes", "3")
    variables = {"OKL_EVALUATION_WINDOW": "6", "OKL_RUN_PROCESSES": "5", "OKL_METRICS_PORT": "99"}
    assert job(GOOD) == []
    assert (job.values["evaluation.window"], job.values["run.processes"]) == ("500", "2")
    assert job(GOOD, **variables) == []
    assert (job.values["evaluation.window"], job.values["run.processes"]) == ("6", "5")
    assert job.places["metrics.port"] == "OKL_METRICS_PORT"
    assert job(GOOD, *given, **variables) == []
    assert (job.values["evaluation.window"], job.values["run.processes"]) == ("7", "3")
    assert job.places["run.processes"] == "--set run.processes"


@pytest.mark.parametrize("path", ["learner", "learner.name"])
def test_a_learner_is_given_as_a_whole_or_parameter_by_parameter(path, job):
    part = ("learner.budget", "7")
    assert job(GOOD, part) == []
    assert job.values["learner"] == "kogd budget=7 kernel=polynomial degree=3"
    assert job(GOOD, OKL_LEARNER_BUDGET="8") == []
    assert job.values["learner"] == "kogd budget=8 kernel=polynomial degree=3"
    assert job(GOOD, OKL_LEARNER="bogd budget=9") == []
    assert job.values["learner"] == "bogd budget=9"  # and nothing of the file's
    assert job(GOOD, part, OKL_LEARNER="bogd budget=9") == []
    assert job.values["learner"] == "bogd budget=7"
    assert job(GOOD, (path, "arow"), OKL_LEARNER_BUDGET="8") == []
    assert job.values["learner"] == "arow"
    [told] = job(GOOD, (path, "bogd bugdet=9"))
    assert told.startswith(f"--set {path}: bogd has no parameter 'bugdet'")
    [told] = job(GOOD, ("learner.bugdet", "9"))
    assert told.startswith("--set learner.bugdet: kogd has no parameter 'bugdet'; did you mean")
    [told] = job(GOOD, OKL_LEARNER_BUGDET="9")
    assert told.startswith("OKL_LEARNER_BUGDET: kogd has no parameter 'bugdet'")


def test_a_learner_may_be_a_name_alone(job):
    assert job('flow = "dataflows.per_user:flow"\nlearner = "arow"\n') == []
    assert job.values["learner"] == "arow"
    [told] = job('flow = "dataflows.per_user:flow"\nlearner = "arw"\n')
    assert told.startswith("a.toml, line 2: learner: there is no learner 'arw'; did you mean")


def test_parameters_alone_are_those_of_the_flows_own_learner(job):
    assert job('flow = "dataflows.per_user:flow"\n[learner]\nbudget = 7\n') == []
    assert job.values["learner"].startswith("ons budget=7 scale=standard")


LEARNERS = """\
flow = "dataflows.compare:flow"
[learners.old]
name = "kogd"
budget = 20
[learners.new]
name = "arow"
[settings]
champion = "old"
"""


def test_learners_have_names_of_ones_own(job):
    assert job(LEARNERS) == []
    assert job.values["learners"] == "old: kogd budget=20; new: arow"
    assert job(LEARNERS, ("learners.old.budget", "5"), OKL_LEARNERS_NEW="bogd budget=3") == []
    assert job.values["learners"] == "old: kogd budget=5; new: bogd budget=3"
    assert job(LEARNERS, OKL_LEARNERS="old: bogd budget=4; newer: arow") == []
    assert job.values["learners"] == "old: bogd budget=4; newer: arow"
    default = {one.name: one.default for one in declared(Compare)}["learners"]
    assert job(LEARNERS.splitlines()[0], ("learners.kernel.budget", "7")) == []
    assert job.values["learners"] == default.replace("budget=20", "budget=7")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("budget", "bugdet", "line 4: learners.old.bugdet: kogd has no parameter 'bugdet'; did "),
        (
            "arow",
            "arrow",
            "line 6: learners.new.name: there is no learner 'arrow'; did you mean 'arow'?",
        ),
        ('"old"', '"odl"', "line 8: settings.champion: expected one of the learners old, new, fo"),
        ("champion", "champin", "line 8: settings.champin: there is no such setting; did you me"),
        ('[learners.new]\nname = "arow"\n', "", "line 2: learners: expected two or more of them"),
        ('"arow"', '"arow"\ntask = "regression"', "line 2: learners: all must have one task"),
    ],
)
def test_mistakes_in_learners_with_names(old, new, message, job):
    told = job(LEARNERS.replace(old, new))
    assert any(one.startswith(f"a.toml, {message}") for one in told), told


@pytest.mark.parametrize("text", ["arow", "a: arow; a: bogd", ": arow", "a: arow;"])
def test_learners_in_one_line_need_names(text, job):
    [told] = job(LEARNERS.splitlines()[0], OKL_LEARNERS=text)
    assert told.startswith("OKL_LEARNERS: expected learners by their names")


def test_passwords_are_never_shown(job):
    text = 'flow = "dataflows.per_user:flow"\n[source]\nbrokers = "a:1"\nformat = "confluent"\n'
    text += 'registry = "http://r:1"\nregistry_user = "ann"\nregistry_password = "${WORD}"\n'
    assert job(text, WORD="hunter2") == []
    assert job.values["source.registry_password"] == "***"
    assert "hunter2" not in str(job.values)
    told = job(text.replace('"http://r:1"', '"${WORD}"'), WORD="hunter2")
    assert told
    assert "hunter2" not in str(told)
    told = job(text + '[run]\nepoch = "${WORD}"\n[labels]\nwait="${WORD}"', WORD="hunter2")
    assert len(told) == 2
    assert "hunter2" not in str(told)
    assert "hunter2" not in str(job.values)


def test_a_flow_may_say_nothing_of_its_settings(job):
    text = 'flow = "tests.running.flows:endless"\n[settings]\nanything = 1\n[run]\nepoch = 0\n'
    [told] = job(text)
    assert told.startswith("a.toml, line 5: run.epoch: ")
