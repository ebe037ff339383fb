"""What is counted of the audit log, and what is said where events are lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kubetrio.audit.events import AuditEvent
from kubetrio.audit.policy import LEVEL_NAMES, Level
from kubetrio.observe import prometheus
from kubetrio.observe.logs import Log

log = Log("kubetrio.audit")


class Counting:
    """Counters of one server, with kube-apiserver's names.

    Attributes:
        events: given to backends.
        levels: requests by the level that the policy gave them.
        errors: events lost, by the plugin that lost them.
        rejected: requests refused because an event could not be written.
    """

    def __init__(self) -> None:
        self.events = 0
        self.levels = [0] * len(Level)
        self.errors = Counter[str]()
        self.rejected = 0

    def lost(self, plugin: str, why: object, events: Sequence[AuditEvent]) -> None:
        """Count and log events that are lost.

        Args:
            plugin: ``log``, ``webhook``, ``buffered`` or ``truncate``.
            why: an error, or its text.
            events: those.
        """
        self.errors[plugin] += len(events)
        impacted = "".join(event.legacy().decode() for event in events)
        log.error(
            None,
            f"Error in audit plugin '{plugin}' affecting {len(events)} audit events: {why}",
            impacted=impacted,
        )

    def families(self) -> Iterable[prometheus.Metric]:
        """The counters as metrics."""
        yield _counter(
            "apiserver_audit_event_total",
            "Audit events generated and sent to the audit backend.",
            self.events,
        )
        yield _counter(
            "apiserver_audit_requests_rejected_total",
            "Requests refused because the audit backend failed.",
            self.rejected,
        )
        levels = prometheus.CounterMetricFamily(
            "apiserver_audit_level_total", "Requests by the level of the policy.", labels=["level"]
        )
        for level, count in zip(Level, self.levels, strict=True):
            if count:
                levels.add_metric([LEVEL_NAMES[level]], count)
        yield levels
        errors = prometheus.CounterMetricFamily(
            "apiserver_audit_error_total", "Audit events that were lost.", labels=["plugin"]
        )
        for plugin, count in self.errors.items():
            errors.add_metric([plugin], count)
        yield errors


def _counter(name: str, text: str, value: float) -> prometheus.Metric:
    family = prometheus.CounterMetricFamily(name, text)
    family.add_metric([], value)
    return family
