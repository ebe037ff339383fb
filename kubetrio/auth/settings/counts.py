"""What authorizers decided, and how webhooks and the configuration file fared, as metrics.

Source: k8s.io/apiserver/pkg/authorization/metrics, .../authorization/cel/metrics.go,
plugin/pkg/authorizer/webhook/metrics and pkg/server/options/authorizationconfig/metrics for names
and labels.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable
from hashlib import sha256

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, Metric

_PREFIX = "apiserver_authorization_"
_MATCH_S = (0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25)
_WEBHOOK = ("Webhook",)


def _counter(name: str, text: str, labels: tuple[str, ...]) -> Counter:
    return Counter(_PREFIX + name, text, labels, registry=None)


class Counts:
    """Counts of one server.

    Args:
        identity: of the server, told as a hash.
    """

    def __init__(self, identity: str) -> None:
        self._identity = _hash(identity.encode())
        named = ("type", "name")
        self.decisions: Tally[tuple[str, str, str]] = Tally()
        """By mode, name and word: plain numbers, since each request that is allowed adds one."""
        self._asked = _counter(
            "webhook_evaluations", "Times that webhooks were asked.", ("name", "result")
        )
        self._open = _counter(
            "webhook_evaluations_fail_open",
            "Times that a webhook could not be asked and others decided.", ("name", "result"),
        )  # fmt: skip
        self._seconds = Histogram(
            _PREFIX + "webhook_duration_seconds", "Seconds that webhooks took.",
            ("name", "result"), registry=None,
        )  # fmt: skip
        self._failed = _counter(
            "match_condition_evaluation_errors", "Match conditions that failed.", named
        )
        self._excluded = _counter(
            "match_condition_exclusions", "Questions that match conditions kept from webhooks.",
            named,
        )  # fmt: skip
        self._matching = Histogram(
            _PREFIX + "match_condition_evaluation_seconds", "Seconds that match conditions took.",
            named, registry=None, buckets=_MATCH_S,
        )  # fmt: skip
        labels = ("status", "apiserver_id_hash")
        self._reloads = _counter(
            "config_controller_automatic_reloads", "Changes of the file that were seen.", labels
        )
        self._reloaded = Gauge(
            _PREFIX + "config_controller_automatic_reload_last_timestamp_seconds",
            "When the last one was seen.", labels, registry=None,
        )  # fmt: skip
        self._config = Gauge(
            _PREFIX + "config_controller_last_config_info", "Hash of the file in force.",
            ("apiserver_id_hash", "hash"), registry=None,
        )  # fmt: skip

    def asked(self, name: str, result: str, seconds: float) -> None:
        """A webhook was asked."""
        self._asked.labels(name, result).inc()
        self._seconds.labels(name, result).observe(seconds)

    def failed_open(self, name: str, result: str) -> None:
        """It could not be asked, and others decide."""
        self._open.labels(name, result).inc()

    def matched(self, name: str, seconds: float, *, failed: bool, excluded: bool) -> None:
        """Its conditions were evaluated."""
        self._matching.labels(*_WEBHOOK, name).observe(seconds)
        if failed:
            self._failed.labels(*_WEBHOOK, name).inc()
        if excluded:
            self._excluded.labels(*_WEBHOOK, name).inc()

    def reloaded(self, status: str, now: float) -> None:
        """A change of the file was taken over, or not.

        Args:
            status: ``success`` or ``failure``.
            now: seconds since the epoch.
        """
        self._reloads.labels(status, self._identity).inc()
        self._reloaded.labels(status, self._identity).set(now)

    def in_force(self, data: bytes) -> None:
        """A file is in force."""
        self._config.clear()
        self._config.labels(self._identity, _hash(data)).set(1)

    def families(self) -> Iterable[Metric]:
        """The counts as metrics, without what has no samples."""
        family = CounterMetricFamily(
            _PREFIX + "decisions", "Decisions of authorizers.", labels=("type", "name", "decision")
        )
        for labels, count in sorted(self.decisions.items()):
            family.add_metric(labels, count)
        yield family
        for one in (
            self._asked, self._open, self._seconds, self._failed, self._excluded,
            self._matching, self._reloads, self._reloaded, self._config,
        ):  # fmt: skip
            for found in one.collect():
                found.samples = [
                    sample for sample in found.samples if not sample.name.endswith("_created")
                ]
                if found.samples:
                    yield found


def _hash(data: bytes) -> str:
    return f"sha256:{sha256(data).hexdigest()}" if data else ""
