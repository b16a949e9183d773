"""
Compose file, Kubernetes manifests, unit and Dockerfile: their own schemas take them, and they agree with
the server (settings, probes, drain) and with each other (labels, users, paths).
"""

import copy
import re
import shutil
import subprocess
import sys
from urllib.request import urlopen

import pytest

from abr_tts.control.policy_file import parse
from abr_tts.errors import ConfigError
from abr_tts.server.access.auth import Auth
from abr_tts.server.config import AuthSettings, Settings, describe

from ..server.harness import serving_in_a_thread
from .manifests import COMPOSE, DEPLOY, compose_faults, kubernetes, kubernetes_faults, read

ROOT = DEPLOY.parents[1]
SETTINGS = {item.variable for item in describe()}
CLOSING_S = 2 * Settings().limits.close_timeout_s + 5
"""What the server takes after its drain: to close, and for its engines to end."""


@pytest.fixture(scope="module")
def cluster():
    return kubernetes()


@pytest.fixture(scope="module")
def services():
    return read(COMPOSE)["services"]


def pod(cluster):
    return cluster["Deployment"]["spec"]["template"]["spec"]


def changed(document, path, value):
    """A copy with `value` at the end of `path`."""
    made = copy.deepcopy(document)
    place = made
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return made


def seconds(text: str) -> float:
    return float(re.fullmatch(r"(\d+)s", text)[1])


# Their own schemas


def test_compose_takes_the_compose_file():
    assert compose_faults(read(COMPOSE)) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["services", "tts", "read_onyl"], True),
        (["services", "tts", "cap_drop"], "ALL"),
        (["services", "nginx", "depends_on", "tts", "condition"], "service_helthy"),
        (["services", "tts", "deploy", "resources", "limits", "memory"], ["4g"]),
        (["secrets"], ["api_keys"]),
    ],
)
def test_a_compose_file_with_a_slip_is_found(path, value):
    assert compose_faults(changed(read(COMPOSE), path, value))


def test_the_command_line_tool_thinks_so_too(tmp_path):
    def check(path) -> int:
        command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", path]
        return subprocess.run(command, capture_output=True, timeout=60).returncode

    broken = tmp_path / "compose.yaml"
    broken.write_text(COMPOSE.read_text("utf-8").replace("read_only: true", "read_onyl: true"), "utf-8")
    assert (check(COMPOSE), check(broken)) == (0, 1)


def test_kubernetes_takes_every_manifest(cluster):
    assert {kind: kubernetes_faults(one) for kind, one in cluster.items() if kind != "Kustomization"} == {
        kind: []
        for kind in (
            *("ConfigMap", "Deployment", "HorizontalPodAutoscaler", "Ingress"),
            *("NetworkPolicy", "PodDisruptionBudget", "Secret", "Service"),
        )
    }


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("Deployment", ["spec", "replica"], 3),
        ("Deployment", ["spec", "template", "spec", "terminationGracePeriodSeconds"], "60s"),
        ("Service", ["spec", "ports", 0, "port"], "http"),
        ("Ingress", ["spec", "rules", 0, "http", "paths", 0, "pathTyp"], "Prefix"),
        ("PodDisruptionBudget", ["spec", "maxUnavailabel"], 1),
        ("HorizontalPodAutoscaler", ["apiVersion"], "autoscaling/v2beta2"),
        ("ConfigMap", ["data", "policy.toml"], 7),
        ("Secret", ["stringData"], ["key"]),
        ("NetworkPolicy", ["spec", "policyTypes"], "Ingress"),
    ],
)
def test_a_manifest_with_a_slip_is_found(cluster, kind, path, value):
    assert kubernetes_faults(changed(cluster[kind], path, value))


def test_a_kind_of_which_there_is_no_schema_is_not_taken_for_good():
    assert kubernetes_faults({"kind": "Deploiment"}) == ["no schema of kind Deploiment"]


