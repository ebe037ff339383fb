"""The pipeline over HTTP: order of its stages, identities, errors, numbers."""

from __future__ import annotations

import io
import logging
from typing import Any

import pytest
import trio
import trio.testing

from kubetrio.api import routing
from kubetrio.api.request import Request
from kubetrio.observe.logs import LOGGER, TextFormatter
from kubetrio.resources.operations import Operations
from kubetrio.resources.writes import Written
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


def named(name: str, **more: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **more}}


async def test_the_life_of_an_object(client: Client) -> None:
    """Create, get, list, update, delete, and each answer is the object."""
    made = await client.request("POST", CONFIGMAPS, json=named("one"))
    assert made.status == 201
    meta = made.json()["metadata"]
    assert {"uid", "resourceVersion", "creationTimestamp", "namespace"} <= set(meta)
    got = await client.request("GET", CONFIGMAPS + "/one")
    assert got.body == made.body
    listed = (await client.request("GET", CONFIGMAPS)).json()
    assert [item["metadata"]["uid"] for item in listed["items"]] == [meta["uid"]]
    changed = await client.request("PUT", CONFIGMAPS + "/one", json=named("one", labels={"a": "b"}))
    assert changed.status == 200
    assert int(changed.json()["metadata"]["resourceVersion"]) > int(meta["resourceVersion"])
    assert (await client.request("DELETE", CONFIGMAPS + "/one")).json()["status"] == "Success"
    assert (await client.request("GET", CONFIGMAPS + "/one")).status == 404


