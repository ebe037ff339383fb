"""What is tried against the pages, in a real browser: none of it works."""

from __future__ import annotations

import json
import os
import shutil
import socket as free
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
from chromium import CHROMIUM, open_tab
from ui_pages import by_link, configmap, configured, looking

from kubetrio.server import Server, open_server

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"{CHROMIUM} is not installed"),
]
MARKUP = "<img src=x onerror=window.hit=1><script>window.hit=1</script>"
LIVE = "document.body.dataset.state === 'live'"
HIT = "window.hit || 0"
DRAWN = "document.body.innerText.length > 50"


def hostile() -> dict[str, Any]:
    """Markup, links and directions in every place that takes them."""
    made = configmap("hostile", {"a.b": MARKUP, "url": "javascript:window.hit=1", "k": "\u202ex"})
    made["metadata"]["annotations"] = {"x": MARKUP, "y": "</textarea><script>hit=1</script>"}
    made["metadata"]["labels"] = {"l": "v"}
    made["metadata"]["finalizers"] = ["example.com/a"]
    return made


async def test_markup_is_text_everywhere(tmp_path: Path) -> None:
    """In names of managers, keys, values, annotations, conditions and events."""
    async with looking(tmp_path) as look:
        client, tab = look.client, look.tab
        made = await client.apply(hostile(), field_manager=MARKUP[:100])
        event = {
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": "e", "namespace": "default"},
            "involvedObject": {
                "kind": "ConfigMap", "namespace": "default", "name": "hostile",
                "uid": made["metadata"]["uid"],
            },
            "reason": MARKUP, "message": MARKUP, "type": "Normal",
            "source": {"component": MARKUP},
        }  # fmt: skip
        await client.create(event)
        namespace = {
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"},
            "status": {},
        }  # fmt: skip
        await client.create(namespace)
        condition = {"type": MARKUP, "status": "True", "reason": "x", "message": MARKUP}
        kind = client.kind("v1", "Namespace")
        patch = {"status": {"conditions": [condition]}}
        await client.patch(kind, "n", patch, subresource="status")
        below = "/object/core/configmaps/default/hostile"
        for page, until in (
            (below, "document.body.innerText.includes('onerror')"),
            (f"{below}?tab=yaml", "!!document.querySelector('.yaml')"),
            (f"{below}?tab=history", "!!document.querySelector('tbody tr')"),
            ("/object/core/namespaces/-/n", "document.body.innerText.includes('onerror')"),
            ("/history?ns=default", "document.body.dataset.changes > 1"),
            ("/objects/core/events?ns=", LIVE),
            (f"/objects/core/{MARKUP}", DRAWN),
            (f"/object/core/configmaps/{MARKUP}/{MARKUP}", DRAWN),
            ("/objects/core/configmaps?at=<script>hit=1</script>", DRAWN),
        ):
            await look.show(page, until)
            assert await tab.value(HIT) == 0, page
            links = "[...document.querySelectorAll('a')].map(a => a.protocol)"
            assert set(await tab.value(links)) <= {"http:"}, page
        await look.show(below, LIVE)
        await tab.click("Edit")
        await tab.until("!!document.querySelector('dialog textarea')")
        assert await tab.value(HIT) == 0


async def test_hostile_yaml_is_the_servers_to_refuse(tmp_path: Path) -> None:
    """Bombs of aliases, tags and another object's name end in a message."""
    bomb = "a: &a [x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 8)}]\n" for n in range(9)
    )
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\n  namespace: default\n"
    async with looking(tmp_path) as look:
        tab = look.tab
        await look.client.create(configmap("a", {"k": "v"}))
        await look.show("/object/core/configmaps/default/a", LIVE)
        await tab.click("Edit")
        for text in (bomb, "!!python/object:os.system [x]", other, "a: b: c", "\u0000", ""):
            await tab.value(f"document.querySelector('textarea').value = {json.dumps(text)}; 0")
            await tab.value("document.querySelectorAll('dialog .note').forEach(n => n.remove())")
            await tab.click("Review changes")
            await tab.until("!!document.querySelector('dialog .note.bad')")
        kind = look.client.kind("v1", "ConfigMap")
        assert (await look.client.get(kind, "a", "default"))["data"] == {"k": "v"}


