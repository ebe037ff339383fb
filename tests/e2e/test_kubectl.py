"""A new user's path, with the kubectl on this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kubetrio.testing.process import ServerProcess

KUBECTL = shutil.which("kubectl")
Start = Callable[..., ServerProcess]
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl on PATH"),
]

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "example.test/web:1", ports: [{containerPort: 80}]}
"""


def environment(server: ServerProcess, home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "KUBECONFIG": str(server.kubeconfig),
        "NO_PROXY": "127.0.0.1",
    }


def run(server: ServerProcess, home: Path, *arguments: str, stdin: str = "") -> str:
    """What kubectl prints; it must succeed."""
    assert KUBECTL is not None
    done = subprocess.run(
        [KUBECTL, *arguments],
        input=stdin,
        env=environment(server, home),
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout


def test_a_new_users_path(start_server: Start, tmp_path: Path) -> None:
    """From the first command to a restart, after which everything is still there."""
    server = start_server(tmp_path / "data")

    def kubectl(*arguments: str, stdin: str = "") -> str:
        return run(server, tmp_path, *arguments, stdin=stdin)

    # looking around
    names = kubectl("get", "namespaces", "-o", "name").split()
    assert names == [
        "namespace/default",
        "namespace/kube-node-lease",
        "namespace/kube-public",
        "namespace/kube-system",
    ]
    table = kubectl("get", "namespaces").splitlines()
    assert table[0].split() == ["NAME", "STATUS", "AGE"]
    resources = kubectl("api-resources")
    for word in ("deployments", "configmaps", "customresourcedefinitions", "leases"):
        assert word in resources
    explained = kubectl("explain", "pod.spec")
    assert "containers" in explained
    assert "-required-" in explained
    assert "v1.36" in kubectl("version")

    # writing
    assert kubectl("create", "configmap", "one", "--from-literal=a=b") == "configmap/one created\n"
    watched = tmp_path / "watched"
    assert KUBECTL is not None
    with watched.open("wb") as output:
        watch = subprocess.Popen(
            [KUBECTL, "get", "configmaps", "one", "-w", "-o", "json", "--output-watch-events"],
            env=environment(server, tmp_path),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_for(watch, watched, '"ADDED"')
        created = kubectl("create", "-f", "-", stdin=DEPLOYMENT)
        assert created == "deployment.apps/web created\n"
        deployment = json.loads(kubectl("get", "deployment", "web", "-o", "json"))
        assert deployment["spec"]["replicas"] == 2
        changed = json.loads(kubectl("get", "configmap", "one", "-o", "json"))
        changed["data"]["a"] = "changed"
        replaced = kubectl("replace", "-f", "-", stdin=json.dumps(changed))
        assert replaced == "configmap/one replaced\n"
        wait_for(watch, watched, '"changed"')
    finally:
        watch.kill()
        watch.wait(timeout=10)
    assert kubectl("create", "configmap", "two") == "configmap/two created\n"
    assert kubectl("delete", "configmap", "two").startswith('configmap "two" deleted')

    # the same after a restart
    before = kubectl("get", "configmaps,deployments,namespaces,services", "-A", "-o", "json")
    assert server.stop() == 0
    server = start_server(tmp_path / "data")
    after = kubectl("get", "configmaps,deployments,namespaces,services", "-A", "-o", "json")
    assert without_ports(after) == without_ports(before)
    assert kubectl("get", "configmap", "one", "-o", "jsonpath={.data.a}") == "changed"


def without_ports(text: str) -> list[object]:
    """Objects, but for the Service that names the server's own port, which is another one."""
    return [
        item
        for item in json.loads(text)["items"]
        if (item["kind"], item["metadata"]["name"]) != ("Service", "kubernetes")
    ]


def wait_for(process: subprocess.Popen[bytes], output: Path, text: str) -> None:
    """Wait until a process has written something."""
    for _ in range(200):
        if text in output.read_text():
            return
        try:
            process.wait(timeout=0.05)
        except subprocess.TimeoutExpired:
            continue
        break
    raise AssertionError(f"{text} is not in: {output.read_text()}")
