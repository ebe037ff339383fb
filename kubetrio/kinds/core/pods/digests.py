"""What controllers keep of a pod: about a tenth of it, and what pods have in common once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import orjson

from kubetrio.informers.digests import Digests
from kubetrio.informers.informer import SharedInformerFactory

Object = dict[str, Any]
H = TypeVar("H")

PREFIX = "/registry/pods/"
DISRUPTION_TARGET = "DisruptionTarget"
_MOST_SHARED = 8192
_shared: dict[object, Any] = {}  # values that the digests of several pods have in common


def _same(value: H) -> H:
    """An equal value that others have, or this one.  Where many differ, nothing is shared."""
    if len(_shared) >= _MOST_SHARED:
        _shared.clear()
    first: H = _shared.setdefault(value, value)
    return first


class Owner(NamedTuple):
    """The controller of an object.

    Args:
        api_version: of its kind.
        kind: of the owner.
        name: of the owner.
        uid: of the owner.
    """

    api_version: str
    kind: str
    name: str
    uid: str


class Port(NamedTuple):
    """A port of a container that has a name; for which protocol, and its number."""

    name: str
    protocol: str
    number: int


class Stale(NamedTuple):
    """A true ``DisruptionTarget`` condition: its reason, and since when it is true."""

    reason: str
    since: str


class PodDigest(NamedTuple):
    """What is kept of a pod.

    Args:
        uid: of the pod.
        labels: pairs of key and value.
        created: when.
        deleting: when it is to be gone, empty when it stays.
        shut_down: whether it is being deleted and has no time left.
        phase: of its status.
        reason: of its status.
        ready: whether its ``Ready`` condition is true.
        ready_since: when that condition changed, empty when there is none.
        target: the condition that it is to be disrupted.
        owner: its controller.
        node: on which it is, empty for none.
        hostname: that it asks for.
        subdomain: that it asks for.
        restarts: its restart policy.
        ips: its addresses.
        ports: of its containers, those with a name.
        claims: names of the claims that its volumes name.
        ephemeral: names of the claims that are made for its volumes.
    """

    uid: str
    labels: tuple[tuple[str, str], ...]
    created: str
    deleting: str
    shut_down: bool
    phase: str
    reason: str
    ready: bool
    ready_since: str
    target: Stale | None
    owner: Owner | None
    node: str
    hostname: str
    subdomain: str
    restarts: str
    ips: tuple[str, ...]
    ports: tuple[Port, ...]
    claims: tuple[str, ...]
    ephemeral: tuple[str, ...]

    @property
    def over(self) -> bool:
        """Whether its containers ended for good."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def label_map(self) -> Mapping[str, str]:
        """Its labels."""
        return dict(self.labels)


def owner_of(meta: Object) -> Owner | None:
    """The controller of an object, from its metadata."""
    for reference in meta.get("ownerReferences") or ():
        if reference.get("controller"):
            names = ("apiVersion", "kind", "name", "uid")
            return Owner(*(reference.get(name) or "" for name in names))
    return None


@lru_cache(maxsize=1)
def parsed(value: bytes) -> Object:
    """Parse a pod; all that follow one event share what comes of it, and must not change it.

    Args:
        value: the stored pod.
    """
    pod: Object = orjson.loads(value)
    return pod


def pod_digest(value: bytes) -> PodDigest:
    """What is kept of a pod.

    Args:
        value: the stored pod.
    """
    pod = parsed(value)
    meta, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    conditions = {one.get("type"): one for one in status.get("conditions") or ()}
    ready = conditions.get("Ready") or {}
    target = conditions.get(DISRUPTION_TARGET) or {}
    stale = None
    if target.get("status") == "True":
        stale = Stale(target.get("reason") or "", target.get("lastTransitionTime") or "")
    volumes = spec.get("volumes") or ()
    ips = [one.get("ip") or "" for one in status.get("podIPs") or ()]
    deleting = meta.get("deletionTimestamp") or ""
    owner = owner_of(meta)
    return PodDigest(
        uid=meta.get("uid") or "",
        labels=_same(tuple((meta.get("labels") or {}).items())),
        created=meta.get("creationTimestamp") or "",
        deleting=deleting,
        shut_down=bool(deleting) and meta.get("deletionGracePeriodSeconds") == 0,
        phase=_same(status.get("phase") or ""),
        reason=_same(status.get("reason") or ""),
        ready=ready.get("status") == "True",
        ready_since=ready.get("lastTransitionTime") or "",
        target=stale,
        owner=None if owner is None else _same(owner),
        node=_same(spec.get("nodeName") or ""),
        hostname=spec.get("hostname") or "",
        subdomain=_same(spec.get("subdomain") or ""),
        restarts=_same(spec.get("restartPolicy") or ""),
        ips=tuple(ip for ip in ips if ip),
        ports=_same(_named_ports(spec)),
        claims=tuple(
            one["persistentVolumeClaim"].get("claimName") or ""
            for one in volumes
            if one.get("persistentVolumeClaim")
        ),
        ephemeral=tuple(
            f"{meta['name']}-{one['name']}" for one in volumes if one.get("ephemeral") is not None
        ),
    )


def _named_ports(spec: Object) -> tuple[Port, ...]:
    """Ports with names, of containers and of those of the first ones that keep running."""
    keep = [one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    return tuple(
        Port(port["name"], port.get("protocol") or "TCP", port["containerPort"])
        for container in [*(spec.get("containers") or ()), *keep]
        for port in container.get("ports") or ()
        if port.get("name")
    )


Pods = Digests[PodDigest]
PodHandler = Callable[[str, str, PodDigest | None, PodDigest | None], None]
"""Told of namespace, name, the pod that was and the pod that is."""


def pods_of(informers: SharedInformerFactory) -> Pods:
    """The pods of a server; the same for all controllers."""
    return informers.digests(PREFIX, pod_digest)
