"""Whether APIServices are available: those of this server are, others are asked.

Source: k8s.io/kube-aggregator/pkg/controllers/status; the words of conditions are those.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import trio

from kubetrio.admission.objectcache import ObjectCache
from kubetrio.aggregation.frontproxy import FrontProxy, Unusable
from kubetrio.aggregation.routes import (
    AVAILABLE,
    Route,
    Routes,
    condition_of,
    is_available,
    route_of,
)
from kubetrio.aggregation.servicelookup import SERVICE_LABEL, Unresolved
from kubetrio.backend.dial import DialError
from kubetrio.backend.exchange import BackendError
from kubetrio.env import Env
from kubetrio.gotext.text import quote
from kubetrio.informers.dispatch import Dispatcher
from kubetrio.informers.reconciler import Later, Reconciler
from kubetrio.informers.workqueue import RateLimiter, WorkQueue
from kubetrio.machinery.timestamps import format_time
from kubetrio.observe import prometheus
from kubetrio.observe.logs import Log
from kubetrio.resources.operations import Operations
from kubetrio.resources.own import OWN
from kubetrio.resources.writes import Target
from kubetrio.schema.registry import LiveRegistry
from kubetrio.schema.wellknown import CORE_SERVICES, SLICES
from kubetrio.store.errors import StoreError

Object = dict[str, Any]
Found = tuple[str, str, str]
"""Status, reason and message of the condition."""

log = Log("kubetrio.aggregation")
NAME = "RemoteAvailabilityController"
WORKERS = 5
RESYNC_S = 30.0
"""How often a server is asked: that it is gone may come with no event."""
BASE_S, MAX_S = 0.005, 30.0
ASK_S = 5.0
ATTEMPTS = 5
LOCAL: Found = ("True", "Local", "Local APIServices are always available")
PASSED: Found = ("True", "Passed", "all checks passed")


class NotReached(Later):
    """A server was asked and did not answer as it should; it is asked again soon."""


class Availability(Reconciler):
    """Keeps the condition ``Available``.

    Args:
        routes: which APIServices there are.
        proxy: asks other servers.
        registry: knows the keys of Services.
        operations: writes.
        dispatcher: tells of changes of Services and their endpoints.
        env: wall clock.
    """

    def __init__(
        self,
        routes: Routes,
        proxy: FrontProxy,
        registry: LiveRegistry,
        operations: Operations,
        dispatcher: Dispatcher,
        env: Env,
    ) -> None:
        super().__init__(NAME, [routes.informer], WORKERS)
        self.queue = WorkQueue(NAME, RateLimiter(BASE_S, MAX_S))
        self._routes = routes
        self._proxy = proxy
        self._operations = operations
        self._dispatcher = dispatcher
        self._objects = ObjectCache(dispatcher)
        self._services = registry.resources[CORE_SERVICES]
        self._slices = registry.resources[SLICES]
        self._env = env
        self._followed: dict[str, Callable[[], None]] = {}  # what ends it, by APIService
        self._unavailable: dict[str, bool] = {}
        self._became: Counter[tuple[str, str]] = Counter()
        routes.subscribe(self.queue.add)

    # ------------------------------------------------------------------ what it follows

    async def sync(self, key: str) -> None:
        """Look at an APIService, and say what was found.

        Raises:
            NotReached: its server was asked and is not well.
            ApiError: the condition cannot be written.
            StoreError: the same.
        """
        service = self._routes.informer.lister.get(key)
        self._follow(key, None if service is None else route_of(service))
        if service is None:
            self._unavailable.pop(key, None)
            return
        route = route_of(service)
        if route is None:
            await self._say(service, LOCAL)
            return
        outcome = await self._check(route)
        await self._say(service, outcome)
        if outcome[1] == "FailedDiscoveryCheck":
            raise NotReached(outcome[2])
        self.queue.add_after(key, RESYNC_S)

    def _follow(self, key: str, route: Route | None) -> None:
        """Hear of changes of the Service behind a route, and of its endpoints."""
        end = self._followed.pop(key, None)
        if end is not None:
            end()
        if route is None:
            return
        label = f'"{SERVICE_LABEL}":"{route.service}"'.encode()

        def changed(*_: object) -> None:
            self.queue.add(key)

        def slice_changed(event: Any) -> None:
            if label in event.value or (event.previous and label in event.previous):
                self.queue.add(key)

        ends = (
            self._dispatcher.subscribe(self._services.key(route.namespace, route.service), changed),
            self._dispatcher.subscribe(self._slices.key(route.namespace, ""), slice_changed),
        )

        def end_all() -> None:
            for one in ends:
                one()

        self._followed[key] = end_all

    # ------------------------------------------------------------------ what it finds

    async def _check(self, route: Route) -> Found:
        shown = f"service/{route.service} in {quote(route.namespace)}"
        try:
            service = await self._objects.get(self._services.key(route.namespace, route.service))
        except StoreError as error:
            why = f"{shown} cannot be checked due to: {error}"
            return "Unknown", "ServiceAccessError", why
        if service is None:
            return "False", "ServiceNotFound", f"{shown} is not present"
        if (service["spec"].get("type") or "ClusterIP") == "ClusterIP":
            wrong = await self._check_endpoints(route, service, shown)
            if wrong is not None:
                return wrong
        failed = await self._ask(route)
        return PASSED if failed is None else ("False", "FailedDiscoveryCheck", failed)

    async def _check_endpoints(self, route: Route, service: Object, shown: str) -> Found | None:
        ports = service["spec"].get("ports") or ()
        name = next((p.get("name") or "" for p in ports if p.get("port") == route.port), None)
        if name is None:
            why = f"{shown} is not listening on port {route.port}"
            return "False", "ServicePortError", why
        try:
            slices = [
                one
                for one in await self._objects.under(self._slices.key(route.namespace, ""))
                if (one["metadata"].get("labels") or {}).get(SERVICE_LABEL) == route.service
            ]
        except StoreError as error:
            why = f"{shown} cannot be checked due to: {error}"
            return "Unknown", "EndpointsAccessError", why
        if not slices:
            return "False", "EndpointsNotFound", f"cannot find endpointslices for {shown}"
        if not any(_ready(one, name) for one in slices):
            why = f"endpointslices for {shown} have no addresses with port name {quote(name)}"
            return "False", "MissingEndpoints", why
        return None

    async def _ask(self, route: Route) -> str | None:
        """Ask for the version's resources: what is wrong, None when nothing is.

        One success is enough, and several endpoints may be there, of which one is ill.
        """
        failed = await self._asked(route)
        if failed is None:
            return None
        failures = [failed]
        async with trio.open_nursery() as nursery:

            async def again() -> None:
                failure = await self._asked(route)
                if failure is None:
                    failures.clear()
                    nursery.cancel_scope.cancel()
                elif failures:
                    failures.append(failure)

            for _ in range(ATTEMPTS - 1):
                nursery.start_soon(again)
        return failures[-1] if failures else None

    async def _asked(self, route: Route) -> str | None:
        try:
            server = await self._proxy.find(route)
        except Unresolved as error:
            return str(error)
        url = f"https://{server.authority}{route.path}"
        failing = f"failing or missing response from {url}: "
        with trio.move_on_after(ASK_S):
            try:
                status = await self._proxy.status(route, server, route.path)
            except Unusable as error:
                return str(error)
            except (DialError, BackendError) as error:
                return f'{failing}Get "{url}": {error}'
            if 200 <= status < 300:
                return None
            return f"{failing}bad status from {url}: {status}"
        late = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        return f'{failing}Get "{url}": {late}'

    # ------------------------------------------------------------------ what it says

    async def _say(self, service: Object, found: Found) -> None:
        status, reason, _ = found
        name = service["metadata"]["name"]
        self._unavailable[name] = status != "True"
        known = condition_of(service) or {}
        if (known.get("status"), known.get("reason"), known.get("message")) == found:
            return
        uid = service["metadata"]["uid"]
        target = Target(resource=self._routes.kind, namespace="", name=name, subresource="status")
        said = False

        def changed(live: Object) -> Object:
            nonlocal said
            said = live["metadata"]["uid"] == uid  # of another one nothing is known yet
            return _with_condition(live, found, self._env.now()) if said else live

        await self._operations.patch(target, changed, OWN)
        if said and status != "True" and is_available(service):
            self._became[name, reason] += 1
        if said and known.get("status") != status:
            log.info("an API service changed", name=name, available=status, reason=reason)

    def families(self) -> Iterable[prometheus.Metric]:
        """Which APIServices are unavailable, and how often they became so."""
        now = prometheus.GaugeMetricFamily(
            "aggregator_unavailable_apiservice",
            "Gauge of APIServices which are marked as unavailable broken down by APIService name.",
            labels=("name",),
        )
        for name, unavailable in sorted(self._unavailable.items()):
            now.add_metric([name], float(unavailable))
        ever = prometheus.CounterMetricFamily(
            "aggregator_unavailable_apiservice",
            "Counter of APIServices which are marked as unavailable broken down by APIService name "
            "and reason.",
            labels=("name", "reason"),
        )
        for labels, count in sorted(self._became.items()):
            ever.add_metric(labels, count)
        return now, ever


def _with_condition(service: Object, found: Found, now: float) -> Object:
    status, reason, message = found
    conditions = [dict(one) for one in (service.get("status") or {}).get("conditions") or ()]
    condition = next((one for one in conditions if one.get("type") == AVAILABLE), None)
    if condition is None:
        condition = {"type": AVAILABLE}
        conditions.append(condition)
    if condition.get("status") != status:
        condition["status"], condition["lastTransitionTime"] = status, format_time(now)
    condition["reason"], condition["message"] = reason, message
    return {
        **service,
        "metadata": dict(service["metadata"]),
        "status": {**(service.get("status") or {}), "conditions": conditions},
    }


def _ready(endpoint_slice: Object, port_name: str) -> bool:
    """Whether a slice has a ready endpoint, and the port."""
    if not any(
        (one.get("conditions") or {}).get("ready") is not False
        for one in endpoint_slice.get("endpoints") or ()
    ):
        return False
    return any(
        (port.get("name") or "") == port_name and port.get("port")
        for port in endpoint_slice.get("ports") or ()
    )
