"""What PodSecurity decided, as metrics.

Source: k8s.io/pod-security-admission/metrics for names and labels.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubetrio.admission.attributes import Attributes
from kubetrio.observe import prometheus
from kubetrio.observe.series import Counts, Labels
from kubetrio.plugins.podsecurity.policy import LATEST, PRIVILEGED, Standard
from kubetrio.release import MINOR
from kubetrio.schema.wellknown import NAMESPACE_RESOURCE, POD_RESOURCE

ENFORCE, AUDIT, WARN = "enforce", "audit", "warn"
_REQUEST = ("request_operation", "resource", "subresource")
_WORDS = {POD_RESOURCE: "pod", NAMESPACE_RESOURCE: "namespace"}


def _request(attributes: Attributes) -> Labels:
    resource = _WORDS.get(attributes.resource.group_resource, "controller")
    return attributes.operation.value.lower(), resource, attributes.subresource


class SecurityCounts:
    """Counts of one server."""

    def __init__(self) -> None:
        self._evaluations = Counts(
            "pod_security_evaluations_total",
            "Evaluations of pods against the standard of their namespace.",
            "decision", "policy_level", "policy_version", "mode", *_REQUEST,
        )  # fmt: skip
        self._exemptions = Counts(
            "pod_security_exemptions_total", "Requests that were exempt.", *_REQUEST
        )
        self._errors = Counts(
            "pod_security_errors_total", "Errors that kept from evaluating.", "fatal", *_REQUEST
        )

    def evaluated(
        self, attributes: Attributes, standard: Standard, mode: str, *, allowed: bool
    ) -> None:
        """Count a decision."""
        version = LATEST
        if standard.minor is not None and standard.level != PRIVILEGED:
            version = f"v1.{standard.minor}" if standard.minor <= MINOR else "future"
        decision = "allow" if allowed else "deny"
        labels = decision, standard.level, version, mode, *_request(attributes)
        self._evaluations[labels] += 1

    def exempted(self, attributes: Attributes) -> None:
        """Count a request that was not looked at."""
        self._exemptions[_request(attributes)] += 1

    def failed(self, attributes: Attributes, *, fatal: bool) -> None:
        """Count an error: a fatal one if nothing was evaluated."""
        self._errors["true" if fatal else "false", *_request(attributes)] += 1

    def families(self) -> Iterator[prometheus.Metric]:
        """What a scrape shows."""
        for counts in (self._evaluations, self._exemptions, self._errors):
            yield from counts.families()
