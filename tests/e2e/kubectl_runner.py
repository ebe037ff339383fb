"""The kubectl on this machine, pointed at a server process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
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
        """Every object there is, by kind, namespace and name.

        But for the Lease by which the server says every ten seconds that it is there, and for what
        its controllers make in each namespace shortly after that.
        """
        names = self("api-resources", "--verbs=list", "-o", "name").split()
        listed = self.json("get", ",".join(sorted(set(names) - NOT_LISTED)), "-A")
        return {
            (
                f"{item['apiVersion']}/{item['kind']}",
                item["metadata"].get("namespace", ""),
                item["metadata"]["name"],
            ): item
            for item in listed["items"]
            if IDENTITY not in (item["metadata"].get("labels") or {})
            and (item["kind"], item["metadata"]["name"]) not in OF_NAMESPACES
        }
