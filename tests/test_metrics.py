"""Metrics: names, labels and numbers as Prometheus reads them."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from kubetrio.metrics import DURATION_BUCKETS, Metrics, RequestKey, gauge, go_float

GET = RequestKey("GET", "", "apps", "v1", "deployments", "", "resource", 200)
LABELS = {
    "verb": "GET", "group": "apps", "version": "v1", "resource": "deployments",
    "subresource": "", "scope": "resource", "component": "apiserver",
}  # fmt: skip


def samples(metrics: Metrics, name: str) -> list[tuple[dict[str, str], float]]:
    families = text_string_to_metric_families(metrics.exposition().decode())
    return [
        (dict(sample.labels), sample.value)
        for family in families
        for sample in family.samples
        if sample.name == name
    ]


def test_requests_are_counted_by_their_labels() -> None:
    """The names that dashboards of kube-apiserver know."""
    metrics = Metrics()
    for code in (200, 200, 404):
        metrics.observe(GET._replace(code=code), 0.01, 100)
    found = samples(metrics, "apiserver_request_total")
    assert found == [
        ({**LABELS, "dry_run": "", "code": "200"}, 2.0),
        ({**LABELS, "dry_run": "", "code": "404"}, 1.0),
    ]


def test_durations_are_cumulative() -> None:
    """A bucket holds what is at most its bound; the last one everything."""
    metrics = Metrics()
    for seconds in (0.005, 0.006, 100.0):
        metrics.observe(GET, seconds, 0)
    found = samples(metrics, "apiserver_request_duration_seconds_bucket")
    counts = {labels["le"]: value for labels, value in found}
    assert len(counts) == len(DURATION_BUCKETS) + 1
    assert (counts["0.005"], counts["0.025"], counts["60"], counts["+Inf"]) == (1, 2, 2, 3)
    assert samples(metrics, "apiserver_request_duration_seconds_sum")[0][1] == 100.011


def test_sizes_that_are_not_known_do_not_count() -> None:
    """A stream has none."""
    metrics = Metrics()
    metrics.observe(GET, 0.1, -1)
    metrics.observe(GET, 0.1, 5000)
    assert samples(metrics, "apiserver_response_sizes_count")[0][1] == 1
    assert samples(metrics, "apiserver_response_sizes_sum")[0][1] == 5000


def test_open_watches_go_up_and_down() -> None:
    """One gauge a kind of watch."""
    metrics = Metrics()
    watch = metrics.open_streams(GET._replace(verb="WATCH"))
    watch.inc()
    watch.inc()
    watch.dec()
    assert samples(metrics, "apiserver_longrunning_requests") == [({**LABELS, "verb": "WATCH"}, 1)]


def test_numbers_are_gathered_at_each_scrape() -> None:
    """What exists anyway is asked for, not kept twice."""
    metrics, value = Metrics(), 1.0
    metrics.gathered.add(lambda: [gauge("kubetrio_number", "A number.", value)])
    assert samples(metrics, "kubetrio_number") == [({}, 1.0)]
    value = 2.0
    assert samples(metrics, "kubetrio_number") == [({}, 2.0)]


def test_two_servers_in_a_process_share_nothing() -> None:
    """Embedding is common in tests."""
    one, two = Metrics(), Metrics()
    one.observe(GET, 0.1, 1)
    assert samples(two, "apiserver_request_total") == []


def test_bounds_are_written_as_kube_apiserver_does() -> None:
    """Whole numbers without a fraction, large ones with an exponent, infinity too."""
    values = (0, 0.005, 1.0, 1.5, 60, 125000.0, 1e6, 4194304, float("inf"))
    assert [go_float(value) for value in values] == [
        "0", "0.005", "1", "1.5", "60", "125000", "1e+06", "4.194304e+06", "+Inf",
    ]  # fmt: skip
