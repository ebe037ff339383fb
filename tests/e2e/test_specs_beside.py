"""What specs do not say: statuses, conditions and events as those of stock controllers.

The same scripts run twice on simulated nodes.  Under this server's controllers and under a stock
kube-controller-manager: a StatefulSet whose pod is refused, a Job whose pods are evicted and
ignored, a Job that is resized while it is suspended, and a budget of pods that are not ready.
Under this server's scheduler and under a stock kube-scheduler: a pod with an overhead, a pod whose
claim is being deleted, and pods that have others go.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import time  # noqa: TID251  (programs beside the test need real time)
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kubetrio.testing.process import ServerProcess, start

kubernetes: Any = pytest.importorskip("kubernetes", reason="the kubernetes client is not installed")

Object = dict[str, Any]
MANAGER = shutil.which("kube-controller-manager")
SCHEDULER = shutil.which("kube-scheduler")
pytestmark = pytest.mark.e2e
COMPARED = ("statefulset-controller", "job-controller", "replicaset-controller",
            "disruption-controller")  # fmt: skip
SAID = "simulation.kubetrio.io/"
LIMIT_S = 60.0
MOMENTS = frozenset({
    "uid", "lastTransitionTime", "startTime", "completionTime", "resourceVersion",
    "creationTimestamp", "managedFields", "lastUpdateTime", "lastProbeTime",
})  # fmt: skip
VERSIONS = {
    "StatefulSet": "apps/v1", "ReplicaSet": "apps/v1", "Job": "batch/v1",
    "PodDisruptionBudget": "policy/v1", "RuntimeClass": "node.k8s.io/v1",
    "PriorityClass": "scheduling.k8s.io/v1",
}  # fmt: skip
RANDOM = re.compile(r"\b(j-\d|r|w)-[a-z0-9]{5}\b")

UID = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


def plain(value: Any) -> Any:
    """A value without times, uids and random ends of names."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items() if key not in MOMENTS}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return UID.sub("*", RANDOM.sub(r"\1-*", value)) if isinstance(value, str) else value


