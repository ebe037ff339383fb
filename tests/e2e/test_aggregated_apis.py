"""An API that another kubetrio process serves, with kubectl through a first one."""

from __future__ import annotations

import base64
import json
import socket
import subprocess
import sys
import time  # noqa: TID251  (a process is waited for)
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kubectl_runner import Kubectl, needs_kubectl

from kubetrio.testing.process import ServerProcess

Start = Callable[..., ServerProcess]
pytestmark = [pytest.mark.e2e, needs_kubectl]
HOST = "widgets.default.svc"
PROGRAM = Path(__file__).with_name("widget_server.py")
ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: widgets}
rules:
- {apiGroups: [example.com], resources: [widgets], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: widgets}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: widgets}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: joe}]
"""


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


class Widgets:
    """The other process, which may be ended and begun again on the same port."""

    def __init__(self, folder: Path, front_ca: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._front_ca = front_ca
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        arguments = [str(self.folder), str(self.port), str(self._front_ca), HOST]
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM), *arguments], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line.strip() == "ready":
                return
        raise AssertionError("the other server did not start")

    def kill(self) -> None:
        if self._process is not None:
            with self._process:  # closes what it prints to
                self._process.kill()
            self._process = None

    def objects(self) -> str:
        """A Service, and APIServices for both versions, as JSON."""
        ca = base64.b64encode((self.folder / "pki" / "ca.crt").read_bytes()).decode()
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "widgets", "namespace": "default"},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        }
        registered = [
            {
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": f"{version}.example.com"},
                "spec": {
                    "group": "example.com",
                    "version": version,
                    "groupPriorityMinimum": 1000,
                    "versionPriority": priority,
                    "caBundle": ca,
                    "service": {"name": "widgets", "namespace": "default", "port": self.port},
                },
            }
            for version, priority in (("v1", 20), ("v1beta1", 10))
        ]
        return "\n".join(json.dumps(one) for one in (service, *registered))


@pytest.fixture
def pair(start_server: Start, tmp_path: Path) -> Iterator[tuple[Kubectl, Widgets]]:
    """kubectl at a first server, and a second one behind it."""
    front = start_server(tmp_path / "front")
    kubectl = Kubectl(front, tmp_path)
    other = Widgets(tmp_path / "other", front.data_dir / "pki" / "front-proxy-ca.crt")
    other.start()
    try:
        kubectl("apply", "-f", "-", stdin=other.objects())
        kubectl("wait", "--for=condition=Available", "apiservice/v1.example.com", "--timeout=20s")
        yield kubectl, other
    finally:
        other.kill()


def until(true: Callable[[], Any], limit_s: float = 40.0) -> None:
    """Wait for something."""
    end = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.2)


def test_kubectl_uses_it(pair: tuple[Kubectl, Widgets]) -> None:
    """Discovery, create, get as a table, watch, apply, delete and explain, by another server."""
    kubectl, _ = pair
    assert "widgets" in kubectl("api-resources", "--api-group=example.com")
    manifest = '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},'
    kubectl("create", "-f", "-", stdin=manifest + '"spec":{"size":3}}')
    table = kubectl("get", "widgets")
    assert table.splitlines()[0].startswith("NAME")
    assert table.splitlines()[1].split()[0] == "w"
    found = json.loads(kubectl("get", "widgets.v1beta1.example.com", "w", "-o", "json"))
    assert found["spec"]["extent"] == 3
    kubectl("apply", "--server-side", "-f", "-", stdin=manifest + '"spec":{"color":"red"}}')
    watching = subprocess.Popen(
        kubectl.command("get", "widgets", "--watch", "-o", "name"),
        env=kubectl.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert watching.stdout is not None
        assert watching.stdout.readline().strip() == "widget.example.com/w"
        kubectl("create", "-f", "-", stdin=manifest.replace('"w"', '"w2"') + '"spec":{}}')
        assert watching.stdout.readline().strip() == "widget.example.com/w2"
    finally:
        with watching:
            watching.kill()
    until(lambda: "Widget does nothing" in kubectl.try_("explain", "widgets").out)
    kubectl("delete", "widget", "w", "w2")
    assert "No resources found" in kubectl.try_("get", "widgets").err


def test_users_are_who_they_are_here(pair: tuple[Kubectl, Widgets]) -> None:
    """Both servers ask what a user may do, and believe the first one who it is."""
    kubectl, _ = pair
    said = kubectl.try_("--as=joe", "get", "widgets")
    assert said.code != 0
    assert 'User "joe" cannot list resource "widgets" in API group "example.com"' in said.err
    kubectl("apply", "-f", "-", stdin=ROLE)
    said = kubectl.try_("--as=joe", "get", "widgets")
    # The first server lets the request pass, and the second one knows no such role.
    assert 'User "joe" cannot list resource "widgets" in API group "example.com"' in said.err


def test_it_dies_and_comes_back(pair: tuple[Kubectl, Widgets]) -> None:
    """kubectl is told, all else works on, and so does this when the server is there again."""
    kubectl, other = pair
    manifest = '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"}}'
    kubectl("create", "-f", "-", stdin=manifest)
    other.kill()
    said = kubectl.try_("get", "--raw", "/apis/example.com/v1/namespaces/default/widgets/w")
    assert said.code != 0
    kubectl("get", "pods")
    # Looked at again within half a minute; a change of the Service has it looked at now.
    kubectl("label", "service", "widgets", "look=again")
    until(lambda: "False (FailedDiscoveryCheck)" in kubectl("get", "apiservice", "v1.example.com"))
    raw = kubectl.try_("get", "--raw", "/apis/example.com/v1/namespaces/default/widgets/w")
    assert "the server is currently unable to handle the request" in raw.err
    other.start()
    kubectl("wait", "--for=condition=Available", "apiservice/v1.example.com", "--timeout=40s")
    assert kubectl("get", "widget", "w", "-o", "name").strip() == "widget.example.com/w"
