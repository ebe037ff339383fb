"""Streams to containers and ports of pods: where they lead, and who may have them."""

from __future__ import annotations

import pytest

from kubetrio.machinery.identity import Attributes, Decision, UserInfo, Verdict
from kubetrio.testing.backend import ReceivedRequest
from kubetrio.testing.client import encode_request

from .cluster import MERGE, POD, PODS, Cluster, create, pod

# ---------------------------------------------------------------------- logs


# ---------------------------------------------------------------------- proxies


# ---------------------------------------------------------------------- services


# ---------------------------------------------------------------------- upgrades

UPGRADE = {"Connection": "Upgrade", "Upgrade": "chat"}
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: chat\r\nConnection: Upgrade\r\n\r\n"


async def test_a_stream_to_nobody(cluster: Cluster) -> None:
    """500 in kube-apiserver's words."""
    status = {"status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}}}
    await cluster.client.request("PATCH", "/api/v1/nodes/n/status", headers=MERGE, json=status)
    got = await cluster.client.request("POST", POD + "/attach", UPGRADE)
    assert got.status == 500
    refused = "error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused"
    assert got.json()["message"] == refused
    assert "reason" not in got.json()


@pytest.mark.parametrize(
    ("path", "there"),
    [
        (
            "exec?command=sh&command=-c&command=echo+a%26b&stdin=true&stdout=1&stderr=0&tty=false",
            "/exec/default/p/c?command=sh&command=-c&command=echo+a%26b&input=1&output=1",
        ),
        ("attach?stdout=true&tty=true&container=c", "/attach/default/p/c?output=1&tty=1"),
        ("portforward?ports=80&ports=81", "/portForward/default/p?port=80%2C81"),
        ("portforward?ports=80,081&ports=0", "/portForward/default/p?port=80%2C81%2C0"),
        ("portforward", "/portForward/default/p"),
    ],
)
async def test_where_streams_lead(cluster: Cluster, path: str, there: str) -> None:
    """To the kubelet's paths, in its spelling."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.send(SWITCH)

    cluster.kubelet.answer = answer
    await cluster.client.send(encode_request("POST", f"{POD}/{path}", UPGRADE))
    assert (await cluster.client.head()).status == 101
    assert [asked.target for asked in cluster.kubelet.asked] == [there]


@pytest.mark.parametrize(
    ("ports", "problem"),
    [
        ("x", 'parsing "x": invalid syntax'),
        ("80,", 'parsing "": invalid syntax'),
        ("80&ports=-1", 'parsing "-1": invalid syntax'),
        ("65535,65536", 'parsing "65536": value out of range'),
    ],
)
async def test_ports_that_are_none(cluster: Cluster, ports: str, problem: str) -> None:
    """400 for what is no unsigned number of 16 bits, alone or in a list."""
    got = await cluster.client.request("POST", f"{POD}/portforward?ports={ports}", UPGRADE)
    message = f"cannot convert to []int32: strconv.ParseUint: {problem}"
    assert (got.status, got.json()["message"]) == (400, message)


@pytest.mark.parametrize("path", ["log", "exec?command=ls", "attach", "portforward"])
async def test_a_pod_whose_node_is_not_there(cluster: Cluster, path: str) -> None:
    """404 in the name of the node, of the resource that was asked for."""
    await create(cluster.client, PODS, pod("q", node="nowhere"))
    got = await cluster.client.request("GET", f"{PODS}/q/{path}")
    assert (got.status, got.json()["message"]) == (404, 'pods "nowhere" not found')


async def test_reading_is_not_running(cluster: Cluster) -> None:
    """A WebSocket begins with GET; the right to create is asked for all the same."""

    class Readers:
        def authorize(self, attributes: Attributes) -> Verdict:
            good = attributes.verb == "get"
            return Verdict(Decision.ALLOW if good else Decision.DENY, "no create")

    cluster.server.api.security.authorizer.authorizers = (Readers(),)
    reader = UserInfo("reader")
    for verb in ("exec?command=ls", "attach", "portforward"):
        async with cluster.server.connect(certificate=reader) as client:
            got = await client.request("GET", f"{POD}/{verb}", UPGRADE)
        assert got.status == 403
        assert got.json()["message"] == 'pods "p" is forbidden: no create'
    assert not cluster.kubelet.asked


async def test_streams_are_counted(cluster: Cluster) -> None:
    """Open tunnels are long-running requests."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.send(SWITCH)
        await asked.receive()

    cluster.kubelet.answer = answer
    async with cluster.server.connect() as client:
        await client.send(encode_request("POST", POD + "/exec?command=ls", UPGRADE))
        await client.head()
        text = (await cluster.client.request("GET", "/metrics")).body.decode()
        [line] = [
            line
            for line in text.splitlines()
            if line.startswith("apiserver_longrunning_requests{") and 'subresource="exec"' in line
        ]
        assert line.endswith(" 1.0")
