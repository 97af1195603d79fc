"""The files of compose, Prometheus and Grafana fit each other and the code."""

import json
import re
import shlex
import shutil
import subprocess

import pytest
import typer
import yaml
from prometheus_client import REGISTRY

from dataflows.per_user import PerUser
from okl_flow import meters
from okl_flow.cli import app
from okl_flow.job import RunSettings, declared
from okl_flow.kafka import reader
from okl_flow.running import gauges
from tests.docker.conftest import DOCKER, ROOT, loaded
from tests.docker.test_image import variables as image_variables

COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
FLOW = SERVICES["flow"]
DASHBOARD = json.loads((DOCKER / "grafana" / "okl_flow.json").read_text())
PANELS = DASHBOARD["panels"]
LABELS = {"step", "reason", "over", "topic", "le", "job", "instance"}
WITH_PROMETHEUS = {"process_cpu_seconds_total", "process_resident_memory_bytes"}
entrypoint = loaded("entrypoint")


def provisioned(name):
    return yaml.safe_load((DOCKER / "grafana" / f"{name}.yaml").read_text())


def mounts():
    """Files and folders of the repository that services see, and where."""
    for service in SERVICES.values():
        for volume in service.get("volumes", []):
            source, target, *_ = volume.split(":")
            yield source, target


def words_of(command, words):
    """What `okl-flow COMMAND` makes of words, if it takes them."""
    found = typer.main.get_command(app).commands[command]
    return found.make_context(command, list(words)).params


def run_words():
    return words_of("run", FLOW["command"])


def number(words, name):
    """What an option of the run says, or what holds without it."""
    return float(words[name] or getattr(RunSettings, name))


