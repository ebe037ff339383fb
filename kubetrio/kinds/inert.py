"""What is stored and not acted on: clients that create it by hand are told.

kube-controller-manager, kube-scheduler, kubelets and add-ons act on these on a cluster.  None of
them is part of an API server; beside this one they may run as clients.  docs/reference/
compatibility.md has the same list.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

import orjson
import trio

from kubetrio.kinds.coordination.leading import (
    CLOUD_CONTROLLER_MANAGER,
    CONTROLLER_MANAGER,
    SCHEDULER,
    leads,
)
from kubetrio.observe.logs import Log
from kubetrio.schema.kind import Kind
from kubetrio.store.errors import StoreError
from kubetrio.store.model import Reading

log = Log("kubetrio.api")

_CONTROLLER = "no controller acts on it"
_PODS = f"{_CONTROLLER} and makes pods"
_MANAGER, _SCHEDULER = (CONTROLLER_MANAGER,), (SCHEDULER,)


class Inert(NamedTuple):
    """What does not happen with a kind, and who would do it.

    Args:
        text: what does not happen.
        components: those of a cluster that would, by the names of their Leases.
    """

    text: str
    components: Sequence[str] = ()


INERT: Mapping[tuple[str, str], Inert] = {
    ("", "pods"): Inert("nothing schedules or runs it", _SCHEDULER),
    ("", "replicationcontrollers"): Inert(_PODS, _MANAGER),
    ("", "persistentvolumeclaims"): Inert(
        "nothing provisions a volume for it or binds one", _MANAGER
    ),
    ("apps", "deployments"): Inert(_PODS, _MANAGER),
    ("apps", "replicasets"): Inert(_PODS, _MANAGER),
    ("apps", "statefulsets"): Inert(_PODS, _MANAGER),
    ("apps", "daemonsets"): Inert(_PODS, _MANAGER),
    ("batch", "jobs"): Inert(_PODS, _MANAGER),
    ("batch", "cronjobs"): Inert(f"{_CONTROLLER} and makes jobs", _MANAGER),
    ("autoscaling", "horizontalpodautoscalers"): Inert(
        f"{_CONTROLLER} and scales anything", _MANAGER
    ),
    ("networking.k8s.io", "ingresses"): Inert("nothing routes requests by it"),
    ("networking.k8s.io", "networkpolicies"): Inert("nothing enforces it"),
    ("resource.k8s.io", "resourceclaims"): Inert("nothing allocates devices for it", _SCHEDULER),
    ("storage.k8s.io", "volumeattachments"): Inert("nothing attaches the volume", _MANAGER),
}
"""By group and resource, what does not happen."""
_BALANCER = Inert("nothing makes a load balancer for it", (CLOUD_CONTROLLER_MANAGER,))
_SERVICES = ("", "services")


ACTED_S = 600.0
"""Who wrote the status of a kind is expected to act on it for so long, in seconds."""


class InertKinds:
    """Kinds on which no program acts, beside this server either.

    Args:
        store: where the Leases of components are.
        now: wall clock, in seconds since the epoch.
        acted_on: group and resource of what controllers of this server act on.
    """

    def __init__(
        self,
        store: Reading,
        now: Callable[[], float],
        acted_on: Collection[tuple[str, str]] = (),
    ) -> None:
        self._store = store
        self._now = now
        self._acted_on = acted_on
        self._acted: dict[tuple[str, str], float] = {}  # by Trio's clock

    def acted(self, resource: Kind) -> None:
        """Note that a program wrote what programs write that act on a kind: its status.

        Args:
            resource: the kind, in any version.
        """
        key = (resource.group, resource.resource)
        if key in INERT or key == _SERVICES:
            self._acted[key] = trio.current_time()

    async def warning(self, resource: Kind, value: bytes) -> str | None:
        """What a person who created an object should know; None where a program acts on it.

        Args:
            resource: its kind, in any version.
            value: its bytes as JSON.
        """
        key = (resource.group, resource.resource)
        if key in self._acted_on:
            return None
        entry = INERT.get(key)
        if entry is None and key == _SERVICES:
            spec: Any = orjson.loads(value).get("spec") or {}
            if spec.get("type") == "LoadBalancer":
                entry = _BALANCER
        if entry is None or trio.current_time() - self._acted.get(key, -inf) < ACTED_S:
            return None
        try:
            for component in entry.components:
                if await leads(self._store, component, self._now()):
                    return None
        except StoreError as error:
            log.verbose(2, "cannot read the Lease of a component", error=str(error))
        return f"{resource.kind} is stored, but {entry.text} in kubetrio; other programs can"
