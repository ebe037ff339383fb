"""Requests to other servers, as metrics.

Source: k8s.io/component-base/metrics/prometheus/restclient for names, labels and buckets.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubetrio.observe import prometheus
from kubetrio.observe.series import Counts, Timings

ERROR = "<error>"
"""The code of what had no answer."""
MOST_HOSTS = 100
OTHER = "other"
SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
SIZES = (
    64.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0,
    16777216.0,
)  # fmt: skip
_WHERE = ("verb", "host")


class CallCounts:
    """Counts of one server.  Hosts beyond the first hundred are one: users name them."""

    def __init__(self) -> None:
        self._hosts: set[str] = set()
        self._calls = Counts(
            "rest_client_requests_total", "Requests to others.", "code", "method", "host"
        )
        self._took = Timings(
            "rest_client_request_duration_seconds", "Seconds until an answer was read.", *_WHERE,
            bounds=SECONDS,
        )  # fmt: skip
        self._sent = Timings(
            "rest_client_request_size_bytes", "Bytes of requests.", *_WHERE, bounds=SIZES
        )
        self._got = Timings(
            "rest_client_response_size_bytes", "Bytes of answers.", *_WHERE, bounds=SIZES
        )

    def called(
        self, method: str, host: str, code: str, seconds: float, sent: int, got: int
    ) -> None:
        """Count one request.

        Args:
            method: HTTP method.
            host: and port, as in its URL.
            code: of the answer, or `ERROR`.
            seconds: how long it took.
            sent: bytes of its body.
            got: bytes of the body of its answer.
        """
        if host not in self._hosts:
            if len(self._hosts) >= MOST_HOSTS:
                host = OTHER
            else:
                self._hosts.add(host)
        self._calls[code, method, host] += 1
        where = method, host
        self._took[where].observe(seconds)
        self._sent[where].observe(sent)
        if code != ERROR:
            self._got[where].observe(got)

    def families(self) -> Iterator[prometheus.Metric]:
        """What a scrape shows."""
        for one in (self._calls, self._took, self._sent, self._got):
            yield from one.families()
