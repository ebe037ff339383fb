"""Counts of requests by their credentials, good ones and bad ones.

Bad ones are told in one line a minute at most, never with the credential: a client that tries many
must not fill the log.  They are not delayed.  A token is looked up by its digest, so that a failed
attempt costs no more than a good one and tells nothing about how near it was; a delay would keep a
connection and its memory for a client that can open another one, and connections without
credentials have a bound of their own (`http.connections`).

Source: k8s.io/apiserver/pkg/endpoints/filters/metrics.go for names and labels.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NoReturn

import trio

from kubetrio.observe import prometheus
from kubetrio.observe.logs import Log
from kubetrio.observe.series import Histogram, Labels, counter, exponential, histograms

log = Log("kubetrio.auth")
BUCKETS = exponential(0.001, 2, 15)
INTERVAL_S = 60.0
MOST_ADDRESSES = 10_000
SHOWN = frozenset(
    {"admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"}
)
"""Names of users that are labels; a closed set, so that clients cannot make time series."""


def label_of(name: str) -> str:
    """What a user is called in metrics."""
    if name in SHOWN:
        return name
    return "email_id" if "@" in name else "other"


class Attempts:
    """Counts of one server.

    Attributes:
        took: how long it took to find out who asks, by the result; of those who are not known at
            once.
    """

    def __init__(self) -> None:
        self.took: defaultdict[Labels, Histogram] = defaultdict(lambda: Histogram(BUCKETS))
        self._users: Counter[str] = Counter()
        self._errors = 0
        self._failures = 0
        self._refusal = "error"  # the result of the last one
        self._untold = 0
        self._addresses: set[str] = set()
        self._failed = trio.Event()

    def succeeded(self, name: str) -> None:
        """Count a request whose user is known, if only as anonymous."""
        self._users[label_of(name)] += 1

    def missing(self) -> None:
        """Count a request without credentials where anonymous users are not allowed."""
        self._failures += 1
        self._refusal = "failure"

    def succeeded_in(self, seconds: float) -> None:
        """Count how long authentication took that had to wait."""
        self.took["success",].observe(seconds)

    def refused_in(self, seconds: float) -> None:
        """Count how long the refusal took that was counted last."""
        self.took[self._refusal,].observe(seconds)

    def failed(self, address: str) -> None:
        """Bad credentials came from an address."""
        self._errors += 1
        self._refusal = "error"
        self._untold += 1
        if len(self._addresses) < MOST_ADDRESSES:
            self._addresses.add(address)
        self._failed.set()

    async def run(self) -> NoReturn:
        """Tell of bad credentials until cancelled: at the end of the minute that began with one."""
        while True:
            await self._failed.wait()
            try:
                await trio.sleep(INTERVAL_S)
            finally:
                self._tell()

    def _tell(self) -> None:
        log.warning(
            "requests with bad credentials were refused",
            requests=self._untold,
            addresses=len(self._addresses),
        )
        self._untold = 0
        self._addresses.clear()
        self._failed = trio.Event()

    def families(self) -> Iterable[prometheus.Metric]:
        """The counts as metrics."""
        results: dict[Labels, float] = {
            ("error",): self._errors,
            ("failure",): self._failures,
            ("success",): self._users.total(),
        }
        yield from counter(
            "authentication_attempts", "Authentication by its result.", ("result",), results
        )
        users: dict[Labels, float] = {(name,): count for name, count in self._users.items()}
        yield from counter(
            "authenticated_user_requests",
            "Authenticated requests by user name.",
            ("username",),
            users,
        )
        took = dict(self.took)
        timed = Histogram(BUCKETS)
        timed.add(self.took["success",])
        # Who is known at once, within a microsecond, was not timed.
        timed.observe(0.0, self._users.total() - sum(timed.counts))
        took["success",] = timed
        yield from histograms(
            "authentication_duration_seconds",
            "Seconds of authentication by its result.",
            ("result",),
            took,
        )
