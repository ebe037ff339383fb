"""What the status of a namespace says of its deletion, in kube-controller-manager's words.

Source: k8s.io/kubernetes/pkg/controller/namespace/deletion/status_condition_utils.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kubetrio.machinery.names import GroupResource, GroupVersion

Object = dict[str, Any]
FINALIZERS_S = 15  # how long finalizers are expected to take


class Said(NamedTuple):
    """A reason and its text.

    Args:
        reason: in one word.
        message: for people.
    """

    reason: str
    message: str


DISCOVERY = "NamespaceDeletionDiscoveryFailure"
PARSING = "NamespaceDeletionGroupVersionParsingFailure"
CONTENT = "NamespaceDeletionContentFailure"
REMAINING = "NamespaceContentRemaining"
FINALIZERS = "NamespaceFinalizersRemaining"

WELL: Mapping[str, Said] = {
    DISCOVERY: Said("ResourcesDiscovered", "All resources successfully discovered"),
    PARSING: Said("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    CONTENT: Said(
        "ContentDeleted", "All content successfully deleted, may be waiting on finalization"
    ),
    REMAINING: Said("ContentRemoved", "All content successfully removed"),
    FINALIZERS: Said("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
"""Conditions, in their order, and what they say when nothing is wrong."""


class Left(NamedTuple):
    """What is left of a resource in a namespace.

    Args:
        objects: how many.
        finalizers: how many of them wait for each.
    """

    objects: int
    finalizers: Mapping[str, int]


@dataclass(slots=True)
class RemainingContent:
    """What is left of the content of a namespace.

    Args:
        unknown: versions of other servers whose content is not known.
        objects: how many there are, by resource.
        finalizers: how many objects wait for each finalizer.
        failures: why something could not be deleted.
    """

    unknown: Sequence[GroupVersion] = ()
    objects: dict[GroupResource, int] = field(default_factory=dict)
    finalizers: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def problems(self) -> list[str]:
        """Why it has to be tried again."""
        return [*self.failures, *([_undiscovered(self.unknown)] if self.unknown else ())]

    def add(
        self, left: Left, namespace: str, resource: GroupResource, version: str, wait_s: int
    ) -> int:
        """Count what is left of a resource.

        Args:
            left: how much.
            namespace: where.
            resource: of what.
            version: in which it was looked at.
            wait_s: how long its objects are expected to take.

        Returns:
            The same, or how long finalizers are; 0 where nothing is to be waited for.
        """
        if not left.objects:
            return 0
        self.objects[resource] = self.objects.get(resource, 0) + left.objects
        for name, number in left.finalizers.items():
            self.finalizers[name] = self.finalizers.get(name, 0) + number
        if wait_s or left.finalizers:
            return wait_s or FINALIZERS_S
        self.failures.append(
            f"unexpected items still remain in namespace: {namespace} "
            f"for gvr: {resource.group}/{version}, Resource={resource.resource}"
        )
        return 0


def _undiscovered(versions: Sequence[GroupVersion]) -> str:
    """In client-go's words."""
    failed = sorted(
        f"{one.api_version}: stale GroupVersion discovery: {one.api_version}" for one in versions
    )
    return f"unable to retrieve the complete list of server APIs: {', '.join(failed)}"


def wrong(remains: RemainingContent) -> dict[str, Said]:
    """The conditions that hold.

    Args:
        remains: what is left.
    """
    conditions: dict[str, Said] = {}
    if remains.unknown:
        conditions[DISCOVERY] = Said(
            "DiscoveryFailed",
            f"Discovery failed for some groups, {len(remains.unknown)} failing: "
            f"{_undiscovered(remains.unknown)}",
        )
    if remains.failures:
        texts = ", ".join(sorted(remains.failures))
        number = len(remains.failures)
        conditions[CONTENT] = Said(
            "ContentDeletionFailed",
            f"Failed to delete all resource types, {number} remaining: {texts}",
        )
    if remains.objects:
        left = ", ".join(
            sorted(
                f"{name.resource}.{name.group} has {number} resource instances"
                for name, number in remains.objects.items()
            )
        )
        conditions[REMAINING] = Said("SomeResourcesRemain", f"Some resources are remaining: {left}")
    if remains.finalizers:
        left = ", ".join(
            sorted(
                f"{name} in {number} resource instances"
                for name, number in remains.finalizers.items()
            )
        )
        conditions[FINALIZERS] = Said(
            "SomeFinalizersRemain",
            f"Some content in the namespace has finalizers remaining: {left}",
        )
    return conditions


def updated(conditions: Sequence[Object], found: Mapping[str, Said], now: str) -> list[Object]:
    """The conditions of a namespace; those of others stay.

    Args:
        conditions: as they are; not changed.
        found: those that hold.
        now: the time, as objects have it.

    Returns:
        Equal conditions where nothing is to be said.
    """
    result = [dict(one) for one in conditions]
    for name, well in WELL.items():
        condition = found.get(name, well)
        status = "True" if name in found else "False"
        new: Object = {"type": name, "status": status}
        old = next((one for one in result if one.get("type") == name), None)
        if old is None:
            result.append({**new, "lastTransitionTime": now, **condition._asdict()})
            continue
        if old.get("status") != status:
            old["lastTransitionTime"] = now
        old.update(new, **condition._asdict())
    return result
