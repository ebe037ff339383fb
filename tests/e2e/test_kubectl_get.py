"""What kubectl shows: tables, other formats, selections, pages, watches, descriptions, schemas."""

from __future__ import annotations

import json
import subprocess
import time  # noqa: TID251  (a real process is waited for)
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubectl_runner import MANIFESTS, Kubectl, needs_kubectl

from kubetrio.testing import process

pytestmark = [pytest.mark.e2e, needs_kubectl]

FILES = (
    "00-namespaces",
    "01-priorityclasses",
    "03-web-configmap",
    "04-web-secrets",
    "05-web-deployment",
    "06-web-service",
    "07-web-ingress",
    "12-serviceaccounts",
    "14-rbac-cluster",
    "15-database-statefulset",
    "19-cronjob-backup",
    "21-job-migrate",
    "25-pods",
    "27-persistentvolumes",
    "39-nodes",
    "41-events",
)
EVENT = """\
apiVersion: v1
kind: Event
metadata: {name: web.told, namespace: shop}
involvedObject: {apiVersion: apps/v1, kind: Deployment, name: web, namespace: shop, uid: UID}
reason: Told
message: It was told.
type: Normal
source: {component: tester}
lastTimestamp: "2024-03-01T10:05:00Z"
"""
NODE_STATUS = {
    "status": {
        "capacity": {"cpu": "4", "memory": "16Gi", "pods": "110"},
        "allocatable": {"cpu": "3800m", "memory": "15Gi", "pods": "110"},
        "addresses": [{"type": "InternalIP", "address": "192.0.2.5"}],
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": "b",
            "containerRuntimeVersion": "containerd://2.0",
            "kernelVersion": "6.1",
            "kubeProxyVersion": "",
            "kubeletVersion": "v1.36.0",
            "machineID": "m",
            "operatingSystem": "linux",
            "osImage": "Test Linux",
            "systemUUID": "s",
        },
    }
}
POD_STATUS = {
    "status": {
        "phase": "Running",
        "podIP": "10.244.1.7",
        "podIPs": [{"ip": "10.244.1.7"}],
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [
            {
                "name": "toolbox",
                "ready": True,
                "restartCount": 2,
                "image": "registry.example.test/toolbox:latest",
                "imageID": "",
                "state": {"running": {"startedAt": "2024-03-01T10:00:00Z"}},
            }
        ],
    }
}


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """A server with things to look at."""
    directory = tmp_path_factory.mktemp("get")
    server = process.start(directory / "data", directory / "log", "--durability", "normal")
    try:
        made = Kubectl(server, directory)
        made("apply", *[part for name in FILES for part in ("-f", f"{MANIFESTS / name}.yaml")])
        for target, status in ((["node", "node-1"], NODE_STATUS), (["pod", "toolbox"], POD_STATUS)):
            patch = ["-n", "shop", "--subresource=status", "--type=merge", "-p", json.dumps(status)]
            made("patch", *target, *patch)
        uid = made.json("get", "deployment", "web", "-n", "shop")["metadata"]["uid"]
        made("create", "-f", "-", stdin=EVENT.replace("UID", uid))
        yield made
        assert "Traceback" not in server.log.read_text()
    finally:
        server.kill()


@pytest.fixture(scope="module")
def shop(kubectl: Kubectl) -> Kubectl:
    """In namespace shop."""
    return kubectl.using("--namespace", "shop")


def rows(table: str) -> list[list[str]]:
    """Cells, split where two spaces are."""
    return [[cell for cell in line.split("  ") if cell.strip()] for line in table.splitlines()]


