"""The log of requests: which fields, of what, and when."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kubetrio.api.flowcontrol import PriorityAndFairness
from kubetrio.api.httplog import RequestLog, verb_of
from kubetrio.api.request import Request, parse_query, resolve
from kubetrio.api.response import TunnelResponse
from kubetrio.auth.authorize import ALLOWED
from kubetrio.bootstrap.flowconfig import FlowConfig
from kubetrio.config import Config, FlowControl
from kubetrio.machinery.identity import Attributes, UserInfo, Verdict
from kubetrio.observe.logs import TextFormatter
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess, open_api
from kubetrio.transport import Transport

ALICE = UserInfo("alice", groups=("devs", "system:authenticated"))
PODS = "/api/v1/namespaces/default/pods"
FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1"
FIELD = re.compile(r' ([\w-]+)=("(?:[^"\\]|\\.)*"|\S+)')


class Everybody:
    """Everybody may do everything."""

    def authorize(self, attributes: Attributes) -> Verdict:
        """Allow."""
        del attributes
        return ALLOWED


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """The log at -v=3, as servers that are made from now on find it."""
    caplog.set_level(logging.INFO - 3, "kubetrio.http")
    return caplog


def of(lines: pytest.LogCaptureFixture) -> list[Mapping[str, str]]:
    """Fields of the lines so far, as klog writes their values."""
    texts = [TextFormatter().format(record) for record in lines.records]
    lines.clear()
    return [dict(FIELD.findall(text)) for text in texts if '] "HTTP" ' in text]


@asynccontextmanager
async def talking(who: UserInfo | None = None) -> AsyncIterator[tuple[InProcess, Client]]:
    """A server and a connection to it."""
    async with open_api() as server:
        connection = server.connect(certificate=who) if who else server.connect()
        async with connection as client:
            yield server, client


async def test_the_fields_of_kube_apiserver_in_its_order(
    lines: pytest.LogCaptureFixture, autojump_clock: MockClock
) -> None:
    """Of an exempt request that waits for nothing."""
    async with talking() as (_, client):
        await client.request("GET", f"{PODS}?limit=5", {"User-Agent": 'a "b"'})
        (found,) = of(lines)
    identity = found["audit-ID"]
    assert len(identity) == len('""') + 36
    assert list(found.items()) == [
        ("verb", '"LIST"'),
        ("URI", f'"{PODS}?limit=5"'),
        ("latency", '"0s"'),
        ("userAgent", '"a \\"b\\""'),
        ("audit-ID", identity),
        ("srcIP", '"192.0.2.1"'),
        ("apf_pl", '"exempt"'),
        ("apf_fs", '"exempt"'),
        ("apf_iseats", "1"),
        ("apf_fseats", "0"),
        ("apf_additionalLatency", '"0s"'),
        ("apf_execution_time", '"0s"'),
        ("resp", "200"),
    ]


async def test_the_level_is_the_one_that_took_the_request(
    lines: pytest.LogCaptureFixture,
) -> None:
    """Whatever the answer is then."""
    async with talking(ALICE) as (_, client):
        assert (await client.request("GET", PODS)).status == 403
        (found,) = of(lines)
    assert (found["apf_pl"], found["apf_fs"]) == ('"global-default"', '"global-default"')
    assert found["resp"] == "403"


async def test_an_identity_that_is_too_long_is_cut(lines: pytest.LogCaptureFixture) -> None:
    """The answer has all of it."""
    async with talking() as (_, client):
        await client.request("GET", "/version", {"Audit-ID": "x" * 100})
        (found,) = of(lines)
    assert found["audit-ID"] == f'"{"x" * 64}"'


async def test_who_is_nobody_has_not_come_to_flow_control(
    lines: pytest.LogCaptureFixture,
) -> None:
    """401 is a line without its fields."""
    async with talking() as (server, _), server.connect(certificate=None) as client:
        await client.request("GET", PODS, {"Authorization": "Bearer wrong"})
        (found,) = of(lines)
    assert found["resp"] == "401"
    assert not [name for name in found if name.startswith("apf_")]


async def test_a_watch_is_logged_when_it_ends(
    lines: pytest.LogCaptureFixture, autojump_clock: MockClock
) -> None:
    """Its execution is over once its initial state is sent."""
    async with talking() as (_, client):
        await client.request("GET", f"{PODS}?watch=1&timeoutSeconds=30")
        (found,) = of(lines)
    assert found["verb"] == '"WATCH"'
    assert found["latency"] == '"30s"'
    assert found["apf_execution_time"] == '"0s"'


async def test_a_refused_request_has_not_been_executed(lines: pytest.LogCaptureFixture) -> None:
    """429 has the seats that were asked for, and no time."""
    level = {"type": "Limited", "limited": {"nominalConcurrencyShares": 0}}
    level["limited"] |= {"limitResponse": {"type": "Reject"}}  # type: ignore[operator]
    subject = {"kind": "User", "user": {"name": "alice"}}
    rule = {
        "clusterScope": True,
        "verbs": ["*"],
        "apiGroups": ["*"],
        "resources": ["*"],
        "namespaces": ["*"],
    }
    schema = {
        "priorityLevelConfiguration": {"name": "shut"},
        "matchingPrecedence": 5,
        "rules": [{"subjects": [subject], "resourceRules": [rule]}],
    }
    async with talking() as (server, root), server.connect(certificate=ALICE) as client:
        api = server.api
        assert isinstance(api.edge.flow, PriorityAndFairness)
        named = {"metadata": {"name": "shut"}}
        for kind, spec in (("prioritylevelconfigurations", level), ("flowschemas", schema)):
            made = await root.request("POST", f"{FLOW}/{kind}", json={**named, "spec": spec})
            assert made.status == 201, made.body
        keeper = FlowConfig(
            api.storage.registry,
            api.writes.operations,
            api.storage.informers,
            api.edge.flow.gate,
            api.edge.env,
        )
        await keeper.consume()
        api.security.authorizer.authorizers = (Everybody(),)
        api.edge.pending_bodies.most_bytes = 0  # bodies come while their requests have a seat
        async with server.connect(certificate=ALICE) as slow:
            await slow.send(b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: h\r\n")
            await slow.send(b"Content-Type: application/json\r\nContent-Length: 9\r\n\r\n")
            await wait_all_tasks_blocked()  # it has the one seat that every level has
            of(lines)
            answer = await client.request("GET", PODS)
            (found,) = of(lines)
    assert answer.status == 429
    assert (found["apf_pl"], found["apf_fs"], found["resp"]) == ('"shut"', '"shut"', "429")
    assert found["apf_iseats"] == "1"
    assert "apf_execution_time" not in found


async def test_without_priority_and_fairness_there_is_no_level(
    lines: pytest.LogCaptureFixture,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The rest of the line is the same."""
    config = Config(
        data_dir=tmp_path_factory.mktemp("data"),
        flowcontrol=FlowControl(priority_and_fairness=False),
    )
    async with open_api(config=config) as server, server.connect() as client:
        await client.request("GET", "/version")
        (found,) = of(lines)
    assert (found["verb"], found["resp"]) == ('"GET"', "200")
    assert "apf_pl" not in found


