"""ImagePolicyWebhook against a real server over TLS: its answers, its failures, what is kept."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from kubetrio.config import Admission, Config, Serving
from kubetrio.testing.client import Client
from kubetrio.testing.server import ACCOUNTS, open_api
from kubetrio.tls import pki

Object = dict[str, Any]
Respond = Callable[[Object], "tuple[int, bytes]"]
PODS = "/api/v1/namespaces/default/pods"
PREFIX = 'pods "p" is forbidden: '


def review(allowed: bool, **more: Any) -> tuple[int, bytes]:
    """An answer that the plugin understands."""
    kind = {"apiVersion": "imagepolicy.k8s.io/v1alpha1", "kind": "ImageReview"}
    return 200, json.dumps({**kind, "status": {"allowed": allowed, **more}}).encode()


class Webhook:
    """Answers reviews, and remembers them.

    Args:
        respond: says what to answer.
    """

    def __init__(self, respond: Respond) -> None:
        self.respond = respond
        self.asked: list[Object] = []

    async def serve(self, stream: trio.SSLStream[trio.SocketStream]) -> None:
        """Answer the requests of a connection, until the client leaves."""
        with suppress(trio.BrokenResourceError):
            await self._serve(stream)

    async def _serve(self, stream: trio.SSLStream[trio.SocketStream]) -> None:
        read = b""
        while True:
            while b"\r\n\r\n" not in read:
                if not (part := await stream.receive_some(65536)):
                    return
                read += part
            head, _, read = read.partition(b"\r\n\r\n")
            lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
            length = int(lines[b"content-length"])
            while len(read) < length:
                read += await stream.receive_some(65536)
            body, read = json.loads(read[:length]), read[length:]
            self.asked.append(body)
            status, answer = self.respond(body)
            text = f"HTTP/1.1 {status} X\r\nContent-Length: {len(answer)}\r\n\r\n".encode()
            await stream.send_all(text + answer)


@asynccontextmanager
async def running(
    made: pki.Pki, directory: Path, respond: Respond, **settings: Any
) -> AsyncIterator[tuple[Webhook, Client]]:
    """A webhook and a server that asks it."""
    webhook = Webhook(respond)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(made.serving.cert, made.serving.key)
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(
            partial(trio.serve_ssl_over_tcp, webhook.serve, 0, context, host="127.0.0.1")
        )
        port = listeners[0].transport_listener.socket.getsockname()[1]
        file = _configured(made, directory, port, settings)
        config = Config(
            data_dir=directory / "data",
            serving=Serving(secure_port=6443),
            admission=Admission(
                disable_plugins=ACCOUNTS,
                enable_plugins=("ImagePolicyWebhook",),
                plugin_config_file=file,
            ),
        )
        async with open_api(config=config) as server, server.connect() as client:
            try:
                yield webhook, client
            finally:
                await server.assembly.outgoing.close()
        nursery.cancel_scope.cancel()


def _configured(made: pki.Pki, directory: Path, port: int, settings: Object) -> Path:
    """The files that name the webhook."""
    kubeconfig = {
        "clusters": [
            {
                "name": "c",
                "cluster": {
                    "server": f"https://127.0.0.1:{port}/review",
                    "certificate-authority": str(made.ca.cert),
                },
            }
        ],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    (directory / "kubeconfig").write_text(json.dumps(kubeconfig), encoding="utf-8")
    policy = {"kubeConfigFile": str(directory / "kubeconfig"), "retryBackoff": 1, **settings}
    file = directory / "admission.yaml"
    file.write_text(json.dumps({"imagePolicy": policy}), encoding="utf-8")
    return file


def pod(**meta: Any) -> Object:
    spec = {
        "containers": [{"name": "c", "image": "a"}],
        "initContainers": [{"name": "i", "image": "b"}],
    }
    return {"metadata": {"name": "p", **meta}, "spec": spec}


async def test_the_webhook_is_told_of_images(certificates: pki.Pki, tmp_path: Path) -> None:
    """Containers before those that start first, annotations that are for it, the namespace."""
    own = {"x.image-policy.k8s.io/ticket": "1", "other": "2"}
    async with running(certificates, tmp_path, lambda _: review(True)) as (webhook, client):
        made = await client.request("POST", PODS, json=pod(annotations=own))
        assert made.status == 201
        assert webhook.asked[0]["spec"] == {
            "containers": [{"image": "a"}, {"image": "b"}],
            "annotations": {"x.image-policy.k8s.io/ticket": "1"},
            "namespace": "default",
        }


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({}, "one or more images rejected by webhook backend"),
        (
            {"reason": "too old"},
            "image policy webhook backend denied one or more images: too old",
        ),
    ],
)
async def test_refusals(certificates: pki.Pki, tmp_path: Path, more: Object, why: str) -> None:
    """403 with the webhook's reason; the answer is remembered."""
    async with running(certificates, tmp_path, lambda _: review(False, **more)) as (hook, client):
        for _ in range(3):
            answer = await client.request("POST", PODS, json=pod())
            assert (answer.status, answer.json()["message"]) == (403, PREFIX + why)
        assert len(hook.asked) == 1


