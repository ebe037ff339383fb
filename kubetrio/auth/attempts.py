"""How often somebody showed credentials, good ones and bad ones.

Bad ones are told in one line a minute at most, never with the credential: whoever tries many must
not fill the log.  They are not delayed.  A token is looked up by its digest, so that a failed
attempt costs no more than a good one and tells nothing about how near it was; a delay would keep a
connection and its memory for somebody who can open another one, and connections without
credentials have a bound of their own (`http.connections`).

Source: k8s.io/apiserver/pkg/endpoints/filters/metrics.go for names and labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NoReturn

import trio

from kubetrio import prometheus
from kubetrio.logs import Log

log = Log("kubetrio.auth")
INTERVAL_S = 60.0
MOST_ADDRESSES = 10_000
SHOWN = frozenset(
    {"admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"}
)
"""Names of users that are labels; a closed set, so that nobody makes time series."""


def label_of(name: str) -> str:
    """What a user is called in metrics."""
    if name in SHOWN:
        return name
    return "email_id" if "@" in name else "other"


class Attempts:
    """Counts of one server."""

    def __init__(self) -> None:
        self._users: Counter[str] = Counter()
        self._errors = 0
        self._failures = 0
        self._untold = 0
        self._addresses: set[str] = set()
        self._failed = trio.Event()

    def succeeded(self, name: str) -> None:
        """Somebody is known, if only as anonymous."""
        self._users[label_of(name)] += 1

    def missing(self) -> None:
        """Nobody showed anything where that is not allowed."""
        self._failures += 1

    def failed(self, address: str) -> None:
        """Bad credentials came from an address."""
        self._errors += 1
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
        """The counts as metrics.

        Their names lack the ending that the client library gives to counters, so that they are
        shown without a type.
        """
        attempts = prometheus.Metric(
            "authentication_attempts", "Authentication by its result.", "unknown"
        )
        results = {
            "error": self._errors,
            "failure": self._failures,
            "success": self._users.total(),
        }
        for result, count in results.items():
            attempts.add_sample(attempts.name, {"result": result}, count)
        text = "Authenticated requests by user name."
        users = prometheus.Metric("authenticated_user_requests", text, "unknown")
        for name, count in self._users.items():
            users.add_sample(users.name, {"username": name}, count)
        return attempts, users
