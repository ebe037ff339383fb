"""The scheduler compared with a stock kube-scheduler: the same answers, and the same refusals.

Both get the same nodes and the same pods on them, and are asked for a node for one pod after the
other, which is removed again, so that the state stays the same.
"""

from __future__ import annotations

import contextlib
import random  # noqa: TID251  (seeded: the objects are the same each time)
import shutil
import subprocess
import time  # noqa: TID251  (programs beside the test need real time)
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubetrio.testing.process import start

kubernetes: Any = pytest.importorskip("kubernetes", reason="the kubernetes client is not installed")

Object = dict[str, Any]
SCHEDULER = shutil.which("kube-scheduler")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(SCHEDULER is None, reason="there is no kube-scheduler on PATH"),
]
SEED, NODES, THERE, ASKED = 30, 7, 30, 120
LIMIT_S = 60.0
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def nodes(rng: random.Random) -> list[Object]:
    """Nodes of all kinds."""
    found = []
    for number in range(NODES):
        labels = {HOST: f"n{number}", "disk": rng.choice(["ssd", "hdd"]), "size": str(number)}
        if number:
            labels[ZONE] = rng.choice(["a", "b", "c"])
        amounts = {
            "cpu": rng.choice(["1", "2", "4"]),
            "memory": rng.choice(["1Gi", "4Gi"]),
            "ephemeral-storage": "10Gi",
            "pods": str(rng.choice([6, 12, 20])),
        }
        if rng.random() < 0.4:
            amounts["example.com/device"] = "2"
        taints = [
            {"key": key, "value": "x", "effect": effect}
            for key, effect in (("gpu", "NoSchedule"), ("old", "PreferNoSchedule"))
            if rng.random() < 0.25
        ]
        found.append({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": f"n{number}", "labels": labels},
            "spec": {"taints": taints, "unschedulable": rng.random() < 0.15},
            "status": {"capacity": amounts, "allocatable": amounts},
        })  # fmt: skip
    return found


def term(rng: random.Random) -> Object:
    """A term of affinity between pods."""
    return {
        "labelSelector": {"matchLabels": {"app": rng.choice(["a", "b", "c"])}},
        "topologyKey": rng.choice([ZONE, HOST]),
    }


def affinity(rng: random.Random) -> Object:
    """Affinity of some kind."""
    made: Object = {}
    if rng.random() < 0.35:
        key, operator, values = rng.choice([
            ("disk", "In", ["ssd"]), (ZONE, "NotIn", ["a"]), (ZONE, "Exists", []),
            ("size", "Gt", ["3"]), (ZONE, "DoesNotExist", []),
        ])  # fmt: skip
        terms = [{"matchExpressions": [{"key": key, "operator": operator, "values": values}]}]
        made["nodeAffinity"] = {REQUIRED: {"nodeSelectorTerms": terms}}
    elif rng.random() < 0.2:
        field = {"key": "metadata.name", "operator": "In", "values": [f"n{rng.randrange(9)}"]}
        made["nodeAffinity"] = {REQUIRED: {"nodeSelectorTerms": [{"matchFields": [field]}]}}
    for kind in ("podAffinity", "podAntiAffinity"):
        if rng.random() < 0.3:
            made[kind] = {REQUIRED: [term(rng)]}
        elif rng.random() < 0.2:
            made[kind] = {PREFERRED: [{"weight": 5, "podAffinityTerm": term(rng)}]}
    return made


def spread(rng: random.Random) -> Object:
    """A constraint on how pods are spread."""
    made: Object = {
        "maxSkew": rng.choice([1, 1, 2]),
        "topologyKey": rng.choice([ZONE, HOST]),
        "whenUnsatisfiable": rng.choice(["DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"]),
        "labelSelector": {"matchLabels": {"app": rng.choice(["a", "b", "c"])}},
    }
    if made["whenUnsatisfiable"] == "DoNotSchedule" and rng.random() < 0.3:
        made["minDomains"] = rng.choice([2, 4])
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if rng.random() < 0.3:
            made[policy] = rng.choice(["Honor", "Ignore"])
    return made


