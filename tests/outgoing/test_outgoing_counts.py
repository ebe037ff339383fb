"""Requests to others are counted, by hosts that users cannot multiply."""

from kubetrio.outgoing.counts import ERROR, MOST_HOSTS, CallCounts


def samples(counts: CallCounts) -> dict[tuple[str, ...], float]:
    return {
        (one.name, *(one.labels[key] for key in sorted(one.labels))): one.value
        for family in counts.families()
        for one in family.samples
        if "le" not in one.labels
    }


def test_a_request_is_counted_by_method_host_and_code() -> None:
    """What had no answer has no size of one."""
    counts = CallCounts()
    counts.called("POST", "hook:443", "200", 0.5, 10, 20)
    counts.called("POST", "hook:443", ERROR, 0.5, 10, 0)
    found = samples(counts)
    assert found["rest_client_requests_total", "200", "hook:443", "POST"] == 1
    assert found["rest_client_requests_total", "<error>", "hook:443", "POST"] == 1
    assert found["rest_client_request_duration_seconds_sum", "hook:443", "POST"] == 1.0
    assert found["rest_client_request_size_bytes_sum", "hook:443", "POST"] == 20
    assert found["rest_client_response_size_bytes_count", "hook:443", "POST"] == 1


def test_hosts_beyond_a_bound_are_one() -> None:
    """Whoever may make webhooks cannot make time series without end."""
    counts = CallCounts()
    for number in range(MOST_HOSTS + 50):
        counts.called("GET", f"h{number}", "200", 0.0, 0, 0)
    found = samples(counts)
    requests = [key for key in found if key[0] == "rest_client_requests_total"]
    assert len(requests) == MOST_HOSTS + 1
    assert found["rest_client_requests_total", "200", "other", "GET"] == 50
