"""`okl-flow check`: what it prints, and its exit codes."""

import pytest

GOOD = 'flow = "dataflows.per_user:flow"\n[source]\nevents = "a.jsonl"\n[learner]\nbudget = 7\n'


@pytest.fixture
def file(tmp_path):
    """A job's file, beside the events that it names."""

    def write(text):
        (tmp_path / "a.jsonl").touch()
        (tmp_path / "a.toml").write_text(text)
        return f"{tmp_path}/a.toml"

    return write


def test_nothing_is_wrong(call, file):
    path = file(GOOD)
    done = call("check", path)
    assert (done.exit_code, done.stdout, done.stderr) == (0, f"{path}: nothing is wrong\n", "")


def test_everything_that_is_wrong_is_printed_and_the_exit_code_is_one(call, file):
    path = file(GOOD.replace("events", "event") + "bugdet = 3\n[run]\nepoch = 0\n")
    done = call("check", path, "--set", "sinks.delivery=once")
    assert done.exit_code == 1
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert [one.partition(": ")[0] for one in lines] == [
        "--set sinks.delivery",
        *(f"{path}, line {number}" for number in (3, 6, 8)),
    ]


def test_files_that_are_not_there_yet_are_no_mistake(call, file, tmp_path):
    path = file(GOOD)
    (tmp_path / "a.jsonl").unlink()
    done = call("check", path)
    assert done.exit_code == 0
    assert done.stdout.startswith(f"note: {path}, line 3: source.events: there is no file '")


def test_a_flow_without_a_file_has_the_environments_settings(call, monkeypatch):
    monkeypatch.setenv("OKL_LEARNER", "kogdd")
    done = call("check", "dataflows.per_user:flow")
    assert done.exit_code == 1
    assert done.stdout.startswith("OKL_LEARNER: there is no learner 'kogdd'; did you mean 'kogd'?")


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        ("dataflows.per_usr:flow", "No module named 'dataflows.per_usr'; did you mean 'dataflows."),
        ("dataflows.per_user:flwo", "the module dataflows.per_user has no 'flwo'; did you mean "),
        ("dataflows.per_user", "expected module:name, such as dataflows.per_user:flow, found"),
        ("ovens:flow", "No module named 'ovens'"),
    ],
)
def test_a_flow_that_is_not_there(flow, message, call):
    done = call("check", flow)
    assert done.exit_code == 1
    assert done.stdout.startswith(f"FLOW: {message}")


def test_of_a_flow_that_says_nothing_only_the_run_is_checked(call, file):
    path = file('flow = "tests.running.flows:endless"\n[settings]\nx = 1\n[run]\nepoch = 0\n')
    done = call("check", path)
    assert done.exit_code == 1
    [problem, note] = done.stdout.splitlines()
    assert problem.startswith(f"{path}, line 5: run.epoch: ")
    assert note.startswith("note: tests.running.flows:endless: says nothing of its settings")


def test_values_are_printed_with_where_they_come_from_and_no_password(
    call, file, monkeypatch, tmp_path
):
    text = (
        'flow = "dataflows.per_user:flow"\n[source]\nbrokers = "a:1"\nformat = "confluent"\n'
        'registry = "http://ann:${OUR_PASSWORD}@r:1"\nregistry_user = "ann"\n'
        'registry_password = "${OUR_PASSWORD}"\n'
    )
    monkeypatch.setenv("OUR_PASSWORD", "hunter2")
    monkeypatch.setenv("OKL_EVALUATION_WINDOW", "50")
    path = file(text.replace("ann:${OUR_PASSWORD}@", ""))
    done = call("check", path, "--values", "--set", "learner.budget=9")
    assert done.exit_code == 0
    rows = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
    assert rows["source.brokers"].split()[1:] == ["a:1", f"{path},", "line", "3:", "source.brokers"]
    assert rows["evaluation.window"].split()[1:] == ["50", "OKL_EVALUATION_WINDOW"]
    assert "ons budget=9 " in rows["learner"]
    assert rows["learner"].rstrip().endswith("--set learner.budget")
    assert rows["run.epoch"].split()[1:] == ["10", "default"]
    assert rows["source.registry_password"].split()[1] == "***"
    told = done.stdout + call("check", file(text), "--values").stdout
    assert "hunter2" not in told


def test_settings_are_printed_with_their_names(call):
    done = call("check", "dataflows.compare:flow", "--settings")
    assert done.exit_code == 0
    rows = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
    assert rows["settings.champion"].split()[1] == "OKL_CHAMPION"
    assert rows["run.processes"].split()[1] == "OKL_RUN_PROCESSES"