def test_kustomize_has_every_manifest_but_the_placeholder_of_the_secret(cluster):
    files = {path.name for path in (DEPLOY / "kubernetes").glob("*.yaml")}
    assert set(cluster["Kustomization"]["resources"]) == files - {"kustomization.yaml", "secret.yaml"}


# What they say of the server


def test_each_file_that_the_unit_wants_is_put_there_by_the_page():
    unit, page = (DEPLOY / "abr-tts@.service").read_text("utf-8"), ROOT / "docs" / "operate.md"
    (put,) = re.findall(r"^install -D -m 600 -t /etc/abr-tts (.+)$", page.read_text("utf-8"), re.M)
    wanted = re.findall(r"^LoadCredential=([\w.]+):/etc/abr-tts/([\w.]+)$", unit, re.M)
    assert [f"secrets/{file}" for _, file in wanted] == put.split()
    handed = re.findall(r"^Environment=ABR_TTS_\w+__KEYS_FILE=%d/([\w.]+)$", unit, re.M)
    assert handed == [name for name, _ in wanted] == ["api.keys", "admin.keys"]


def test_every_setting_that_they_name_exists(cluster, services):
    named = set(services["tts"]["environment"])
    named |= {item["name"] for item in pod(cluster)["containers"][0]["env"]}
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    named |= set(re.findall(r"\b(ABR_TTS_\w+)=", dockerfile))
    named |= set(re.findall(r"\b(ABR_TTS_\w+)=", (DEPLOY / "abr-tts@.service").read_text("utf-8")))
    assert len(named) > 8
    assert named <= SETTINGS


