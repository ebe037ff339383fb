"""Logs of pods: options, and what a kubelet is asked."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from kubetrio.api.proxy.podlogs import check_log_options, log_options
from kubetrio.machinery.status import ApiError
from kubetrio.testing.backend import ReceivedRequest, open_backend
from kubetrio.testing.client import encode_request

from .cluster import MERGE, POD, Cluster, unexpected


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"tailLines": "-1"}, "tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ({"limitBytes": "0"}, "limitBytes: Invalid value: 0: must be greater than 0"),
        ({"sinceSeconds": "0"}, "sinceSeconds: Invalid value: 0: must be greater than 0"),
        (
            {"sinceSeconds": "0", "sinceTime": ""},
            "[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
        ),
        ({"stream": "All"}, "stream: Forbidden: may not be specified"),
    ],
)
def test_log_options_are_checked(query: dict[str, str], message: str) -> None:
    """422 in kube-apiserver's words; without its gate a stream cannot be chosen."""
    with pytest.raises(ApiError) as caught:
        check_log_options(log_options(query), "p", split=False)
    assert caught.value.code == 422
    assert caught.value.message == f'PodLogOptions "p" is invalid: {message}'


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            {"stream": "Both"},
            'stream: Unsupported value: "Both": supported values: "All", "Stdout", "Stderr"',
        ),
        (
            {"stream": "Stdout", "tailLines": "1"},
            "[]: Forbidden: `tailLines` and specific `stream` are mutually exclusive for now",
        ),
    ],
)
def test_a_stream_is_chosen_behind_its_gate(query: dict[str, str], message: str) -> None:
    """PodLogsQuerySplitStreams allows three values, and only the whole log by lines."""
    with pytest.raises(ApiError) as caught:
        check_log_options(log_options(query), "p", split=True)
    assert caught.value.message == f'PodLogOptions "p" is invalid: {message}'


def test_what_a_kubelet_is_asked() -> None:
    """An empty time is the zero time, as Go reads it; what was not asked for is left out."""
    asked = log_options({"follow": "", "previous": "0", "sinceTime": "", "limitBytes": "+7"})
    assert asked.query == "follow=true&limitBytes=7&sinceTime=0001-01-01T00%3A00%3A00Z"


def test_the_first_bad_log_option_is_told() -> None:
    """In the order of the API's type, and before any is looked at for its value."""
    with pytest.raises(ApiError) as caught:
        log_options({"tailLines": "x", "sinceSeconds": "y", "stream": "Both"})
    assert caught.value.message == 'strconv.ParseInt: parsing "y": invalid syntax'


@pytest.mark.parametrize("name", ["tailLines", "limitBytes", "sinceSeconds"])
def test_numbers_of_log_options(name: str) -> None:
    """400 for what is none; so is an empty text."""
    for text in ("", "x"):
        with pytest.raises(ApiError) as caught:
            log_options({name: text})
        words = f'strconv.ParseInt: parsing "{text}": invalid syntax'
        assert (caught.value.code, caught.value.message) == (400, words)


async def test_a_log(cluster: Cluster) -> None:
    """The kubelet is asked in kube-apiserver's spelling, and shown the server's certificate."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.reply(200, b"one\ntwo\n", {"Content-Type": "text/html"})

    cluster.kubelet.answer = answer
    query = "tailLines=2&timestamps=true&previous=false&sinceTime=2024-01-02T03:04:05%2B01:00"
    got = await cluster.client.request("GET", f"{POD}/log?{query}")
    assert (got.status, got.body) == (200, b"one\ntwo\n")
    assert got.head.get(b"content-type") == b"text/plain"
    [asked] = cluster.kubelet.asked
    assert asked.path == "/containerLogs/default/p/c"
    assert asked.query == [
        ("sinceTime", "2024-01-02T02:04:05Z"),
        ("tailLines", "2"),
        ("timestamps", "true"),
    ]
    assert asked.certificate == "system:masters/kubernetes-admin"
    await cluster.kubelet.wait_connections(0)


async def test_a_followed_log(cluster: Cluster) -> None:
    """Lines come as they are written; the client's leaving ends the kubelet's work."""
    written, more = trio.open_memory_channel[bytes](10)

    async def answer(asked: ReceivedRequest) -> None:
        assert asked.query == [("follow", "true")]
        await asked.head(200, {"Transfer-Encoding": "chunked"})
        async for line in more:
            await asked.chunk(line)
        await asked.receive()

    cluster.kubelet.answer = answer
    async with cluster.server.connect() as client:
        await client.send(encode_request("GET", POD + "/log?follow=true"))
        assert (await client.head()).status == 200
        for line in (b"a\n", b"b\n"):
            await written.send(line)
            assert await client.chunk() == line
        await cluster.kubelet.wait_connections(1)
    written.close()
    await cluster.kubelet.wait_connections(0)


async def test_shutdown_ends_followed_logs(cluster: Cluster) -> None:
    """As the watches: cleanly."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.head(200, {"Transfer-Encoding": "chunked"})
        await asked.chunk(b"a\n")
        await asked.receive()

    cluster.kubelet.answer = answer
    await cluster.client.send(encode_request("GET", POD + "/log?follow=1"))
    await cluster.client.head()
    assert await cluster.client.chunk() == b"a\n"
    cluster.server.api.end_streams()
    assert await cluster.client.chunk() == b""
    await cluster.kubelet.wait_connections(0)