@asynccontextmanager
async def other_site(body: str, host: str = "localhost") -> AsyncIterator[str]:
    """A page of somebody else on this machine, or of a name that leads to it."""

    async def answer(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n"
            await stream.send_all(f"{head}Connection: close\r\n\r\n{body}".encode())

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, answer, 0)
        yield f"http://{host}:{listeners[0].socket.getsockname()[1]}/"
        nursery.cancel_scope.cancel()


async def test_pages_of_others_neither_frame_nor_ask(tmp_path: Path) -> None:
    """A frame stays empty; requests of another origin change nothing and read nothing."""
    async with looking(tmp_path) as look:
        tab = look.tab
        await look.client.create(configmap("a", {}))
        target = f"{look.address}/api/v1/namespaces/default/configmaps"
        body = json.dumps(configmap("planted", {}))
        page = (
            f"<iframe id=f src='{look.address}/ui/'></iframe><script>window.done = Promise.all(["
            f"fetch('{target}').then(() => 'read', () => 'no'),"
            f"fetch('{target}/a', {{method: 'DELETE'}}).then(() => 'deleted', () => 'no'),"
            f"fetch('{look.address}/ui/about').then(() => 'read', () => 'no'),"
            f"fetch('{target}', {{method: 'POST', mode: 'no-cors', body: new Blob(['{body}'])}})"
            ".then(() => 'sent', () => 'no')])</script>"
        )
        async with other_site(page) as url:
            await tab.go(url)
            await tab.until("document.readyState === 'complete' && !!window.done")
            assert await tab.value("window.done") == ["no", "no", "no", "sent"]
            inside = (
                "(() => { try { return document.getElementById('f').contentDocument"
                " ? 'mine' : 'theirs' } catch (e) { return 'theirs' } })()"
            )
            assert await tab.value(inside) == "theirs"
            assert any("frame" in one.lower() for one in tab.complaints), tab.complaints
        kind = look.client.kind("v1", "ConfigMap")
        found = await look.client.list(kind, "default")
        names = {one["metadata"]["name"] for one in found.items}
        assert "a" in names
        assert "planted" not in names


SOCKET = """
new Promise(done => {{
  const socket = new WebSocket('{url}');
  socket.onopen = () => {{ done('open'); socket.close(); }};
  socket.onclose = () => done('closed');
}})
"""
WATCH = "/api/v1/namespaces/default/secrets?watch=1"
OTHER = "other.example"


