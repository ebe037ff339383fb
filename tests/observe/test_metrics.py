"""Metrics: names, labels and numbers as Prometheus reads them."""

from __future__ import annotations

import pytest
import trio
from prometheus_client.parser import text_string_to_metric_families

from kubetrio.observe.metrics import (
    DURATION_BUCKETS,
    Collected,
    Metrics,
    RequestKey,
    exposition,
    gauge,
    object_families,
    seat_families,
)
from kubetrio.observe.series import PART_SAMPLES, go_float
from kubetrio.schema import builtin

FOUND = [Collected("apps", "deployments", 3, 30, 4), Collected("", "pods", 0, 0, 0)]
GET = RequestKey("GET", "", "apps", "v1", "deployments", "", "resource", 200)
LABELS = {
    "verb": "GET", "group": "apps", "version": "v1", "resource": "deployments",
    "subresource": "", "scope": "resource", "component": "apiserver",
}  # fmt: skip


async def samples(metrics: Metrics, name: str) -> list[tuple[dict[str, str], float]]:
    families = text_string_to_metric_families((await exposition(metrics.gathered)).decode())
    return [
        (dict(sample.labels), sample.value)
        for family in families
        for sample in family.samples
        if sample.name == name
    ]


async def test_requests_are_counted_by_their_labels() -> None:
    """The names that dashboards of kube-apiserver know."""
    metrics = Metrics()
    for code in (200, 200, 404):
        metrics.observe(GET._replace(code=code), 0.01, 100)
    found = await samples(metrics, "apiserver_request_total")
    assert found == [
        ({**LABELS, "dry_run": "", "code": "200"}, 2.0),
        ({**LABELS, "dry_run": "", "code": "404"}, 1.0),
    ]


async def test_durations_are_cumulative() -> None:
    """A bucket holds what is at most its bound; the last one everything."""
    metrics = Metrics()
    for seconds in (0.005, 0.006, 100.0):
        metrics.observe(GET, seconds, 0)
    found = await samples(metrics, "apiserver_request_duration_seconds_bucket")
    counts = {labels["le"]: value for labels, value in found}
    assert len(counts) == len(DURATION_BUCKETS) + 1
    assert (counts["0.005"], counts["0.025"], counts["60"], counts["+Inf"]) == (1, 2, 2, 3)
    assert (await samples(metrics, "apiserver_request_duration_seconds_sum"))[0][1] == 100.011


async def test_times_and_sizes_tell_nothing_of_codes() -> None:
    """Answers of different codes are one series; dry runs tell times apart, not sizes."""
    metrics = Metrics()
    for code, dry_run in ((200, ""), (404, ""), (200, "All")):
        metrics.observe(GET._replace(code=code, dry_run=dry_run), 0.01, 100)
        metrics.terminated(GET._replace(code=429, dry_run=dry_run))
    assert await samples(metrics, "apiserver_request_duration_seconds_count") == [
        ({**LABELS, "dry_run": ""}, 2.0),
        ({**LABELS, "dry_run": "All"}, 1.0),
    ]
    for name in ("apiserver_response_sizes", "apiserver_request_sli_duration_seconds"):
        assert await samples(metrics, f"{name}_count") == [(LABELS, 3.0)]
    ended = await samples(metrics, "apiserver_request_terminations_total")
    assert ended == [({**LABELS, "code": "429"}, 3.0)]


async def test_the_wait_for_a_seat_is_not_the_servers_own_time() -> None:
    """It is taken off the times of those who waited."""
    metrics = Metrics()
    metrics.observe(GET, 0.01, 0)
    metrics.observe(GET, 10.0, 0)
    metrics.waited(GET, 10.0, 9.7)
    name = "apiserver_request_sli_duration_seconds"
    counts = {labels["le"]: value for labels, value in await samples(metrics, f"{name}_bucket")}
    assert (counts["0.05"], counts["0.2"], counts["0.4"], counts["+Inf"]) == (1, 1, 2, 2)
    assert (await samples(metrics, f"{name}_sum"))[0][1] == pytest.approx(0.31)
    assert (await samples(metrics, "apiserver_request_duration_seconds_sum"))[0][1] == 10.01


REQUEST_METRICS = (
    "apiserver_request_total",
    "apiserver_request_terminations_total",
    "apiserver_request_duration_seconds",
    "apiserver_request_sli_duration_seconds",
    "apiserver_response_sizes",
    "apiserver_longrunning_requests",
    "apiserver_current_inflight_requests",
    "apiserver_current_inqueue_requests",
    "apiserver_resource_objects",
    "apiserver_storage_objects",
)