async def test_a_log_nobody_reads_is_not_collected(cluster: Cluster) -> None:
    """The kubelet is stopped by a client that does not read, and goes on with it."""
    size = 40 * 1024 * 1024
    sent = 0

    async def answer(asked: ReceivedRequest) -> None:
        nonlocal sent
        await asked.head(200, {})
        piece = bytes(64 * 1024)
        while sent < size:
            await asked.send(piece)
            sent += len(piece)

    cluster.kubelet.answer = answer
    await cluster.client.send(encode_request("GET", POD + "/log"))
    await trio.testing.wait_all_tasks_blocked(0.1)
    assert 0 < sent < size / 2
    got = await cluster.client.receive()
    assert len(got.body) == size


@pytest.mark.parametrize(
    ("status", "said", "code", "reason", "message"),
    [
        (400, b"no such container", 400, "BadRequest", "no such container"),
        (500, b"oops", 500, "InternalError", "Internal error occurred: oops"),
        (
            404,
            b"gone",
            404,
            "NotFound",
            "the server could not find the requested resource ( pods/log p)",
        ),
        (403, b"not you", 403, "Forbidden", "not you ( pods/log p)"),
        (
            502,
            b"no",
            502,
            "InternalError",
            'an error on the server ("no") has prevented the request from succeeding ( pods/log p)',
        ),
    ],
)
async def test_what_a_kubelet_refuses(
    cluster: Cluster, status: int, said: bytes, code: int, reason: str, message: str
) -> None:
    """Its words, or those of the status code."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.reply(status, said)

    cluster.kubelet.answer = answer
    got = await cluster.client.request("GET", POD + "/log")
    assert (got.status, got.json().get("reason")) == (code, reason)
    assert got.json()["message"] == message
    await cluster.kubelet.wait_connections(0)


async def test_a_kubelet_that_redirects(cluster: Cluster) -> None:
    """It is not followed."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.reply(302, b"", {"Location": "/elsewhere"})

    cluster.kubelet.answer = answer
    got = await cluster.client.request("GET", POD + "/log")
    url = f"https://127.0.0.1:{cluster.kubelet.port}/elsewhere"
    assert got.status == 500
    assert got.json()["message"] == f'Get "{url}": redirects forbidden'


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nContent-", b"what\r\n\r\n"])
async def test_a_kubelet_that_breaks_off(cluster: Cluster, said: bytes) -> None:
    """An error that says so, without a reason, as from kube-apiserver."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.send(said)

    cluster.kubelet.answer = answer
    got = await cluster.client.request("GET", POD + "/log")
    assert got.status == 500
    assert got.json()["message"].startswith(
        f'Get "https://127.0.0.1:{cluster.kubelet.port}/containerLogs/default/p/c": '
    )
    assert "reason" not in got.json()


async def test_a_kubelet_that_is_not_there(cluster: Cluster) -> None:
    """The words of a refused connection."""
    async with open_backend(unexpected) as other:
        port = other.port
    await cluster.client.request(
        "PATCH",
        "/api/v1/nodes/n/status",
        headers=MERGE,
        json={"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}},
    )
    got = await cluster.client.request("GET", POD + "/log")
    assert got.status == 500
    url = f"https://127.0.0.1:{port}/containerLogs/default/p/c"
    refused = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    assert got.json()["message"] == f'Get "{url}": {refused}'


async def test_a_log_that_breaks_off(cluster: Cluster) -> None:
    """The client can tell: its own answer has no end either."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.head(200, {"Content-Length": "100"})
        await asked.send(b"half")

    cluster.kubelet.answer = answer
    await cluster.client.send(encode_request("GET", POD + "/log"))
    await cluster.client.head()
    assert (await cluster.client.rest()) == b"4\r\nhalf\r\n"
