"""Fields of features that are off in a default kube-apiserver 1.36.

They are dropped without a word, unless the stored object already has them.  Source: the feature
gates of the release and the fields each of them guards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from kubetrio.resources.defaults.context import Json

# Paths below a pod's spec; "[]" goes through every element of a list.
_POD_FIELDS = (
    "schedulingGroup",  # GenericWorkload
    "containers[].lifecycle.stopSignal",  # ContainerStopSignals
    "initContainers[].lifecycle.stopSignal",
    "volumes[].projected.sources[].clusterTrustBundle",  # ClusterTrustBundleProjection
    "volumes[].projected.sources[].podCertificate",  # PodCertificateRequest
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
_FIELDS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("apps", "statefulsets"): (
        "spec.updateStrategy.rollingUpdate.maxUnavailable",  # MaxUnavailableStatefulSet
    ),
    ("coordination.k8s.io", "leases"): (  # CoordinatedLeaderElection
        "spec.strategy",
        "spec.preferredHolder",
    ),
    ("resource.k8s.io", "resourceslices"): (  # DRANodeAllocatableResources
        "spec.devices[].nodeAllocatableResourceMappings",
    ),
    ("storage.k8s.io", "csidrivers"): (  # VolumeLimitScaling
        "spec.preventPodSchedulingIfMissing",
    ),
}

_Path = tuple[str, ...]


@cache
def _paths(key: tuple[str, str]) -> tuple[_Path, ...]:
    paths = list(_FIELDS.get(key, ()))
    if key in _POD_SPECS:
        paths += [f"{_POD_SPECS[key]}.{field}" for field in _POD_FIELDS]
    return tuple(tuple(path.split(".")) for path in paths)


def _holders(value: Json, path: _Path) -> Iterator[Json]:
    """Every struct that has the last member of a path."""
    name, *rest = path
    if not rest:
        if value.get(name) is not None:
            yield value
        return
    member = value.get(name.removesuffix("[]"))
    if member is None:
        return
    for item in member if name.endswith("[]") else (member,):
        yield from _holders(item, tuple(rest))


def drop_disabled(key: tuple[str, str], new: Json, old: Json | None) -> None:
    """Drop fields of features that are off, in place.

    Args:
        key: group and plural name of the resource.
        new: the object to be stored.
        old: the object it replaces, None for a new one.
    """
    for path in _paths(key):
        if old is not None and any(_holders(old, path)):
            continue
        for holder in list(_holders(new, path)):
            del holder[path[-1]]
