"""A server, its pages in a real browser, and what tests say of both."""

from __future__ import annotations

import base64
import os
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trio
from chromium import Proxy, Tab, open_tab

from kubetrio.api.request import Request
from kubetrio.api.response import AnyResponse
from kubetrio.client.client import Client
from kubetrio.config import Admission, Authentication, Config, Serving, Storage
from kubetrio.env import Env
from kubetrio.http.bridge import Bridge
from kubetrio.http.limits import H1Config
from kubetrio.http.serve import Listener, bind
from kubetrio.machinery.identity import MASTERS, UserInfo
from kubetrio.server import Server, open_server
from kubetrio.ui.assets import sign_in_page
from kubetrio.ui.loopback import Door, Handle

PICTURES = "KUBETRIO_PICTURES"
"""Names a directory in which screenshots are kept; those of a test are with it else."""
TOKENS = 'root,root,1,"system:masters"\nalice,alice,2\n'
RBAC = "rbac.authorization.k8s.io/v1"
LIMIT_S, TEST_S = 200, 150
AXE_SERIOUS = (
    "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations"
    ".filter(v => ['serious', 'critical'].includes(v.impact))"
    ".map(v => v.id + ': ' + v.nodes.map(n => n.html.slice(0, 160) + n.failureSummary).join()))"
)

SHIFTS = (
    "new Promise(r => new PerformanceObserver(l => r(l.getEntries()"
    ".reduce((a, e) => a + e.value, 0))).observe({type: 'layout-shift', buffered: true})"
    " || setTimeout(() => r(0), 500))"
)


def tls(data_dir: Path) -> ssl.SSLContext:
    """Trust in a server."""
    context = ssl.create_default_context(cafile=str(data_dir / "pki" / "ca.crt"))
    context.set_alpn_protocols(["http/1.1"])
    return context


async def picture(tab: Tab, folder: Path, name: str) -> None:
    """Keep a picture of a page."""
    shot = await tab.call("Page.captureScreenshot")
    kept = Path(os.environ.get(PICTURES) or folder / "pictures")
    await trio.Path(kept).mkdir(parents=True, exist_ok=True)
    await trio.Path(kept, f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


@dataclass(frozen=True, slots=True)
class Looking:
    """A browser that looks at a server.

    Args:
        server: that is looked at.
        tab: the page.
        proxy: between them; adds the token.
        address: of the proxy, ``http://host:port``.
        folder: of the test.
    """

    server: Server
    tab: Tab
    proxy: Proxy
    address: str
    folder: Path

    @property
    def client(self) -> Client:
        """May do everything."""
        return self.server.client()

    async def show(self, page: str, until: str) -> None:
        """Open a page by what is behind the ``#``, and wait for an expression."""
        await self.tab.go(f"{self.address}/ui/?{trio.current_time()}#{page}")
        await self.tab.until(f"document.readyState === 'complete' && ({until})")

    async def keep(self, name: str) -> None:
        """Keep a picture of the page."""
        await picture(self.tab, self.folder, name)

    async def well(self) -> None:
        """The console has no error, and nobody else was asked for anything."""
        entries = "performance.getEntriesByType('resource').map(e => e.name)"
        asked = await self.tab.value(entries)
        assert [one for one in asked if not one.startswith((self.address, "blob:"))] == []
        assert self.tab.complaints == []


def configured(folder: Path, **more: Any) -> Config:
    """A server for tests: tokens of an administrator and of alice, history for good."""
    tokens = folder / "tokens.csv"
    tokens.write_text(TOKENS)
    return Config(
        data_dir=folder / "data",
        serving=Serving(secure_port=0),
        auth=Authentication(token_auth_file=tokens),
        admission=Admission(disable_plugins=("ServiceAccount",)),
        storage=Storage(durability="normal", history_window_s=3600.0),
        **more,
    )


@asynccontextmanager
async def looking(
    folder: Path, token: str = "root", *, config: Config | None = None, flags: Sequence[str] = ()
) -> AsyncIterator[Looking]:
    """A server and a browser, both new; with flags of the browser."""
    async with open_server(config or configured(folder)) as server:
        proxy = Proxy(int(server.url.rpartition(":")[2]), tls(server.config.data_dir), token)
        with trio.fail_after(LIMIT_S):
            async with trio.open_nursery() as nursery:
                port = await nursery.start(proxy.serve)
                async with open_tab(folder / "profile", "about:blank", *flags) as tab:
                    await tab.listen()
                    await tab.size(1300, 850)
                    address = f"http://127.0.0.1:{port}"
                    look = Looking(server, tab, proxy, address, folder)
                    try:
                        with trio.fail_after(TEST_S):
                            yield look
                    except Exception:
                        await look.keep("failed")
                        print("the console says", tab.complaints)
                        raise
                nursery.cancel_scope.cancel()


@asynccontextmanager
async def by_link(folder: Path) -> AsyncIterator[tuple[Tab, Door, str, list[str]]]:
    """Open the pages of a new server as ``kubetrio ui`` does; see `behind_link`."""
    async with (
        open_server(configured(folder)) as server,
        behind_link(folder, server.api.handle) as opened,
    ):
        yield opened


@asynccontextmanager
async def behind_link(
    folder: Path, behind: Handle
) -> AsyncIterator[tuple[Tab, Door, str, list[str]]]:
    """Open pages by a link that works once.

    Yields:
        The page, what lets it in, its link, and the paths that the browser asks for.
    """
    env, socket = Env(), bind("127.0.0.1", 0)
    admin = UserInfo("administrator", groups=(MASTERS,))
    port, paths = socket.getsockname()[1], list[str]()
    door = Door(env, port, sign_in_page("once"), behind)

    async def handle(request: Request) -> AnyResponse:
        paths.append(request.raw_path)
        return await door.handle(request)

    bridge = Bridge(handle, write_timeout_s=30, env=env)
    listener = Listener(socket, None, handle, H1Config(), env, bridge, who=lambda _: admin)
    link = f"http://127.0.0.1:{port}/ui/#once={door.code}"
    with trio.fail_after(LIMIT_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(listener.run)
            async with open_tab(folder / "profile", "about:blank") as tab:
                await tab.listen()
                await tab.go(link)
                yield tab, door, link, paths
            nursery.cancel_scope.cancel()


def configmap(name: str, data: dict[str, str], namespace: str = "default") -> dict[str, Any]:
    """A ConfigMap."""
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def pod(name: str, **meta: Any) -> dict[str, Any]:
    """A Pod."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", **meta},
        "spec": {"containers": [{"name": "c", "image": "busybox"}]},
    }


async def allow(client: Client, user: str, rules: Sequence[dict[str, Any]]) -> None:
    """Let a user do something."""
    role = {
        "apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": user}, "rules": [*rules],
    }  # fmt: skip
    binding = {
        "apiVersion": RBAC, "kind": "ClusterRoleBinding", "metadata": {"name": user},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }  # fmt: skip
    await client.create(role)
    await client.create(binding)
