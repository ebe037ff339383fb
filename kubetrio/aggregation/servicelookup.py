"""Where the Service of a webhook or of an API server is: an endpoint of it, else its cluster IP.

kube-apiserver dials the cluster IP, or an endpoint with ``--enable-aggregator-routing``.  Cluster
IPs need a proxy on the machine of the server, and where kubetrio runs there often is none; so an
endpoint that is ready is taken where there is one.  With the flag there is no other way.

Source: docs "Dynamic Admission Control" (service reference), "EndpointSlices"; the texts are those
of kube-apiserver's resolver.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kubetrio.admission.objectcache import ObjectCache
from kubetrio.env import Env
from kubetrio.gotext.text import quote
from kubetrio.schema.registry import LiveRegistry
from kubetrio.schema.wellknown import CORE_SERVICES, SLICES

Object = dict[str, Any]
Address = tuple[str, int]

ResolveService = Callable[[str, str, int], Awaitable[Address]]
"""Finds the address and port to dial for a namespace, the name of a Service and its port; raises
`Unresolved`."""

SERVICE_LABEL = "kubernetes.io/service-name"
_ROUTED = ("ClusterIP", "LoadBalancer", "NodePort")


class Unresolved(Exception):
    """A Service cannot be dialled; the text says why."""


class Services:
    """Finds Services of one server.

    Args:
        objects: reads them.
        registry: knows their keys.
        env: chooses among endpoints.
        endpoints_only: whether nothing but an endpoint will do.
    """

    def __init__(
        self,
        objects: ObjectCache,
        registry: LiveRegistry,
        env: Env,
        *,
        endpoints_only: bool = False,
    ) -> None:
        self._endpoints_only = endpoints_only
        self._objects = objects
        self._registry = registry
        self._env = env

    async def resolve(self, namespace: str, name: str, port: int) -> Address:
        """The address and port to dial.

        Args:
            namespace: of the Service.
            name: of the Service.
            port: one of its ports.

        Raises:
            Unresolved: there is none.
        """
        services = self._registry.resources[CORE_SERVICES]
        service = await self._objects.get(services.key(namespace, name))
        if service is None:
            raise Unresolved(f"service {quote(name)} not found")
        spec = service.get("spec") or {}
        kind = spec.get("type") or _ROUTED[0]
        if kind == "ExternalName" and not self._endpoints_only:
            return str(spec.get("externalName") or ""), port
        if kind not in _ROUTED:
            raise Unresolved(f"unsupported service type {quote(kind)}")
        ports = spec.get("ports") or ()
        chosen = next((each for each in ports if each.get("port") == port), None)
        if chosen is None:
            raise Unresolved(f"no service port {port} found for service {quote(name)}")
        endpoint = await self._endpoint(namespace, name, chosen.get("name") or "")
        if endpoint is not None:
            return endpoint
        if self._endpoints_only:
            raise Unresolved(f"no endpoints available for service {quote(name)}")
        address = spec.get("clusterIP") or "None"
        if address == "None":
            raise Unresolved('cannot route to service with ClusterIP "None"')
        return address, port

    async def _endpoint(self, namespace: str, name: str, port_name: str) -> Address | None:
        """One of the endpoints that are ready, by chance."""
        slices = self._registry.resources[SLICES]
        addresses: list[Address] = []
        for each in await self._objects.under(slices.key(namespace, "")):
            labels = each["metadata"].get("labels") or {}
            if labels.get(SERVICE_LABEL) != name or each.get("addressType") == "FQDN":
                continue
            number = next(
                (
                    port["port"]
                    for port in each.get("ports") or ()
                    if (port.get("name") or "") == port_name and port.get("port")
                ),
                None,
            )
            if number is None:
                continue
            addresses += [
                (endpoint["addresses"][0], number)
                for endpoint in each.get("endpoints") or ()
                if (endpoint.get("conditions") or {}).get("ready") is not False
            ]
        return self._env.rng.choice(addresses) if addresses else None
