"""The stages: their order, who is let in, and what they refuse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from kubetrio.api import bodies, stages
from kubetrio.api.request import Request, resolve
from kubetrio.api.stages import STAGES, request_key
from kubetrio.auth.tokens import TOKEN_PROTOCOL
from kubetrio.config import Authentication, Config, Memory, Serving
from kubetrio.http import shortage
from kubetrio.machinery.identity import UserInfo
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


@pytest.mark.parametrize(
    ("method", "path", "verb"),
    [("GET", "/version", "GET"), ("BREW", "/version", "other"), ("BREW", "/api/v1/pods", "other")],
)
def test_clients_cannot_invent_verbs(method: str, path: str, verb: str) -> None:
    """Labels of metrics are a closed set."""
    request = Request(method, path, "", {}, [])
    request.info, request.query = resolve(method, path, {}), {}
    assert request_key(request, 200).verb == verb


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
