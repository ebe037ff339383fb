"""What authorizers decided, and how webhooks and the configuration file fared, as metrics.

Source: k8s.io/apiserver/pkg/authorization/metrics, .../authorization/cel/metrics.go,
plugin/pkg/authorizer/webhook/metrics and pkg/server/options/authorizationconfig/metrics for names
and labels.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable
from hashlib import sha256

from kubetrio.observe import prometheus

_PREFIX = "apiserver_authorization_"
_MATCH_S = (0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25)
_WEBHOOK = ("Webhook",)


def _counter(name: str, text: str, labels: tuple[str, ...]) -> prometheus.Counter:
    return prometheus.Counter(_PREFIX + name, text, labels, registry=None)


class _Rare:
    """What is counted of webhooks and of the file, which few servers have."""

    def __init__(self) -> None:
        named = ("type", "name")
        self.asked = _counter(
            "webhook_evaluations", "Times that webhooks were asked.", ("name", "result")
        )
        self.open = _counter(
            "webhook_evaluations_fail_open",
            "Times that a webhook could not be asked and others decided.", ("name", "result"),
        )  # fmt: skip
        self.seconds = prometheus.Histogram(
            _PREFIX + "webhook_duration_seconds", "Seconds that webhooks took.",
            ("name", "result"), registry=None,
        )  # fmt: skip
        self.failed = _counter(
            "match_condition_evaluation_errors", "Match conditions that failed.", named
        )
        self.excluded = _counter(
            "match_condition_exclusions", "Questions that match conditions kept from webhooks.",
            named,
        )  # fmt: skip
        self.matching = prometheus.Histogram(
            _PREFIX + "match_condition_evaluation_seconds", "Seconds that match conditions took.",
            named, registry=None, buckets=_MATCH_S,
        )  # fmt: skip
        labels = ("status", "apiserver_id_hash")
        self.reloads = _counter(
            "config_controller_automatic_reloads", "Changes of the file that were seen.", labels
        )
        self.reloaded = prometheus.Gauge(
            _PREFIX + "config_controller_automatic_reload_last_timestamp_seconds",
            "When the last one was seen.", labels, registry=None,
        )  # fmt: skip
        self.config = prometheus.Gauge(
            _PREFIX + "config_controller_last_config_info", "Hash of the file in force.",
            ("apiserver_id_hash", "hash"), registry=None,
        )  # fmt: skip

    def families(self) -> Iterable[prometheus.Metric]:
        """All of it, without what has no samples."""
        for one in (
            self.asked, self.open, self.seconds, self.failed, self.excluded,
            self.matching, self.reloads, self.reloaded, self.config,
        ):  # fmt: skip
            for family in one.collect():
                family.samples = [
                    sample for sample in family.samples if not sample.name.endswith("_created")
                ]
                if family.samples:
                    yield family


class Counts:
    """Counts of one server.

    Args:
        identity: of the server, told as a hash.
    """

    def __init__(self, identity: str) -> None:
        self._identity = _hash(identity.encode())
        self.decisions: Tally[tuple[str, str, str]] = Tally()
        """By mode, name and word: plain numbers, since each request that is allowed adds one."""
        self._made: _Rare | None = None

    @property
    def _rare(self) -> _Rare:
        if self._made is None:
            self._made = _Rare()
        return self._made

    def expect(self) -> None:
        """Have all counters made now: at a start, for that takes some tens of milliseconds."""
        self._made = self._rare

    def asked(self, name: str, result: str, seconds: float) -> None:
        """A webhook was asked."""
        self._rare.asked.labels(name, result).inc()
        self._rare.seconds.labels(name, result).observe(seconds)

    def failed_open(self, name: str, result: str) -> None:
        """It could not be asked, and others decide."""
        self._rare.open.labels(name, result).inc()

    def matched(self, name: str, seconds: float, *, failed: bool, excluded: bool) -> None:
        """Its conditions were evaluated."""
        self._rare.matching.labels(*_WEBHOOK, name).observe(seconds)
        if failed:
            self._rare.failed.labels(*_WEBHOOK, name).inc()
        if excluded:
            self._rare.excluded.labels(*_WEBHOOK, name).inc()

    def reloaded(self, status: str, now: float) -> None:
        """A change of the file was taken over, or not.

        Args:
            status: ``success`` or ``failure``.
            now: seconds since the epoch.
        """
        self._rare.reloads.labels(status, self._identity).inc()
        self._rare.reloaded.labels(status, self._identity).set(now)

    def in_force(self, data: bytes) -> None:
        """A file is in force."""
        self._rare.config.clear()
        self._rare.config.labels(self._identity, _hash(data)).set(1)

    def families(self) -> Iterable[prometheus.Metric]:
        """The counts as metrics, without what has no samples."""
        family = prometheus.CounterMetricFamily(
            _PREFIX + "decisions", "Decisions of authorizers.", labels=("type", "name", "decision")
        )
        for labels, count in sorted(self.decisions.items()):
            family.add_metric(labels, count)
        yield family
        if self._made is not None:
            yield from self._made.families()


def _hash(data: bytes) -> str:
    return f"sha256:{sha256(data).hexdigest()}" if data else ""
