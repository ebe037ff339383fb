"""Where metrics come from: the simulation of this server, or aggregated metrics APIs.

Source: k8s.io/kubernetes/pkg/controller/podautoscaler/metrics/client.go;
k8s.io/metrics/pkg/client (paths of custom and external metrics).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlencode

import orjson
import trio

from kubetrio.aggregation.documents import NOT_THERE
from kubetrio.aggregation.frontproxy import Fetched
from kubetrio.aggregation.routes import Route
from kubetrio.controllers.controller import Context
from kubetrio.controllers.horizontalpodautoscaler.replicas import Sample
from kubetrio.controllers.identity import controller_user
from kubetrio.gotext.durations import parse_duration
from kubetrio.kinds.core.nodedigests import PREFIX as NODES
from kubetrio.kinds.core.pods.digests import PREFIX as PODS
from kubetrio.machinery.labels import Selector
from kubetrio.machinery.names import GroupResource, GroupVersion
from kubetrio.machinery.quantity import from_json
from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import parse_time

Object = Mapping[str, Any]

RESOURCE = GroupVersion("metrics.k8s.io", "v1beta1")
CUSTOM = (
    GroupVersion("custom.metrics.k8s.io", "v1beta2"),
    GroupVersion("custom.metrics.k8s.io", "v1beta1"),
)
EXTERNAL = GroupVersion("external.metrics.k8s.io", "v1beta1")
WINDOW_S = 60.0
"""Of a custom metric that does not say, in seconds."""
LIMIT_S = 60.0  # as kube-apiserver's --request-timeout
MOST_BYTES = 16 << 20
NAMESPACES = GroupResource("", "namespaces")


class NoMetrics(Exception):
    """There are no metrics; the text says why."""


class MetricSources:
    """Asks for metrics.

    Args:
        context: of the controller.
        account: the service account that asks.
    """

    def __init__(self, context: Context, account: str) -> None:
        self._routes = context.aggregation.routes.by_version
        self._proxy = context.aggregation.proxy
        self._simulated = bool(context.config.simulation.nodes)
        self._informers = context.informers
        self._env = context.env
        self._user = controller_user(account)

    async def of_resource(
        self, namespace: str, selector: Selector, resource: str, container: str
    ) -> dict[str, Sample]:
        """What pods use of a resource, by their names.

        Args:
            namespace: of the pods.
            selector: of their labels.
            resource: its name.
            container: the only one that counts, empty for all.

        Raises:
            NoMetrics: nothing is known.
            StoreError: pods cannot be read.
        """
        route = self._routes.get(RESOURCE)
        api = "resource metrics API"
        if route is not None:
            path = f"{route.path}/namespaces/{quote(namespace, safe='')}/pods"
            query = {"labelSelector": str(selector)}
            items = await self._items(route, path, query, api, "get pods.metrics.k8s.io")
        elif self._simulated:
            items = await self._simulated_items(namespace, selector)
        else:
            raise _absent(api, "get pods.metrics.k8s.io")
        if not items:
            raise NoMetrics(f"no metrics returned from {api}")
        samples: dict[str, Sample] = {}
        with _readable(api):
            for item in items:
                milli = _use_of(item, resource, container)
                if milli is not None:
                    at, window_s = parse_time(item["timestamp"]), parse_duration(item["window"])
                    samples[item["metadata"]["name"]] = Sample(at, window_s, milli)
        return samples

    async def of_pods(
        self, namespace: str, selector: Selector, metric: str, metric_selector: Selector
    ) -> dict[str, Sample]:
        """A custom metric of pods, by their names.

        Args:
            namespace: of the pods.
            selector: of their labels.
            metric: its name.
            metric_selector: of the metric's own labels.

        Raises:
            NoMetrics: nothing is known.
        """
        query = {"labelSelector": str(selector), **_chosen(metric_selector)}
        items = await self._custom(f"/namespaces/{quote(namespace, safe='')}/pods/*", metric, query)
        if not items:
            raise NoMetrics("no metrics returned from custom metrics API")
        with _readable("custom metrics API"):
            return {
                item["describedObject"]["name"]: Sample(
                    parse_time(item["timestamp"]), _window_s(item), _milli(item["value"])
                )
                for item in items
            }

    async def of_object(
        self,
        namespace: str,
        resource: GroupResource,
        name: str,
        metric: str,
        metric_selector: Selector,
    ) -> int:
        """A custom metric of an object, in thousandths.

        Args:
            namespace: of the object.
            resource: of the object; a Namespace is that of the autoscaler, whatever its name.
            name: of the object.
            metric: its name.
            metric_selector: of the metric's own labels.

        Raises:
            NoMetrics: nothing is known.
        """
        where = f"/namespaces/{quote(namespace, safe='')}/"
        where += "metrics" if resource == NAMESPACES else f"{resource}/{quote(name, safe='')}"
        items = await self._custom(where, metric, _chosen(metric_selector))
        if len(items) != 1:
            raise NoMetrics(
                "unable to fetch metrics from custom metrics API: the custom metrics API server "
                f"returned {len(items)} results when we asked for exactly one"
            )
        with _readable("custom metrics API"):
            return _milli(items[0]["value"])

    async def external(self, namespace: str, metric: str, selector: Selector) -> list[int]:
        """All values of an external metric, in thousandths.

        Args:
            namespace: of the autoscaler.
            metric: its name.
            selector: of the metric's labels.

        Raises:
            NoMetrics: nothing is known.
        """
        route = self._routes.get(EXTERNAL)
        api, what = "external metrics API", f"get {metric}.{EXTERNAL.group}"
        if route is None:
            raise _absent(api, what)
        path = f"{route.path}/namespaces/{quote(namespace, safe='')}/{quote(metric, safe='')}"
        query = {"labelSelector": str(selector)} if str(selector) else {}
        items = await self._items(route, path, query, api, what)
        if not items:
            raise NoMetrics(f"no metrics returned from {api}")
        with _readable(api):
            return [_milli(item["value"]) for item in items]

    async def _custom(self, where: str, metric: str, query: Mapping[str, str]) -> Sequence[Object]:
        api = "custom metrics API"
        route = next((self._routes[one] for one in CUSTOM if one in self._routes), None)
        if route is None:
            group = CUSTOM[0].group
            raise NoMetrics(
                f"unable to fetch metrics from {api}: no custom metrics API ({group}) registered"
            )
        path = f"{route.path}{where}/{quote(metric, safe='')}"
        return await self._items(route, path, query, api, f"get {metric}")

    async def _items(
        self, route: Route, path: str, query: Mapping[str, str], api: str, what: str
    ) -> Sequence[Object]:
        """The items of a list that another server has.

        Args:
            route: of the server.
            path: of the list.
            query: of the request.
            api: name of the API in messages.
            what: is asked for, in messages.

        Raises:
            NoMetrics: there are none.
        """
        full = f"{path}?{urlencode(query)}" if query else path
        try:
            with trio.fail_after(LIMIT_S):
                answer = await self._proxy.fetch(
                    route, full, self._user, ((b"Accept", b"application/json"),),
                    most_bytes=MOST_BYTES,
                )  # fmt: skip
        except trio.TooSlowError as error:
            raise _failed(api, "context deadline exceeded") from error
        except (*NOT_THERE, ApiError) as error:
            raise _failed(api, f"error trying to reach service: {error}") from error
        if answer.status != 200:
            raise _failed(api, _said(answer, what))
        with _readable(api):
            items = orjson.loads(answer.body).get("items")
            if not isinstance(items or [], list):
                raise TypeError("no list")
            return items or []

    async def _simulated_items(self, namespace: str, selector: Selector) -> Sequence[Object]:
        """Metrics of the pods on simulated nodes."""
        from kubetrio.simulation.usage import metered_node, metered_pod, pod_metrics

        nodes = self._informers.digests(NODES, metered_node)
        pods = self._informers.digests(PODS, metered_pod)
        await nodes.sync()
        await pods.sync()
        now = self._env.now()
        metrics = []
        for name, pod in pods.within(namespace).items():
            node = nodes.get("", pod.node)
            if node is not None and node.reports and selector.matches(dict(pod.labels)):
                metrics.append(pod_metrics(namespace, name, pod, now))
        return metrics


def _use_of(item: Object, resource: str, container: str) -> int | None:
    """What a pod uses, in thousandths; None where that is not said."""
    containers = item.get("containers") or ()
    if container:
        containers = [one for one in containers if one["name"] == container]
    uses = [one["usage"].get(resource) for one in containers]
    if not uses or any(use is None for use in uses):
        return None
    return sum(_milli(use) for use in uses)


def _window_s(item: Object) -> float:
    window = item.get("windowSeconds", item.get("window"))
    return WINDOW_S if window is None else float(window)


def _milli(value: Any) -> int:
    return from_json(value).milli_value()


def _chosen(selector: Selector) -> dict[str, str]:
    return {"metricLabelSelector": str(selector)} if str(selector) else {}


def _failed(api: str, why: str) -> NoMetrics:
    return NoMetrics(f"unable to fetch metrics from {api}: {why}")


def _absent(api: str, what: str) -> NoMetrics:
    return _failed(api, f"the server could not find the requested resource ({what})")


def _said(answer: Fetched, what: str) -> str:
    """What an answer that is no success says: its Status, or what client-go makes of its code."""
    try:
        told = orjson.loads(answer.body)
    except ValueError:
        told = None
    if isinstance(told, dict) and isinstance(told.get("message"), str) and told["message"]:
        return str(told["message"])
    if answer.status == 404:
        return f"the server could not find the requested resource ({what})"
    if answer.status == 503:
        return f"the server is currently unable to handle the request ({what})"
    return (
        f"the server responded with the status code {answer.status} but did not return more "
        f"information ({what})"
    )


@contextmanager
def _readable(api: str) -> Iterator[None]:
    """Read an answer in a block.

    Raises:
        NoMetrics: it is not what it should be.
    """
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _failed(api, f"the answer cannot be read: {error}") from error