def until(what: Callable[[], object]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + LIMIT_S
    while not what():
        assert time.monotonic() < end, "it does not come to pass"
        time.sleep(0.1)


class Cluster:
    """A client of a server with simulated nodes.

    Args:
        server: the server.
    """

    def __init__(self, server: ServerProcess) -> None:
        config = kubernetes.config.new_client_from_config(str(server.kubeconfig))
        self._client = kubernetes.dynamic.DynamicClient(config)

    def api(self, kind: str) -> Any:
        """A resource."""
        return self._client.resources.get(api_version=VERSIONS.get(kind, "v1"), kind=kind)

    def make(self, kind: str, name: str, spec: Object, labels: Object | None = None) -> None:
        """Make an object with a spec."""
        self.create(kind, name, {"spec": spec}, labels or {})

    def create(self, kind: str, name: str, members: Object, labels: Object) -> None:
        """Make an object."""
        resource, meta = self.api(kind), {"name": name, "labels": labels}
        body = {"apiVersion": resource.group_version, "kind": kind, "metadata": meta, **members}
        resource.create(body, namespace="default")

    def get(self, kind: str, name: str) -> Object:
        """An object, empty where there is none."""
        try:
            stored: Object = self.api(kind).get(name=name, namespace="default").to_dict()
        except kubernetes.dynamic.exceptions.NotFoundError:
            return {}
        return stored

    def lacks(self, kind: str, name: str) -> bool:
        """Whether there is no such object."""
        return not self.get(kind, name)

    def pods(self, app: str) -> list[Object]:
        """The pods of an application."""
        selector = f"app={app}"
        listed = self.api("Pod").get(namespace="default", label_selector=selector).to_dict()
        items: list[Object] = listed["items"]
        return items

    def change(self, kind: str, name: str, **members: Any) -> None:
        """Merge members into an object."""
        self.api(kind).patch(name=name, namespace="default", body=members,
                             content_type="application/merge-patch+json")  # fmt: skip

    def remove(self, kind: str, name: str, **options: Any) -> None:
        """Delete an object."""
        self.api(kind).delete(name=name, namespace="default", **options)

    def evict(self, name: str) -> None:
        """Evict a pod."""
        body = {"apiVersion": "policy/v1", "kind": "Eviction",
                "metadata": {"name": name, "namespace": "default"}}  # fmt: skip
        self.api("Pod").eviction.create(name=name, namespace="default", body=body)

    def run(self, app: str, count: int) -> bool:
        """Whether an application has so many pods, and all run."""
        phases = [one["status"]["phase"] for one in self.pods(app)]
        return phases == ["Running"] * count

    def events(self, kind: str, name: str) -> list[Any]:
        """Types, reasons and messages of events about an object, each once."""
        listed = self.api("Event").get(namespace="default").to_dict()["items"]
        rows = {
            (one["type"], one["reason"], plain(one["message"]))
            for one in listed
            if (one["involvedObject"]["kind"], one["involvedObject"]["name"]) == (kind, name)
        }
        return sorted(rows)

    def shown(self, kind: str, name: str) -> Any:
        """An object's status, and the events about it."""
        return plain(self.get(kind, name)["status"]), self.events(kind, name)


def template(app: str, annotations: Object | None = None, **spec: Any) -> Object:
    """A template of pods."""
    container: Object = {"name": "c", "image": "i"}
    for member in ("ports", "resources"):
        if member in spec:
            container[member] = spec.pop(member)
    meta = {"labels": {"app": app}, "annotations": annotations or {}}
    return {"metadata": meta, "spec": {"containers": [container], **spec}}


def refused_pod(there: Cluster) -> Any:
    """A StatefulSet makes its pod anew that is refused, until the port is free."""
    ports = [{"hostPort": 21017, "containerPort": 21017}]
    own = template("conflict", ports=ports, nodeName="node-0")
    there.make("Pod", "conflict", own["spec"], {"app": "conflict"})
    until(lambda: there.run("conflict", 1))
    there.make("StatefulSet", "s", {
        "replicas": 1, "serviceName": "s", "selector": {"matchLabels": {"app": "s"}},
        "template": template("s", ports=ports, nodeName="node-0"),
    })  # fmt: skip
    first = ""

    def made_anew() -> bool:
        nonlocal first
        pod = there.get("Pod", "s-0")
        uid = pod["metadata"]["uid"] if pod else ""
        first = first or uid
        return bool(uid) and uid != first

    until(made_anew)
    there.remove("Pod", "conflict", grace_period_seconds=0)
    until(lambda: there.run("s", 1))
    until(lambda: there.get("StatefulSet", "s")["status"].get("availableReplicas") == 1)
    time.sleep(1)
    return there.shown("StatefulSet", "s")


def evicted_pods(there: Cluster) -> Any:
    """A Job ignores pods that were evicted, and completes with others."""
    rule = {"action": "Ignore",
            "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}  # fmt: skip
    long = {f"{SAID}run-seconds": "1000", f"{SAID}stop-code": "137"}
    there.make("Job", "j", {
        "parallelism": 3, "completions": 3, "backoffLimit": 2, "completionMode": "Indexed",
        "podFailurePolicy": {"rules": [rule]},
        "template": template("j", long, restartPolicy="Never"),
    })  # fmt: skip
    until(lambda: there.get("Job", "j")["status"].get("ready") == 3)
    for pod in there.pods("j"):
        there.evict(pod["metadata"]["name"])
        until(partial(there.lacks, "Pod", pod["metadata"]["name"]))
    until(lambda: there.run("j", 3))
    running = there.get("Job", "j")["status"]
    for pod in there.pods("j"):
        short = {f"{SAID}run-seconds": "1"}
        there.change("Pod", pod["metadata"]["name"], metadata={"annotations": short})
    until(lambda: there.get("Job", "j")["status"].get("completionTime"))
    time.sleep(1)
    return running.get("failed"), there.shown("Job", "j")


def resized_job(there: Cluster) -> Any:
    """A Job that has started is suspended, gets other resources and goes on."""
    there.make("Job", "r", {
        "parallelism": 1, "completions": 1,
        "template": template("r", {f"{SAID}run-seconds": "1000"}, restartPolicy="Never",
                             resources={"requests": {"cpu": "100m"}}),
    })  # fmt: skip
    until(lambda: there.get("Job", "r")["status"].get("ready") == 1)
    there.change("Job", "r", spec={"suspend": True})
    until(lambda: not there.pods("r"))
    until(lambda: not there.get("Job", "r")["status"].get("terminating"))
    time.sleep(1)
    suspended = plain(there.get("Job", "r")["status"])
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "200m"}}}]
    there.change("Job", "r", spec={"template": {"spec": {"containers": containers}}})
    there.change("Job", "r", spec={"suspend": False})
    until(lambda: there.get("Job", "r")["status"].get("ready") == 1)
    time.sleep(1)
    requests = there.pods("r")[0]["spec"]["containers"][0]["resources"]["requests"]
    return suspended, requests, there.shown("Job", "r")


