"""Width of requests."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.flow.estimate import (
    Estimator,
    EstimatorConfig,
    ListQuery,
    Stored,
    Unsure,
    tells_watchers,
)
from kubetrio.flow.seats import ONE_SEAT, Width

SIZE = Estimator()
COUNT = Estimator(EstimatorConfig(size_based=False))
KILO = Stored(10_000, 1000)  # 10 MB in all
FROM_STORAGE = {"resource_version": "5", "resource_version_match": "Exact"}


@pytest.mark.parametrize(
    ("query", "stored", "seats"),
    [
        ({}, KILO, 10),  # cached: capped at 1 MB
        ({"limit": 500}, KILO, 5),
        ({"limit": 500, "selective": True}, KILO, 5),
        ({"names_one": True}, KILO, 1),
        (FROM_STORAGE, KILO, 100),
        ({**FROM_STORAGE, "limit": 500}, KILO, 5),
        ({**FROM_STORAGE, "limit": 500, "selective": True}, KILO, 50),
        ({"continue_token": "x", "limit": 500}, KILO, 5),
        ({}, Stored(0), 1),
        ({}, Stored(3, 1000), 1),
        ({}, Stored(101, 1000), 2),
        ({"limit": 1}, Stored(5), 10),  # size unknown: 1.5 MB, capped
        ({**FROM_STORAGE, "limit": 1}, Stored(5), 15),
        ({}, Unsure.UNKNOWN, 1),
        (FROM_STORAGE, Unsure.STALE, 100),
        ({}, Unsure.STALE, 10),
        ({"malformed": True}, Stored(1, 1), 100),
    ],
)
def test_list_by_size(query: dict[str, Any], stored: Stored | Unsure, seats: int) -> None:
    """One seat for each 100 kB a list is expected to hold at once."""
    assert SIZE.reading("list", ListQuery(**query), stored, None) == Width(seats)


@pytest.mark.parametrize(
    ("query", "stored", "seats"),
    [
        ({}, Stored(450), 5),
        ({"limit": 10}, Stored(450), 5),
        ({"names_one": True}, Stored(450), 1),
        ({**FROM_STORAGE, "limit": 100}, Stored(450), 2),
        ({**FROM_STORAGE, "limit": 100, "selective": True}, Stored(450), 6),
        ({}, Stored(5000), 10),
        ({}, Unsure.UNKNOWN, 1),
        ({}, Unsure.STALE, 10),
    ],
)
def test_list_by_count(query: dict[str, Any], stored: Stored | Unsure, seats: int) -> None:
    """Without the gate: one seat for each 100 objects read, at most 10."""
    assert COUNT.reading("list", ListQuery(**query), stored, None) == Width(seats)


def test_level_bounds_width() -> None:
    """No list is wider than its level allows, even one that will be refused."""
    for query in (ListQuery(), ListQuery(malformed=True)):
        assert SIZE.reading("list", query, KILO, 4).initial_seats == 4


@pytest.mark.parametrize(
    ("query", "seats"),
    [
        ({"resource_version": "5"}, 1),
        ({"resource_version": "5", "send_initial_events": False}, 1),
        ({"resource_version": "5", "send_initial_events": True}, 10),
        ({}, 10),
        ({"resource_version": "0"}, 10),
        ({"malformed": True}, 100),
    ],
)
def test_watch(query: dict[str, Any], seats: int) -> None:
    """A watch costs a list if it begins with the existing objects, else one seat."""
    assert SIZE.reading("watch", ListQuery(**query), KILO, None).initial_seats == seats


@pytest.mark.parametrize(
    ("query", "cached"),
    [
        ({}, True),
        ({"resource_version": "0", "limit": 5}, True),
        ({"resource_version": "7"}, True),
        ({"resource_version": "7", "limit": 5}, False),
        ({"continue_token": "x"}, False),
        ({"resource_version": "7", "resource_version_match": "NotOlderThan", "limit": 5}, True),
        ({"resource_version": "7", "resource_version_match": "Exact"}, False),
        ({"resource_version_match": "Nonsense"}, False),
    ],
)
def test_cached_lists(query: dict[str, Any], cached: bool) -> None:
    """Lists of a page of the past, or of an exact state, are read from storage."""
    assert SIZE.served_from_cache(ListQuery(**query)) is cached


def test_consistent_lists_without_the_cache() -> None:
    """With ConsistentListFromCache off, a list without resource version is read from storage."""
    estimator = Estimator(EstimatorConfig(list_from_cache=False))
    assert not estimator.served_from_cache(ListQuery())


@pytest.mark.parametrize(
    ("watchers", "width"),
    [
        (0, ONE_SEAT),
        (9, ONE_SEAT),
        (10, Width(1, 1, 0.005)),
        (11, Width(1, 2, 0.005)),
        (100, Width(1, 10, 0.005)),
        (200, Width(1, 10, 0.01)),
        (1000, Width(1, 10, 0.05)),
    ],
)
@pytest.mark.parametrize("verb", ["create", "update", "patch", "delete"])
def test_writes(verb: str, watchers: int, width: Width) -> None:
    """One seat, then one for each ten watchers for 5 ms, reshaped to ten at most."""
    assert SIZE.writing(verb, watchers, None) == width


def test_level_bounds_the_width_of_writes() -> None:
    """No write is wider than its level allows, nor than any may be."""
    assert SIZE.writing("update", 100, 4) == Width(1, 4, 0.0125)
    assert SIZE.writing("update", 200, 40) == Width(1, 10, 0.01)


@pytest.mark.parametrize("verb", ["get", "deletecollection"])
def test_other_requests_are_one_seat(verb: str) -> None:
    """Whatever is not a write takes one seat."""
    assert SIZE.writing(verb, 5000, None) is ONE_SEAT


@pytest.mark.parametrize(
    ("resource", "subresource", "watched"),
    [
        ("serviceaccounts", "token", False),
        ("serviceaccounts", "", True),
        ("pods", "status", True),
    ],
)
def test_writes_that_store_nothing(resource: str, subresource: str, watched: bool) -> None:
    """A token is made, not stored: no watcher is told."""
    assert tells_watchers(resource, subresource) is watched


@given(st.integers(10, 10**6), st.none() | st.integers(1, 20))
def test_reshaping_keeps_the_work(watchers: int, bound: int | None) -> None:
    """Fewer final seats are held longer: 5 ms for each ten watchers in all."""
    width = SIZE.writing("update", watchers, bound)
    assert width.final_seats <= min(10, bound or 10)
    work = width.final_seats * width.additional_latency_s
    assert work == pytest.approx(-(-watchers // 10) * 0.005)


@given(st.integers(0, 10**9), st.integers(0, 10**7), st.integers(0, 10**6), st.integers(1, 200))
def test_seats_are_bounded(objects: int, size: int, limit: int, bound: int) -> None:
    """A list is at least one seat and never more than the estimator or the level allows."""
    for query in (ListQuery(limit=limit), ListQuery(limit=limit, continue_token="x")):
        for estimator, most in ((SIZE, 100), (COUNT, 10)):
            seats = estimator.reading("list", query, Stored(objects, size), bound).initial_seats
            assert 1 <= seats <= min(most, bound)