def cells(table: str) -> list[list[str]]:
    """Cells without their spaces, and without the last column where that is an age."""
    found = [[cell.strip() for cell in row] for row in rows(table)]
    return [row[:-1] for row in found] if found[0][-1] == "AGE" else found


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            "pods -n shop",
            [
                ["NAME", "READY", "STATUS", "RESTARTS"],
                ["native-sidecar", "0/2", "Pending", "0"],
                ["toolbox", "1/1", "Running", "2"],
            ],
        ),
        (
            "deployments -n shop",
            [["NAME", "READY", "UP-TO-DATE", "AVAILABLE"], ["web", "0/3", "0", "0"]],
        ),
        ("statefulsets -A", [["NAMESPACE", "NAME", "READY"], ["data", "database", "0/3"]]),
        (
            "cronjobs -n data",
            [
                ["NAME", "SCHEDULE", "TIMEZONE", "SUSPEND", "ACTIVE", "LAST SCHEDULE"],
                ["backup", "15 3 * * 1-5", "Europe/Paris", "False", "0", "<none>"],
            ],
        ),
        (
            "nodes",
            [
                ["NAME", "STATUS", "ROLES", "AGE", "VERSION"],
                ["node-1", "Ready", "<none>", "", "v1.36.0"],
                ["node-2", "Unknown,SchedulingDisabled", "<none>", ""],
            ],
        ),
        (
            "secrets -n shop",
            [
                ["NAME", "TYPE", "DATA"],
                ["registry", "kubernetes.io/dockerconfigjson", "1"],
                ["web-credentials", "Opaque", "2"],
                ["web-login", "kubernetes.io/basic-auth", "2"],
            ],
        ),
        (
            "configmaps -n shop -l app.kubernetes.io/name=web",
            [["NAME", "DATA"], ["web-config", "4"], ["web-frozen", "1"]],
        ),
        (
            "priorityclasses important",
            [["NAME", "VALUE", "GLOBAL-DEFAULT", "AGE", "PREEMPTIONPOLICY"],
             ["important", "100000", "false", "", "PreemptLowerPriority"]],
        ),
    ],
)  # fmt: skip
def test_tables(kubectl: Kubectl, arguments: str, expected: list[list[str]]) -> None:
    """Columns and cells as the real server prints them."""
    got = cells(kubectl("get", *arguments.split()))
    if "AGE" in expected[0]:
        age = expected[0].index("AGE")
        for row in got[1:]:
            row[age] = ""
    assert got == expected


def test_services_are_shown(shop: Kubectl) -> None:
    """Of every type, with addresses and ports."""
    table = {row[0]: row for row in cells(shop("get", "services"))}
    assert table["NAME"] == ["NAME", "TYPE", "CLUSTER-IP", "EXTERNAL-IP", "PORT(S)"]
    assert table["payments"][1:] == ["ExternalName", "<none>", "payments.example.test", "<none>"]
    assert table["web"][1::2] == ["ClusterIP", "<none>"]
    assert table["web"][4] == "80/TCP,9090/TCP"
    assert table["web-node"][4] == "80:30180/TCP"
    assert (table["web-public"][1], table["web-public"][3]) == ("LoadBalancer", "<pending>")
    wide = cells(shop("get", "services", "web", "-o", "wide"))
    assert wide[1][-1] == "app.kubernetes.io/name=web"


def test_wide_tables(kubectl: Kubectl, shop: Kubectl) -> None:
    """More columns with ``-o wide``, labels and kinds on request."""
    head, row = cells(shop("get", "pod", "toolbox", "-o", "wide"))
    assert head[-4:] == ["IP", "NODE", "NOMINATED NODE", "READINESS GATES"]
    assert row[-4:] == ["10.244.1.7", "node-1", "<none>", "0/1"]
    head, row = cells(shop("get", "deployment", "web", "-o", "wide"))
    assert head[-3:] == ["CONTAINERS", "IMAGES", "SELECTOR"]
    assert row[-3] == "web,sidecar"
    head, row = cells(kubectl("get", "node", "node-1", "-o", "wide"))
    assert head[-5:] == [
        "INTERNAL-IP",
        "EXTERNAL-IP",
        "OS-IMAGE",
        "KERNEL-VERSION",
        "CONTAINER-RUNTIME",
    ]
    assert row[-5:] == ["192.0.2.5", "<none>", "Test Linux", "6.1 (amd64)", "containerd://2.0"]
    assert shop("get", "pod", "toolbox", "--show-labels").endswith("run=toolbox\n")
    assert shop("get", "pod", "toolbox", "--no-headers", "--show-kind").startswith("pod/toolbox ")
    assert cells(shop("get", "pods", "-L", "run"))[0][-1] == "RUN"


