"""Fields of features that are off in a default kube-apiserver 1.36.

They are dropped without a word, unless the stored object already has them.  Source: the feature
gates of the release and the fields each of them guards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kubetrio.schema.rules import Json

Fields = tuple[str, ...]
"""Paths of one feature: an object that has any of them may have all.  "[]" goes through every
element of a list, "{}" through the values of a map; a last "?" takes the struct along if nothing
else is in it."""

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
# Below a pod's spec.
_POD_FIELDS: tuple[Fields, ...] = (
    ("schedulingGroup",),  # GenericWorkload
    tuple(f"{name}[].lifecycle.stopSignal?" for name in _CONTAINERS),  # ContainerStopSignals
    ("volumes[].projected.sources[].clusterTrustBundle",),  # ClusterTrustBundleProjection
    ("volumes[].projected.sources[].podCertificate",),  # PodCertificateRequest
)
_Path = tuple[str, ...]


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


def off_in_pods(pod_spec: str) -> tuple[Fields, ...]:
    """Fields of a pod's spec that are off.

    Args:
        pod_spec: dotted path of the spec in an object, or empty for objects without one.
    """
    if not pod_spec:
        return ()
    return tuple(tuple(f"{pod_spec}.{field}" for field in fields) for fields in _POD_FIELDS)


def dropping(fields: tuple[Fields, ...]) -> Callable[[Json, Json | None], None] | None:
    """What drops fields in place from an object, unless that which it replaces has them.

    Args:
        fields: by feature.
    """
    if not fields:
        return None
    paths = tuple(tuple(tuple(path.split(".")) for path in group) for group in fields)

    plain = tuple(
        tuple(tuple((name.rstrip("[]{}?"), name.endswith("{}")) for name in path) for path in group)
        for group in paths
    )

    def drop(new: Json, old: Json | None) -> None:
        for group, names in zip(paths, plain, strict=True):
            # Nearly always there is nothing: one look, without a call for each step.
            for steps in names:
                places: list[Any] = [new]
                for name, each in steps:
                    inner: list[Any] = []
                    for value in places:
                        member = value.get(name) if type(value) is dict else None
                        if member is None:
                            continue
                        if each:
                            inner += member.values()
                        elif type(member) is list:
                            inner += member
                        else:
                            inner.append(member)
                    places = inner
                    if not places:
                        break
                if places:
                    break
            else:
                continue
            present = [path for path in group if any(_holders(new, path))]
            if present and not (old and any(any(_holders(old, path)) for path in group)):
                for path in present:
                    _drop(new, path)

    return drop