def unready_pods(there: Cluster) -> Any:
    """Pods that are not ready are evicted past their budget."""
    there.make("PodDisruptionBudget", "b", {
        "maxUnavailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow",
        "selector": {"matchLabels": {"app": "w"}},
    })  # fmt: skip
    there.make("ReplicaSet", "w", {
        "replicas": 3, "selector": {"matchLabels": {"app": "w"}},
        "template": template("w", {f"{SAID}state": "not-ready"}),
    })  # fmt: skip
    until(lambda: there.run("w", 3))
    until(lambda: there.get("PodDisruptionBudget", "b")["status"]["expectedPods"] == 3)
    before = {one["metadata"]["name"] for one in there.pods("w")}
    for name in before:
        there.evict(name)
    until(lambda: there.run("w", 3) and before.isdisjoint(
        one["metadata"]["name"] for one in there.pods("w")))  # fmt: skip
    time.sleep(1)
    return there.shown("PodDisruptionBudget", "b"), there.shown("ReplicaSet", "w")


CONTROLLED = (refused_pod, evicted_pods, resized_job, unready_pods)


def condition(there: Cluster, pod: str, type_: str) -> Object:
    """A condition of a pod, empty for none; without its moments."""
    conditions = there.get("Pod", pod).get("status", {}).get("conditions") or ()
    shown: Object = plain(next((one for one in conditions if one["type"] == type_), {}))
    return shown


def refusal(there: Cluster, pod: str) -> Any:
    """Wait until it is said why a pod has no node; returns the condition and the events."""
    until(lambda: condition(there, pod, "PodScheduled").get("status") == "False")
    time.sleep(1)
    return condition(there, pod, "PodScheduled"), there.events("Pod", pod)


def pod_with(there: Cluster, name: str, resources: Object, **spec: Any) -> None:
    """Make a pod whose container has certain resources."""
    annotations = {f"{SAID}stop-seconds": "10"}
    own = template(name, resources=resources, **spec)
    members = {"spec": own["spec"]}
    there.create("Pod", name, members, {"app": name})
    there.change("Pod", name, metadata={"annotations": annotations})


def overhead(there: Cluster) -> Any:
    """A pod with an overhead does not fit."""
    resource = "example.com/beardsecond"
    there.api("Node").status.patch(
        name="node-0", body={"status": {"capacity": {resource: "1000"}}},
        content_type="application/merge-patch+json",
    )  # fmt: skip
    members = {"handler": "handler", "overhead": {"podFixed": {resource: "250"}}}
    there.create("RuntimeClass", "handler", members, {})
    pod_with(there, "filler", {"limits": {resource: "700"}})
    until(lambda: there.run("filler", 1))
    pod_with(there, "additional", {"limits": {resource: "200"}}, runtimeClassName="handler")
    return refusal(there, "additional")