def test_every_kind_has_a_table(kubectl: Kubectl) -> None:
    """`get -A` of all that can be listed: tables, not one error."""
    names = kubectl("api-resources", "--verbs=list", "-o", "name").split()
    said = kubectl.try_("get", ",".join(names), "-A", "--ignore-not-found")
    assert said.code == 0, said.err
    assert "deployment.apps/web" in said.out
    assert "statefulset.apps/database" in said.out


def test_formats_agree(shop: Kubectl) -> None:
    """JSON and YAML are the same object; names, JSONPath, columns and templates are parts of it."""
    get = ["get", "deployment", "web"]
    obj = shop.json(*get)
    assert yaml.safe_load(shop(*get, "-o", "yaml")) == obj
    assert "managedFields" not in obj["metadata"]
    assert shop.json(*get, "--show-managed-fields")["metadata"]["managedFields"]
    assert shop(*get, "-o", "name") == "deployment.apps/web\n"
    path = "jsonpath={.metadata.uid} {.spec.template.spec.containers[*].name}"
    assert shop(*get, "-o", path) == f"{obj['metadata']['uid']} web sidecar"
    each = 'jsonpath={range .items[?(@.spec.type=="NodePort")]}{.metadata.name}{"\\n"}{end}'
    assert shop("get", "services", "-o", each) == "web-node\n"
    columns = "custom-columns=NAME:.metadata.name,IMAGE:.spec.template.spec.containers[0].image"
    assert cells(shop(*get, "-o", columns)) == [
        ["NAME", "IMAGE"],
        ["web", "registry.example.test/shop/web:1.4.2"],
    ]
    assert shop(*get, "-o", "go-template={{.spec.replicas}}") == "3"
    assert shop("get", "deployments.v1.apps/web", "-o", "name") == "deployment.apps/web\n"
    assert shop("get", "deploy/web", "po/toolbox", "-o", "name") == (
        "deployment.apps/web\npod/toolbox\n"
    )


def test_selectors(kubectl: Kubectl) -> None:
    """Labels and fields, also of all namespaces; an unknown field is refused."""
    name = ["-o", "name"]
    assert kubectl("get", "pods", "-A", "--field-selector=status.phase=Running", *name) == (
        "pod/toolbox\n"
    )
    assert kubectl("get", "pods", "-A", "--field-selector=spec.nodeName!=node-1", *name) == (
        "pod/native-sidecar\n"
    )
    assert kubectl("get", "secrets", "-A", "--field-selector", "type=Opaque", *name) == (
        "secret/web-credentials\n"
    )
    assert kubectl("get", "ns", "-l", "team in (web,data)", *name) == "namespace/shop\n"
    assert kubectl("get", "ns", "-l", "!team,contact!=x", *name).count("namespace/") == 6
    said = kubectl.try_("get", "pods", "-A", "--field-selector=spec.color=red")
    assert said.code == 1
    assert "field label not supported: spec.color" in said.err
    assert "No resources found in data namespace" in kubectl.try_("get", "pods", "-n", "data").err
    missing = kubectl.try_("get", "pods", "nothing")
    assert missing.err == 'Error from server (NotFound): pods "nothing" not found\n'
    unknown = kubectl.try_("get", "nothings")
    assert unknown.err == 'error: the server doesn\'t have a resource type "nothings"\n'


def test_sorting_and_chunks(kubectl: Kubectl, shop: Kubectl) -> None:
    """The same list in one page or many, sorted by anything."""
    whole = kubectl("get", "services,configmaps,clusterroles", "-A", "-o", "name")
    assert (
        kubectl("get", "services,configmaps,clusterroles", "-A", "-o", "name", "--chunk-size=2")
        == whole
    )
    tables = kubectl("get", "clusterroles", "--no-headers", "--chunk-size=7")
    assert len(tables.splitlines()) == len(
        kubectl("get", "clusterroles", "--no-headers").splitlines()
    )
    ports = shop("get", "services", "--sort-by=.spec.ports[0].port", "-o", "name").split()
    assert ports.index("service/web") < ports.index("service/web-public")
    sizes = kubectl("get", "pv", "--sort-by=.spec.capacity.storage", "-o", "name").split()
    assert sizes == [
        "persistentvolume/csi-volume",
        "persistentvolume/nfs-export",
        "persistentvolume/local-disk",
    ]