async def test_a_tunnel_is_hijacked(lines: pytest.LogCaptureFixture) -> None:
    """It has no status of ours; its line comes when either side has ended it."""

    async def carry(transport: Transport, behind: bytes) -> None:
        del transport, behind

    request = asked("GET", f"{PODS}/p/exec")
    response = TunnelResponse(carry)
    RequestLog().answered(request, response)
    assert of(lines) == []
    request.arrived = request.started = trio.current_time()
    await response.run(None, b"")  # type: ignore[arg-type]
    (found,) = of(lines)
    assert found["verb"] == '"CONNECT"'
    assert found["hijacked"] == "true"
    assert "resp" not in found


async def test_below_its_verbosity_nothing_is_collected() -> None:
    """Neither the log nor what tells it is there."""
    async with open_api() as server:
        flow = server.api.edge.flow
        assert isinstance(flow, PriorityAndFairness)
        assert "log" not in server.api.stages
        assert flow.leave == flow.gate.leave


def asked(method: str, target: str, content_type: str = "") -> Request:
    path, _, query = target.partition("?")
    headers = {b"content-type": content_type.encode()} if content_type else {}
    request = Request(method, path, query, headers, [])
    request.query = parse_query(query)
    request.info = resolve(method, path, request.query)
    return request


@pytest.mark.parametrize(
    ("method", "target", "verb"),
    [
        ("GET", PODS, "LIST"),
        ("GET", f"{PODS}/p", "GET"),
        ("HEAD", PODS, "LIST"),
        ("GET", "/version", "GET"),
        ("GET", "/api/v1/namespaces/default", "GET"),
        ("GET", f"{PODS}?watch=true", "WATCH"),
        ("GET", f"{PODS}?watch=0", "LIST"),
        ("GET", f"{PODS}/p?watch", "WATCH"),
        ("POST", PODS, "POST"),
        ("PUT", f"{PODS}/p", "PUT"),
        ("PATCH", f"{PODS}/p", "PATCH"),
        ("DELETE", PODS, "DELETE"),
        ("POST", f"{PODS}/p/exec", "CONNECT"),
        ("GET", f"{PODS}/p/log", "CONNECT"),
        ("GET", "/api/v1/nodes/n/proxy/x", "CONNECT"),
        ("OPTIONS", PODS, "OPTIONS"),
    ],
)
def test_verbs_are_those_of_kube_apiservers_metrics(method: str, target: str, verb: str) -> None:
    """Not the verbs of authorization."""
    assert verb_of(asked(method, target)) == verb


def test_an_apply_is_no_patch() -> None:
    """By its media type."""
    assert verb_of(asked("PATCH", f"{PODS}/p", "application/apply-patch+yaml")) == "APPLY"
