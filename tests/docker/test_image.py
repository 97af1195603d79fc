"""The Dockerfile names what there is, and what it runs at build works."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.dataflows.test_commands import FLOWS
from tests.docker.conftest import DOCKER, ROOT, clean, loaded

IGNORED = (DOCKER / "Dockerfile.dockerignore").read_text().split()
WARMING_SECONDS = 600


def steps():
    """The Dockerfile's instructions, each with its words."""
    text = (DOCKER / "Dockerfile").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        if line.strip():
            name, _, words = line.partition(" ")
            yield name, words


def of(name):
    return [words for one, words in steps() if one == name]


def variables():
    return dict(pair.split("=", 1) for words in of("ENV") for pair in shlex.split(words))


def copied():
    """What is copied from the repository, and where to."""
    for words in of("COPY"):
        if not words.startswith("--from"):
            *sources, target = words.split()
            for source in sources:
                yield source, target


def listed(words):
    """A command in the form of a list."""
    return json.loads(words[words.index("[") :])


def test_what_is_copied_is_there_and_not_ignored():
    sources = [source for source, _target in copied()]
    assert "okl_flow" in sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert f"!{source}" in IGNORED
    assert IGNORED[0] == "*"
    kept = [one[1:] for one in IGNORED if one.startswith("!")]
    assert sorted(kept) == sorted(sources)


def test_what_is_packaged_is_copied():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    needed = [project["project"]["readme"], *project["project"]["license-files"], *wheel]
    assert {*needed, "pyproject.toml"} <= {source for source, _target in copied()}


def test_what_is_started_was_copied():
    there = {f"{target}{Path(source).name}" for source, target in copied() if target[-1] == "/"}
    [entrypoint], [health] = of("ENTRYPOINT"), of("HEALTHCHECK")
    assert listed(entrypoint)[-1] in there
    assert listed(health)[-1] in there
    assert shlex.split(of("RUN")[-1])[-1] in there


def test_signals_reach_the_run():
    [entrypoint] = of("ENTRYPOINT")
    assert listed(entrypoint)[:2] == ["tini", "--"]
    assert of("STOPSIGNAL") == ["SIGTERM"]


def test_the_user_is_not_root_and_compiles_for_himself():
    names = [name for name, _words in steps()]
    assert of("USER") == ["okl"]
    assert names.index("USER") < len(names) - 1 - names[::-1].index("RUN")
    made = next(words for words in of("RUN") if "useradd" in words)
    assert variables()["NUMBA_CACHE_DIR"] in made.split()
    assert Path(variables()["ENTRYPOINT_RECOVERY_DIR"]).parts[:2] == (
        "/",
        *of("VOLUME")[0].split("/")[1:],
    )


def test_variables_are_those_of_the_entrypoint():
    own = {name for name in variables() if name.startswith("ENTRYPOINT_")}
    assert own
    assert own <= set(loaded("entrypoint").KNOWN)
    assert not any(name.startswith("OKL_") for name in variables())  # a flow may not know it


def test_ports_are_those_of_the_metrics():
    [ports] = of("EXPOSE")
    assert ports.split("-")[0] == variables()["ENTRYPOINT_METRICS_PORT"]


def test_no_place_of_a_machine_is_named():
    for words in of("FROM"):
        assert fnmatch(words, "python:3.12-slim*")


@pytest.fixture(scope="module")
def warmed(tmp_path_factory):
    """A folder of compiled loops, filled as it is when an image is built."""
    folder = tmp_path_factory.mktemp("warmed")
    done = warm(folder, NUMBA_CACHE_DIR=str(folder / "cache"))
    assert done.returncode == 0, done.stderr
    assert not list((folder / "tmp").iterdir())
    return folder / "cache"


def warm(folder, path=Path(sys.executable).parent, **variables):
    (folder / "tmp").mkdir()
    search = f"{path}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", str(DOCKER / "warm.sh")],
        env=clean(PATH=search, TMPDIR=str(folder / "tmp"), **variables),
        capture_output=True,
        text=True,
        timeout=WARMING_SECONDS,
        check=False,
    )


def loops(cache):
    return {path.name for path in cache.rglob("*.nb?")}


def test_after_warming_no_flow_compiles(warmed, tmp_path):
    before = loops(warmed)
    assert before
    cache = tmp_path / "cache"
    shutil.copytree(warmed, cache)
    program = f"{Path(sys.executable).parent}/okl-flow"
    variables = clean(NUMBA_CACHE_DIR=str(cache))
    streams = {"classify": "rings", "regress": "waves"}
    for flow in FLOWS:
        words = ["make-stream", streams.get(flow, "users"), "--events", "8000", "--seed", "7"]
        made = subprocess.run([program, *words], env=variables, capture_output=True, check=True)
        (tmp_path / "events.jsonl").write_bytes(made.stdout)
        kept = ["--recovery-dir", flow] if flow in {"per_user", "compare"} else []
        kept += ["--state-dir", f"{flow}/state"] if kept else []
        command = [program, "run", f"dataflows.{flow}:flow", *kept]
        subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, check=True)
        assert loops(cache) == before, flow


def test_a_flow_that_fails_ends_the_warming(tmp_path):
    program = tmp_path / "okl-flow"
    program.write_text('#!/bin/sh\n[ "$1" = make-stream ] || { echo no oven >&2; exit 3; }\n')
    program.chmod(0o755)
    done = warm(tmp_path, path=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "no oven\n"


def test_shell_is_clean():
    shellcheck = shutil.which("shellcheck")
    if shellcheck is None:
        pytest.skip("there is no shellcheck here")
    done = subprocess.run(
        [shellcheck, str(DOCKER / "warm.sh")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
