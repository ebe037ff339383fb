"""The pipeline over HTTP: order of its stages, identities, errors, numbers."""

from __future__ import annotations

import io
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from kubetrio.api import bodies, routing, stages
from kubetrio.api.request import Request, resolve
from kubetrio.api.stages import STAGES, request_key
from kubetrio.auth.tokens import TOKEN_PROTOCOL
from kubetrio.config import Authentication, Config, Memory, Serving
from kubetrio.http import shortage
from kubetrio.machinery.identity import UserInfo
from kubetrio.observe.logs import LOGGER, TextFormatter
from kubetrio.resources.operations import Operations
from kubetrio.resources.writes import Written
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess, in_memory, open_api

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
SOMEBODY = UserInfo("somebody")


def named(name: str, **more: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **more}}


def test_stages_are_in_the_order_of_kube_apiserver() -> None:
    """Flow control comes before authorization, and both before the body."""
    assert [row.name for row in STAGES] == [
        "log",
        "parse",
        "authenticate",
        "refuse_token",
        "audit",
        "impersonate",
        "spare_memory",
        "flow_control",
        "authorize",
        "decode",
        "inject",
        "admit_and_store",
    ]


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


@pytest.fixture
def tokens(tmp_path: Path) -> Config:
    """A configuration with two static tokens."""
    file = tmp_path / "tokens.csv"
    file.write_text('secret,admin,1,"system:masters"\nother,somebody,2\n')
    return Config(
        data_dir=tmp_path / "data",
        serving=Serving(advertise_address="192.0.2.10"),
        auth=Authentication(token_auth_file=file),
    )


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("Bearer secret", 200),
        ("bearer secret", 200),
        ("Bearer other", 403),
        ("Bearer wrong", 401),
        ("Basic c2VjcmV0OnNlY3JldA==", 403),
        ("", 403),
    ],
)
async def test_bearer_tokens(tokens: Config, header: str, status: int) -> None:
    """Known, known without rights, unknown, none."""
    async with open_api(config=tokens) as server, server.connect(certificate=None) as client:
        answer = await client.request("GET", CONFIGMAPS, {"Authorization": header})
        assert answer.status == status
        if status != 200:
            assert answer.json()["kind"] == "Status"


@pytest.mark.parametrize(
    ("protocols", "more", "status"),
    [
        (f"{TOKEN_PROTOCOL}c2VjcmV0, base64.binary.k8s.io", {}, 200),
        (f"{TOKEN_PROTOCOL}d3Jvbmc, base64.binary.k8s.io", {}, 401),
        (f"{TOKEN_PROTOCOL}c2VjcmV0", {}, 401),
        (f"{TOKEN_PROTOCOL}c2VjcmV0, base64.binary.k8s.io", {"Connection": "close"}, 403),
        (f"{TOKEN_PROTOCOL}c2VjcmV0, base64.binary.k8s.io", {"Upgrade": "h2c"}, 403),
        ("base64.binary.k8s.io", {}, 403),
    ],
)
async def test_tokens_of_websockets(
    tokens: Config, protocols: str, more: dict[str, str], status: int
) -> None:
    """Scripts in browsers cannot set other headers."""
    headers = {"Connection": "keep-alive, Upgrade", "Upgrade": "WebSocket", **more}
    headers["Sec-WebSocket-Protocol"] = protocols
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    async with open_api(config=tokens) as server:
        response = await server.api.handle(Request("GET", CONFIGMAPS, "", dict(raw), raw))
        assert response.status == status


async def test_a_token_behind_two_blanks_is_none(tokens: Config) -> None:
    """And its sender is told."""
    async with open_api(config=tokens) as server, server.connect(certificate=None) as client:
        answer = await client.request("GET", CONFIGMAPS, {"Authorization": "Bearer  secret"})
        assert answer.status == 403
        assert answer.head.get(b"warning") == (
            b'299 - "the provided Authorization header contains extra space before the bearer '
            b'token, and is ignored"'
        )


async def test_without_anonymous_clients_everybody_says_who(tokens: Config) -> None:
    """401 also for paths that anybody may see."""
    config = replace(tokens, auth=replace(tokens.auth, anonymous_auth=False))
    async with open_api(config=config) as server, server.connect(certificate=None) as client:
        answer = await client.request("GET", "/version")
        assert answer.status == 401
        assert answer.json()["reason"] == "Unauthorized"