def test_a_server_has_longer_to_stop_than_it_needs_to_drain(cluster, services):
    drain_s = float(services["tts"]["environment"]["ABR_TTS_SERVER__DRAIN_S"])
    assert seconds(services["tts"]["stop_grace_period"]) >= drain_s + CLOSING_S
    container = pod(cluster)["containers"][0]
    drain_s = float({item["name"]: item["value"] for item in container["env"]}["ABR_TTS_SERVER__DRAIN_S"])
    waits_s = float(container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod(cluster)["terminationGracePeriodSeconds"] >= waits_s + drain_s + CLOSING_S
    unit = (DEPLOY / "abr-tts@.service").read_text("utf-8")
    assert float(re.search(r"^TimeoutStopSec=(\d+)$", unit, re.M)[1]) >= Settings().server.drain_s + CLOSING_S


def test_who_drains_is_not_ready_and_who_loads_is_not_killed(cluster):
    probes = {
        name: pod(cluster)["containers"][0][f"{name}Probe"] for name in ("startup", "readiness", "liveness")
    }
    paths = {name: probe["httpGet"]["path"] for name, probe in probes.items()}
    assert paths == {"startup": "/readyz", "readiness": "/readyz", "liveness": "/healthz"}
    startup = probes["startup"]
    assert startup["periodSeconds"] * startup["failureThreshold"] > Settings().engine.load_s


def test_the_policy_of_the_map_is_one_that_a_server_takes(cluster):
    text = cluster["ConfigMap"]["data"]["policy.toml"]
    assert parse(text, "policy.toml").memory_key == "client", "the proxy tells whose address it is"
    assert text == (DEPLOY / "policy" / "policy.toml").read_text("utf-8"), "compose has the same"


@pytest.mark.parametrize("name", ["api", "admin"])
def test_the_keys_of_the_example_open_nothing(cluster, name, tmp_path):
    path = tmp_path / "keys"
    path.write_text(cluster["Secret"]["stringData"][name], "utf-8")
    with pytest.raises(ConfigError, match="other characters"):
        Auth(AuthSettings(keys_file=path))


def test_the_autoscaler_names_a_metric_that_the_server_has(cluster):
    with serving_in_a_thread() as server:
        told = urlopen(server.http_url + "/metrics", timeout=10).read().decode()
    names = set(re.findall(r"^# TYPE (\S+) gauge$", told, re.M))
    wanted = {
        one["pods"]["metric"]["name"] for one in autoscaler(cluster)["metrics"] if one["type"] == "Pods"
    }
    assert wanted and wanted <= names


def autoscaler(cluster):
    return cluster["HorizontalPodAutoscaler"]["spec"]


# What they say of each other


def test_selectors_find_the_pods(cluster):
    labels = cluster["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert cluster["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert cluster["Service"]["spec"]["selector"] == labels
    assert cluster["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert cluster["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels
    target = autoscaler(cluster)["scaleTargetRef"]
    assert (target["kind"], target["name"]) == ("Deployment", cluster["Deployment"]["metadata"]["name"])


def test_ports_and_volumes_are_there(cluster):
    container = pod(cluster)["containers"][0]
    assert {port["name"] for port in container["ports"]} == {"http"}
    assert cluster["Service"]["spec"]["ports"][0]["targetPort"] == "http"
    assert {mount["name"] for mount in container["volumeMounts"]} == {
        item["name"] for item in pod(cluster)["volumes"]
    }
    volumes = {item["name"]: item for item in pod(cluster)["volumes"]}
    assert volumes["policies"]["configMap"]["name"] == cluster["ConfigMap"]["metadata"]["name"]
    assert volumes["keys"]["secret"]["secretName"] == cluster["Secret"]["metadata"]["name"]
    assert not any("subPath" in mount for mount in container["volumeMounts"])


def test_the_ingress_passes_on_what_nginx_does_and_no_more(cluster):
    passed = {path["path"] for path in cluster["Ingress"]["spec"]["rules"][0]["http"]["paths"]}
    block = re.compile(r"location (?:= )?(\S+) \{[^}]*proxy_pass")
    assert passed == set(block.findall((DEPLOY / "nginx.conf").read_text("utf-8")))


def test_several_servers_can_stand_side_by_side_and_only_nginx_is_reached(services):
    assert not {"ports", "container_name", "hostname"} & set(services["tts"])
    assert services["nginx"]["ports"] == ["443:8443"]
    limits = services["tts"]["deploy"]["resources"]["limits"]
    assert limits == {"cpus": "2", "memory": "4g"}
    for mount in services["nginx"]["volumes"] + services["tts"]["volumes"]:
        assert (DEPLOY / mount.split(":")[0]).exists()
    assert "server tts:8765 " in (DEPLOY / "nginx.d" / "servers.conf").read_text("utf-8")


def test_nothing_runs_as_root_or_writes_to_its_image(cluster, services):
    for service in services.values():
        assert service["read_only"] and service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
    assert services["nginx"]["user"] == "101:101"
    container, user = pod(cluster)["containers"][0], pod(cluster)["securityContext"]
    secure = container["securityContext"]
    assert secure["readOnlyRootFilesystem"] and not secure["allowPrivilegeEscalation"]
    assert secure["capabilities"] == {"drop": ["ALL"]}
    assert user["runAsNonRoot"]
    image = (ROOT / "Dockerfile").read_text("utf-8")
    assert re.search(r"^USER (\S+)$", image, re.M)[1] == f"{user['runAsUser']}:{user['runAsGroup']}"


def test_systemd_takes_the_unit(tmp_path):
    tool = shutil.which("systemd-analyze")
    if not tool:
        pytest.skip("systemd-analyze is not installed")

    def complaints(text: str) -> str:
        path = tmp_path / "abr-tts@.service"
        path.write_text(text.replace("/opt/abr-tts/bin/abr-tts", sys.executable), "utf-8")
        done = subprocess.run([tool, "verify", "--man=no", path], capture_output=True, text=True, timeout=60)
        return done.stderr

    unit = (DEPLOY / "abr-tts@.service").read_text("utf-8")
    assert "abr-tts" not in complaints(unit)
    assert "TimeoutStopSecs" in complaints(unit.replace("TimeoutStopSec=", "TimeoutStopSecs="))
