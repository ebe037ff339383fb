"""Profiles of the scheduler compared with a stock kube-scheduler that reads the same file.

Both get the same nodes and pods, and each is asked for a node for one pod of each profile.  The
pods are such that the configuration decides which node it is, or which refusal.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import time  # noqa: TID251  (programs beside the test need real time)
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubetrio.testing.process import start

kubernetes: Any = pytest.importorskip("kubernetes", reason="the kubernetes client is not installed")

Object = dict[str, Any]
SCHEDULER = shutil.which("kube-scheduler")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(SCHEDULER is None, reason="there is no kube-scheduler on PATH"),
]
LIMIT_S = 60.0
ZONE, HOST, GPU = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "example.com/gpu"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NEEDED = ("PrioritySort", "DefaultBinder", "SchedulingGates")


def enabled(*plugins: str | Object) -> Object:
    """A set with plugins that are on."""
    return {"enabled": [{"name": one} if isinstance(one, str) else one for one in plugins]}


def disabled(*plugins: str) -> Object:
    """A set with plugins that are off."""
    return {"disabled": [{"name": one} for one in plugins]}


def config(plugin: str, **args: Any) -> Object:
    """Arguments of a plugin."""
    return {"name": plugin, "args": args}


def rated_by(plugin: str) -> Object:
    """Plugins that refuse nothing but full nodes, and one that rates."""
    return {"multiPoint": {**disabled("*"), **enabled(*NEEDED, "NodeResourcesFit")},
            "score": {**disabled("*"), **enabled(plugin)},
            "preScore": {**disabled("*"), **enabled(plugin)}}  # fmt: skip


def fit(**strategy: Any) -> Object:
    """A profile that rates nodes by what is requested of them."""
    return {"plugins": rated_by("NodeResourcesFit"),
            "pluginConfig": [config("NodeResourcesFit", scoringStrategy=strategy)]}  # fmt: skip


def shaped(*points: tuple[int, int], resource: str) -> Object:
    """A profile that rates nodes by a shape."""
    shape = [{"utilization": share, "score": score} for share, score in points]
    return fit(type="RequestedToCapacityRatio", requestedToCapacityRatio={"shape": shape},
               resources=[{"name": resource, "weight": 3}])  # fmt: skip


SSD = {"key": "disk", "operator": "In", "values": ["ssd"]}
HDD = {"key": "disk", "operator": "In", "values": ["hdd"]}
BY_NAME = {"key": "metadata.name", "operator": "In", "values": ["old"]}


def node_affinity(*terms: Object) -> Object:
    """Required affinity to nodes."""
    return {REQUIRED: {"nodeSelectorTerms": list(terms)}}


def prefers(row: Object, weight: int = 50) -> Object:
    """Preferred affinity to nodes."""
    return {PREFERRED: [{"weight": weight, "preference": {"matchExpressions": [row]}}]}


TO_OLD = {"affinity": {"nodeAffinity": prefers(HDD)}}
"""A pod that prefers the node that has a taint that it would rather avoid."""
HARD_ZONES = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
SPREAD = {"defaultingType": "List", "defaultConstraints": [{**HARD_ZONES, "minDomains": 3}]}
ONLY_AFFINITY = {
    "score": {**disabled("*"), **enabled("InterPodAffinity")},
    "preScore": {**disabled("*"), **enabled("InterPodAffinity")},
}

TABLE: dict[str, tuple[Object, Object]] = {
    "least": (fit(type="LeastAllocated"), {}),
    "least-memory": (fit(type="LeastAllocated", resources=[{"name": "memory", "weight": 0}]), {}),
    "most": (fit(type="MostAllocated"), {}),
    "most-devices": (
        fit(type="MostAllocated", resources=[{"name": GPU, "weight": 5}, {"name": "cpu"}]),
        {"devices": 1},
    ),
    "ratio-full": (shaped((0, 0), (100, 10), resource="cpu"), {}),
    "ratio-empty": (shaped((0, 10), (100, 0), resource="cpu"), {}),
    "ratio-half": (shaped((0, 0), (50, 10), (100, 0), resource="memory"), {}),
    "even": ({"plugins": rated_by("NodeResourcesBalancedAllocation")}, {"cpu": "1500m"}),
    "even-devices": (
        {"plugins": rated_by("NodeResourcesBalancedAllocation"), "pluginConfig": [
            config("NodeResourcesBalancedAllocation",
                   resources=[{"name": "cpu", "weight": 1}, {"name": GPU, "weight": 1}])]},
        {"devices": 2},
    ),
    "weights-usual": ({}, TO_OLD),
    "weights-named": ({"plugins": {
        "score": enabled("TaintToleration", {"name": "NodeAffinity", "weight": 2})}}, TO_OLD),
    "weights-large": ({"plugins": {
        "score": enabled({"name": "NodeAffinity", "weight": 1000})}}, TO_OLD),
    "weights-everywhere": ({"plugins": {
        "multiPoint": enabled({"name": "NodeAffinity", "weight": 1000})}}, TO_OLD),
    "added": (
        {"pluginConfig": [config("NodeAffinity", addedAffinity=node_affinity(
            {"matchExpressions": [HDD]}))]}, {},
    ),
    "added-none": (
        {"pluginConfig": [config("NodeAffinity", addedAffinity=node_affinity(
            {"matchExpressions": [SSD]}))]}, {"nodeSelector": {"disk": "hdd"}},
    ),
    "added-wish": (
        {"plugins": {"score": enabled({"name": "NodeAffinity", "weight": 1000})},
         "pluginConfig": [config("NodeAffinity", addedAffinity=prefers(HDD))]}, {},
    ),
    "zones": ({"pluginConfig": [config("PodTopologySpread", **SPREAD)]}, {"app": "served"}),
    "no-zones": (
        {"plugins": {"multiPoint": disabled("PodTopologySpread"), **rated_by("NodeResourcesFit")},
         "pluginConfig": [config("PodTopologySpread", **SPREAD)]}, {"app": "served"},
    ),
    "attracted": (
        {"plugins": ONLY_AFFINITY,
         "pluginConfig": [config("InterPodAffinity", hardPodAffinityWeight=100)]},
        {"app": "liked"},
    ),
    "ignored": (
        {"plugins": rated_by("NodeResourcesFit"), "pluginConfig": [config(
            "NodeResourcesFit", ignoredResources=["example.com/none"])]},
        {"limits": {"example.com/none": "1"}},
    ),
    "not-ignored": ({}, {"limits": {"example.com/none": "1"}}),
    "not-fitting": (
        {"plugins": {**rated_by("NodeResourcesFit"), "filter": disabled("*"),
                     "preFilter": disabled("*")}}, {"cpu": "100"},
    ),
    "named": (
        {"plugins": {**rated_by("NodeResourcesFit"), "filter": disabled("NodeAffinity")}},
        {"affinity": {"nodeAffinity": node_affinity({"matchFields": [BY_NAME]})}},
    ),
    "named-before": (
        {"plugins": {"filter": disabled("NodeAffinity")}},
        {"affinity": {"nodeAffinity": node_affinity({"matchFields": [BY_NAME]})}},
    ),
    "named-refused": (
        {}, {"cpu": "5500m", "affinity": {
            "nodeAffinity": node_affinity({"matchFields": [BY_NAME]})}},
    ),
    "preempts-never": (
        {"plugins": {"postFilter": disabled("*")}}, {"cpu": "7500m", "priorityClassName": "high"},
    ),
    "preempts-only": (
        {"plugins": {"postFilter": disabled("DynamicResources")}}, {"cpu": "100"},
    ),
    # The last: pods on its node go.
    "preempts": ({}, {"cpu": "7500m", "priorityClassName": "high"}),
}  # fmt: skip
"""Profiles by name, and what is asked for with each."""

EXPECTED = {"weights-usual": "small", "weights-named": "old", "weights-large": "old",
            "named": "small", "named-before": "old", "attracted": "small",
            "preempts": "big"}  # fmt: skip
"""Some of the nodes, so that a test that compares nothing fails."""


def write_configuration(path: Path, kubeconfig: Path) -> None:
    """Write the file for both."""
    profiles = [{"schedulerName": name, **profile} for name, (profile, _) in TABLE.items()]
    path.write_text(yaml.safe_dump({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "leaderElection": {"leaderElect": False}, "profiles": profiles,
    }, default_flow_style=False))  # fmt: skip


def pod(name: str, wants: Object, node: str = "") -> Object:
    """A pod that is to be placed, or is on a node."""
    wants = dict(wants)
    requests = {"cpu": wants.pop("cpu", "500m"), "memory": wants.pop("memory", "512Mi")}
    limits = wants.pop("limits", {})
    if devices := wants.pop("devices", 0):
        limits = {GPU: str(devices)}
    container = {"name": "c", "image": "i", "resources": {"requests": requests, "limits": limits}}
    labels = {"app": wants.pop("app", name)}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0, **wants,
            **({"nodeName": node} if node else {"schedulerName": name})}  # fmt: skip
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels},
            "spec": spec}  # fmt: skip


class Asking:
    """Asks the scheduler of a server for nodes.

    Args:
        kubeconfig: of the server.
    """

    def __init__(self, kubeconfig: Path) -> None:
        client = kubernetes.config.new_client_from_config(str(kubeconfig))
        self._resources = kubernetes.dynamic.DynamicClient(client).resources
        self._pods = self._resources.get(api_version="v1", kind="Pod")

    def fill(self) -> None:
        """Make nodes, pods on them, a Service and a PriorityClass."""
        self._make_node("small", "2", "8Gi", {"disk": "ssd", ZONE: "a"}, gpus="4")
        self._make_node("big", "8", "8Gi", {"disk": "ssd", ZONE: "b"}, gpus="2")
        self._make_node("old", "6", "3Gi", {"disk": "hdd", ZONE: "b"}, gpus="0",
                        taints=[{"key": "old", "effect": "PreferNoSchedule"}])  # fmt: skip
        likes = {"labelSelector": {"matchLabels": {"app": "liked"}}, "topologyKey": HOST}
        for name, node, wants in (
            ("one", "small", {"affinity": {"podAffinity": {REQUIRED: [likes]}}, "app": "liked"}),
            ("two", "big", {"cpu": "2", "memory": "3Gi", "devices": 1}),
            ("three", "big", {"app": "served"}),
            ("four", "old", {"cpu": "1", "memory": "1200Mi", "app": "served"}),
        ):
            self._pods.create(pod(name, wants, node), namespace="default")
        services = self._resources.get(api_version="v1", kind="Service")
        spec = {"selector": {"app": "served"}, "ports": [{"port": 80}]}
        services.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "served"},
                         "spec": spec}, namespace="default")  # fmt: skip
        classes = self._resources.get(api_version="scheduling.k8s.io/v1", kind="PriorityClass")
        classes.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                        "metadata": {"name": "high"}, "value": 1000})  # fmt: skip

    def _make_node(
        self, name: str, cpu: str, memory: str, labels: Object, *, gpus: str,
        taints: list[Object] | None = None,
    ) -> None:  # fmt: skip
        amounts = {"cpu": cpu, "memory": memory, "pods": "20", GPU: gpus}
        nodes = self._resources.get(api_version="v1", kind="Node")
        nodes.create({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {HOST: name, **labels}},
            "status": {"capacity": amounts, "allocatable": amounts},
        })  # fmt: skip
        # A new node has the taint not-ready until a controller takes it away.
        nodes.patch(name=name, body={"spec": {"taints": taints}},
                    content_type="application/merge-patch+json")  # fmt: skip

    def answer(self, name: str) -> str:
        """The node of the pod of a profile, or what is said if it has none."""
        self._pods.create(pod(name, TABLE[name][1]), namespace="default")
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            got = self._pods.get(name=name, namespace="default").to_dict()
            nominated = (got.get("status") or {}).get("nominatedNodeName")
            for one in (got.get("status") or {}).get("conditions") or ():
                if one["type"] == "PodScheduled" and not nominated:
                    self._pods.delete(name=name, namespace="default", grace_period_seconds=0)
                    return str(got["spec"].get("nodeName") or one["message"])
            time.sleep(0.02)
        raise AssertionError(f"{name}: there is no answer")


@contextlib.contextmanager
def asking(folder: Path, *, stock: bool) -> Iterator[Asking]:
    """Run a server and a scheduler, the stock one or its own, with the same file."""
    folder.mkdir()
    file = folder / "scheduler.yaml"
    write_configuration(file, folder / "data" / "kubeconfig")
    controllers = "-*" if stock else "kube-scheduler"
    server = start(folder / "data", folder / "log", f"--controllers={controllers}",
                   f"--scheduler-config={file}",
                   "--disable-admission-plugins=ServiceAccount")  # fmt: skip
    try:
        ask = Asking(server.kubeconfig)
        ask.fill()
        write_configuration(file, server.kubeconfig)
        with beside(file, folder) if stock else contextlib.nullcontext():
            yield ask
    finally:
        server.stop()


@contextlib.contextmanager
def beside(file: Path, folder: Path) -> Iterator[None]:
    """Run a kube-scheduler."""
    command = [str(SCHEDULER), f"--config={file}", "--secure-port=0",
               "--authentication-skip-lookup=true"]  # fmt: skip
    with (folder / "scheduler").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=LIMIT_S)


def test_both_read_the_same_of_a_file(tmp_path: Path) -> None:
    """Pods of each profile have the same node, or the same refusal word for word."""
    with asking(tmp_path / "own", stock=False) as own:
        answers = {name: own.answer(name) for name in TABLE}
    with asking(tmp_path / "stock", stock=True) as stock:
        wanted = {name: stock.answer(name) for name in TABLE}
    assert answers == wanted
    assert EXPECTED.items() <= answers.items()