def pod(rng: random.Random, name: str, node: str = "") -> Object:
    """A pod of some kind, on a node if one is named."""
    requests: Object = {}
    for resource, amounts in (
        ("cpu", ["100m", "300m", "1", "3"]), ("memory", ["64Mi", "500Mi", "2Gi"]),
        ("ephemeral-storage", ["1Gi", "20Gi"]),
    ):  # fmt: skip
        if rng.random() < (0.5 if resource != "ephemeral-storage" else 0.1):
            requests[resource] = rng.choice(amounts[:2] if node else amounts)
    container: Object = {"name": "c", "image": "i", "resources": {"requests": requests}}
    if rng.random() < 0.15:
        container["resources"]["limits"] = {"example.com/device": str(rng.choice([1, 3]))}
    if rng.random() < 0.25:
        number = rng.choice([80, 81])
        container["ports"] = [{"containerPort": number, "hostPort": number}]
    spec: Object = {"containers": [container], "terminationGracePeriodSeconds": 0}
    if rng.random() < 0.3:
        first = {"name": "i", "image": "i", "resources": {"requests": {"cpu": "1500m"}}}
        spec["initContainers"] = [first]
    if rng.random() < 0.2:
        spec["nodeSelector"] = {"disk": rng.choice(["ssd", "tape"])}
    if rng.random() < 0.4:
        spec["tolerations"] = [{"key": "gpu", "operator": "Exists"}]
    if rng.random() < 0.5:
        spec["affinity"] = affinity(rng)
    if rng.random() < 0.4:
        spec["topologySpreadConstraints"] = [spread(rng)]
    if rng.random() < 0.1 and not node:
        spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "none"}}]
    if rng.random() < 0.1 and not node:
        spec["priorityClassName"] = "shy"
    if node:
        spec["nodeName"] = node
    labels = {"app": rng.choice(["a", "b", "c"])}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels},
            "spec": spec}  # fmt: skip


class Asking:
    """Asks the scheduler of a server for nodes.

    Args:
        kubeconfig: of the server.
    """

    def __init__(self, kubeconfig: Path) -> None:
        config = kubernetes.config.new_client_from_config(str(kubeconfig))
        self.resources = resources = kubernetes.dynamic.DynamicClient(config).resources
        self.pods = resources.get(api_version="v1", kind="Pod")
        self.nodes = resources.get(api_version="v1", kind="Node")
        self.classes = resources.get(api_version="scheduling.k8s.io/v1", kind="PriorityClass")

    def fill(self) -> None:
        """Make the nodes, and pods on them."""
        self.make_class("shy", 1000, preemptionPolicy="Never")
        rng = random.Random(SEED)
        for node in nodes(rng):
            self._make_node(node)
        for number in range(THERE):
            there = pod(rng, f"there-{number}", f"n{rng.randrange(NODES)}")
            self.pods.create(there, namespace="default")

    def make_class(self, name: str, value: int, **more: str) -> None:
        """Make a PriorityClass."""
        made = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        self.classes.create({**made, "metadata": {"name": name}, "value": value, **more})

    def make_node(self, name: str, cpu: str) -> None:
        """Make a node."""
        amounts = {"cpu": cpu, "memory": "8Gi", "pods": "20"}
        self._make_node({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"taints": []},
            "status": {"capacity": amounts, "allocatable": amounts},
        })  # fmt: skip

    def _make_node(self, node: Object) -> None:
        self.nodes.create(node)
        # A new node has the taint not-ready until a controller takes it away.
        self.nodes.patch(
            name=node["metadata"]["name"],
            body={"spec": {"taints": node["spec"]["taints"] or None}},
            content_type="application/merge-patch+json",
        )  # fmt: skip

    def make_budget(self, app: str) -> None:
        """Make a budget that lets no pod of an application go."""
        budgets = self.resources.get(api_version="policy/v1", kind="PodDisruptionBudget")
        spec = {"selector": {"matchLabels": {"app": app}}, "minAvailable": 1}
        made = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
        budgets.create({**made, "metadata": {"name": app}, "spec": spec}, namespace="default")

    def make_pod(self, name: str, cpu: str, priority: str, node: str = "") -> None:
        """Make a pod, on a node if one is named."""
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
        spec: Object = {"containers": [container], "priorityClassName": priority,
                        "terminationGracePeriodSeconds": 0}  # fmt: skip
        if node:
            spec["nodeName"] = node
        meta = {"name": name, "labels": {"app": name}}
        made = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
        self.pods.create(made, namespace="default")

    def answers(self) -> list[tuple[bool, str]]:
        """Whether each pod gets a node, and what is said if it does not."""
        rng = random.Random(SEED + 1)
        return [self.answer(pod(rng, f"asked-{number}")) for number in range(ASKED)]

    def answer(self, asked: Object) -> tuple[bool, str]:
        """Make a pod, wait for what becomes of it, and remove it."""
        name, begin = asked["metadata"]["name"], time.monotonic()
        self.pods.create(asked, namespace="default")
        while True:
            assert time.monotonic() - begin < LIMIT_S, f"{name}: there is no answer"
            found = self.pods.get(name=name, namespace="default").to_dict()
            for one in (found.get("status") or {}).get("conditions") or ():
                if one["type"] == "PodScheduled":
                    self.pods.delete(name=name, namespace="default", grace_period_seconds=0)
                    return one["status"] == "True", one.get("message") or ""
            time.sleep(0.02)


