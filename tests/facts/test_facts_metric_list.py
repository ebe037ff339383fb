"""The list of metrics, and what a server shows."""

from facts.metric_list import joined, observed, rows

TEXT = """\
# HELP apiserver_request_total [STABLE] Counter of requests. (Deprecated since 1.30.0)
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",verb="GET"} 5
# HELP etcd_request_duration_seconds [ALPHA] Latency.
# TYPE etcd_request_duration_seconds histogram
etcd_request_duration_seconds_bucket{operation="get",le="0.005"} 1
etcd_request_duration_seconds_bucket{operation="get",le="5e-06"} 1
etcd_request_duration_seconds_bucket{operation="get",le="+Inf"} 1
etcd_request_duration_seconds_sum{operation="get"} 1
# HELP go_threads Number of threads.
# TYPE go_threads gauge
go_threads 5
"""


def test_metrics_of_a_server() -> None:
    """Type, stability, labels and buckets; metrics of other parts are left out."""
    assert observed(TEXT) == {
        "apiserver_request_total": {
            "type": "counter",
            "stability": "STABLE",
            "labels": ["code", "verb"],
            "deprecated": "1.30.0",
        },
        "etcd_request_duration_seconds": {
            "type": "histogram",
            "stability": "ALPHA",
            "labels": ["operation"],
            "buckets": [5e-06, 0.005],
        },
    }


def test_metrics_of_the_list() -> None:
    """Names are put together; YAML's strings are numbers."""
    entries = [
        {
            "name": "request_total",
            "subsystem": "apiserver",
            "type": "Counter",
            "stabilityLevel": "STABLE",
            "deprecatedVersion": "1.30.0",
        },
        {
            "name": "seats",
            "namespace": "apiserver",
            "subsystem": "flowcontrol",
            "type": "TimingRatioHistogram",
            "stabilityLevel": "ALPHA",
            "labels": ["level"],
            "buckets": ["5e-06", 1.0],
            "constLabels": {"phase": "executing"},
        },
        {"name": "pods", "type": "Gauge", "stabilityLevel": "ALPHA"},
    ]
    assert rows(entries) == {
        "apiserver_flowcontrol_seats": {
            "type": "timingratiohistogram",
            "stability": "ALPHA",
            "labels": ["level"],
            "buckets": [5e-06, 1],
            "constLabels": {"phase": "executing"},
        },
        "apiserver_request_total": {
            "type": "counter",
            "stability": "STABLE",
            "labels": [],
            "deprecated": "1.30.0",
        },
    }


def test_list_and_server_are_joined() -> None:
    """What is seen only, what is listed only, and what has another type when it is shown."""
    listed = {
        "apiserver_flowcontrol_a": {"type": "timingratiohistogram", "labels": []},
        "etcd_b": {"type": "gauge", "labels": []},
    }
    seen = {
        "apiserver_flowcontrol_a": {"type": "histogram", "labels": [], "buckets": [1]},
        "etcd_c": {"type": "counter", "labels": []},
    }
    assert joined(listed, seen) == {
        "apiserver_flowcontrol_a": {
            "type": "timingratiohistogram",
            "labels": [],
            "buckets": [1],
            "observedType": "histogram",
            "observed": True,
            "flowControl": True,
        },
        "etcd_b": {"type": "gauge", "labels": [], "observed": False},
        "etcd_c": {"type": "counter", "labels": [], "undocumented": True, "observed": True},
    }