async def test_forbidden_in_kubes_words(server: InProcess) -> None:
    """Somebody without rights is told what he lacks."""
    async with server.connect(certificate=SOMEBODY) as client:
        answer = await client.request("GET", CONFIGMAPS + "/one")
        assert answer.status == 403
        assert answer.json()["message"] == (
            'configmaps "one" is forbidden: User "somebody" cannot get resource "configmaps" '
            'in API group "" in the namespace "default"'
        )


async def test_without_memory_requests_wait_for_better_times(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but deletions, what is no resource, and those of administrators."""
    del autojump_clock
    used = [2]
    monkeypatch.setattr(shortage, "_resident", lambda: lambda: used[0])
    config = replace(in_memory(tmp_path), memory=Memory(limit_bytes=1))
    async with open_api(config=config) as server:
        assert "spare_memory" in server.api.stages
        await trio.sleep(1)  # until the memory is looked at
        await refused_without_memory(server)
        used[0] = 0
        await trio.sleep(1)
        async with server.connect(certificate=SOMEBODY) as client:
            assert (await client.request("GET", CONFIGMAPS + "/one")).status == 403


async def refused_without_memory(server: InProcess) -> None:
    async with server.connect(certificate=SOMEBODY) as client:
        answer = await client.request("GET", CONFIGMAPS + "/one")
        assert (answer.status, answer.head.get(b"retry-after")) == (429, b"1")
        assert answer.json()["reason"] == "TooManyRequests"
        assert (await client.request("DELETE", CONFIGMAPS + "/one")).status == 403
        assert (await client.request("GET", "/readyz")).status == 200
    async with server.connect() as admin:
        assert (await admin.request("GET", CONFIGMAPS)).status == 200


async def test_authorization_comes_before_existence(server: InProcess) -> None:
    """Somebody without rights does not learn what there is, nor what may be sent."""
    async with server.connect(certificate=SOMEBODY) as client:
        for method, target in (
            ("GET", "/apis/none/v1/things"),
            ("GET", "/nowhere"),
            ("PUT", CONFIGMAPS),
            ("POST", CONFIGMAPS),
        ):
            assert (await client.request(method, target, body=b"{")).status == 403, target


async def test_administrators_may_act_as_others(client: Client) -> None:
    """And then have the others' rights."""
    plain = await client.request("GET", CONFIGMAPS, {"Impersonate-User": "x"})
    assert plain.status == 403
    assert b'User \\"x\\" cannot list' in plain.body
    masters = {"Impersonate-User": "x", "Impersonate-Group": "system:masters"}
    assert (await client.request("GET", CONFIGMAPS, masters)).status == 200


async def test_others_may_not(server: InProcess) -> None:
    """Impersonation is itself a right."""
    async with server.connect(certificate=SOMEBODY) as client:
        answer = await client.request("GET", "/version", {"Impersonate-User": "x"})
        assert answer.status == 403
        assert b'User \\"somebody\\" cannot impersonate' in answer.body


async def test_attributes_alone_are_nobody(client: Client) -> None:
    """A header of impersonation is seen under any name."""
    answer = await client.request("GET", "/version", {"Impersonate-Extra-foo": "x"})
    assert answer.status == 400
    assert "without impersonating a user name" in answer.json()["message"]


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


@pytest.mark.parametrize(
    ("method", "path", "verb"),
    [("GET", "/version", "GET"), ("BREW", "/version", "other"), ("BREW", "/api/v1/pods", "other")],
)
def test_clients_cannot_invent_verbs(method: str, path: str, verb: str) -> None:
    """Labels of metrics are a closed set."""
    request = Request(method, path, "", {}, [])
    request.info, request.query = resolve(method, path, {}), {}
    assert request_key(request, 200).verb == verb


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


async def test_a_crowd_of_writes_goes_in_cohorts(
    server: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several have come to their bodies before the first of these is decoded."""
    seen: list[str] = []
    decode, passes = bodies.decode_body, server.api.edge.flow.passes

    async def decoding(*args: Any, **options: Any) -> None:
        seen.append("decode")
        await decode(*args, **options)

    def passing(request: Request) -> bool:
        seen.append("pass")
        return passes(request)

    monkeypatch.setattr(stages, "decode_body", decoding)
    monkeypatch.setattr(server.api.edge.flow, "passes", passing)
    assert await create_beside_each_other(server, 12) == [201] * 12
    order = "".join(kind[0] for kind in seen)
    assert "p" * 8 in order
    assert "d" * 8 in order
    assert server.api.edge.in_flight.requests == 0


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
