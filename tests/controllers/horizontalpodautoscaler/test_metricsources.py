"""Metrics of aggregated APIs, over TLS, and what is said where an answer is none."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kubetrio.controllers.horizontalpodautoscaler.metricsources import MetricSources, NoMetrics
from kubetrio.controllers.horizontalpodautoscaler.replicas import Sample
from kubetrio.env import Env
from kubetrio.machinery.labels import from_label_selector
from kubetrio.machinery.names import GroupResource
from kubetrio.testing.aggregated import HOST, SERVICE, OtherServer, api_service, open_other
from kubetrio.testing.backend import ReceivedRequest
from kubetrio.testing.controllers import context_of
from kubetrio.testing.server import open_api
from kubetrio.tls import pki

Object = dict[str, Any]
Ask = Callable[[MetricSources], Awaitable[Any]]
AT, SECONDS = "2020-09-13T12:26:40Z", 1_600_000_000.0
CHOSEN = from_label_selector({"matchLabels": {"a": "b"}})
ALL = from_label_selector({})


@asynccontextmanager
async def beside(folder: Path, group: str, version: str) -> AsyncIterator[
    tuple[MetricSources, OtherServer]
]:  # fmt: skip
    """A server, and another one that has a group."""
    certificates = pki.ensure(folder / "other", now=dt.datetime.now(dt.UTC), hosts=[HOST])
    env = Env()
    async with open_other(certificates) as other, open_api(env=env) as server:
        pki.ensure(server.config.pki_dir, now=env.utcnow(), hosts=[])
        client = server.client()
        await client.create({**SERVICE, "metadata": {"name": "be", "namespace": "default"}})
        registered = api_service(other.port, other.ca, group=group, version=version)
        await client.create({**registered, "metadata": {"name": f"{version}.{group}"}})
        context = context_of(server)
        await context.aggregation.routes.sync()
        yield MetricSources(context, "horizontal-pod-autoscaler"), other


def pod_metrics(name: str, **usage: str) -> Object:
    """PodMetrics of two containers that use the same."""
    return {
        "metadata": {"name": name},
        "timestamp": AT,
        "window": "30s",
        "containers": [{"name": "a", "usage": usage}, {"name": "b", "usage": usage}],
    }


def custom(name: str, value: str, **more: Any) -> Object:
    """A value of a custom metric."""
    return {"describedObject": {"name": name}, "timestamp": AT, "value": value, **more}


async def cpu(sources: MetricSources) -> Any:
    """Ask for CPU."""
    return await sources.of_resource("ns", CHOSEN, "cpu", "")


async def cpu_of_a(sources: MetricSources) -> Any:
    """Ask for the CPU of a container."""
    return await sources.of_resource("ns", CHOSEN, "cpu", "a")


async def hits(sources: MetricSources) -> Any:
    """Ask for a metric of pods."""
    return await sources.of_pods("ns", CHOSEN, "hits", ALL)


async def hits_of_kind(sources: MetricSources) -> Any:
    """Ask for a metric of an object, by labels of the metric."""
    resource = GroupResource("networking.k8s.io", "ingresses")
    return await sources.of_object("ns", resource, "i", "hits", CHOSEN)


async def hits_of_namespace(sources: MetricSources) -> Any:
    """Ask for a metric of a Namespace."""
    return await sources.of_object("ns", GroupResource("", "namespaces"), "x", "hits", ALL)


async def queue(sources: MetricSources) -> Any:
    """Ask for an external metric."""
    return await sources.external("ns", "queue", CHOSEN)


METRICS = ("metrics.k8s.io", "v1beta1")
CUSTOM = ("custom.metrics.k8s.io", "v1beta2")
OLD_CUSTOM = ("custom.metrics.k8s.io", "v1beta1")
EXTERNAL = ("external.metrics.k8s.io", "v1beta1")


@pytest.mark.parametrize(
    ("api", "ask", "path", "query", "items", "expected"),
    [
        (
            METRICS, cpu, "namespaces/ns/pods", [("labelSelector", "a=b")],
            [pod_metrics("p", cpu="100m"), pod_metrics("q", memory="1Gi")],
            {"p": Sample(SECONDS, 30.0, 200)},
        ),
        (
            METRICS, cpu_of_a, "namespaces/ns/pods", [("labelSelector", "a=b")],
            [pod_metrics("p", cpu="100m")], {"p": Sample(SECONDS, 30.0, 100)},
        ),
        (
            CUSTOM, hits, "namespaces/ns/pods/*/hits", [("labelSelector", "a=b")],
            [custom("p", "3", windowSeconds=5), custom("q", "500m")],
            {"p": Sample(SECONDS, 5.0, 3000), "q": Sample(SECONDS, 60.0, 500)},
        ),
        (
            OLD_CUSTOM, hits, "namespaces/ns/pods/*/hits", [("labelSelector", "a=b")],
            [custom("p", "3", window=5)], {"p": Sample(SECONDS, 5.0, 3000)},
        ),
        (
            CUSTOM, hits_of_kind, "namespaces/ns/ingresses.networking.k8s.io/i/hits",
            [("metricLabelSelector", "a=b")], [custom("i", "7")], 7000,
        ),
        (CUSTOM, hits_of_namespace, "namespaces/ns/metrics/hits", [], [custom("ns", "7")], 7000),
        (
            EXTERNAL, queue, "namespaces/ns/queue", [("labelSelector", "a=b")],
            [{"value": "1"}, {"value": "2500m"}], [1000, 2500],
        ),
    ],
)  # fmt: skip
async def test_metrics(
    tmp_path: Path, api: tuple[str, str], ask: Ask, path: str, query: object, items: list[Object],
    expected: object,
) -> None:  # fmt: skip
    """They are asked for at the paths of client-go, as the controller's account."""
    async with beside(tmp_path, *api) as (sources, other):
        whole = f"/apis/{'/'.join(api)}/{path}"
        other.documents[whole] = {"items": items}
        assert await ask(sources) == expected
        (asked,) = other.asked(whole)
        assert asked.query == query
        account = "system:serviceaccount:kube-system:horizontal-pod-autoscaler"
        assert asked.get("x-remote-user") == account


