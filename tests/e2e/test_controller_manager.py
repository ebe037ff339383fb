"""Workloads under this server's controllers and under a stock kube-controller-manager.

The same objects come to the same ends, and one hands over to the other in the middle of a rollout
without a further revision.  A script plays the kubelet.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import time  # noqa: TID251  (programs beside the test need real time)
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kubetrio.testing.process import ServerProcess, start

kubernetes: Any = pytest.importorskip("kubernetes", reason="the kubernetes client is not installed")

Object = dict[str, Any]
MANAGER = shutil.which("kube-controller-manager")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(MANAGER is None, reason="there is no kube-controller-manager on PATH"),
]
KINDS = (
    ("apps/v1", "Deployment"), ("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"), ("apps/v1", "ControllerRevision"), ("batch/v1", "Job"),
    ("v1", "Pod"), ("v1", "ReplicationController"), ("v1", "PersistentVolumeClaim"),
)  # fmt: skip
OURS = ",".join(
    f"{kind}-controller"
    for kind in (
        "deployment", "replicaset", "replicationcontroller", "statefulset", "daemonset", "job",
    )
)  # fmt: skip
LIMIT_S, QUIET_S = 60.0, 2.5
RANDOM = re.compile(r"^(.*-)[bcdfghjklmnpqrstvwxz2456789]{5}$")
MOMENTS = frozenset({
    "uid", "resourceVersion", "creationTimestamp", "managedFields", "lastUpdateTime",
    "lastTransitionTime", "lastProbeTime", "startTime", "completionTime", "finishedAt",
    "clusterIP", "selfLink",
})  # fmt: skip
RESOURCES = {"cpu": "100m", "memory": "128Mi"}


def template(name: str, image: str = "i", **spec: Any) -> Object:
    """A template of pods."""
    container = {
        "name": "c", "image": image, "ports": [{"containerPort": 80, "name": "web"}],
        "env": [{"name": "A", "value": "<&>"}],
        "resources": {"requests": RESOURCES, "limits": {"memory": "1Gi"}},
        "readinessProbe": {"httpGet": {"path": "/", "port": "web"}},
    }  # fmt: skip
    return {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container], **spec}}


def objects() -> list[Object]:
    """One of each kind."""
    found = list[Object]()
    for kind, more in (
        ("Deployment", {"replicas": 3}),
        ("StatefulSet", {"replicas": 2, "serviceName": "s", "volumeClaimTemplates": [
            {"metadata": {"name": "data"}, "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}}}]}),
        ("DaemonSet", {}),
    ):  # fmt: skip
        name = kind.lower()
        spec = {"selector": {"matchLabels": {"app": name}}, "template": template(name), **more}
        meta = {"name": name, "annotations": {"note": "x"}}
        found.append({"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": spec})
    controller = {"replicas": 2, "selector": {"app": "rc"}, "template": template("rc")}
    found.append({"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "rc"},
                  "spec": controller})  # fmt: skip
    for name, more in (
        ("plain", {"completions": 3, "parallelism": 2}),
        ("indexed", {"completions": 2, "parallelism": 2, "completionMode": "Indexed"}),
    ):
        spec = {"template": template(name, restartPolicy="Never"), **more}
        found.append(
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
        )
    return found


@dataclass(frozen=True, slots=True)
class Cluster:
    """A server with controllers somewhere, and a client."""

    server: ServerProcess
    client: Any

    def api(self, api_version: str, kind: str) -> Any:
        """A resource."""
        return self.client.resources.get(api_version=api_version, kind=kind)

    def all_of(self, api_version: str, kind: str) -> list[Object]:
        """Objects of a kind in the namespace."""
        listed = self.api(api_version, kind).get(namespace="default").to_dict()
        return [{**one, "kind": kind} for one in listed["items"]]

    def create(self) -> None:
        """Make a node, and one workload of each kind."""
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
        self.api("v1", "Node").create(node)
        gone = {"spec": {"taints": None}}
        self.api("v1", "Node").patch(
            name="n", body=gone, content_type="application/merge-patch+json"
        )
        for one in objects():
            self.api(one["apiVersion"], one["kind"]).create(one, namespace="default")

    def change(self, image: str) -> None:
        """Give workloads another template."""
        for one in objects()[:3]:
            name = one["metadata"]["name"]
            self.api(one["apiVersion"], one["kind"]).patch(
                name=name, namespace="default", content_type="application/merge-patch+json",
                body={"spec": {"template": template(name, image)}},
            )  # fmt: skip

    def play(self) -> bool:
        """Have each pod run, or end if it is a Job's; returns whether there was one."""
        pods, acted = self.client.resources.get(api_version="v1", kind="Pod"), False
        for pod in self.all_of("v1", "Pod"):
            meta = pod["metadata"]
            if meta.get("deletionTimestamp"):
                pods.delete(name=meta["name"], namespace="default", grace_period_seconds=0)
                acted = True
            elif (pod.get("status") or {}).get("phase") == "Pending":
                over = meta["ownerReferences"][0]["kind"] == "Job"
                ready = {"type": "Ready", "status": "False" if over else "True"}
                status = {"phase": "Succeeded" if over else "Running", "conditions": [ready]}
                pods.status.patch(
                    name=meta["name"], namespace="default", body={"status": status},
                    content_type="application/merge-patch+json",
                )  # fmt: skip
                acted = True
        return acted

    def settle(self) -> None:
        """Play until nothing has happened for a while."""
        begin = last = time.monotonic()
        before = self.state()
        while time.monotonic() - last < QUIET_S:
            assert time.monotonic() - begin < LIMIT_S, "it never is quiet"
            acted, now = self.play(), self.state()
            if acted or now != before:
                last, before = time.monotonic(), now
            time.sleep(0.2)

    def state(self) -> list[str]:
        """All objects, without what differs from run to run."""
        return sorted(
            repr(plain(one))
            for api_version, kind in KINDS
            for one in self.all_of(api_version, kind)
        )

    def revisions(self) -> list[str]:
        """Names of ReplicaSets and ControllerRevisions."""
        return sorted(
            one["metadata"]["name"]
            for kind in ("ReplicaSet", "ControllerRevision")
            for one in self.all_of("apps/v1", kind)
        )