async def test_answers_that_are_not_remembered(certificates: pki.Pki, tmp_path: Path) -> None:
    """A time of -1 asks each time; a remembered approval of the same images is enough."""
    settings = {"denyTTL": -1}
    allowed = iter([False, False, True])
    async with running(certificates, tmp_path, lambda _: review(next(allowed)), **settings) as (
        hook,
        client,
    ):
        codes = [(await client.request("POST", PODS, json=pod())).status for _ in range(4)]
        assert codes == [403, 403, 201, 409]
        assert len(hook.asked) == 3


async def test_large_answers_are_not_remembered(certificates: pki.Pki, tmp_path: Path) -> None:
    """A webhook that says much is asked again: a thousand such answers would fill the memory."""
    answer = review(False, reason="x" * 100_000)
    async with running(certificates, tmp_path, lambda _: answer) as (hook, client):
        for _ in range(2):
            assert (await client.request("POST", PODS, json=pod())).status == 403
        assert len(hook.asked) == 2


@pytest.mark.parametrize(
    ("answer", "attempts"),
    [
        ((500, b"down"), 5),
        ((429, b""), 5),
        ((404, b""), 1),
        ((200, b"{"), 1),
        ((200, b"[]"), 1),
        ((200, b'{"kind": "Pod", "apiVersion": "v1"}'), 1),
        ((200, b'{"status": {"allowed": "yes"}}'), 1),
        ((200, b'{"status": {"allowed": true, "auditAnnotations": {"a": 1}}}'), 1),
        ((200, b'{"status": []}'), 1),
        ((302, b""), 1),
    ],
)
@pytest.mark.parametrize("default", [True, False])
async def test_a_webhook_that_fails(
    certificates: pki.Pki, tmp_path: Path, answer: tuple[int, bytes], attempts: int, default: bool
) -> None:
    """Images run where that is said, and not where it is not; failures are not remembered."""
    async with running(certificates, tmp_path, lambda _: answer, defaultAllow=default) as (
        hook,
        client,
    ):
        told = await client.request("POST", PODS, json=pod())
        assert told.status == (201 if default else 403)
        assert len(hook.asked) == attempts
        if default:  # that it failed is told other plugins, and not stored
            assert "annotations" not in told.json()["metadata"]
        else:
            assert told.json()["message"].startswith(PREFIX)
        await client.request("POST", PODS, json=pod(name="q"))
        assert len(hook.asked) == 2 * attempts


async def test_nobody_there(certificates: pki.Pki, tmp_path: Path) -> None:
    """A closed port refuses pods, in Go's words."""
    file = _configured(certificates, tmp_path, 1, {})
    config = Config(
        data_dir=tmp_path / "data",
        serving=Serving(secure_port=6443),
        admission=Admission(
            disable_plugins=ACCOUNTS,
            enable_plugins=("ImagePolicyWebhook",),
            plugin_config_file=file,
        ),
    )
    async with open_api(config=config) as server, server.connect() as client:
        answer = await client.request("POST", PODS, json=pod())
        assert (answer.status, answer.json()["message"]) == (
            403,
            (
                f'{PREFIX}Post "https://127.0.0.1:1/review": dial tcp 127.0.0.1:1: connect: '
                "connection refused"
            ),
        )
