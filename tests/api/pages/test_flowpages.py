"""Pages and answers of flow control, through the whole pipeline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio
from prometheus_client.parser import text_string_to_metric_families
from trio.testing import MockClock

from kubetrio.api.flowcontrol import MaxInFlight, PriorityAndFairness
from kubetrio.api.pages.flowpages import ROOT, STREAM_PERIOD_S, stamp
from kubetrio.api.request import Request
from kubetrio.config import Config, FlowControl, Storage
from kubetrio.flow.observe import go_duration, table
from kubetrio.machinery.identity import UserInfo
from kubetrio.observe.metrics import exposition
from kubetrio.schema import builtin
from kubetrio.testing.client import ADMIN
from kubetrio.testing.server import open_api
from kubetrio.watch.window import Batch

ALICE = UserInfo("alice", groups=("devs", "system:authenticated"))
# As a kube-apiserver 1.36 heads its tables, its spelling included.
LEVEL_COLUMNS = (
    "PriorityLevelName ActiveQueues IsIdle IsQuiescing WaitingRequests ExecutingRequests"
    " DispatchedRequests RejectedRequests TimedoutRequests CancelledRequests"
)
QUEUE_COLUMNS = (
    "PriorityLevelName Index PendingRequests ExecutingRequests SeatsInUse NextDispatchR"
    " InitialSeatsSum MaxSeatsSum TotalWorkSum"
)
REQUEST_COLUMNS = (
    "PriorityLevelName FlowSchemaName QueueIndex RequestIndexInQueue FlowDistingsher ArriveTime"
    " InitialSeats FinalSeats AdditionalLatency StartTime"
)
DETAIL_COLUMNS = " UserName Verb APIPath Namespace Name APIVersion Resource SubResource"
TERMINATIONS = "apiserver_request_terminations"
UIDS = (b"x-kubernetes-pf-flowschema-uid", b"x-kubernetes-pf-prioritylevel-uid")


class _Deaf:
    def offer(self, batch: Batch) -> bool:
        return not batch

    def lag(self) -> None:
        raise AssertionError("nothing is committed")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split(",")]


def test_table_is_aligned_like_go_does() -> None:
    """A comma behind each cell but the last, padded to the widest, at least eight places."""
    text = table(("PriorityLevelName", "Is", "Last"), [("catch-all", "true", "0")])
    assert text == "PriorityLevelName, Is,     Last\ncatch-all,         true,   0\n"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (0.005, "5ms"), (1.5, "1.5s"), (0.0025, "2.5ms"), (2e-6, "2µs"), (3e-9, "3ns")],
)
def test_durations_as_go_prints_them(seconds: float, text: str) -> None:
    """Unit by size, no trailing zeros."""
    assert go_duration(seconds) == text


def test_stamp() -> None:
    """Times of the monotonic clock come out as dates with what fraction they have."""
    assert stamp(100.0, 1_700_000_000.0, 99.5) == "2023-11-14T22:13:19.5Z"
    assert stamp(100.0, 1_700_000_000.0, 100.0) == "2023-11-14T22:13:20Z"


async def test_dumps() -> None:
    """Columns are kube-apiserver's; the request that asks is in the dump."""
    async with open_api() as server, server.connect() as client:
        for path, columns in (
            (f"{ROOT}/dump_priority_levels", LEVEL_COLUMNS),
            (f"{ROOT}/dump_queues", QUEUE_COLUMNS),
            (f"{ROOT}/dump_requests", REQUEST_COLUMNS),
            (f"{ROOT}/dump_requests?includeRequestDetails=1", REQUEST_COLUMNS + DETAIL_COLUMNS),
        ):
            answer = await client.request("GET", path)
            assert answer.status == 200
            assert answer.head.get(b"content-type") == b"text/plain; charset=utf-8"
            lines = answer.body.decode().splitlines()
            assert tuple(cells(lines[0])) == tuple(columns.split())
            assert all(len(cells(line)) == len(cells(lines[0])) for line in lines)
        assert cells(lines[1])[11:13] == ["get", f"{ROOT}/dump_requests"]


@pytest.mark.parametrize(
    ("query", "details"),
    [
        ("", False),
        ("?includeRequestDetails=", False),
        ("?includeRequestDetails=0", True),
        ("?includeRequestDetails=false", True),
    ],
)
async def test_details_are_asked_for_by_any_value(query: str, details: bool) -> None:
    """Whatever it says."""
    async with open_api() as server, server.connect() as client:
        answer = await client.request("GET", f"{ROOT}/dump_requests{query}")
        assert (b"UserName" in answer.body.splitlines()[0]) is details