def follow(kubectl: Kubectl, output: Path, *arguments: str) -> subprocess.Popen[bytes]:
    with output.open("wb") as file:
        return subprocess.Popen(
            kubectl.command(*arguments),
            env=kubectl.environment(),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )


def wait_for(output: Path, text: str) -> str:
    for _ in range(300):
        got = output.read_text()
        if text in got:
            return got
        time.sleep(0.02)
    raise AssertionError(f"{text!r} is not in: {output.read_text()}")


def test_watches(shop: Kubectl, tmp_path: Path) -> None:
    """`get -w` as a table and as JSON with event types; selectors and ``--watch-only``."""
    running = []
    try:
        table, events, only = tmp_path / "table", tmp_path / "events", tmp_path / "only"
        get = ["get", "configmaps"]
        running.append(follow(shop, table, *get, "-w", "-l", "watched=yes"))
        form = ["-o", "json", "--output-watch-events"]
        running.append(follow(shop, events, *get, "--watch", "-l", "watched=yes", *form))
        running.append(follow(shop, only, *get, "--watch-only", "-o", "name"))
        shop("create", "configmap", "first")
        shop("label", "configmap", "first", "watched=yes")
        wait_for(events, '"type":"ADDED"')
        shop("patch", "configmap", "first", "--type=merge", "-p", '{"data":{"a":"b"}}')
        wait_for(events, '"type":"MODIFIED"')
        shop("label", "configmap", "first", "watched-")
        seen = wait_for(events, '"type":"DELETED"')
        # Objects one after the other.
        decoder, rest, kinds = json.JSONDecoder(), seen.strip(), []
        while rest:
            event, end = decoder.raw_decode(rest)
            kinds.append((event["type"], event["object"].get("data")))
            rest = rest[end:].strip()
        assert kinds == [("ADDED", None), ("MODIFIED", {"a": "b"}), ("DELETED", {"a": "b"})]
        shown = wait_for(table, "first   1")
        assert [row[:2] for row in cells(shown)][:3] == [
            ["NAME", "DATA"],
            ["first", "0"],
            ["first", "1"],
        ]
        shop("delete", "configmap", "first")
        assert "configmap/web-config" not in wait_for(only, "configmap/first")
    finally:
        for one in running:
            one.kill()
            one.wait(timeout=10)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            "pod toolbox -n shop",
            "Node: node-1/|IP: 10.244.1.7|QoS Class: Burstable|Restart Count: 2|Readiness Gates:",
        ),
        (
            "deployment web -n shop",
            "Replicas: 3 desired|0 max unavailable, 25% max surge|Init Containers:|It was told.",
        ),
        (
            "service web -n shop",
            "Type: ClusterIP|TargetPort: http/TCP|Session Affinity: None",
        ),
        ("service web-public -n shop", "External Traffic Policy: Local|HealthCheck NodePort: 3"),
        (
            "node node-1",
            "Unschedulable: false|cpu: 3800m|Allocated resources:|shop toolbox 10m (0%) 100m (2%)",
        ),
        ("statefulset database -n data", "Volume Claims:|StorageClass: fast|Replicas: 3 desired"),
        ("ingress web -n shop", "shop.example.test|Default backend: web:80|shop-tls terminates"),
        ("cronjob backup -n data", "Schedule: 15 3 * * 1-5|Concurrency Policy: Forbid"),
        ("job migrate -n data", "Parallelism: 1|Completions: 1"),
        ("secret web-credentials -n shop", "username: 4 bytes"),
        ("configmap web-config -n shop", "listen 8080;|BinaryData|favicon.ico: 22 bytes"),
        ("namespace shop", "Status: Active|No resource quota."),
        ("pv nfs-export", "Reclaim Policy: Recycle|Server: 192.0.2.20"),
        ("priorityclass important", "PreemptionPolicy: PreemptLowerPriority"),
        ("serviceaccount web -n shop", "Image pull secrets: registry"),
        ("event web.started -n shop", "Reason: Started"),
        ("clusterrole agent", "nodes [] [] [get list watch]"),
    ],
)
def test_descriptions(kubectl: Kubectl, arguments: str, expected: str) -> None:
    """`kubectl describe` finds what it needs."""
    said = " ".join(kubectl("describe", *arguments.split()).split())
    for text in expected.split("|"):
        assert text in said