def claim_that_goes(there: Cluster) -> Any:
    """A pod waits whose claim is being deleted."""
    there.make("PersistentVolumeClaim", "c", {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
    })  # fmt: skip
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    pod_with(there, "user", {}, volumes=volumes)
    until(lambda: there.run("user", 1))
    there.remove("PersistentVolumeClaim", "c")
    pod_with(there, "second", {}, volumes=volumes)
    return refusal(there, "second")


def preemption(there: Cluster) -> Any:
    """A pod has another go, and another one of less priority has to wait."""
    resource = "example.com/foo"
    there.api("Node").status.patch(
        name="node-1", body={"status": {"capacity": {resource: "1"}}},
        content_type="application/merge-patch+json",
    )  # fmt: skip
    for name, value in (("low", 1), ("medium", 100), ("high", 1000)):
        there.create("PriorityClass", name, {"value": value}, {})
    share = {"limits": {resource: "1"}}
    pod_with(there, "low", share, priorityClassName="low")
    until(lambda: there.run("low", 1))
    pod_with(there, "high", share, priorityClassName="high")
    until(lambda: there.get("Pod", "high")["status"].get("nominatedNodeName"))
    target = condition(there, "low", "DisruptionTarget")
    waits = refusal(there, "high")
    pod_with(there, "medium", share, priorityClassName="medium")
    refused = refusal(there, "medium")
    until(lambda: there.run("high", 1))
    return target, waits, refused, there.events("Pod", "low")


SCHEDULED = (overhead, claim_that_goes, preemption)


@contextlib.contextmanager
def beside(program: str | None, server: ServerProcess, folder: Path, *flags: str) -> Iterator[None]:
    """Run a stock program beside a server."""
    kubeconfig = str(server.kubeconfig)
    command = [
        str(program), f"--kubeconfig={kubeconfig}", f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0",
        *flags,
    ]  # fmt: skip
    with (folder / "program").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=LIMIT_S)


def outcomes(
    folder: Path, scripts: Sequence[Callable[[Cluster], Any]], *controllers: str,
    program: str | None = None, flags: Sequence[str] = (),
) -> list[Any]:  # fmt: skip
    """What comes of scripts, under a server's controllers or with a program beside it."""
    folder.mkdir()
    off = [] if program is None else [f"-{one}" for one in controllers]
    server = start(folder / "data", folder / "log", f"--controllers={','.join(('*', *off))}",
                   "--simulate-nodes=2")  # fmt: skip
    try:
        there = Cluster(server)
        stock = beside(program, server, folder, *flags) if program else contextlib.nullcontext()
        with stock:
            until(lambda: len(there.api("Node").get().items) == 2)
            return [script(there) for script in scripts]
    finally:
        server.stop()


@pytest.mark.skipif(MANAGER is None, reason="there is no kube-controller-manager on PATH")
def test_statuses_and_events_are_those_of_a_stock_manager(tmp_path: Path) -> None:
    """Numbers, conditions, messages and events, but for times and random names."""
    ours = outcomes(tmp_path / "ours", CONTROLLED, *COMPARED)
    flags = [f"--controllers={','.join(COMPARED)}"]
    theirs = outcomes(tmp_path / "theirs", CONTROLLED, *COMPARED, program=MANAGER, flags=flags)
    assert ours == theirs


@pytest.mark.skipif(SCHEDULER is None, reason="there is no kube-scheduler on PATH")
def test_refusals_are_those_of_a_stock_scheduler(tmp_path: Path) -> None:
    """Conditions, messages and events of pods that wait, and of one that has to go."""
    ours = outcomes(tmp_path / "ours", SCHEDULED, "kube-scheduler")
    theirs = outcomes(tmp_path / "theirs", SCHEDULED, "kube-scheduler", program=SCHEDULER)
    assert ours == theirs
