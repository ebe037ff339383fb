"""kubectl on a cluster whose nodes are simulated, in a process of its own."""

from __future__ import annotations

import socket
import subprocess
import threading  # noqa: TID251  (a program beside the test)
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubectl_runner import Kubectl, needs_kubectl

from kubetrio.testing.process import ServerProcess

pytestmark = [pytest.mark.e2e, needs_kubectl]

LIMIT = "--timeout=60s"


@pytest.fixture
def kubectl(start_server: Callable[..., ServerProcess], tmp_path: Path) -> Kubectl:
    """An administrator's, on a cluster with one node."""
    return Kubectl(start_server(tmp_path / "data", "--simulate-nodes", "1"), tmp_path)


@pytest.fixture
def program() -> Iterator[int]:
    """The port of a program on this machine that answers HTTP."""

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Say what was asked for."""
            body = f"real {self.path}".encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def test_a_program_behind_a_port(
    start_server: Callable[..., ServerProcess], tmp_path: Path, program: int
) -> None:
    """Port-forward and the proxy lead to it where that is allowed, and else say why not."""
    text = pod(**{"port.80": f"tcp:{program}", "port.81": "tcp:1"})
    flags = ("--simulate-nodes", "1", "--simulation-targets", str(program))
    kubectl = Kubectl(start_server(tmp_path / "data", *flags), tmp_path)
    kubectl("wait", "--for=condition=Ready", "node/node-0", LIMIT)
    kubectl("apply", "-f", "-", stdin=text)
    kubectl("wait", "--for=condition=Ready", "pod/talk", LIMIT)
    path = "/api/v1/namespaces/default/pods/talk"
    assert kubectl("get", "--raw", f"{path}:80/proxy/x?y=z") == "real /x?y=z"
    refused = kubectl.try_("get", "--raw", f"{path}:81/proxy/")
    assert "is not in --simulation-targets" in refused.err
    with socket.create_server(("127.0.0.1", 0)) as one:
        local = one.getsockname()[1]
    with subprocess.Popen(
        kubectl.command("port-forward", "pod/talk", f"{local}:80"),
        env=kubectl.environment(),
        stdout=subprocess.PIPE,
        text=True,
    ) as forwarding:
        assert forwarding.stdout is not None
        assert "Forwarding from" in forwarding.stdout.readline()
        for number in range(3):
            with urllib.request.urlopen(f"http://127.0.0.1:{local}/{number}") as answer:
                assert answer.read() == f"real /{number}".encode()
        forwarding.terminate()


def pod(**annotations: str) -> str:
    """A manifest of a pod that says something."""
    made: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "talk",
            "annotations": {f"simulation.kubetrio.io/{k}": v for k, v in annotations.items()},
        },
        "spec": {"containers": [{"name": "c", "image": "nginx"}]},
    }
    return yaml.safe_dump(made)


def test_a_deployment_from_its_making_to_its_end(kubectl: Kubectl) -> None:
    """It is rolled out, scaled and deleted, and its pods with it."""
    kubectl("wait", "--for=condition=Ready", "node/node-0", LIMIT)
    said = kubectl.try_("create", "deployment", "web", "--image=nginx", "--replicas=3")
    assert (said.code, said.err) == (0, "")
    assert "successfully rolled out" in kubectl("rollout", "status", "deployment/web", LIMIT)
    kubectl("wait", "--for=condition=Available", "deployment/web", LIMIT)
    pods = kubectl.json("get", "pods")["items"]
    assert [one["status"]["phase"] for one in pods] == ["Running"] * 3
    kubectl("scale", "deployment/web", "--replicas=1")
    kubectl("wait", "--for=jsonpath={.status.replicas}=1", "deployment/web", LIMIT)
    kubectl("set", "image", "deployment/web", "nginx=nginx:2")
    kubectl("rollout", "status", "deployment/web", LIMIT)
    kubectl("delete", "deployment", "web")
    kubectl("wait", "--for=delete", "pod", "-l", "app=web", LIMIT)


def test_a_job_and_a_drained_node(kubectl: Kubectl) -> None:
    """The Job completes; a node that is drained is empty, and takes pods again later."""
    kubectl("create", "job", "once", "--image=busybox", "--", "true")
    kubectl("wait", "--for=condition=Complete", "job/once", LIMIT)
    kubectl("create", "deployment", "web", "--image=nginx")
    kubectl("rollout", "status", "deployment/web", LIMIT)
    kubectl("drain", "node-0", "--force", LIMIT)
    waiting = kubectl.json("get", "pods", "-l", "app=web")["items"]
    assert [one["spec"].get("nodeName") for one in waiting] == [None]
    kubectl("uncordon", "node-0")
    kubectl("rollout", "status", "deployment/web", LIMIT)


def test_use_is_told_and_scaled_by(kubectl: Kubectl) -> None:
    """``top`` answers, and an autoscaler scales by what it says."""
    kubectl("wait", "--for=condition=Ready", "node/node-0", LIMIT)
    kubectl("create", "deployment", "web", "--image=nginx")
    kubectl("set", "resources", "deployment/web", "--requests=cpu=200m,memory=64Mi")
    kubectl("rollout", "status", "deployment/web", LIMIT)
    rows = kubectl("top", "pods", "-l", "app=web", "--no-headers").split()
    assert rows[1:] == ["100m", "32Mi"]
    assert kubectl("top", "nodes", "--no-headers").split()[:2] == ["node-0", "100m"]
    kubectl("autoscale", "deployment/web", "--min=1", "--max=3", "--cpu-percent=30")
    kubectl("wait", "--for=jsonpath={.spec.replicas}=2", "deployment/web", LIMIT)
    kubectl("wait", "--for=condition=ScalingActive", "horizontalpodautoscaler/web", LIMIT)


def test_claims_of_a_stateful_set_get_volumes(kubectl: Kubectl) -> None:
    """They are bound when their pods have nodes, and the volumes go with them."""
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    spec = {
        "serviceName": "db",
        "replicas": 2,
        "selector": {"matchLabels": {"app": "db"}},
        "template": {
            "metadata": {"labels": {"app": "db"}},
            "spec": {"containers": [{"name": "c", "image": "postgres"}]},
        },
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
    }
    made = {
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": spec,
    }  # fmt: skip
    kubectl("create", "-f", "-", stdin=yaml.safe_dump(made))
    kubectl("rollout", "status", "statefulset/db", LIMIT)
    claims = kubectl.json("get", "pvc")["items"]
    assert [one["status"]["phase"] for one in claims] == ["Bound"] * 2
    kubectl("delete", "statefulset", "db")
    kubectl("delete", "pvc", "--all", LIMIT)
    kubectl("wait", "--for=delete", "pv", "--all", LIMIT)


def test_pods_say_what_annotations_have_them_say(kubectl: Kubectl) -> None:
    """Logs, commands with their codes, and pages, forwarded and proxied."""
    rules = '{"hostname": "talk", "false": {"stderr": "no", "exitCode": 3}}'
    kubectl("create", "-f", "-", stdin=pod(logs="one\ntwo", exec=rules, http="hello"))
    kubectl("wait", "--for=condition=Ready", "pod/talk", LIMIT)
    assert kubectl("logs", "talk") == "one\ntwo\n"
    assert kubectl("logs", "talk", "--tail=1") == "two\n"
    assert kubectl("exec", "talk", "--", "hostname") == "talk\n"
    failed = kubectl.try_("exec", "talk", "--", "false")
    assert (failed.code, failed.err) == (3, "no\ncommand terminated with exit code 3\n")
    assert kubectl.try_("exec", "talk", "--", "other").code == 127
    assert kubectl("get", "--raw", "/api/v1/namespaces/default/pods/talk/proxy/") == "hello"
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    forward = subprocess.Popen(
        kubectl.command("port-forward", "pod/talk", f"{port}:80", "--address=127.0.0.1"),
        env=kubectl.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert forward.stdout is not None
        assert "Forwarding from" in forward.stdout.readline()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
            assert answer.read() == b"hello"
    finally:
        forward.kill()
        forward.communicate()
