"""`okl-flow run`: its options, which are short for settings, and what is refused before a start."""

import re

import pytest

from okl_flow.cli.run import OPTIONS
from okl_flow.job import RunSettings, declared

FLOW = "dataflows.per_user:flow"


def test_every_setting_of_the_run_has_an_option_with_its_default(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shown = call("run", "--help").stdout
    for one in declared(RunSettings):
        [option] = [name for name, path in OPTIONS.items() if path == one.path]
        assert option in (one.key, f"{one.section}_{one.key}")
        [line] = re.findall(rf"^  --{option.replace('_', '-')} .*", shown, flags=re.M)
        if one.default is not None:
            assert f"({one.default:g})" in line


def test_the_command_line_goes_before_the_environment_and_both_before_the_file(
    refusal, tmp_path, monkeypatch
):
    file = tmp_path / "a.toml"
    file.write_text(f'flow = "{FLOW}"\n[metrics]\nport = 65001\n')
    # The processes have the ports after it, of which there are not enough.
    words = ["run", str(file), "--processes", "9999"]
    assert refusal(*words).startswith(f"{file}, line 3: metrics.port: 65001 leaves no ports")
    monkeypatch.setenv("OKL_METRICS_PORT", "65002")
    assert refusal(*words).startswith("OKL_METRICS_PORT: 65002 ")
    assert refusal(*words, "--set", "metrics.port=65003").startswith("--set metrics.port: 65003 ")
    assert refusal(*words, "--metrics-port", "65004").startswith("--metrics-port: 65004 ")
    monkeypatch.setenv("OKL_METRICS_PORT", "0")
    assert refusal(*words).startswith("OKL_METRICS_PORT: expected a whole number from 1 to 65535")


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("OKL_RUN_PROCESES", "there is no such setting; did you mean 'OKL_RUN_PROCESSES'?"),
        ("OKL_RUN_METRICS_PORT", "there is no such setting; did you mean 'OKL_METRICS_PORT'?"),
    ],
)
def test_variables_that_look_like_options_are_refused(variable, message, refusal, monkeypatch):
    monkeypatch.setenv(variable, "2")
    assert refusal("run", FLOW) == f"{variable}: {message}"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--brokers", ""), "--brokers: expected a value, found an empty text"),
        (("--set", "run.epoch"), "--set: expected KEY=VALUE, as learner.budget=50, found 'run.ep"),
        (("--set", "run.epok=3"), "--set run.epok: there is no such setting; did you mean 'run.e"),
        (("--epoch", "soon"), "--epoch: expected a number at least 0.001, found 'soon'"),
        (("--state-dir", "s"), "--state-dir: needs run.recovery_dir, or --recovery-dir: one with"),
    ],
)
def test_options_that_cannot_be_are_refused(words, message, refusal):
    assert refusal("run", FLOW, *words).startswith(message)


def test_all_that_is_wrong_with_a_run_is_told(call, tmp_path):
    file = tmp_path / "a.toml"
    file.write_text(f'flow = "{FLOW}"\n[run]\nepoch = 0\nlog = "xml"\n')
    told = call("run", str(file), "--failures", "0")
    assert told.exit_code == 2
    lines = told.stderr.removeprefix("okl-flow: ").splitlines()
    assert [one.partition(": ")[0] for one in lines] == [
        "--failures",
        f"{file}, line 3",
        f"{file}, line 4",
    ]


def test_a_file_that_is_not_there(refusal, tmp_path):
    assert refusal("run", f"{tmp_path}/b.toml") == f"{tmp_path}/b.toml: No such file or directory"


def test_a_recovery_directory_that_is_none_is_told_where_it_was_said(refusal, tmp_path):
    (tmp_path / "a.toml").write_text('flow = "a:b"\n[run]\nrecovery_dir = "a.toml"\n')
    told = refusal("run", f"{tmp_path}/a.toml")
    assert told.startswith(f"{tmp_path}/a.toml, line 3: run.recovery_dir: ")
    assert told.endswith("File exists")
