"""How many pods their controllers want.

Source: k8s.io/kubernetes/pkg/controller/disruption (finders of controllers).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from kubetrio.kinds.autoscaling.scale import UNSET, scale_of
from kubetrio.kinds.core.pods.digests import Owner, PodDigest, owner_of
from kubetrio.machinery.fielderrors import quote
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.status import ApiError, internal_error
from kubetrio.resources.conversion import from_stored
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import LiveRegistry
from kubetrio.store.model import Reading

Object = dict[str, Any]

APPS = frozenset({"apps", "extensions"})
WORKLOADS: Mapping[str, tuple[frozenset[str], str]] = {
    "ReplicationController": (frozenset({""}), "replicationcontrollers"),
    "ReplicaSet": (APPS, "replicasets"),
    "StatefulSet": (frozenset({"apps"}), "statefulsets"),
    "Deployment": (APPS, "deployments"),
}
"""Kinds that are known to say in ``spec.replicas`` how many pods they want, with their groups."""


class NoScale(Exception):
    """The number of pods that there should be is not known; the text says why."""


class Scales:
    """Sums up what the controllers of pods want.

    Args:
        registry: what is served.
        store: where they are.
    """

    def __init__(self, registry: LiveRegistry, store: Reading) -> None:
        self._registry = registry
        self._store = store

    async def sum(
        self, namespace: str, pods: Iterable[tuple[str, PodDigest]]
    ) -> tuple[int, list[str]]:
        """How many pods the controllers of some pods want, and the names of those without.

        Args:
            namespace: of the pods.
            pods: with their names.

        Raises:
            NoScale: a controller is not there or does not say.
            StoreError: it cannot be read.
        """
        scales = dict[str, int]()
        alone = list[str]()
        for name, pod in pods:
            if pod.owner is None:
                alone.append(name)
                continue
            if pod.owner.uid in scales:
                continue
            scale = await self._found(namespace, pod.owner)
            if scale is None:
                raise NoScale(f"found no controllers for pod {quote(name)}")
            uid, replicas = scale
            scales[uid] = replicas
        return sum(scales.values()), alone

    async def _found(self, namespace: str, owner: Owner) -> tuple[str, int] | None:
        """The uid and the scale of what stands behind an owner."""
        workload = await self._workload(namespace, owner)
        if workload is None:
            return await self._custom(namespace, owner)
        above = owner_of(workload["metadata"])
        if owner.kind == "ReplicaSet" and above is not None and above.kind == "Deployment":
            deployment = await self._workload(namespace, above)
            if deployment is None:
                return await self._custom(namespace, owner)
            workload = deployment
        return workload["metadata"]["uid"], (workload.get("spec") or {}).get("replicas") or 0

    async def _workload(self, namespace: str, owner: Owner) -> Object | None:
        """The built-in workload that an owner names."""
        groups, resource = WORKLOADS.get(owner.kind, (frozenset[str](), ""))
        group = owner.api_version.rpartition("/")[0]
        if group not in groups:
            return None
        kind = self._registry.by_group_resource[GroupResource("apps" if group else "", resource)]
        return await self._stored(kind, namespace, owner)

    async def _stored(self, kind: Kind, namespace: str, owner: Owner) -> Object | None:
        key = kind.key(namespace if kind.namespaced else "", owner.name)
        stored = await self._store.get(key)
        if stored is None:
            return None
        obj: Object = orjson.loads(stored.value)
        return obj if obj["metadata"]["uid"] == owner.uid else None

    async def _custom(self, namespace: str, owner: Owner) -> tuple[str, int] | None:
        """Name and replicas of an owner of any kind that has a scale."""
        group, _, version = owner.api_version.rpartition("/")
        kind = next(
            (
                one
                for one in self._registry.resources.values()
                if (one.group, one.version, one.kind) == (group, version, owner.kind)
            ),
            None,
        )
        if kind is None:
            shown = f"no matches for kind {quote(owner.kind)} in version {quote(owner.api_version)}"
            raise NoScale(shown)
        scale = kind.subresources.get("scale")
        if scale is None:
            raise NoScale(f"{kind.group_resource} does not implement the scale subresource")
        obj = await self._stored(kind, namespace, owner)
        if obj is None:
            return None
        try:
            (obj,) = await from_stored(kind, [obj])
            replicas = scale_of(obj, scale.replicas)["spec"].get("replicas") or 0
        except (ApiError, ValueError) as error:
            raise NoScale(str(error)) from error
        if replicas == UNSET and scale.replicas is not None:
            path = quote(scale.replicas.wanted)
            raise NoScale(str(internal_error(f"the spec replicas field {path} does not exist")))
        return owner.uid, replicas