async def test_a_watch_sees_what_happens(server: InProcess, client: Client) -> None:
    """ADDED, MODIFIED and DELETED, each as it is stored."""
    async with server.connect() as watcher:
        target = CONFIGMAPS + "?watch=1&resourceVersion=4"
        await watcher.send(f"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        await watcher.head()
        await client.request("POST", CONFIGMAPS, json=named("one"))
        assert (await watcher.chunk()).startswith(b'{"type":"ADDED","object":{"kind":"ConfigMap"')
        await client.request("PUT", CONFIGMAPS + "/one", json=named("one", labels={"a": "b"}))
        assert (await watcher.chunk()).startswith(b'{"type":"MODIFIED"')
        await client.request("DELETE", CONFIGMAPS + "/one")
        assert (await watcher.chunk()).startswith(b'{"type":"DELETED"')
        server.api.end_streams()
        assert await watcher.chunk() == b""


# ---------------------------------------------------------------- who


# ---------------------------------------------------------------- audit identity, errors


async def test_every_answer_has_an_identity(client: Client) -> None:
    """A new one each, unless the client brings one."""
    first = (await client.request("GET", "/version")).head.get(b"audit-id")
    second = (await client.request("GET", "/version")).head.get(b"audit-id")
    assert first
    assert first != second
    for mine in ("mine", "x" * 1000):
        answer = await client.request("GET", "/version", {"Audit-Id": mine})
        assert answer.head.get(b"audit-id") == mine.encode()
    assert (await client.request("GET", "/version", {"Audit-Id": ""})).head.get(b"audit-id")


async def test_of_several_identities_the_first_counts(client: Client) -> None:
    """An identity is one header."""
    await client.send(b"GET /version HTTP/1.1\r\nHost: a\r\nAudit-Id: one\r\nAudit-Id: two\r\n\r\n")
    assert (await client.receive()).head.get(b"audit-id") == b"one"


@pytest.mark.parametrize(
    ("target", "token", "status"), [("/version", "wrong", 401), ("/version?timeout=zz", "", 400)]
)
async def test_answers_that_come_early_have_one_too(
    client: Client, server: InProcess, target: str, token: str, status: int
) -> None:
    """Also those to nobody known, and to what cannot be read."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with server.connect(certificate=None) as anonymous:
        answer = await anonymous.request("GET", target, headers)
        assert answer.status == status
        assert answer.head.get(b"audit-id")
        answer = await anonymous.request("GET", target, {**headers, "Audit-Id": "mine"})
        assert answer.head.get(b"audit-id") == b"mine"


async def test_a_bug_costs_one_request(
    server: InProcess,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """500 with a Status, a line in the log, and the connection goes on."""

    def broken(_registry: object, _request: object) -> None:
        raise LookupError("bug")

    monkeypatch.setattr(routing, "find", broken)
    answer = await client.request("GET", CONFIGMAPS)
    assert answer.status == 500
    assert answer.json()["reason"] == "InternalError"
    assert "request failed" in caplog.text
    monkeypatch.undo()
    assert (await client.request("GET", CONFIGMAPS)).status == 200


async def test_a_bug_before_the_path_is_read_is_answered_too(
    server: InProcess, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory ran out there, say: the answer is counted and sent all the same."""

    def broken(_: Request) -> None:
        raise MemoryError

    monkeypatch.setattr(server.api, "_stages", (broken,))
    answer = await client.request("GET", CONFIGMAPS)
    assert (answer.status, answer.json()["reason"]) == (500, "InternalError")


async def test_the_log_of_a_bug_says_where_it_is_and_no_secret(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole traceback, method, path and identity; of query, headers and body nothing."""

    def broken(_registry: object, _request: object) -> None:
        raise LookupError("bug")

    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(TextFormatter())
    logger = logging.getLogger(LOGGER)
    logger.addHandler(handler)
    monkeypatch.setattr(routing, "find", broken)
    try:
        await client.request(
            "POST",
            CONFIGMAPS + "?pretty=hidden-query",
            {"Audit-Id": "mine", "X-Any": "hidden-header"},
            json={**named("one"), "data": {"a": "hidden-body"}},
        )
    finally:
        logger.removeHandler(handler)
    text = stream.getvalue()
    for words in (
        f'method="POST" path="{CONFIGMAPS}" audit="mine" stacktrace=<',
        "\tTraceback (most recent call last):",
        "in _walk",
        "in broken",
        "\tLookupError: bug",
    ):
        assert words in text
    for secret in ("hidden-query", "hidden-header", "hidden-body"):
        assert secret not in text


@pytest.mark.parametrize(
    ("target", "status"),
    [
        (CONFIGMAPS + "/none", 404),
        ("/apis/apps/v9/deployments", 404),
        ("/api/v1/nothing", 404),
        (CONFIGMAPS + "?limit=x", 400),
        (CONFIGMAPS + "?resourceVersion=x", 400),
    ],
)
async def test_errors_are_status_objects(client: Client, target: str, status: int) -> None:
    """Code, reason and message in one shape."""
    answer = await client.request("GET", target)
    body: dict[str, Any] = answer.json()
    assert answer.status == body["code"] == status
    assert (body["kind"], body["apiVersion"], body["status"]) == ("Status", "v1", "Failure")
    assert body["message"]
    assert answer.body.endswith(b"\n")


@pytest.mark.parametrize("path", ["/nowhere", "/apis/none", "/apis/none/v1/things"])
async def test_paths_of_nobody_are_plain(client: Client, path: str) -> None:
    """As Go's mux writes them."""
    answer = await client.request("GET", path)
    assert (answer.status, answer.body) == (404, b"404 page not found\n")
    assert answer.head.get(b"content-type") == b"text/plain; charset=utf-8"
    assert answer.head.get(b"x-content-type-options") == b"nosniff"


async def test_bodies_over_the_limit_are_413(client: Client) -> None:
    """Three mebibytes are the limit."""
    answer = await client.request("POST", CONFIGMAPS, body=b" " * (3 * 1024 * 1024 + 1))
    assert answer.status == 413
    assert answer.json()["reason"] == "RequestEntityTooLarge"


# ---------------------------------------------------------------- numbers


async def test_unknown_paths_make_no_time_series(client: Client) -> None:
    """What a client writes into a path does not become a label."""
    for path in ("/api/v1/invented", "/apis/invented/v1/things", "/apis/apps/invented/things"):
        await client.request("GET", path)
    assert b"invented" not in (await client.request("GET", "/metrics")).body


async def test_large_answers_are_compressed_on_request(client: Client) -> None:
    """Over 128 KiB, for clients that accept gzip."""
    data = {"a": "b" * 200_000}
    await client.request("POST", CONFIGMAPS, json={**named("large"), "data": data})
    answer = await client.request("GET", CONFIGMAPS + "/large", {"Accept-Encoding": "gzip"})
    assert answer.head.get(b"content-encoding") == b"gzip"


async def test_answers_are_not_for_caches(client: Client) -> None:
    """`Cache-Control: no-cache, private`, as kube-apiserver says to everybody."""
    answer = await client.request("GET", CONFIGMAPS)
    assert answer.head.get(b"cache-control") == b"no-cache, private"


async def create_beside_each_other(server: InProcess, count: int) -> list[int]:
    """Create objects on as many connections at once; the statuses."""
    statuses: list[int] = []

    async def create(number: int) -> None:
        async with server.connect() as client:
            answer = await client.request("POST", CONFIGMAPS, json=named(f"beside-{number}"))
            statuses.append(answer.status)

    async with trio.open_nursery() as nursery:
        for number in range(count):
            nursery.start_soon(create, number)
    return statuses


async def test_who_is_under_way_is_counted(
    server: InProcess, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever became of a request, it is not under way behind its answer."""
    counted: list[int] = []

    async def stuck(*args: object) -> Written:
        counted.append(server.api.edge.in_flight.requests)
        await trio.sleep_forever()
        raise AssertionError("cancelled before")

    assert (await client.request("GET", "/nothing")).status == 404
    assert (await client.request("POST", CONFIGMAPS, json={"kind": 1})).status == 400
    assert server.api.edge.in_flight.requests == 0
    monkeypatch.setattr(Operations, "create", stuck)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(create_beside_each_other, server, 2)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert counted == [1, 2]
    await trio.testing.wait_all_tasks_blocked()
    assert server.api.edge.in_flight.requests == 0


@pytest.mark.parametrize(
    ("query", "agent", "indented"),
    [
        ("", "kubectl/v1.36", False),
        ("", "curl/8.0", True),
        ("", "Mozilla/5.0 (X11)", True),
        ("", "Wget/1.0", True),
        ("?pretty=true", "kubectl/v1.36", True),
        ("?pretty=1", "kubectl/v1.36", True),
        ("?pretty=false", "curl/8.0", False),
        ("?pretty=0", "curl/8.0", False),
        ("?pretty=", "curl/8.0", True),
        ("?pretty=maybe", "curl/8.0", False),
    ],
)
@pytest.mark.parametrize(
    "path", ["/api/v1/namespaces/none", "/api/v1/none", "/api/v1/nodes?limit=x"]
)
async def test_errors_are_indented_as_objects_are(
    client: Client, path: str, query: str, agent: str, indented: bool
) -> None:
    """For people, from whatever stage they come; nothing follows the last brace then."""
    query = query.replace("?", "&") if "?" in path else query
    answer = await client.request("GET", path + query, {"User-Agent": agent})
    assert answer.status in (400, 404)
    begin, end = (b'{\n  "kind": "Status",\n', b"\n}") if indented else (b'{"kind"', b"}\n")
    assert (answer.body.startswith(begin), answer.body.endswith(end)) == (True, True)