def plain(value: Any) -> Any:
    """A value without uids, times and random ends of names; all of one kind look alike."""
    if isinstance(value, dict):
        return {
            key: plain(one)
            for key, one in sorted(value.items())
            if key not in MOMENTS and not key.endswith("controller-uid")
        }
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, str) and (name := RANDOM.match(value)):
        return f"{name[1]}*"
    return value


Opened = Callable[[str], contextlib.AbstractContextManager[Cluster]]


@pytest.fixture
def cluster(tmp_path: Path) -> Opened:
    """Opens a server on one data directory, again and again, with these controllers."""

    @contextlib.contextmanager
    def opened(controllers: str) -> Iterator[Cluster]:
        server = start(tmp_path / "data", tmp_path / "log", f"--controllers={controllers}")
        try:
            config = kubernetes.config.new_client_from_config(str(server.kubeconfig))
            yield Cluster(server, kubernetes.dynamic.DynamicClient(config))
        finally:
            server.stop()

    return opened


@contextlib.contextmanager
def managed(cluster: Cluster, folder: Path) -> Iterator[None]:
    """Run a kube-controller-manager with the controllers of workloads."""
    kubeconfig = str(cluster.server.kubeconfig)
    command = [
        str(MANAGER), f"--kubeconfig={kubeconfig}", f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0",
        f"--controllers={OURS}",
    ]  # fmt: skip
    with (folder / "manager").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=LIMIT_S)


def test_both_come_to_the_same(tmp_path: Path) -> None:
    """Objects, statuses, conditions and revisions, but for uids, times and random names."""
    states = list[list[str]]()
    for controllers in (f"*,{OURS}", "*"):
        folder = tmp_path / str(len(states))
        folder.mkdir()
        server = start(folder / "data", folder / "log", f"--controllers={controllers}")
        try:
            config = kubernetes.config.new_client_from_config(str(server.kubeconfig))
            cluster = Cluster(server, kubernetes.dynamic.DynamicClient(config))
            beside = managed(cluster, folder) if states else contextlib.nullcontext()
            with beside:
                cluster.create()
                cluster.settle()
                cluster.change("j")
                cluster.settle()
                states.append(cluster.state())
        finally:
            server.stop()
    assert states[0] == states[1]


@pytest.mark.parametrize("ours_first", [True, False])
def test_one_hands_over_to_the_other(cluster: Opened, tmp_path: Path, ours_first: bool) -> None:
    """Half a rollout is finished, and no revision comes."""
    ours, none = f"*,{OURS}", "*"
    with (
        cluster(ours if ours_first else none) as first,
        contextlib.nullcontext() if ours_first else managed(first, tmp_path),
    ):
        first.create()
        first.settle()
        first.change("j")
        for _ in range(2):
            time.sleep(0.5)
            first.play()
        time.sleep(1.5)
        before = first.revisions()
    with (
        cluster(none if ours_first else ours) as second,
        managed(second, tmp_path) if ours_first else contextlib.nullcontext(),
    ):
        second.settle()
        assert second.revisions() == before
        for pod in second.all_of("v1", "Pod"):
            owner = pod["metadata"]["ownerReferences"][0]["kind"]
            if owner in ("ReplicaSet", "StatefulSet", "DaemonSet"):
                assert pod["spec"]["containers"][0]["image"] == "j"
