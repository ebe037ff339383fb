"""Fields of features that are off in a default kube-apiserver 1.36.

They are dropped without a word, unless the stored object already has them.  Source: the feature
gates of the release and the fields each of them guards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from kubetrio.resources.defaults.context import Json

_Group = tuple[str, ...]
"""Paths of one feature: an object that has any of them may have all.  "[]" goes through every
element of a list, "{}" through the values of a map; a last "?" takes the struct along if nothing
else is in it."""

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
# Below a pod's spec.
_POD_FIELDS: tuple[_Group, ...] = (
    ("schedulingGroup",),  # GenericWorkload
    tuple(f"{name}[].lifecycle.stopSignal?" for name in _CONTAINERS),  # ContainerStopSignals
    ("volumes[].projected.sources[].clusterTrustBundle",),  # ClusterTrustBundleProjection
    ("volumes[].projected.sources[].podCertificate",),  # PodCertificateRequest
)
_POD_SPECS: Mapping[tuple[str, str], str] = {
    ("", "pods"): "spec",
    ("", "podtemplates"): "template.spec",
    ("", "replicationcontrollers"): "spec.template.spec",
    ("apps", "deployments"): "spec.template.spec",
    ("apps", "replicasets"): "spec.template.spec",
    ("apps", "daemonsets"): "spec.template.spec",
    ("apps", "statefulsets"): "spec.template.spec",
    ("batch", "jobs"): "spec.template.spec",
    ("batch", "cronjobs"): "spec.jobTemplate.spec.template.spec",
}
_FIELDS: Mapping[tuple[str, str], tuple[_Group, ...]] = {
    ("", "pods"): (
        ("status.nodeAllocatableResourceClaimStatuses",),  # DRANodeAllocatableResources
        (  # ImageVolumeWithDigest
            "status.containerStatuses[].volumeMounts[].volumeStatus",
            "status.initContainerStatuses[].volumeMounts[].volumeStatus",
            "status.ephemeralContainerStatuses[].volumeMounts[].volumeStatus",
        ),
    ),
    ("apps", "statefulsets"): (
        ("spec.updateStrategy.rollingUpdate.maxUnavailable",),  # MaxUnavailableStatefulSet
    ),
    ("coordination.k8s.io", "leases"): (  # CoordinatedLeaderElection
        ("spec.strategy",),
        ("spec.preferredHolder",),
    ),
    ("resource.k8s.io", "resourceslices"): (
        ("spec.devices[].nodeAllocatableResourceMappings",),  # DRANodeAllocatableResources
        tuple(  # DRAListTypeAttributes
            f"spec.devices[].attributes{{}}.{name}"
            for name in ("bools", "ints", "strings", "versions")
        ),
    ),
    ("storage.k8s.io", "csidrivers"): (  # VolumeLimitScaling
        ("spec.preventPodSchedulingIfMissing",),
    ),
}
# Whose subresources drop them too.
_ANY_WAY = frozenset({("", "pods")})

_Path = tuple[str, ...]


@cache
def _paths(key: tuple[str, str]) -> tuple[tuple[_Path, ...], ...]:
    groups = list(_FIELDS.get(key, ()))
    if key in _POD_SPECS:
        spec = _POD_SPECS[key]
        groups += [tuple(f"{spec}.{field}" for field in fields) for fields in _POD_FIELDS]
    return tuple(tuple(tuple(path.split(".")) for path in group) for group in groups)


def _holders(value: Json, path: _Path) -> Iterator[Json]:
    """Every struct that has the last member of a path."""
    name, *rest = path
    member = value.get(name.rstrip("[]{}?"))
    if member is None:
        return
    if not rest:
        yield value
        return
    if name.endswith("{}"):
        member = list(member.values())
    for item in member if isinstance(member, list) else (member,):
        yield from _holders(item, tuple(rest))


def _drop(value: Json, path: _Path) -> None:
    *parents, name = path
    if not name.endswith("?"):
        for holder in list(_holders(value, path)):
            del holder[name]
        return
    last, parent = name.removesuffix("?"), parents[-1]
    for holder in list(_holders(value, tuple(parents))):
        if holder[parent].pop(last, None) is not None and not holder[parent]:
            del holder[parent]


def drop_disabled(key: tuple[str, str], new: Json, old: Json | None, subresource: str = "") -> None:
    """Drop fields of features that are off, in place.

    Args:
        key: group and plural name of the resource.
        new: the object to be stored.
        old: the object it replaces, None for a new one.
        subresource: what is written, empty for the object itself.
    """
    if subresource and key not in _ANY_WAY:
        return
    for group in _paths(key):
        present = [path for path in group if any(_holders(new, path))]
        if present and not (old and any(any(_holders(old, path)) for path in group)):
            for path in present:
                _drop(new, path)