@pytest.mark.parametrize(
    ("api", "ask", "path", "status", "body", "text"),
    [
        (
            METRICS, cpu, "namespaces/ns/pods", 200, b'{"items": []}',
            "no metrics returned from resource metrics API",
        ),
        (
            METRICS, cpu, "namespaces/ns/pods", 503, b"",
            ("unable to fetch metrics from resource metrics API: the server is currently unable to "
            "handle the request (get pods.metrics.k8s.io)"),
        ),
        (
            METRICS, cpu, "namespaces/ns/pods", 403, b'{"kind":"Status","message":"no"}',
            "unable to fetch metrics from resource metrics API: no",
        ),
        (
            METRICS, cpu, "namespaces/ns/pods", 200, b"[]",
            ("unable to fetch metrics from resource metrics API: the answer cannot be read: 'list' "
            "object has no attribute 'get'"),
        ),
        (
            METRICS, cpu, "namespaces/ns/pods", 500, b"oh",
            ("unable to fetch metrics from resource metrics API: the server responded with the "
            "status code 500 but did not return more information (get pods.metrics.k8s.io)"),
        ),
        (
            CUSTOM, hits, "namespaces/ns/pods/*/hits", 200, b'{"items": null}',
            "no metrics returned from custom metrics API",
        ),
        (
            CUSTOM, hits_of_namespace, "namespaces/ns/metrics/hits", 200, b'{"items": []}',
            ("unable to fetch metrics from custom metrics API: the custom metrics API server "
            "returned 0 results when we asked for exactly one"),
        ),
        (
            EXTERNAL, queue, "namespaces/ns/queue", 404, b"",
            ("unable to fetch metrics from external metrics API: the server could not find the "
            "requested resource (get queue.external.metrics.k8s.io)"),
        ),
    ],
)  # fmt: skip
async def test_answers_that_are_none(
    tmp_path: Path, api: tuple[str, str], ask: Ask, path: str, status: int, body: bytes, text: str
) -> None:
    """The text says of which API, and why."""
    async with beside(tmp_path, *api) as (sources, other):

        async def answer(asked: ReceivedRequest) -> None:
            await asked.reply(status, body, {"Content-Type": "application/json"})

        other.answers[f"/apis/{'/'.join(api)}/{path}"] = answer
        with pytest.raises(NoMetrics) as caught:
            await ask(sources)
        assert str(caught.value) == text