@pytest.mark.parametrize("name", REQUEST_METRICS)
async def test_as_kube_apiserver_exposes_it(name: str) -> None:
    """Type, names of labels and bounds of buckets."""
    metrics, fact = Metrics(), builtin.load("metrics")[name]
    metrics.observe(GET, 0.1, 1)
    metrics.terminated(GET)
    metrics.open_streams(GET)
    metrics.gathered.add(lambda: seat_families(lambda: (1, 2), lambda: (3, 4)))
    metrics.gathered.add(lambda: object_families([Collected("apps", "deployments", 3, 30, 4)], 9))
    text = (await exposition(metrics.gathered)).decode()
    (family,) = (
        one
        for one in text_string_to_metric_families(text)
        if one.name == name.removesuffix("_total")
    )
    assert family.type == fact["type"]
    assert all(set(one.labels) - {"le"} == set(fact["labels"]) for one in family.samples)
    bounds = [one.labels["le"] for one in family.samples if "le" in one.labels]
    wanted = [*map(go_float, fact["buckets"]), "+Inf"] if "buckets" in fact else []
    assert bounds == wanted


async def test_stored_objects_are_named_by_resource_and_group() -> None:
    """The old name has both in one label."""
    metrics = Metrics()
    metrics.gathered.add(lambda: object_families(FOUND, 9))
    assert await samples(metrics, "apiserver_storage_objects") == [
        ({"resource": "deployments.apps"}, 3.0),
        ({"resource": "pods"}, 0.0),
    ]
    assert (await samples(metrics, "apiserver_resource_objects"))[0] == (
        {"group": "apps", "resource": "deployments"},
        3.0,
    )


async def test_numbers_of_objects_can_be_left_out() -> None:
    """With a period of 0 they are not collected; what is told of events stays."""
    metrics = Metrics()
    metrics.gathered.add(lambda: object_families(FOUND, 9, counted=False))
    for name in ("apiserver_storage_objects", "apiserver_resource_objects"):
        assert await samples(metrics, name) == []
    assert len(await samples(metrics, "apiserver_watch_cache_resource_version")) == len(FOUND)


async def test_sizes_that_are_not_known_do_not_count() -> None:
    """A stream has none."""
    metrics = Metrics()
    metrics.observe(GET, 0.1, -1)
    metrics.observe(GET, 0.1, 5000)
    assert (await samples(metrics, "apiserver_response_sizes_count"))[0][1] == 1
    assert (await samples(metrics, "apiserver_response_sizes_sum"))[0][1] == 5000


async def test_open_watches_go_up_and_down() -> None:
    """One gauge a kind of watch."""
    metrics = Metrics()
    watch = metrics.open_streams(GET._replace(verb="WATCH"))
    watch.inc()
    watch.inc()
    watch.dec()
    assert await samples(metrics, "apiserver_longrunning_requests") == [
        ({**LABELS, "verb": "WATCH"}, 1)
    ]


async def test_numbers_are_gathered_at_each_scrape() -> None:
    """What exists anyway is asked for, not kept twice."""
    metrics, value = Metrics(), 1.0
    metrics.gathered.add(lambda: [gauge("kubetrio_number", "A number.", value)])
    assert await samples(metrics, "kubetrio_number") == [({}, 1.0)]
    value = 2.0
    assert await samples(metrics, "kubetrio_number") == [({}, 2.0)]


async def test_two_servers_in_a_process_share_nothing() -> None:
    """Embedding is common in tests."""
    one, two = Metrics(), Metrics()
    one.observe(GET, 0.1, 1)
    assert await samples(two, "apiserver_request_total") == []


async def test_a_scrape_lets_others_run() -> None:
    """However many series there are; each family has one heading, and nothing is lost."""
    metrics, names = Metrics(), [f"r{number}" for number in range(50)]
    for name in names:
        for code in (200, 404):
            metrics.observe(GET._replace(resource=name, code=code), 0.1, 1)
    turns, done = 0, trio.Event()

    async def others() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(others)
        text = (await exposition(metrics.gathered)).decode()
        done.set()
    assert turns > len(text.splitlines()) / PART_SAMPLES
    headings = [line for line in text.splitlines() if line.startswith("# HELP")]
    assert len(headings) == len(set(headings))
    (family,) = (
        one
        for one in text_string_to_metric_families(text)
        if one.name == "apiserver_request_duration_seconds"
    )
    counted = {one.labels["resource"]: one.value for one in family.samples if "_count" in one.name}
    assert counted == dict.fromkeys(names, 2.0)


def test_bounds_are_written_as_kube_apiserver_does() -> None:
    """Whole numbers without a fraction, large ones with an exponent, infinity too."""
    values = (0, 0.005, 1.0, 1.5, 60, 125000.0, 1e6, 4194304, float("inf"))
    assert [go_float(value) for value in values] == [
        "0", "0.005", "1", "1.5", "60", "125000", "1e+06", "4.194304e+06", "+Inf",
    ]  # fmt: skip
