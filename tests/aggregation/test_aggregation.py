"""Requests that another server answers."""

from __future__ import annotations

from functools import partial

import orjson
import pytest
import trio
from registered import SERVICES, post, register, until

from kubetrio.api.pages.aggregated import tunnels
from kubetrio.http.limits import H1Config
from kubetrio.machinery.identity import UserInfo
from kubetrio.testing.aggregated import (
    GROUP,
    HOST,
    NAME,
    PATH,
    SERVICE,
    THINGS,
    OtherServer,
    api_service,
)
from kubetrio.testing.backend import ReceivedRequest
from kubetrio.testing.client import Client, encode_request
from kubetrio.testing.server import InProcess

THINGS_PATH = f"{PATH}/things"
JOE = UserInfo("joe", "7", ("dev", "system:authenticated"), {"example.org/Why": ("a", "ü b")})


async def test_what_the_other_server_learns(
    admin: Client, front: InProcess, other: OtherServer
) -> None:
    """Who asks, from where, and what: everything else that was sent on the way ends here."""
    await register(admin, other)
    role = {"apiGroups": [GROUP], "resources": ["things"], "verbs": ["*"]}
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    await post(admin, f"{rbac}/clusterroles", {**kind, "metadata": {"name": "t"}, "rules": [role]})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "t"}
    body = {
        **kind,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "t"},
        "roleRef": reference,
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "joe"}],
    }
    await post(admin, f"{rbac}/clusterrolebindings", body)
    sent = {
        "X-Remote-User": "system:admin",
        "X-Remote-Uid": "0",
        "X-Remote-Group": "system:masters",
        "X_Remote_Group": "system:masters",
        "X-Remote-Extra-Scopes": "all",
        "X-Forwarded-Uri": "/elsewhere",
        "Authorization": "Basic secret",
        "Connection": "keep-alive, X-Hop",
        "X-Hop": "1",
        "X-Kept": "2",
    }
    async with front.connect(certificate=JOE) as joe:
        answer = await joe.request("GET", f"{THINGS_PATH}?limit=5&b=%2f&a=1&flag", sent)
    assert answer.status == 200
    assert answer.json() == THINGS
    asked = other.asked(THINGS_PATH)[0]
    assert asked.target == f"{THINGS_PATH}?a=1&b=%2F&flag=&limit=5"
    assert [value for name, value in asked.headers if name == "x-remote-user"] == ["joe"]
    assert [value for name, value in asked.headers if name == "x-remote-uid"] == ["7"]
    groups = [value for name, value in asked.headers if name == "x-remote-group"]
    assert groups == ["dev", "system:authenticated"]
    extra = {name: value for name, value in asked.headers if name.startswith("x-remote-extra-")}
    assert set(extra) == {"x-remote-extra-example.org%2fwhy"}
    names = {name for name, _ in asked.headers}
    assert not names & {"authorization", "x-hop", "connection", "x_remote_group"}
    assert asked.get("x-kept") == "2"
    assert asked.get("host") == f"localhost:{other.port}"
    assert asked.get("x-forwarded-uri") == THINGS_PATH
    assert asked.get("audit-id") == dict(answer.head.headers)[b"audit-id"].decode()
    assert asked.raw.count(b"ystem:masters") == 0


async def test_a_user_without_rights(front: InProcess, admin: Client, other: OtherServer) -> None:
    """They are refused here, and the other server does not hear of it."""
    await register(admin, other)
    async with front.connect(certificate=JOE) as joe:
        answer = await joe.request("GET", THINGS_PATH)
    assert answer.status == 403
    assert answer.json()["message"] == (
        'things.agg.example is forbidden: User "joe" cannot list resource "things" in API group '
        '"agg.example" at the cluster scope'
    )
    assert not other.asked(THINGS_PATH)


