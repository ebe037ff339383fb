"""Attached volumes under this server's controller and under a stock kube-controller-manager.

Pods on simulated nodes want volumes; the same attachments, statuses of nodes and events come of it.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import time  # noqa: TID251  (programs beside the test need real time)
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kubetrio.testing.process import start

kubernetes: Any = pytest.importorskip("kubernetes", reason="the kubernetes client is not installed")

Object = dict[str, Any]
MANAGER = shutil.which("kube-controller-manager")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(MANAGER is None, reason="there is no kube-controller-manager on PATH"),
]
CONTROLLER = "persistentvolume-attach-detach-controller"
LIMIT_S = 120.0


class Cluster:
    """A server with two simulated nodes.

    Args:
        kubeconfig: of the server.
    """

    def __init__(self, kubeconfig: Path) -> None:
        config = kubernetes.config.new_client_from_config(str(kubeconfig))
        self._resources = kubernetes.dynamic.DynamicClient(config).resources

    def all_of(self, api_version: str, kind: str) -> list[Object]:
        """All objects of a kind."""
        api = self._resources.get(api_version=api_version, kind=kind)
        found: list[Object] = api.get().to_dict()["items"]
        return found

    def make(self, obj: Object) -> None:
        """Make an object."""
        api = self._resources.get(api_version=obj["apiVersion"], kind=obj["kind"])
        api.create(obj, namespace="default")

    def remove(self, name: str) -> None:
        """Delete a pod."""
        api = self._resources.get(api_version="v1", kind="Pod")
        api.delete(name=name, namespace="default")

    def until(self, what: Callable[[], bool]) -> None:
        """Wait until something is so."""
        begin = time.monotonic()
        while not what():
            assert time.monotonic() - begin < LIMIT_S, self.state()
            time.sleep(0.2)

    def phase(self, name: str) -> str:
        """The phase of a pod."""
        return next(
            (
                one["status"]["phase"]
                for one in self.all_of("v1", "Pod")
                if one["metadata"]["name"] == name
            ),
            "",
        )

    def told(self) -> set[tuple[str, str, str]]:
        """What events say of attaching, and about which pods."""
        return {
            (one["involvedObject"]["name"], one["type"], one["message"])
            for one in self.all_of("v1", "Event")
            if "AttachVolume" in one["reason"]
        }

    def state(self) -> Object:
        """What is attached where."""
        nodes = self.all_of("v1", "Node")
        found = self.all_of("storage.k8s.io/v1", "VolumeAttachment")
        return {
            "nodes": {
                one["metadata"]["name"]: (
                    one["status"].get("volumesAttached"), one["status"].get("volumesInUse")
                )
                for one in nodes
            },
            "attachments": sorted(
                (one["metadata"]["name"], str(one["spec"]), one["status"]["attached"])
                for one in found
            ),
            "told": self.told(),
        }  # fmt: skip


@contextlib.contextmanager
def cluster(folder: Path, *, stock: bool) -> Iterator[Cluster]:
    """Run a server, with its own controller or beside a stock one."""
    folder.mkdir()
    controllers = f"*,-{CONTROLLER}" if stock else "*"
    server = start(folder / "data", folder / "log", "--simulate-nodes=2",
                   f"--controllers={controllers}")  # fmt: skip
    try:
        with manager(server.kubeconfig, folder) if stock else contextlib.nullcontext():
            yield Cluster(server.kubeconfig)
    finally:
        server.stop()


@contextlib.contextmanager
def manager(kubeconfig: Path, folder: Path) -> Iterator[None]:
    """Run a kube-controller-manager that only attaches."""
    command = [
        str(MANAGER), f"--kubeconfig={kubeconfig}", f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0",
        f"--controllers={CONTROLLER}",
    ]  # fmt: skip
    with (folder / "manager").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=LIMIT_S)


def volume(number: int) -> list[Object]:
    """A volume of the simulated driver, and the claim that it is for."""
    common = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    name = f"v{number}"
    csi = {"driver": "hostless.simulation.kubetrio.io", "volumeHandle": name}
    return [
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
         "spec": {**common, "capacity": {"storage": "1Gi"}, "csi": csi,
                  "claimRef": {"namespace": "default", "name": name}}},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
         "spec": {**common, "volumeName": name,
                  "resources": {"requests": {"storage": "1Gi"}}}},
    ]  # fmt: skip


def pod(name: str, node: str, *claims: str) -> Object:
    """A pod on a node, with claims."""
    volumes = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims]
    spec = {"nodeName": node, "volumes": volumes, "containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def played(there: Cluster) -> list[Object]:
    """States after each step of a script."""
    there.until(lambda: len(there.all_of("storage.k8s.io/v1", "CSIDriver")) == 1)
    there.until(lambda: all(
        one["status"].get("addresses") for one in there.all_of("v1", "Node")
    ))  # fmt: skip
    there.until(lambda: len(there.all_of("v1", "ServiceAccount")) > 0)
    for obj in volume(0):
        there.make(obj)
    there.until(lambda: there.all_of("v1", "PersistentVolumeClaim")[0]["status"]
                .get("phase") == "Bound")  # fmt: skip
    states = []
    there.make(pod("first", "node-0", "v0"))
    there.until(lambda: there.phase("first") == "Running")
    states.append(there.state())
    there.make(pod("second", "node-1", "v0"))
    there.until(lambda: any(type_ == "Warning" for _, type_, _ in there.told()))
    states.append(there.state())
    there.remove("first")
    there.until(lambda: there.phase("second") == "Running" and not there.phase("first"))
    states.append(there.state())
    there.remove("second")
    there.until(lambda: not there.state()["attachments"])
    states.append(there.state())
    return states


def test_both_attach_the_same(tmp_path: Path) -> None:
    """Step by step: attached, refused, moved and detached."""
    with cluster(tmp_path / "own", stock=False) as own:
        found = played(own)
    with cluster(tmp_path / "stock", stock=True) as stock:
        wanted = played(stock)
    assert found == wanted