def test_events_are_shown(shop: Kubectl) -> None:
    """`kubectl get events` and `kubectl events`."""
    table = cells(shop("get", "events", "web.started"))
    assert table[0] == ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert table[1][1:] == ["Normal", "Started", "deployment/web", "It started."]
    listed = shop("events", "--for=deployment/web")
    assert "It was scaled." in listed
    assert "It started." in listed
    assert "Started" in shop("events", "--types=Normal")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("pod", ["KIND:       Pod", "VERSION:    v1", "spec\t<PodSpec>"]),
        ("deployment.spec.strategy", ["GROUP:      apps", "FIELD: strategy <DeploymentStrategy>"]),
        ("deployments.spec.strategy --recursive", ["rollingUpdate", "maxSurge\t<IntOrString>"]),
        ("hpa --api-version=autoscaling/v1", ["targetCPUUtilizationPercentage|VERSION:    v1"]),
        ("svc.spec.type", ["ExternalName", "LoadBalancer"]),
        ("crd.spec.versions.schema", ["openAPIV3Schema"]),
        ("pod.spec.nodeName", ["set by the scheduler."]),
        ("pod.spec.nodeName --output=plaintext-openapiv2", ["set by the scheduler."]),
    ],
)
def test_explanations(kubectl: Kubectl, arguments: str, expected: list[str]) -> None:
    """`kubectl explain` reads the published schemas."""
    said = kubectl("explain", *arguments.split())
    for text in expected:
        assert any(one in said for one in text.split("|")), (text, said)


def test_discovery(kubectl: Kubectl) -> None:
    """`api-resources` and `api-versions`."""
    versions = kubectl("api-versions").split()
    assert {"v1", "apps/v1", "batch/v1", "autoscaling/v2", "rbac.authorization.k8s.io/v1"} <= set(
        versions
    )
    table = [line.split() for line in kubectl("api-resources", "--no-headers").splitlines()]
    known: dict[str, Any] = {row[0]: row[1:] for row in table}
    assert known["pods"] == ["po", "v1", "true", "Pod"]
    assert known["deployments"] == ["deploy", "apps/v1", "true", "Deployment"]
    assert known["namespaces"] == ["ns", "v1", "false", "Namespace"]
    grouped = kubectl("api-resources", "--api-group=apps", "-o", "name").split()
    assert grouped == [
        "controllerrevisions.apps",
        "daemonsets.apps",
        "deployments.apps",
        "replicasets.apps",
        "statefulsets.apps",
    ]
    cluster = kubectl("api-resources", "--namespaced=false", "-o", "name").split()
    assert "nodes" in cluster
    assert "pods" not in cluster
    everything = kubectl("api-resources", "--categories=all", "-o", "name").split()
    assert {"pods", "services", "deployments.apps", "jobs.batch"} <= set(everything)
    assert "pods/log" not in everything


def test_raw_paths(kubectl: Kubectl) -> None:
    """`get --raw`."""
    assert kubectl("get", "--raw", "/healthz") == "ok"
    assert json.loads(kubectl("get", "--raw", "/api/v1/namespaces/shop"))["kind"] == "Namespace"
    assert "[+]ping ok" in kubectl("get", "--raw", "/readyz?verbose")
    assert kubectl.try_("get", "--raw", "/nowhere").code == 1
