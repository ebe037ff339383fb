"""Flow control without API Priority and Fairness: so many requests at a time."""

from __future__ import annotations

import pytest

from kubetrio.api.flowcontrol import MaxInFlight, is_long_running
from kubetrio.api.request import Request, parse_query, resolve
from kubetrio.machinery.identity import MASTERS, UserInfo

PODS = "/api/v1/namespaces/a/pods"


def asked(method: str, path: str = PODS, query: str = "", *groups: str) -> Request:
    request = Request(method, path, query, {}, [])
    request.query = parse_query(query)
    request.info = resolve(method, path, request.query)
    request.user = UserInfo("robot", groups=groups)
    return request


async def test_reads_and_writes_have_limits_of_their_own() -> None:
    """One over its limit is rejected with 429, until another one leaves."""
    flow = MaxInFlight(1, 1)
    first, second = asked("GET"), asked("GET")
    assert flow.passes(first)
    assert not flow.passes(second)
    assert flow.passes(asked("POST"))
    answer = await flow.admit(second)
    assert answer is not None
    assert answer.status == 429
    flow.leave(first, 0.0)
    flow.leave(first, 0.0)  # twice is once
    assert flow.passes(second)
    assert not flow.passes(asked("GET"))


def test_no_limit_is_zero() -> None:
    """For either of them."""
    flow = MaxInFlight(0, 0)
    assert all(flow.passes(asked(method)) for method in ("GET", "POST") for _ in range(100))


def test_administrators_and_watches_pass_a_full_server() -> None:
    """Neither takes a seat then."""
    flow = MaxInFlight(1, 1)
    assert flow.passes(asked("GET"))
    assert flow.passes(asked("GET", PODS, "", MASTERS))
    watch = asked("GET", PODS, "watch=1")
    assert flow.passes(watch)
    assert watch.seat is None


@pytest.mark.parametrize(
    ("method", "path", "query", "long"),
    [
        ("GET", PODS, "", False),
        ("GET", PODS, "watch=1", True),
        ("GET", f"{PODS}/b/log", "", True),
        ("POST", f"{PODS}/b/exec", "", True),
        ("POST", f"{PODS}/b/eviction", "", False),
    ],
)
def test_which_requests_last(method: str, path: str, query: str, *, long: bool) -> None:
    """Watches, logs, streams and proxies."""
    assert is_long_running(asked(method, path, query)) is long
