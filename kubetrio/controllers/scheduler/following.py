"""What a scheduler follows besides pods and nodes: namespaces, volumes, budgets, owners of pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import orjson

from kubetrio.config import Config
from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.scheduler.cluster import Cluster
from kubetrio.controllers.scheduler.devices.facts import (
    Claim,
    device_claim_facts,
    device_class_facts,
    slice_facts,
)
from kubetrio.controllers.scheduler.framework import Happening
from kubetrio.controllers.scheduler.preemption import Budget, budget_view
from kubetrio.controllers.scheduler.volumes import (
    Volumes,
    claim_facts,
    class_facts,
    volume_facts,
)
from kubetrio.controllers.table import ALL, NONE, TABLE, wanted
from kubetrio.machinery.labels import NOTHING, Selector, from_label_selector

Object = dict[str, Any]
T = TypeVar("T")
Happened = Callable[[Happening], None]
BINDER = ("persistentvolume-binder-controller", "persistentvolume-binder")
"""Names of the controller that binds claims."""
_DEVICES = "resource.k8s.io"
_OWNERS = (
    ("apps", "replicasets", "ReplicaSet"),
    ("apps", "statefulsets", "StatefulSet"),
    ("", "replicationcontrollers", "ReplicationController"),
)


class ClusterFollower:
    """Keeps the rest of a cluster's state as it is stored.

    Args:
        controller: that follows.
        context: what it is made of.
        cluster: is told.
        happened: is told what may help pods.

    Attributes:
        budgets: with their namespaces.
    """

    def __init__(
        self, controller: Controller, context: Context, cluster: Cluster, happened: Happened
    ) -> None:
        self._controller = controller
        self._context = context
        self._happened = happened
        volumes, owners = cluster.volumes, cluster.owners
        self._follow("", "persistentvolumeclaims", claim_facts, _kept(volumes.claims, self._volume))
        self._follow("", "persistentvolumes", volume_facts, _kept(volumes.volumes, self._volume))
        self._follow(
            "storage.k8s.io", "storageclasses", class_facts, _kept(volumes.classes, self._volume)
        )
        devices = cluster.devices

        def claim(namespace: str, name: str, old: Claim | None, new: Claim | None) -> None:
            _kept(devices.claims, self._device)(namespace, name, old, new)
            if new is None or new.allocated:
                devices.given.pop(f"{namespace}/{name}", None)

        self._follow(_DEVICES, "resourceclaims", device_claim_facts, claim)
        kept = _kept(devices.classes, self._device)
        self._follow(_DEVICES, "deviceclasses", device_class_facts, kept)
        self._follow(_DEVICES, "resourceslices", slice_facts, _kept(devices.slices, self._device))
        self._follow("", "namespaces", _labels, _kept(cluster.namespaces, self._placed))
        self._budgets: dict[str, Budget] = {}
        self._follow("policy", "poddisruptionbudgets", budget_view, _kept(self._budgets))

        def service(namespace: str, name: str, _: object, new: Mapping[str, str] | None) -> None:
            there = owners.services.setdefault(namespace, {})
            if new:
                there[name] = new
            else:
                there.pop(name, None)

        self._follow("", "services", _service_selector, service)
        for group, resource, kind in _OWNERS:
            view = _map_selector if group == "" else _selector
            self._follow(group, resource, view, _owner(owners.controllers, kind))

    @property
    def budgets(self) -> list[tuple[str, Budget]]:
        """See the class."""
        return [(key.partition("/")[0], budget) for key, budget in self._budgets.items()]

    def _follow(
        self,
        group: str,
        resource: str,
        view: Callable[[bytes], T],
        changed: Callable[[str, str, T | None, T | None], None],
    ) -> None:
        version = "v1"
        kind = self._context.registry.resources[group, version, resource]
        digests = self._context.informers.digests(kind.storage_prefix, view)
        self._controller.follow_digests(digests, changed)

    def _volume(self) -> None:
        self._happened(Happening.VOLUME)

    def _device(self) -> None:
        self._happened(Happening.DEVICE)

    def _placed(self) -> None:
        self._happened(Happening.PLACED)


def _kept(
    kept: dict[str, T], changed: Callable[[], None] = lambda: None
) -> Callable[[str, str, T | None, T | None], None]:
    """Return a function that keeps values by namespace and name, or by name."""

    def change(namespace: str, name: str, old: T | None, new: T | None) -> None:
        key = f"{namespace}/{name}" if namespace else name
        if new is None:
            kept.pop(key, None)
        else:
            kept[key] = new
        if new != old:
            changed()

    return change


def _owner(
    kept: dict[tuple[str, str, str], Selector], kind: str
) -> Callable[[str, str, Selector | None, Selector | None], None]:
    def change(namespace: str, name: str, _: Selector | None, new: Selector | None) -> None:
        if new is None:
            kept.pop((namespace, kind, name), None)
        else:
            kept[namespace, kind, name] = new

    return change


def _labels(value: bytes) -> Mapping[str, str]:
    obj: Object = orjson.loads(value)
    return obj["metadata"].get("labels") or {}


def _service_selector(value: bytes) -> Mapping[str, str]:
    obj: Object = orjson.loads(value)
    return (obj.get("spec") or {}).get("selector") or {}


def _selector(value: bytes) -> Selector:
    obj: Object = orjson.loads(value)
    return _read((obj.get("spec") or {}).get("selector"))


def _map_selector(value: bytes) -> Selector:
    obj: Object = orjson.loads(value)
    return _read({"matchLabels": (obj.get("spec") or {}).get("selector") or {}})


def _read(selector: Object | None) -> Selector:
    try:
        return from_label_selector(selector)
    except ValueError:
        return NOTHING


def binds_claims(config: Config) -> bool:
    """Whether a controller of this server is to bind claims."""
    asked = wanted(config)
    for entry in asked:
        if entry.removeprefix("-") in BINDER:
            return not entry.startswith("-")
    row = TABLE.get(BINDER[0])
    return row is not None and row.on_by_default and ALL in asked and NONE not in asked


def fresh_cluster(config: Config) -> Cluster:
    """A cluster of which nothing is known yet."""
    return Cluster(Volumes(binding=binds_claims(config)))
