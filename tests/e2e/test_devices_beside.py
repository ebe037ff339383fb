"""Devices under this server's controllers and under stock ones: the same claims, the same words."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import time  # noqa: TID251  (programs beside the test need real time)
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kubetrio.testing import devices as make
from kubetrio.testing.process import start

kubernetes: Any = pytest.importorskip("kubernetes", reason="the kubernetes client is not installed")

Object = dict[str, Any]
MANAGER = shutil.which("kube-controller-manager")
SCHEDULER = shutil.which("kube-scheduler")
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(MANAGER is None, reason="there is no kube-controller-manager on PATH"),
    pytest.mark.skipif(SCHEDULER is None, reason="there is no kube-scheduler on PATH"),
]
LIMIT_S = 90.0
CONTROLLER = "resourceclaim-controller"
MODEL_B = 'device.attributes["gpu.example"].model == "b"'
SAME = {"constraints": [{"matchAttribute": "gpu.example/model"}]}
CLAIMS = {
    "one": make.claim("one"),
    "b": make.claim("b", make.request("r", MODEL_B)),
    "two": make.claim("two", make.request(count=2), **SAME),
    "many": make.claim("many", make.request(count=9)),
    "all": make.claim("all", make.request(allocationMode="All")),
    "classless": make.claim("classless", make.request(deviceClassName="none")),
    "both": make.claim("both", make.request("q"), make.request("r", MODEL_B)),
}


class Cluster:
    """A server with two nodes that have devices.

    Args:
        kubeconfig: of the server.
    """

    def __init__(self, kubeconfig: Path) -> None:
        config = kubernetes.config.new_client_from_config(str(kubeconfig))
        self._resources = kubernetes.dynamic.DynamicClient(config).resources

    def api(self, api_version: str, kind: str) -> Any:
        """A resource."""
        return self._resources.get(api_version=api_version, kind=kind)

    def make(self, obj: Object) -> None:
        """Make an object."""
        self.api(obj["apiVersion"], obj["kind"]).create(obj, namespace="default")

    def fill(self) -> None:
        """Make nodes, slices and classes."""
        amounts = {"cpu": "8", "memory": "8Gi", "pods": "100"}
        for name in ("n0", "n1"):
            self.make({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
                       "status": {"capacity": amounts, "allocatable": amounts}})  # fmt: skip
            self.api("v1", "Node").patch(
                name=name, body={"spec": {"taints": None}},
                content_type="application/merge-patch+json",
            )  # fmt: skip
        three = [make.device("a"), make.device("b", "b"), make.device("c")]
        self.make(make.resource_slice("n0", *three, node="n0"))
        self.make(make.device_class())

    def answer(self, name: str, pod: Object) -> Object:
        """What becomes of a pod and its claim, which are removed again."""
        pods, claims = self.api("v1", "Pod"), self.api("resource.k8s.io/v1", "ResourceClaim")
        self.make(pod)
        answer: Object = {}

        def told() -> bool:
            found = pods.get(name=name, namespace="default").to_dict()
            for one in (found.get("status") or {}).get("conditions") or ():
                message = one.get("message") or ""
                if one["type"] == "PodScheduled" and "not created yet" not in message:
                    answer["node"] = found["spec"].get("nodeName")
                    answer["message"] = message
            return bool(answer)

        self.until(told)
        (claim,) = claims.get(namespace="default").to_dict()["items"]
        status = claim.get("status") or {}
        allocation = status.get("allocation") or {}
        answer |= {
            "name": claim["metadata"]["name"].rpartition("-")[0],
            "annotations": claim["metadata"].get("annotations"),
            "owners": [one["kind"] for one in claim["metadata"].get("ownerReferences") or ()],
            "finalizers": claim["metadata"].get("finalizers"),
            "devices": allocation.get("devices"),
            "nodes": allocation.get("nodeSelector"),
            "stamped": "allocationTimestamp" in allocation,
            "reserved": [(one["resource"], one["name"]) for one in status.get("reservedFor") or ()],
        }
        pods.delete(name=name, namespace="default", grace_period_seconds=0)
        self.until(self.freed)
        left = claims.get(namespace="default").to_dict()["items"]
        answer["after"] = [(one.get("status"), one["metadata"].get("finalizers")) for one in left]
        for one in left:
            claims.delete(name=one["metadata"]["name"], namespace="default")
        self.until(lambda: not claims.get(namespace="default").to_dict()["items"])
        return answer

    def freed(self) -> bool:
        """Whether no claim has devices or an owner."""
        found = self.api("resource.k8s.io/v1", "ResourceClaim").get(namespace="default")
        return not any(
            one.get("status") or one["metadata"].get("finalizers")
            or one["metadata"].get("ownerReferences")
            for one in found.to_dict()["items"]
        )  # fmt: skip

    def until(self, what: Callable[[], bool]) -> None:
        """Wait until something is so."""
        begin = time.monotonic()
        while not what():
            assert time.monotonic() - begin < LIMIT_S
            time.sleep(0.1)


@contextlib.contextmanager
def cluster(folder: Path, *, stock: bool) -> Iterator[Cluster]:
    """Run a server with its own controller and scheduler, or beside stock ones."""
    folder.mkdir()
    own = f"garbage-collector-controller{'' if stock else f',{CONTROLLER},kube-scheduler'}"
    server = start(folder / "data", folder / "log", f"--controllers={own}",
                   "--disable-admission-plugins=ServiceAccount")  # fmt: skip
    try:
        with contextlib.ExitStack() as stack:
            if stock:
                stack.enter_context(beside(server.kubeconfig, folder, str(SCHEDULER)))
                more = f"--controllers={CONTROLLER}"
                stack.enter_context(beside(server.kubeconfig, folder, str(MANAGER), more))
            yield Cluster(server.kubeconfig)
    finally:
        server.stop()


@contextlib.contextmanager
def beside(kubeconfig: Path, folder: Path, program: str, *more: str) -> Iterator[None]:
    """Run a stock program."""
    command = [
        program, f"--kubeconfig={kubeconfig}", f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0",
        *more,
    ]  # fmt: skip
    with (folder / Path(program).name).open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=LIMIT_S)


def played(there: Cluster) -> dict[str, Object]:
    """What becomes of pods with claims of all sorts, and of one with a template."""
    there.fill()
    answers: dict[str, Object] = {}
    for name, claim in CLAIMS.items():
        there.make(claim)
        answers[name] = there.answer(name, make.pod(name, claim_name=name))
    there.make(make.template())
    answers["made"] = there.answer("made", make.pod("made", template_name="one"))
    return answers


def test_both_give_the_same_devices(tmp_path: Path) -> None:
    """And say the same where there are none."""
    with cluster(tmp_path / "own", stock=False) as own:
        found = played(own)
    with cluster(tmp_path / "stock", stock=True) as stock:
        wanted = played(stock)
    assert found == wanted