@contextlib.contextmanager
def asking(folder: Path, *, stock: bool, filled: bool = True) -> Iterator[Asking]:
    """Run a server and a scheduler, the stock one or its own."""
    folder.mkdir()
    controllers = "-*" if stock else "kube-scheduler"
    server = start(folder / "data", folder / "log", f"--controllers={controllers}",
                   "--disable-admission-plugins=ServiceAccount")  # fmt: skip
    try:
        ask = Asking(server.kubeconfig)
        if filled:
            ask.fill()
        with beside(server.kubeconfig, folder) if stock else contextlib.nullcontext():
            yield ask
    finally:
        server.stop()


@contextlib.contextmanager
def beside(kubeconfig: Path, folder: Path) -> Iterator[None]:
    """Run a kube-scheduler."""
    command = [
        str(SCHEDULER), f"--kubeconfig={kubeconfig}", f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0",
    ]  # fmt: skip
    with (folder / "scheduler").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=LIMIT_S)


def test_both_say_the_same(tmp_path: Path) -> None:
    """Each pod has a node from both or from neither, and the refusals are equal word for word."""
    with asking(tmp_path / "own", stock=False) as own:
        found = own.answers()
    with asking(tmp_path / "stock", stock=True) as stock:
        wanted = stock.answers()
    different = [(one, other) for one, other in zip(found, wanted, strict=True) if one != other]
    assert different == []
    assert {True, False} == {placed for placed, _ in wanted}


def test_both_have_the_same_pods_go(tmp_path: Path) -> None:
    """For a pod of higher priority, where only one choice of victims is the best."""
    outcomes = []
    for stock in (False, True):
        with asking(tmp_path / str(stock), stock=stock, filled=False) as ask:
            outcomes.append(preempted(ask))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0] == (["kept", "tiny", "wide"], "n0")


def preempted(ask: Asking) -> tuple[list[str], str]:
    """Who is left of the pods that were there, and the node of the new one."""
    for name, value in (("low", 1), ("middle", 5), ("high", 10)):
        ask.make_class(name, value)
    ask.make_node("n0", cpu="4")
    ask.make_node("n1", cpu="4")
    ask.make_budget("kept")
    for name, node, cpu, priority in (
        ("go-1", "n0", "1", "low"),
        ("go-2", "n0", "2", "middle"),
        ("tiny", "n0", "500m", "middle"),
        ("kept", "n1", "2", "low"),
        ("wide", "n1", "2", "middle"),
    ):
        ask.make_pod(name, cpu, priority, node)
    ask.make_pod("new", "3", "high")
    begin = time.monotonic()
    while True:
        assert time.monotonic() - begin < LIMIT_S, "it gets no node"
        found = {
            one["metadata"]["name"]: one["spec"].get("nodeName")
            for one in ask.pods.get(namespace="default").to_dict()["items"]
        }
        if node := found.pop("new", None):
            return sorted(found), node
        time.sleep(0.1)
