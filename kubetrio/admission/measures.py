"""How long admission takes and what comes of it, under the names that kube-apiserver has for it.

Source: docs "Kubernetes Metrics Reference" (``apiserver_admission_*``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from kubetrio.admission.attributes import Operation
from kubetrio.observe import prometheus
from kubetrio.observe.series import Histogram, Labels, counter, histograms

ADMIT, VALIDATE, VALIDATING = "admit", "validate", "validating"
BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)
WEBHOOK_BUCKETS = (*BUCKETS, 10.0, 25.0)
CONDITION_BUCKETS = (0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25)
LARGEST_CODE = 600
"""What webhooks answer beyond it counts as this, so that they cannot make series without end."""
_CALLED = ("name", "type", "operation")


class Measures:
    """Times and counts of one server's admission.

    Attributes:
        steps: by type, operation and whether it was refused.
        plugins: by name of the plugin, type, operation and whether it refused.
        webhooks: the same by name of the webhook.
        conditions: times of match conditions, by name, kind, type and operation.
    """

    def __init__(self) -> None:
        self.steps: defaultdict[Labels, Histogram] = defaultdict(lambda: Histogram(BUCKETS))
        self.plugins: defaultdict[Labels, Histogram] = defaultdict(lambda: Histogram(BUCKETS))
        self.webhooks: defaultdict[Labels, Histogram] = defaultdict(
            lambda: Histogram(WEBHOOK_BUCKETS)
        )
        self.conditions: defaultdict[Labels, Histogram] = defaultdict(
            lambda: Histogram(CONDITION_BUCKETS)
        )
        self._requests: Counter[Labels] = Counter()
        self._rejections: Counter[Labels] = Counter()
        self._failed_open: Counter[Labels] = Counter()
        self._condition_errors: Counter[Labels] = Counter()
        self._excluded: Counter[Labels] = Counter()

    def called(
        self,
        name: str,
        kind: str,
        operation: Operation,
        *,
        code: int,
        rejected: bool,
        took_s: float,
    ) -> None:
        """Count one call of a webhook.

        Args:
            name: the webhook.
            kind: ``admit`` or ``validating``.
            operation: what it was asked about.
            code: HTTP status that came of it.
            rejected: whether the request was refused.
            took_s: seconds.
        """
        shown = str(min(code, LARGEST_CODE))
        refused = "true" if rejected else "false"
        self._requests[name, kind, operation.value, shown, refused] += 1
        self.webhooks[name, kind, operation.value, refused].observe(took_s)

    def rejected(self, name: str, kind: str, operation: Operation, *, why: str, code: int) -> None:
        """Count one refusal: ``no_error`` if it is the webhook's own, else whose error it was."""
        self._rejections[name, kind, operation.value, why, str(min(code, LARGEST_CODE))] += 1

    def failed_open(self, name: str, kind: str) -> None:
        """Count one failure that was ignored."""
        self._failed_open[name, kind] += 1

    def condition_failed(self, name: str, kind: str, operation: Operation, times: int) -> None:
        """Count match conditions of a webhook that could not be evaluated."""
        if times:
            self._condition_errors[name, "webhook", kind, operation.value] += times

    def excluded(self, name: str, kind: str, operation: Operation) -> None:
        """Count a webhook that was left out by its match conditions."""
        self._excluded[name, "webhook", kind, operation.value] += 1

    def families(self) -> Iterable[prometheus.Metric]:
        """What a scrape shows."""
        step = ("type", "operation", "rejected")
        conditions = ("name", "kind", "type", "operation")
        yield from _histograms("step_admission_duration_seconds", _STEP, step, self.steps)
        named = ("name", *step)
        yield from _histograms(
            "controller_admission_duration_seconds", _PLUGIN, named, self.plugins
        )
        yield from _histograms("webhook_admission_duration_seconds", _WEBHOOK, named, self.webhooks)
        yield from _histograms(
            "match_condition_evaluation_seconds", _CONDITION, conditions, self.conditions
        )
        yield from _counters(
            "webhook_rejection_count",
            "Admission webhook rejections.",
            (*_CALLED, "error_type", "rejection_code"),
            self._rejections,
        )
        yield from _counters(
            "webhook_fail_open_count",
            "Failures of admission webhooks that were ignored.",
            ("name", "type"),
            self._failed_open,
        )
        yield from _counters(
            "webhook_request_total",
            "Calls of admission webhooks.",
            (*_CALLED, "code", "rejected"),
            self._requests,
        )
        yield from _counters(
            "match_condition_evaluation_errors_total",
            "Match conditions that could not be evaluated.",
            conditions,
            self._condition_errors,
        )
        yield from _counters(
            "match_condition_exclusions_total",
            "Requests that match conditions left out.",
            conditions,
            self._excluded,
        )


_STEP = "Seconds of a step of admission: all plugins that change, or all that check."
_PLUGIN = "Seconds of an admission plugin."
_WEBHOOK = "Seconds of an admission webhook."
_CONDITION = "Seconds of the match conditions of an admission webhook."
_PREFIX = "apiserver_admission_"


def _histograms(
    name: str, text: str, labels: Labels, rows: Mapping[Labels, Histogram]
) -> Iterable[prometheus.Metric]:
    seen = {values: row for values, row in list(rows.items()) if any(row.counts)}
    return histograms(_PREFIX + name, text, labels, seen)


def _counters(
    name: str, text: str, labels: Labels, rows: Mapping[Labels, int]
) -> Iterable[prometheus.Metric]:
    return counter(_PREFIX + name, text, labels, rows)