@asynccontextmanager
async def proxied(folder: Path, server: Server) -> AsyncIterator[str]:
    """``kubectl proxy`` as it is started without flags; yields its address."""
    config = folder / "kubeconfig"
    config.write_text(json.dumps(server.kubeconfig()))
    command = ["kubectl", f"--kubeconfig={config}", "proxy", "--port=0"]
    process = await trio.lowlevel.open_process(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"HOME": str(folder), "PATH": os.environ["PATH"]},
    )
    try:
        assert process.stdout is not None
        told = b""
        while b"\n" not in told:
            told += await process.stdout.receive_some()
        yield "http://" + told.split()[-1].decode()
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize("way", ["proxy", "kubectl proxy", "plain port"])
async def test_pages_of_others_open_no_web_socket(tmp_path: Path, way: str) -> None:
    """A watch of Secrets by WebSocket, which no same-origin policy stops, from another origin.

    The page itself may open one, which shows that the address is right; the plain port answers no
    browser.
    """
    if way == "kubectl proxy" and shutil.which("kubectl") is None:
        pytest.skip("there is no kubectl on PATH")
    config = configured(tmp_path)
    if way == "plain port":
        with free.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        config = replace(config, local=replace(config.local, plain_port=port))
    named = f"--host-resolver-rules=MAP {OTHER} 127.0.0.1"
    async with (
        looking(tmp_path, config=config, flags=[named]) as look,
        AsyncExitStack() as stack,
    ):
        tab, address = look.tab, look.address
        secret = {"metadata": {"name": "s", "namespace": "default"}, "data": {"k": "dg=="}}
        await look.client.create({"apiVersion": "v1", "kind": "Secret", **secret})
        if way == "kubectl proxy":
            address = await stack.enter_async_context(proxied(tmp_path, look.server))
        if way == "plain port":
            address = f"http://127.0.0.1:{config.local.plain_port}"
        socket = SOCKET.format(url=f"ws{address.removeprefix('http')}{WATCH}")
        async with other_site("<title>other</title>", OTHER) as url:
            await tab.go(url)
            await tab.until("document.title === 'other'")
            assert await tab.value(socket) == "closed"
        if way == "plain port":
            return
        await tab.go(f"{address}/ui/style.css")  # any page of the origin, and no policy of its own
        await tab.until("document.readyState === 'complete' && location.pathname !== '/'")
        assert await tab.value(socket) == "open"


async def test_no_token_is_in_an_address_a_cookie_or_the_page(tmp_path: Path) -> None:
    """Signed in to over TLS with a token typed once: all modules come with it, and it stays."""
    config = configured(tmp_path)
    async with open_server(config) as server:
        await server.client().create(configmap("seen", {}))
        flags = ("--ignore-certificate-errors",)
        with trio.fail_after(100):
            async with open_tab(tmp_path / "profile", f"{server.url}/ui/", *flags) as tab:
                await tab.listen()
                field = "document.getElementById('token')"
                await tab.until(f"document.readyState === 'complete' && !!{field}")
                await tab.until("!document.querySelector('main').hidden")
                for wrong, said in (("nobody", "does not know"), ("alice", "may not open")):
                    await tab.value(f"{field}.value = '{wrong}'; 0")
                    await tab.click("Sign in")
                    trouble = "document.getElementById('trouble').textContent"
                    await tab.until(f"{trouble}.includes('{said}')")
                await tab.value(f"{field}.value = 'root'; 0")
                await tab.click("Sign in")
                await tab.until(LIVE)
                assert "root" not in await tab.value("location.href")
                assert await tab.value("document.cookie") == ""
                assert await tab.value("JSON.stringify(localStorage)") == "{}"
                entries = "performance.getEntriesByType('resource').map(e => e.name)"
                names = await tab.value(entries)
                assert names
                assert not [one for one in names if "root" in one]
                assert not [one for one in names if not one.startswith((server.url, "blob:"))]
                await tab.go(f"{server.url}/ui/?again#/objects/core/configmaps")
                await tab.until(f"{LIVE} && document.body.innerText.includes('seen')")
                await tab.click("Sign out")
                await tab.until(f"!!{field} && !document.querySelector('main').hidden")
                wrong_ones = ("401", "403")
                assert [
                    one for one in tab.complaints if not any(w in one for w in wrong_ones)
                ] == []


async def test_the_link_of_the_command_works_once_and_leaves_no_trace(tmp_path: Path) -> None:
    """The code is gone from the address when the page is there; a second tab gets nothing."""
    async with by_link(tmp_path) as (tab, door, link, _):
        await tab.until(f"!!document.body && {LIVE}")
        assert door.used.is_set()
        assert door.code not in await tab.value("location.href")
        assert await tab.value("document.cookie") == ""
        assert tab.complaints == []
        await tab.value("sessionStorage.clear(); 0")
        await tab.go("about:blank")
        await tab.go(link)
        await tab.until(
            "document.readyState === 'complete' && location.protocol !== 'about:'"
            " && document.body.innerText.includes('used before')"
        )
