"""The kubectl on this machine, pointed at a server process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from kubetrio.testing.process import ServerProcess

KUBECTL = shutil.which("kubectl")
MANIFESTS = Path(__file__).with_name("manifests")
needs_kubectl = pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl on PATH")
# Other spellings of what is listed already, and what nobody stores.
IDENTITY = "apiserver.kubernetes.io/identity"
OF_NAMESPACES = {("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")}
NOT_LISTED = {"events.events.k8s.io", "componentstatuses"}


@dataclass(frozen=True, slots=True)
class Said:
    """What a kubectl did."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Kubectl:
    """Runs kubectl with a home, and so a discovery cache, of its own.

    Args:
        server: whom it talks to.
        home: directory for its cache.
        flags: given to every call.
    """

    server: ServerProcess
    home: Path
    flags: tuple[str, ...] = ()

    def using(self, *flags: str) -> Kubectl:
        """The same with more flags, such as a namespace."""
        return Kubectl(self.server, self.home, (*self.flags, *flags))

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "KUBECONFIG": str(self.server.kubeconfig),
            "NO_PROXY": "127.0.0.1",
            "KUBE_EDITOR": "false",
            **(extra or {}),
        }

    def command(self, *arguments: str) -> list[str]:
        assert KUBECTL is not None
        return [KUBECTL, *self.flags, *arguments]

    def try_(self, *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Said:
        """Run it, whatever comes of it."""
        done = subprocess.run(
            self.command(*arguments),
            input=stdin,
            env=self.environment(env),
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def __call__(
        self, *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None
    ) -> str:
        """What it prints; it must succeed."""
        said = self.try_(*arguments, stdin=stdin, env=env)
        assert said.code == 0, (arguments, said)
        return said.out

    def json(self, *arguments: str) -> Any:
        """What it prints with ``-o json``."""
        return json.loads(self(*arguments, "-o", "json"))

    def everything(self) -> dict[tuple[str, str, str], Any]:
        """Every object there is, by kind, namespace and name, in the version that kubectl prefers.

        But for the Lease by which the server says that it is there, and for what its controllers
        make in each namespace shortly after that.  Not asked by kubectl, which takes seconds.
        """
        found = {}
        with closing(HTTPConnection("127.0.0.1")) as connection:
            connection.sock = self.server.connect()
            for path in _collections(connection):
                listed = _get(connection, path)
                kind = listed["kind"].removesuffix("List")
                for item in listed["items"]:
                    meta = item["metadata"]
                    own = IDENTITY in (meta.get("labels") or {})
                    if not own and (kind, meta["name"]) not in OF_NAMESPACES:
                        name = (meta.get("namespace", ""), meta["name"])
                        found[f"{listed['apiVersion']}/{kind}", *name] = item
        return found


def _get(connection: HTTPConnection, path: str) -> Any:
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == 200, (path, text)
    return json.loads(text)


def _collections(connection: HTTPConnection) -> Iterator[str]:
    """Paths of all that can be listed."""
    versions = {"": ["/api/v1"]}
    for group in _get(connection, "/apis")["groups"]:
        names = [group["preferredVersion"], *group["versions"]]
        versions[group["name"]] = [f"/apis/{one['groupVersion']}" for one in names]
    for group, paths in versions.items():
        seen: set[str] = set()
        for path in paths:
            for resource in _get(connection, path)["resources"]:
                name = f"{resource['name']}.{group}".removesuffix(".")
                if name not in seen | NOT_LISTED and "list" in resource["verbs"]:
                    yield f"{path}/{resource['name']}"
                seen.add(name)