async def test_bodies(admin: Client, other: OtherServer) -> None:
    """They arrive as they were sent."""
    got: list[bytes] = []

    async def take(asked: ReceivedRequest) -> None:
        got.append(await asked.body())
        await asked.reply(201, b'{"made":1}', {"Content-Type": "application/json"})

    other.answers[THINGS_PATH] = take
    await register(admin, other)
    body = b'{"kind":"Thing","size":"' + b"x" * 100_000 + b'"}'
    headers = {"Content-Type": "application/json"}
    answer = await admin.request("POST", THINGS_PATH, headers, body)
    assert (answer.status, answer.body, got) == (201, b'{"made":1}', [body])


async def test_unavailable(admin: Client, other: OtherServer) -> None:
    """Requests for what is not there are answered at once, in upstream's words."""
    await post(admin, SERVICES, api_service(other.port, other.ca))
    await until(admin, "ServiceNotFound")
    answer = await admin.request("GET", THINGS_PATH)
    assert (answer.status, answer.body) == (503, b"service unavailable\n")
    assert (await admin.request("GET", f"{PATH}/namespaces/x/things/y")).status == 503
    assert (await admin.request("GET", PATH)).body == b"service unavailable\n"


async def test_a_server_that_dies_and_comes_back(admin: Client, other: OtherServer) -> None:
    """First nobody answers, then nobody is asked, then all is well again."""

    async def close(asked: ReceivedRequest) -> None:
        await asked.stream.aclose()

    await register(admin, other)
    other.answers[THINGS_PATH] = other.answers[PATH] = close
    answer = await admin.request("GET", THINGS_PATH)
    assert (answer.status, answer.body) == (503, b"error trying to reach service: EOF\n")
    # A change of its Service has it looked at at once.
    path = "/api/v1/namespaces/default/services/be"
    patch = {"metadata": {"labels": {"look": "again"}}}
    merge = {"Content-Type": "application/merge-patch+json"}
    await admin.request("PATCH", path, merge, orjson.dumps(patch))
    await until(admin, "FailedDiscoveryCheck")
    assert (await admin.request("GET", THINGS_PATH)).body == b"service unavailable\n"
    other.answers.clear()
    await until(admin, "Passed")
    assert (await admin.request("GET", THINGS_PATH)).status == 200


async def test_nobody_listens(admin: Client, front: InProcess, other: OtherServer) -> None:
    """The words of a refused connection."""
    await register(admin, other)
    route = next(iter(front.api.edge.delegation.routes.values()))
    assert route.name == NAME
    patch = [{"op": "replace", "path": "/spec/service/port", "value": 1}]
    headers = {"Content-Type": "application/json-patch+json"}
    await admin.request("PATCH", f"{SERVICES}/{NAME}", headers, orjson.dumps(patch))
    answer = await admin.request("GET", THINGS_PATH)
    if answer.status == 503 and answer.body != b"service unavailable\n":  # it was looked at
        assert answer.body.startswith(b"error trying to reach service: dial tcp ")
        assert answer.body.endswith(b":1: connect: connection refused\n")


async def test_redirects(admin: Client, other: OtherServer) -> None:
    """Nobody is sent elsewhere."""

    async def move(asked: ReceivedRequest) -> None:
        await asked.reply(302, b"", {"Location": "https://elsewhere/"})

    other.answers[THINGS_PATH] = move
    await register(admin, other)
    answer = await admin.request("GET", THINGS_PATH)
    assert answer.status == 502
    assert answer.body == (
        b"the backend attempted to redirect this request, which is not permitted"
    )
    assert b"location" not in dict(answer.head.headers)


async def test_answers_lose_what_is_of_the_hop(admin: Client, other: OtherServer) -> None:
    """Headers about origins are this server's matter."""

    async def reply(asked: ReceivedRequest) -> None:
        headers = {"Access-Control-Allow-Origin": "*", "X-Mine": "1", "Content-Type": "text/x"}
        await asked.reply(418, b"tea", headers)

    other.answers[THINGS_PATH] = reply
    await register(admin, other)
    answer = await admin.request("GET", THINGS_PATH)
    headers = dict(answer.head.headers)
    assert (answer.status, answer.body, headers[b"x-mine"]) == (418, b"tea", b"1")
    assert headers[b"content-type"] == b"text/x"
    assert b"access-control-allow-origin" not in headers