async def test_dumps_do_not_ask_for_the_method() -> None:
    """No more than kube-apiserver does; a path of nobody is nobody's."""
    async with open_api() as server, server.connect() as client:
        for page in ("dump_priority_levels", "dump_queues", "dump_requests"):
            answer = await client.request("POST", f"{ROOT}/{page}")
            assert answer.status == 200
            assert answer.body.startswith(b"PriorityLevelName,")
        assert (await client.request("POST", f"{ROOT}/none")).status == 404


async def test_pages_are_not_for_everybody() -> None:
    """The pages are authorized like any path."""
    async with open_api() as server, server.connect(certificate=ALICE) as client:
        for page in ("", "/", "/state", "/state?watch=1", "/dump_queues"):
            assert (await client.request("GET", ROOT + page)).status == 403


@pytest.mark.parametrize(
    ("path", "location"), [(ROOT, b"../ui/#/load"), (f"{ROOT}/", b"../../ui/#/load")]
)
async def test_the_folder_leads_to_the_page(path: str, location: bytes) -> None:
    """By a relative address, so that a proxy may put the server below a path of its own."""
    async with open_api() as server, server.connect() as client:
        answer = await client.request("GET", path)
        assert (answer.status, answer.body) == (302, b"")
        assert answer.head.get(b"location") == location
        assert (await client.request("POST", path)).status == 405


async def test_the_state_has_every_level() -> None:
    """With the number of its queues, and a row for each queue that holds requests."""
    async with open_api() as server, server.connect() as client:
        state = (await client.request("GET", f"{ROOT}/state")).json()
        levels = {level["name"]: level for level in state["levels"]}
        assert len(levels) == 8
        assert levels["workload-low"]["queues"] == 128
        assert levels["workload-low"]["used"] == []
        assert (await client.request("GET", f"{ROOT}/none")).status == 404
        assert (await client.request("GET", f"{ROOT}/ws")).status == 404
        assert (await client.request("POST", f"{ROOT}/state")).status == 405


async def test_a_stream_of_states_holds_no_seat() -> None:
    """Each state is a line of JSON, and the request does not count as executing."""
    async with open_api() as server, server.connect() as client:
        await client.send(b"GET %b/state?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n" % ROOT.encode())
        assert (await client.head()).status == 200
        first, second = [await client.chunk() for _ in range(2)]
        assert first.endswith(b"\n")
        assert json.loads(second)["time"] > json.loads(first)["time"]
        assert isinstance(server.api.edge.flow, PriorityAndFairness)
        assert server.api.edge.flow.executing() == (0, 0)
        server.api.end_streams()
        assert await client.chunk() == b""


async def test_headers() -> None:
    """Every answer behind authentication says what it was classified as, refusals too."""
    async with open_api() as server:
        async with server.connect(certificate=ALICE) as client:
            answer = await client.request("GET", "/api/v1/secrets")
            assert answer.status == 403
            assert all(answer.head.get(name) for name in UIDS)
        async with server.connect(certificate=None) as client:
            wrong = {"Authorization": "Bearer wrong"}
            answer = await client.request("GET", "/api/v1/secrets", wrong)
            assert answer.status == 401
            assert not any(answer.head.get(name) for name in UIDS)


async def test_metrics_are_exposed() -> None:
    """Every flow control metric of the reference is scraped; what they say, see test_exposition."""
    async with open_api() as server, server.connect() as client:
        text = (await client.request("GET", "/metrics")).body.decode()
    for name, fact in builtin.load("metrics").items():
        if fact.get("flowControl"):
            assert f"# TYPE {name} {fact.get('observedType', fact['type'])}" in text, name


async def test_max_in_flight(tmp_path: Path) -> None:
    """Without priority and fairness: no headers, and 429 over the limit but for masters."""
    config = Config(
        data_dir=tmp_path,
        storage=Storage(durability="normal"),
        flowcontrol=FlowControl(max_requests_inflight=1, priority_and_fairness=False),
    )
    async with open_api(config=config) as server:
        flow = server.api.edge.flow
        assert isinstance(flow, MaxInFlight)
        async with server.connect(certificate=ALICE) as client, server.connect() as root:
            assert (await client.request("GET", "/version")).status in (200, 403)
            flow._executing[0] = 1  # somebody is executing
            answer = await client.request("GET", "/version")
            assert answer.status == 429
            assert answer.body == b"Too many requests, please try again later.\n"
            assert answer.head.get(b"retry-after") == b"1"
            assert (await client.request("GET", "/api/v1/pods?watch=0")).status == 429
            assert (await client.request("GET", "/api/v1/pods/invented/too/much")).status == 429
            assert (await root.request("GET", "/version")).status == 200
            text = (await root.request("GET", "/metrics")).body.decode()
            ended = sorted(
                (labels["verb"], labels["resource"], sample.value)
                for family in text_string_to_metric_families(text)
                for sample in family.samples
                if (labels := sample.labels) and sample.name == f"{TERMINATIONS}_total"
            )
            assert ended == [("GET", "", 2.0), ("LIST", "pods", 1.0)]
            assert "invented" not in text
            flow._executing[0] = 0
            answer = await client.request("GET", "/api/v1/secrets")
            assert answer.status == 403
            assert not any(answer.head.get(name) for name in UIDS)
            assert flow.executing() == (0, 0)


