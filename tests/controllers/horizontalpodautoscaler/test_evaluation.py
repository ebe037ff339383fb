"""Metrics that other servers have, and what is said where they have none."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.controllers.horizontalpodautoscaler.evaluation import Evaluation, Failed
from kubetrio.controllers.horizontalpodautoscaler.metricsources import MetricSources
from kubetrio.controllers.horizontalpodautoscaler.replicas import Tolerances, Wanted
from kubetrio.machinery.labels import from_label_selector
from kubetrio.machinery.names import GroupResource
from kubetrio.testing.controllers import context_of
from kubetrio.testing.server import InProcess

Object = dict[str, Any]
POD: Object = {
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c"}]},
    "status": {"phase": "Running"},
}
CUSTOM = (
    "unable to fetch metrics from custom metrics API: no custom metrics API "
    "(custom.metrics.k8s.io) registered"
)
EXTERNAL = (
    "unable to fetch metrics from external metrics API: the server could not find the requested "
    "resource (get queue.external.metrics.k8s.io)"
)


def evaluation(server: InProcess) -> Evaluation:
    """What evaluates metrics of a pod."""
    wanted = Wanted(1, 1, [POD], Tolerances(), 0.0)
    selector = from_label_selector({"matchLabels": {"a": "b"}})
    sources = MetricSources(context_of(server), "horizontal-pod-autoscaler")

    def resource_of(_: str, kind: str) -> GroupResource | None:
        return GroupResource("", "services") if kind == "Service" else None

    return Evaluation(sources, "ns", selector, wanted, resource_of)


def on_object(kind: str, **target: str) -> Object:
    """A metric of an object."""
    about = {"kind": kind, "name": "s", "apiVersion": "v1"}
    spec = {"metric": {"name": "hits"}, "describedObject": about, "target": target}
    return {"type": "Object", "object": spec}


@pytest.mark.parametrize(
    ("metric", "reason", "why", "whole"),
    [
        (
            {"type": "Pods", "pods": {
                "metric": {"name": "hits"}, "target": {"averageValue": "1"}}},
            "FailedGetPodsMetric",
            f"unable to get metric hits: {CUSTOM}",
            f"failed to get pods metric value: unable to get metric hits: {CUSTOM}",
        ),
        (
            on_object("Service", type="Value", value="1"),
            "FailedGetObjectMetric",
            f"unable to get metric hits: Service on ns s/{CUSTOM}",
            ("failed to get object metric value: unable to get metric hits: Service on ns "
            f"s/{CUSTOM}"),
        ),
        (
            on_object("Service", type="AverageValue", averageValue="1"),
            "FailedGetObjectMetric",
            f"unable to get metric hits: Service on ns s/{CUSTOM}",
            ("failed to get object metric value: failed to get hits object metric: "
            f"unable to get metric hits: Service on ns s/{CUSTOM}"),
        ),
        (
            {"type": "External", "external": {
                "metric": {"name": "queue", "selector": {"matchLabels": {"a": "b"}}},
                "target": {"type": "Value", "value": "1"}}},
            "FailedGetExternalMetric",
            ("unable to get external metric ns/queue/&LabelSelector{MatchLabels:map[string]string"
            f"{{a: b,}},MatchExpressions:[]LabelSelectorRequirement{{}},}}: {EXTERNAL}"),
            ("failed to get queue external metric value: failed to get external metric queue: "
            "unable to get external metric ns/queue/&LabelSelector{MatchLabels:map[string]string"
            f"{{a: b,}},MatchExpressions:[]LabelSelectorRequirement{{}},}}: {EXTERNAL}"),
        ),
        (
            {"type": "External", "external": {
                "metric": {"name": "queue"},
                "target": {"type": "AverageValue", "averageValue": "1"}}},
            "FailedGetExternalMetric",
            f"unable to get external metric ns/queue/nil: {EXTERNAL}",
            ("failed to get queue external metric value: failed to get queue external metric: "
            f"unable to get external metric ns/queue/nil: {EXTERNAL}"),
        ),
    ],
)  # fmt: skip
async def test_without_an_api(
    server: InProcess, metric: Object, reason: str, why: str, whole: str
) -> None:
    """The words are those of kube-controller-manager, which were recorded beside this server."""
    with pytest.raises(Failed) as caught:
        await evaluation(server).of(metric)
    assert (caught.value.reason, caught.value.why, str(caught.value)) == (reason, why, whole)


async def test_an_object_of_no_kind(server: InProcess) -> None:
    """It is named."""
    with pytest.raises(Failed, match='no matches for kind "Nope" in group ""'):
        await evaluation(server).of(on_object("Nope", type="Value", value="1"))
