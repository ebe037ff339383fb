"""Which pods stand behind a service, at which ports and addresses, and since when.

Source: docs "Service", "EndpointSlices"; k8s.io/endpointslice (utils, trigger time tracker).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from kubetrio.informers.digests import Digests
from kubetrio.informers.informer import SharedInformerFactory
from kubetrio.kinds.common.addresses import parse_ip
from kubetrio.kinds.core.pods.digests import PodDigest

Object = dict[str, Any]

SERVICES = "/registry/services/specs/"
HEADLESS = "service.kubernetes.io/headless"
TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"


class ServiceDigest(NamedTuple):
    """What is kept of a service.

    Args:
        selector: pairs of key and value; None for a service without.
    """

    selector: frozenset[tuple[str, str]] | None

    def selects(self, pod: PodDigest) -> bool:
        """Whether a pod of its namespace stands behind it."""
        return self.selector is not None and self.selector.issubset(pod.labels)


def service_digest(value: bytes) -> ServiceDigest:
    """What is kept of a service.

    Args:
        value: the stored service.
    """
    selector = (orjson.loads(value).get("spec") or {}).get("selector")
    return ServiceDigest(frozenset(selector.items()) if selector else None)


Services = Digests[ServiceDigest]


def services_of(informers: SharedInformerFactory) -> Services:
    """The services of a server; the same for all controllers."""
    return informers.digests(SERVICES, service_digest)


def has_address(service: Object) -> bool:
    """Whether a service has a cluster address, and is not headless."""
    return (service["spec"].get("clusterIP") or "") not in ("", "None")


def belongs(pod: PodDigest, *, terminating: bool) -> bool:
    """Whether a pod is an endpoint at all.

    Args:
        pod: a pod that a service selects.
        terminating: whether pods count that are being deleted.
    """
    return not pod.over and bool(pod.ips) and (terminating or not pod.deleting)


def addresses_of(pod: PodDigest, *, six: bool) -> list[str]:
    """The addresses of a pod in one family, as Go prints them."""
    parsed = (parse_ip(text) for text in pod.ips)
    return [str(ip) for ip in parsed if ip is not None and (ip.version == 6) is six]


def port_of(pod: PodDigest, port: Object) -> int | None:
    """The number of a service's port at a pod; None for a name that the pod does not have."""
    target = port.get("targetPort") or port["port"]
    if isinstance(target, int):
        return target
    protocol = port.get("protocol") or "TCP"
    for one in pod.ports:
        if (one.name, one.protocol) == (target, protocol):
            return one.number
    return None


def hostname_in(pod: PodDigest, service: Object) -> str:
    """The hostname of a pod in the subdomain that a service is for; empty in others."""
    return pod.hostname if pod.subdomain == service["metadata"]["name"] else ""


def pod_reference(namespace: str, name: str, pod: PodDigest) -> Object:
    """What an endpoint says of its pod."""
    return {"kind": "Pod", "namespace": namespace, "name": name, "uid": pod.uid}


def same_backend(old: PodDigest, new: PodDigest) -> bool:
    """Whether a pod is the same endpoint for all services that select it."""
    return all(
        getattr(old, name) == getattr(new, name)
        for name in (
            "uid", "labels", "hostname", "subdomain", "deleting", "ready", "ips", "over", "node",
        )
    )  # fmt: skip


class TriggerTimes:
    """Remembers by service what changes were told of, to say when the newest ones began."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, dict[str, str]]] = {}

    def of(self, key: str, service: Object, pods: Iterable[tuple[str, PodDigest]]) -> str:
        """When the first of the changes was that no endpoint tells yet; empty if there are none.

        Args:
            key: of the service.
            service: the service.
            pods: those it selects, by name.
        """
        created: str = service["metadata"].get("creationTimestamp") or ""
        known = self._known.get(key)
        told_created, told = known or ("", dict[str, str]())
        times = {name: pod.ready_since for name, pod in pods if pod.ready_since}
        self._known[key] = created, times
        if known is None:
            return created
        # Texts of one form and one zone are in the order of their times.
        new = [time for name, time in times.items() if time > told.get(name, "")]
        if created > told_created:
            new.append(created)
        return min(new, default="")

    def forget(self, key: str) -> None:
        """A service is gone."""
        self._known.pop(key, None)


def selected(service: Object, pods: Mapping[str, PodDigest]) -> Iterator[tuple[str, PodDigest]]:
    """The pods that a service selects, by name.

    Args:
        service: with a selector.
        pods: of its namespace.
    """
    labels = frozenset((service["spec"].get("selector") or {}).items())
    for name in sorted(name for name, pod in pods.items() if labels.issubset(pod.labels)):
        yield name, pods[name]