@pytest.mark.parametrize(
    ("method", "path", "woken"),
    [
        ("POST", "/api/v1/namespaces/default/configmaps", 2),
        ("PUT", "/api/v1/namespaces/default/configmaps/one", 3),
        ("PUT", "/api/v1/namespaces/default/configmaps/other", 2),
        ("POST", "/api/v1/namespaces/kube-system/configmaps", 1),
    ],
)
async def test_each_watcher_a_write_may_wake_counts_once(
    method: str, path: str, woken: int
) -> None:
    """Those of the object, of its namespace and of all namespaces."""
    async with open_api() as server:
        prefix = "/registry/configmaps/"
        for watched in (prefix, f"{prefix}default/", f"{prefix}default/one"):
            server.api.storage.hub.subscribe(watched, 0, _Deaf())
        flow = server.api.edge.flow
        assert isinstance(flow, PriorityAndFairness)
        async with server.connect() as client:
            await client.request(method, path, body=b"{}")
        histograms = flow.gate.snapshot().histograms
        counted = [tally.watchers for tally in histograms.values() if tally.watchers.count]
        assert [(one.count, one.total) for one in counted] == [(1, woken)]


async def test_a_token_wakes_nobody() -> None:
    """Making one tells no watcher, however many there are, and is no sample of them."""
    path = "/api/v1/namespaces/default/serviceaccounts"
    async with open_api() as server:
        server.api.storage.hub.subscribe("/registry/serviceaccounts/", 0, _Deaf())
        flow = server.api.edge.flow
        assert isinstance(flow, PriorityAndFairness)
        async with server.connect() as client:
            await client.request("POST", f"{path}/one/token", json={})
        histograms = flow.gate.snapshot().histograms
        assert not any(tally.watchers.count for tally in histograms.values())


async def test_time_in_a_queue_is_counted_apart(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that waited for seconds did not take the server so long."""
    async with open_api() as server:
        flow = server.api.edge.flow
        passes = flow.passes

        async def late(request: Request) -> None:
            await trio.sleep(5)
            assert passes(request)

        monkeypatch.setattr(flow, "passes", lambda _request: False)
        monkeypatch.setattr(flow, "admit", late)
        request = Request("GET", "/api/v1/pods", "", {}, [], certificate=ADMIN)
        assert (await server.api.handle(request)).status == 200
        text = (await exposition(server.api.edge.metrics.gathered)).decode()
    sums = {
        sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.endswith("duration_seconds_sum") and sample.labels.get("resource") == "pods"
    }
    assert sums["apiserver_request_duration_seconds_sum"] == pytest.approx(5)
    assert sums["apiserver_request_sli_duration_seconds_sum"] == pytest.approx(0)


async def test_what_waits_and_what_is_stored_is_gathered() -> None:
    """Numbers that exist anyway."""
    async with open_api() as server, server.connect() as client:
        text = (await client.request("GET", "/metrics")).body.decode()
        assert 'apiserver_current_inqueue_requests{request_kind="mutating"} 0.0' in text
        assert 'apiserver_resource_objects{group="",resource="namespaces"} 4.0' in text
        assert 'apiserver_storage_objects{resource="deployments.apps"} 0.0' in text


async def test_many_viewers_cost_as_much_as_one(autojump_clock: MockClock) -> None:
    """What streams send is made once for all streams that send at about one time."""
    async with open_api() as server:
        pages = server.api.edge.documents._flow_pages
        assert pages is not None
        first = pages._latest()
        assert pages._latest() is first
        await trio.sleep(STREAM_PERIOD_S)
        assert json.loads(pages._latest())["time"] > json.loads(first)["time"]


async def test_mean_use_follows_from_two_states(autojump_clock: MockClock) -> None:
    """The page's mean seats in use: what was used between two states, over the limit."""
    async with open_api() as server, server.connect() as client:
        pages = server.api.edge.documents._flow_pages
        assert pages is not None

        def utilization() -> dict[str, float]:
            levels = {level["name"]: level for level in pages.state()["levels"]}
            found: dict[str, float] = levels["exempt"]["utilization"]
            return found

        await client.send(b"GET /api/v1/configmaps?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n")
        await client.head()
        before = utilization()
        await trio.sleep(1)
        after = utilization()
        assert after["count"] - before["count"] == pytest.approx(1e9, rel=1e-6)
        assert after["sum"] == before["sum"]  # an open watch has given its seat back