def test_docker_takes_the_file():
    known = shutil.which("docker") and subprocess.run(
        ["docker", "compose", "version"], capture_output=True, check=False
    )
    if not known or known.returncode:
        pytest.skip("there is no docker compose here")
    done = subprocess.run(
        ["docker", "compose", "--file", "docker/compose.yaml", "config", "--quiet"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_variables_of_the_flow_are_known():
    own = {one.variable for one in declared(PerUser)}
    assert set(FLOW["environment"]) <= own | set(entrypoint.KNOWN)


def test_the_entrypoint_takes_variables_and_words(tmp_path, monkeypatch):
    monkeypatch.setattr(entrypoint, "_check_folder", lambda _name, _folder: None)
    given = {name: str(value) for name, value in FLOW["environment"].items()}
    plan = entrypoint.plan_of(FLOW["command"], {**image_variables(), **given})
    assert plan.brokers == "kafka:9092"
    assert plan.topics[0] == "events"
    assert plan.partitions >= number(run_words(), "processes")
    assert plan.command[-len(FLOW["command"]) :] == FLOW["command"]
    assert run_words()["flow"] == "dataflows.per_user:flow"


def test_docker_is_more_patient_than_the_run():
    assert int(FLOW["stop_grace_period"].removesuffix("s")) > number(run_words(), "grace") + 5


def test_models_and_recovery_are_in_a_volume():
    [volume] = FLOW["volumes"]
    source, target = volume.split(":")
    assert source in COMPOSE["volumes"]
    for path in (FLOW["environment"]["OKL_STATE"], image_variables()["ENTRYPOINT_RECOVERY_DIR"]):
        assert path.startswith(f"{target}/")


def test_the_producer_fills_the_topic_of_the_flow():
    [line] = SERVICES["producer"]["command"]
    made, produced = ([*shlex.split(one)] for one in line.split("|"))
    assert made[:2] == ["okl-flow", "make-stream"]
    assert produced[:2] == ["okl-flow", "produce"]
    assert words_of("make-stream", made[2:])["name"] == "users"
    words = words_of("produce", produced[2:])
    assert words["data"] == "-"
    assert words["brokers"] == FLOW["environment"]["OKL_BROKERS"]
    assert words["topic"] == FLOW["environment"]["OKL_EVENTS"]
    assert SERVICES["producer"]["image"] == FLOW["image"]
    assert SERVICES["producer"]["entrypoint"] == ["sh", "-c"]


def test_ports_are_on_loopback():
    for name, service in SERVICES.items():
        for port in service.get("ports", []):
            assert re.fullmatch(r"127\.0\.0\.1:(\d+):\1", port), name


def test_kafka_is_where_it_says():
    settings = SERVICES["kafka"]["environment"]

    def listeners(name):
        pairs = (one.split("://") for one in settings[name].split(","))
        return {name: address.rpartition(":") for name, address in pairs}

    own, told = listeners("KAFKA_LISTENERS"), listeners("KAFKA_ADVERTISED_LISTENERS")
    inside, outside = told["INSIDE"], told["OUTSIDE"]
    assert "".join(inside) == FLOW["environment"]["OKL_BROKERS"]
    assert "".join(inside) in SERVICES["kafka"]["healthcheck"]["test"]
    assert SERVICES["kafka"]["ports"] == [f"127.0.0.1:{outside[2]}:{outside[2]}"]
    assert {name: one[2] for name, one in told.items()}.items() <= {
        name: one[2] for name, one in own.items()
    }.items()
    voter = f"{settings['KAFKA_NODE_ID']}@kafka:{own['CONTROLLER'][2]}"
    assert settings["KAFKA_CONTROLLER_QUORUM_VOTERS"] == voter
    protocols = settings["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"].split(",")
    assert {one.split(":")[0] for one in protocols} == set(own)
    assert f"kafka:{settings['KAFKA_LOG_DIRS']}" in SERVICES["kafka"]["volumes"]


def test_files_and_volumes_are_there():
    for source, _target in mounts():
        if source.startswith("."):
            assert (DOCKER / source).is_file(), source
        else:
            assert source in COMPOSE["volumes"], source
    build = FLOW["build"]
    assert (DOCKER / build["context"] / build["dockerfile"]).samefile(DOCKER / "Dockerfile")


def test_who_is_waited_for_tells_of_his_health():
    own = {"flow"}  # of its image
    for service in SERVICES.values():
        for other, wish in service.get("depends_on", {}).items():
            assert wish == {"condition": "service_healthy"}
            assert other in own or "test" in SERVICES[other]["healthcheck"]


def test_no_registry_is_named():
    for service in SERVICES.values():
        first, slash, _ = service["image"].partition("/")
        assert not (slash and re.search("[.:]", first))


def test_prometheus_asks_the_run_and_each_of_its_processes():
    settings = yaml.safe_load((DOCKER / "prometheus.yaml").read_text())
    [job] = settings["scrape_configs"]
    [group] = job["static_configs"]
    first = int(image_variables()["ENTRYPOINT_METRICS_PORT"])
    count = 1 + int(number(run_words(), "processes"))
    assert group["targets"] == [f"flow:{first + one}" for one in range(count)]
    interval = settings["global"]["scrape_interval"]
    [source] = provisioned("datasources")["datasources"]
    assert source["jsonData"]["timeInterval"] == interval
    assert f'job="{job["job_name"]}"' in " ".join(expressions())


def test_grafana_finds_prometheus_and_the_dashboard():
    [source] = provisioned("datasources")["datasources"]
    assert source["url"] == "http://prometheus:9090"
    for panel in PANELS:
        for one in (panel, *panel["targets"]):
            assert one["datasource"] == {"type": source["type"], "uid": source["uid"]}
    [provider] = provisioned("dashboards")["providers"]
    there = dict(mounts())["./grafana/okl_flow.json"]
    assert there.startswith(f"{provider['options']['path']}/")
    assert SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"] == there


def expressions():
    return [target["expr"] for panel in PANELS for target in panel["targets"]]


def told():
    """The names under which the code tells its figures."""
    assert {gauges.UP, meters.SNAPSHOT, reader._lag}  # importing them is what registers them
    names = set()
    for family in REGISTRY.collect():
        ends = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}
        names |= {family.name + end for end in ends.get(family.type, [""])}
    return {name for name in names if name.startswith("okl_flow_")}


def test_the_dashboard_shows_all_that_is_told_and_nothing_else():
    shown = {
        name for one in expressions() for name in re.findall(r"\b(?:okl_flow|process)_\w+", one)
    }
    assert shown - WITH_PROMETHEUS - told() == set()
    parts = {name for name in told() if name.startswith("okl_flow_snapshot_seconds_")}
    assert told() - parts <= shown


def test_the_dashboard_knows_its_labels():
    for panel in PANELS:
        for target in panel["targets"]:
            grouped = {
                label.strip()
                for group in re.findall(r"by \(([^)]*)\)", target["expr"])
                for label in group.split(",")
            }
            legend = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            assert grouped | legend <= LABELS
            if grouped:
                assert legend == grouped - {"le"}, target


def test_panels_have_ids_and_places_of_their_own():
    ids = [panel["id"] for panel in PANELS]
    assert len(set(ids)) == len(ids)
    taken = set()
    for panel in PANELS:
        place = panel["gridPos"]
        cells = {
            (place["x"] + right, place["y"] + down)
            for right in range(place["w"])
            for down in range(place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references) > 0
        assert panel["title"]
        assert panel["description"]


def test_the_pages_addresses_are_those_of_the_services():
    page = (ROOT / "docs" / "deploying.md").read_text()
    ports = {port.rpartition(":")[2] for one in SERVICES.values() for port in one.get("ports", [])}
    assert set(re.findall(r"127\.0\.0\.1:(\d+)", page)) == ports


def manifests():
    """The manifests of the page, by their kinds."""
    page = (ROOT / "docs" / "kubernetes.md").read_text()
    [block] = re.findall(r"```yaml\n(.*?)```", page, flags=re.S)
    return {one["kind"]: one for one in yaml.safe_load_all(block)}


def test_the_pod_of_the_page_is_one_that_can_run(monkeypatch, tmp_path):
    found = manifests()
    job, secret = found["StatefulSet"], found["Secret"]
    pod = job["spec"]["template"]["spec"]
    [container] = pod["containers"]
    monkeypatch.setattr(entrypoint, "_check_folder", lambda _name, _folder: None)
    given = {one["name"]: one["value"] for one in container["env"] if "value" in one}
    own = {one.variable for one in declared(PerUser)}
    assert set(given) <= own | set(entrypoint.KNOWN)
    [password] = [one for one in container["env"] if "valueFrom" in one]
    reference = password["valueFrom"]["secretKeyRef"]
    assert reference["name"] == secret["metadata"]["name"]
    monkeypatch.setenv(password["name"], secret["stringData"][reference["key"]])
    mounted = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    [volume] = pod["volumes"]
    [item] = volume["secret"]["items"]
    assert volume["secret"]["secretName"] == secret["metadata"]["name"]
    assert given["OKL_KAFKA_CONFIG"] == f"{mounted[volume['name']]}/{item['path']}"
    config = tmp_path / item["path"]
    config.write_text(secret["stringData"][item["key"]])
    given["OKL_KAFKA_CONFIG"] = str(config)
    plan = entrypoint.plan_of(container["args"], {**image_variables(), **given})
    assert plan.config["sasl.password"] == secret["stringData"][reference["key"]]
    words = words_of("run", container["args"])
    assert pod["terminationGracePeriodSeconds"] > number(words, "grace") + 5
    assert job["spec"]["replicas"] == 1
    assert pod["enableServiceLinks"] is False
    [claim] = job["spec"]["volumeClaimTemplates"]
    assert given["OKL_STATE"].startswith(mounted[claim["metadata"]["name"]])
    assert set(mounted) == {volume["name"], claim["metadata"]["name"]}


def test_the_service_of_the_page_finds_the_pod():
    found = manifests()
    job, service = found["StatefulSet"], found["Service"]
    template = job["spec"]["template"]
    labels = template["metadata"]["labels"].items()
    assert job["spec"]["selector"]["matchLabels"].items() <= labels
    assert service["spec"]["selector"].items() <= labels
    assert job["spec"]["serviceName"] == service["metadata"]["name"]
    [container] = template["spec"]["containers"]
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    assert {one["targetPort"]: one["port"] for one in service["spec"]["ports"]} == ports
    processes = int(number(words_of("run", container["args"]), "processes"))
    first = entrypoint.METRICS_PORT
    assert sorted(ports.values()) == [*range(first, first + 1 + processes)]
    assert all(container[probe]["exec"]["command"][1].endswith("/docker/healthy.py")
               for probe in ("startupProbe", "readinessProbe"))  # fmt: skip
    assert (DOCKER / "healthy.py").is_file()