async def test_watches_stream(admin: Client, other: OtherServer) -> None:
    """Each event arrives when it is sent, however long the watch lasts."""
    more = trio.Event()

    async def watch(asked: ReceivedRequest) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        await asked.send(head + b"Transfer-Encoding: chunked\r\n\r\n")
        await asked.chunk(b'{"type":"ADDED"}\n')
        await more.wait()
        await asked.chunk(b'{"type":"DELETED"}\n')
        await asked.chunk(b"")

    other.answers[THINGS_PATH] = watch
    await register(admin, other)
    await admin.send(encode_request("GET", f"{THINGS_PATH}?watch=1", {}, None))
    assert (await admin.head()).status == 200
    assert await admin.chunk() == b'{"type":"ADDED"}\n'
    more.set()
    assert await admin.chunk() == b'{"type":"DELETED"}\n'


async def test_upgrades(admin: Client, front: InProcess, other: OtherServer) -> None:
    """Another protocol is spoken with the other server, behind the same checks."""

    async def switch(asked: ReceivedRequest) -> None:
        assert asked.get("upgrade") == "echo"
        assert asked.get("x-remote-user") == "kubernetes-admin"
        await asked.head(101, {"Connection": "Upgrade", "Upgrade": "echo"})
        while data := await asked.receive():
            await asked.send(data.upper())

    path = f"{PATH}/namespaces/default/things/a/console"
    other.answers[path] = switch
    await register(admin, other)
    upgrade = {"Connection": "Upgrade", "Upgrade": "echo", "X-Remote-User": "nobody"}
    config = H1Config(tunnels=partial(tunnels, front.api.edge.delegation))
    async with front.connect(config=config) as client:
        await client.send(encode_request("GET", path, upgrade, None))
        assert (await client.head()).status == 101
        await client.send(b"hello")
        assert await client._exactly(5) == b"HELLO"
    async with front.connect(certificate=JOE, config=config) as joe:
        answer = await joe.request("GET", path, upgrade)
        assert answer.status == 403


async def test_a_hanging_discovery(
    admin: Client, other: OtherServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version's resources are waited for for a short time, whatever the limit of requests."""
    from kubetrio.api.proxy import delegating

    await register(admin, other)
    monkeypatch.setattr(delegating, "DISCOVERY_LIMIT_S", 0.1)

    async def hang(asked: ReceivedRequest) -> None:
        del asked
        await trio.sleep_forever()

    other.answers[PATH] = hang
    answer = await admin.request("GET", PATH)
    assert answer.status == 503
    assert answer.body == b"error trying to reach service: context deadline exceeded\n"


async def test_garbage(admin: Client, other: OtherServer) -> None:
    """A server that does not speak HTTP is an error of its own, not of this one."""

    async def babble(asked: ReceivedRequest) -> None:
        await asked.send(b"\x00\x01garbage\r\n\r\n" * 10)

    other.answers[THINGS_PATH] = babble
    await register(admin, other)
    answer = await admin.request("GET", THINGS_PATH)
    assert answer.status == 503
    assert answer.body.startswith(b"error trying to reach service: ")


async def test_the_certificate_is_for_the_service(admin: Client, other: OtherServer) -> None:
    """A Service of another name is not who the certificate says."""
    named = {**SERVICE, "metadata": {"name": "wrong"}}
    await post(admin, "/api/v1/namespaces/default/services", named)
    body = api_service(other.port, other.ca)
    body["spec"]["service"]["name"] = "wrong"
    await post(admin, SERVICES, body)
    found = await until(admin, "FailedDiscoveryCheck")
    assert f"certificate is not valid for {HOST.replace('be', 'wrong')}" in found["message"]
