"""What each metric of an autoscaler asks for, and what its status says of it.

Source: k8s.io/kubernetes/pkg/controller/podautoscaler/horizontal.go (``computeStatusFor...``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from kubetrio.controllers.horizontalpodautoscaler.metricsources import MetricSources, NoMetrics
from kubetrio.controllers.horizontalpodautoscaler.replicas import (
    NoProposal,
    Proposal,
    Wanted,
    by_average,
    by_utilization,
    by_value,
    by_value_for_each,
)
from kubetrio.machinery.labels import Selector, from_label_selector
from kubetrio.machinery.names import GroupResource
from kubetrio.machinery.quantity import Format, Quantity, from_json

Object = dict[str, Any]


class Failed(Exception):
    """A metric says nothing.

    Args:
        reason: of the event and of the condition ``ScalingActive``.
        why: their text.
        whole: what is said of all metrics together.
    """

    def __init__(self, reason: str, why: str, whole: str) -> None:
        super().__init__(whole)
        self.reason = reason
        self.why = why


class Evaluated(NamedTuple):
    """What a metric asks for.

    Args:
        replicas: how many.
        name: of the metric, for people.
        status: what the autoscaler's status has of it.
    """

    replicas: int
    name: str
    status: Object


class Evaluation:
    """Evaluates the metrics of one autoscaler.

    Args:
        sources: have metrics.
        namespace: of the autoscaler.
        selector: of its pods.
        wanted: what it has.
        resource_of: the resource of objects with an apiVersion and a kind; None for unknown ones.
    """

    def __init__(
        self,
        sources: MetricSources,
        namespace: str,
        selector: Selector,
        wanted: Wanted,
        resource_of: Callable[[str, str], GroupResource | None],
    ) -> None:
        self._sources = sources
        self._namespace = namespace
        self._selector = selector
        self._wanted = wanted
        self._resource_of = resource_of
        self._by_type: Mapping[str, Callable[[Object], Awaitable[Evaluated]]] = {
            "Resource": self._resource,
            "ContainerResource": self._container,
            "Pods": self._pods,
            "Object": self._object,
            "External": self._external,
        }

    async def of(self, metric: Object) -> Evaluated:
        """What a metric of the spec asks for.

        Raises:
            Failed: nothing is known of it.
            StoreError: pods cannot be read.
        """
        return await self._by_type[metric["type"]](metric)

    async def _resource(self, metric: Object) -> Evaluated:
        spec = metric["resource"]
        resource = spec["name"]
        try:
            proposal, name = await self._usage(spec, "", "resource utilization")
        except NoMetrics as error:
            whole = f"failed to get {resource} resource metric value: {error}"
            raise Failed("FailedGetResourceMetric", str(error), whole) from error
        status = {"name": resource, "current": _current(spec, proposal, resource)}
        return Evaluated(proposal.replicas, name, {"type": "Resource", "resource": status})

    async def _container(self, metric: Object) -> Evaluated:
        spec = metric["containerResource"]
        resource, container = spec["name"], spec["container"]
        try:
            proposal, name = await self._usage(spec, container, "container resource utilization")
        except NoMetrics as error:
            whole = f"failed to get {container} container metric value: {error}"
            raise Failed("FailedGetContainerResourceMetric", str(error), whole) from error
        status = {
            "name": resource,
            "container": container,
            "current": _current(spec, proposal, resource),
        }
        return Evaluated(
            proposal.replicas, name, {"type": "ContainerResource", "containerResource": status}
        )

    async def _usage(self, spec: Object, container: str, what: str) -> tuple[Proposal, str]:
        """What use of a resource asks for, and the name of that.

        Raises:
            NoMetrics: nothing, in words that say for what it was needed.
        """
        resource, target = spec["name"], spec["target"]
        average = target.get("averageValue")
        try:
            try:
                samples = await self._sources.of_resource(
                    self._namespace, self._selector, resource, container
                )
            except NoMetrics as error:
                text = f"unable to get metrics for resource {resource}: {error}"
                raise NoProposal(text) from error
            if average is not None:
                proposal = by_average(self._wanted, samples, _milli(average), resource)
                return proposal, f"{resource} resource"
            percent = target["averageUtilization"]
            proposal = by_utilization(self._wanted, samples, resource, container, percent)
        except NoProposal as error:
            measure = "utilization" if average is None else "usage"
            raise NoMetrics(f"failed to get {resource} {measure}: {error}") from error
        return proposal, f"{resource} {what} (percentage of request)"

    async def _pods(self, metric: Object) -> Evaluated:
        spec = metric["pods"]
        name, target = spec["metric"]["name"], _milli(spec["target"]["averageValue"])
        try:
            chosen = _selector(spec)
            try:
                samples = await self._sources.of_pods(self._namespace, self._selector, name, chosen)
            except NoMetrics as error:
                raise NoProposal(f"unable to get metric {name}: {error}") from error
            proposal = by_average(self._wanted, samples, target)
        except (NoProposal, ValueError) as error:
            whole = f"failed to get pods metric value: {error}"
            raise Failed("FailedGetPodsMetric", str(error), whole) from error
        status = {"metric": spec["metric"], "current": {"averageValue": _shown(proposal.milli)}}
        return Evaluated(proposal.replicas, f"pods metric {name}", {"type": "Pods", "pods": status})

    async def _object(self, metric: Object) -> Evaluated:
        spec = metric["object"]
        about, name, target = spec["describedObject"], spec["metric"]["name"], spec["target"]
        try:
            milli = await self._of_object(spec)
            if target["type"] == "Value":
                proposal = by_value(self._wanted, milli, _milli(target["value"]))
                current, called = "value", f"{about['kind']} metric {name}"
            else:
                proposal = by_value_for_each(self._wanted, milli, _milli(target["averageValue"]))
                current, called = "averageValue", f"external metric {_go_metric(spec)}"
        except (NoProposal, ValueError) as error:
            inner = str(error)
            if target["type"] != "Value":
                inner = f"failed to get {name} object metric: {inner}"
            whole = f"failed to get object metric value: {inner}"
            raise Failed("FailedGetObjectMetric", str(error), whole) from error
        status = {
            "metric": spec["metric"],
            "current": {current: _shown(proposal.milli)},
            "describedObject": about,
        }
        return Evaluated(proposal.replicas, called, {"type": "Object", "object": status})

    async def _of_object(self, spec: Object) -> int:
        about, name = spec["describedObject"], spec["metric"]["name"]
        resource = self._resource_of(about.get("apiVersion") or "", about["kind"])
        try:
            if resource is None:
                raise NoMetrics(
                    "unable to fetch metrics from custom metrics API: no matches for kind "
                    f'"{about["kind"]}" in group "{_group(about)}"'
                )
            return await self._sources.of_object(
                self._namespace, resource, about["name"], name, _selector(spec)
            )
        except NoMetrics as error:
            # In this order upstream gives the parts to its format.
            where = f"{about['kind']} on {self._namespace} {about['name']}"
            raise NoProposal(f"unable to get metric {name}: {where}/{error}") from error

    async def _external(self, metric: Object) -> Evaluated:
        spec = metric["external"]
        name, target = spec["metric"]["name"], spec["target"]
        average = target.get("averageValue")
        try:
            try:
                values = await self._sources.external(self._namespace, name, _selector(spec))
            except NoMetrics as error:
                which = f"{self._namespace}/{name}/{_go_selector(spec)}"
                raise NoProposal(f"unable to get external metric {which}: {error}") from error
            if average is not None:
                proposal = by_value_for_each(self._wanted, sum(values), _milli(average))
            else:
                proposal = by_value(self._wanted, sum(values), _milli(target["value"]))
        except (NoProposal, ValueError) as error:
            inner = f"failed to get external metric {name}"
            if average is not None:
                inner = f"failed to get {name} external metric"
            whole = f"failed to get {name} external metric value: {inner}: {error}"
            raise Failed("FailedGetExternalMetric", str(error), whole) from error
        current = {"value" if average is None else "averageValue": _shown(proposal.milli)}
        status = {"metric": spec["metric"], "current": current}
        return Evaluated(
            proposal.replicas,
            f"external metric {_go_metric(spec)}",
            {"type": "External", "external": status},
        )


def _current(spec: Object, proposal: Proposal, resource: str) -> Object:
    """What is used now, on average."""
    form = Format.BINARY_SI if resource == "memory" else Format.DECIMAL_SI
    current: Object = {"averageValue": _shown(proposal.milli, form)}
    if spec["target"].get("averageValue") is None:
        current["averageUtilization"] = proposal.percent
    return current


def _selector(spec: Object) -> Selector:
    """The selector of a metric's labels.

    Raises:
        ValueError: it is none.
    """
    return from_label_selector(spec["metric"].get("selector") or {})


def _milli(value: Any) -> int:
    return from_json(value).milli_value()


def _shown(milli: int, form: Format = Format.DECIMAL_SI) -> str:
    return str(Quantity(milli, -3, form))


def _group(about: Object) -> str:
    return str(about.get("apiVersion") or "").rpartition("/")[0]


def _go_metric(spec: Object) -> str:
    return f"{spec['metric']['name']}({_go_selector(spec)})"


def _go_selector(spec: Object) -> str:
    """The selector of a metric as Go prints it."""
    selector = spec["metric"].get("selector")
    if selector is None:
        return "nil"
    labels = sorted((selector.get("matchLabels") or {}).items())
    pairs = "".join(f"{key}: {value}," for key, value in labels)
    rows = "".join(
        f"LabelSelectorRequirement{{Key:{one['key']},Operator:{one['operator']},"
        f"Values:[{' '.join(one.get('values') or ())}],}},"
        for one in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{rows}}},}}"
    )
