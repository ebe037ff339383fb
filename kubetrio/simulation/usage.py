"""What simulated pods and nodes use of CPU and memory, as metrics.k8s.io shows it.

An annotation of the pod says what a container uses: a quantity, or a share of its request such as
``80%``.  Without one it uses half of what it requests, and a little where it requests nothing.

Source: k8s.io/metrics/pkg/apis/metrics/v1beta1; kubernetes-sigs/metrics-server/pkg/api.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson

from kubetrio.kinds.core.pods.digests import parsed
from kubetrio.machinery.quantity import Format, Quantity, parse
from kubetrio.machinery.timestamps import format_time
from kubetrio.simulation.annotations import LOST, NODE, STATE, said_of

Object = dict[str, Any]

API_VERSION = "metrics.k8s.io/v1beta1"
WINDOW_S = 15
"""Seconds over which use is told; metrics-server asks kubelets as often."""
CPU, MEMORY = "cpu", "memory"
SHARE = 0.5
"""Of its request, what a container uses that says nothing."""
LEAST = {CPU: parse("1m"), MEMORY: parse("8Mi")}
"""What a container uses that says and requests nothing."""
_NANO = -9


class Use(NamedTuple):
    """What something uses.

    Args:
        cpu_nano: billionths of a CPU.
        memory_bytes: memory.
    """

    cpu_nano: int
    memory_bytes: int

    @classmethod
    def read(cls, usage: Mapping[str, str]) -> Use:
        """Read a resource list.

        Raises:
            ValueError: a quantity cannot be read.
        """
        return cls(_scaled(parse(usage[CPU]), _NANO), parse(usage[MEMORY]).value())

    @classmethod
    def total(cls, uses: Iterable[Use]) -> Use:
        """The sum of several."""
        cpu_nano = memory_bytes = 0
        for use in uses:
            cpu_nano += use.cpu_nano
            memory_bytes += use.memory_bytes
        return cls(cpu_nano, memory_bytes)

    def shown(self) -> dict[str, str]:
        """As a resource list."""
        return {
            CPU: str(Quantity(self.cpu_nano, _NANO)),
            MEMORY: str(Quantity(self.memory_bytes, format=Format.BINARY_SI)),
        }


class MeteredPod(NamedTuple):
    """What is kept of a pod.

    Args:
        node: where it runs, empty for a pod that does not.
        labels: of the pod.
        containers: names of those that run, and what each uses.
    """

    node: str
    labels: tuple[tuple[str, str], ...]
    containers: tuple[tuple[str, Use], ...]


class MeteredNode(NamedTuple):
    """What is kept of a node.

    Args:
        reports: whether it is simulated and not lost.
        labels: of the node.
        own: what it uses beside its pods.
    """

    reports: bool
    labels: tuple[tuple[str, str], ...]
    own: Use


def metered_pod(value: bytes) -> MeteredPod:
    """What is kept of a pod.

    Args:
        value: the stored pod.
    """
    pod = parsed(value)
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    if status.get("phase") != "Running":
        return MeteredPod("", (), ())
    running = _running(spec, status)
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    return MeteredPod(
        spec.get("nodeName") or "",
        _labels(pod),
        tuple((one["name"], _use(pod, one)) for one in containers if one["name"] in running),
    )


def metered_node(value: bytes) -> MeteredNode:
    """What is kept of a node.

    Args:
        value: the stored node.
    """
    node: Object = orjson.loads(value)
    annotations = node["metadata"].get("annotations") or {}
    reports = annotations.get(NODE) == "true" and annotations.get(STATE) != LOST
    nothing = Quantity(0)
    own = Use(
        _scaled(_said(node, CPU, "", nothing) or nothing, _NANO),
        (_said(node, MEMORY, "", nothing) or nothing).value(),
    )
    return MeteredNode(reports, _labels(node), own)


def pod_metrics(namespace: str, name: str, pod: MeteredPod, now: float) -> Object:
    """The PodMetrics of a pod.

    Args:
        namespace: of the pod.
        name: of the pod.
        pod: what is kept of it.
        now: wall clock, in seconds.
    """
    return {
        "kind": "PodMetrics",
        "apiVersion": API_VERSION,
        "metadata": _metadata(name, namespace, pod.labels, now),
        "timestamp": format_time(now),
        "window": f"{WINDOW_S}s",
        "containers": [{"name": one, "usage": use.shown()} for one, use in pod.containers],
    }


def node_metrics(name: str, node: MeteredNode, pods: Iterable[MeteredPod], now: float) -> Object:
    """The NodeMetrics of a node.

    Args:
        name: of the node.
        node: what is kept of it.
        pods: those on it.
        now: wall clock, in seconds.
    """
    total = Use.total([node.own, *(use for pod in pods for _, use in pod.containers)])
    return {
        "kind": "NodeMetrics",
        "apiVersion": API_VERSION,
        "metadata": _metadata(name, "", node.labels, now),
        "timestamp": format_time(now),
        "window": f"{WINDOW_S}s",
        "usage": total.shown(),
    }


def _metadata(name: str, namespace: str, labels: tuple[tuple[str, str], ...], now: float) -> Object:
    return {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        "creationTimestamp": format_time(now),
        **({"labels": dict(labels)} if labels else {}),
    }


def _labels(obj: Object) -> tuple[tuple[str, str], ...]:
    return tuple((obj["metadata"].get("labels") or {}).items())


def _running(spec: Object, status: Object) -> set[str]:
    """Names of containers that run; all, where stages tell of none."""
    statuses = [
        one
        for name in ("initContainerStatuses", "containerStatuses")
        for one in status.get(name) or ()
    ]
    if not statuses:
        return {one["name"] for one in spec.get("containers") or ()}
    return {one["name"] for one in statuses if (one.get("state") or {}).get("running") is not None}


def _use(pod: Object, container: Object) -> Use:
    requests: Mapping[str, Any] = (container.get("resources") or {}).get("requests") or {}
    amounts = {}
    for resource in (CPU, MEMORY):
        request = _parsed(requests.get(resource))
        amount = _said(pod, resource, container["name"], request)
        if amount is None:
            amount = LEAST[resource] if request is None else _share(request, SHARE)
        amounts[resource] = amount
    return Use(_scaled(amounts[CPU], _NANO), amounts[MEMORY].value())


def _said(obj: Object, resource: str, container: str, request: Quantity | None) -> Quantity | None:
    """What an annotation says; None where there is none, or none that can be read."""
    text = (said_of(obj, resource, container) or "").strip()
    if not text.endswith("%"):
        return _parsed(text or None)
    try:
        share = float(text[:-1]) / 100
    except ValueError:
        return None
    return None if request is None or not 0 <= share < float("inf") else _share(request, share)


def _parsed(value: Any) -> Quantity | None:
    """A quantity that is at least zero; None for anything else."""
    try:
        quantity = parse(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return quantity if quantity is not None and quantity.coefficient >= 0 else None


def _share(request: Quantity, share: float) -> Quantity:
    return Quantity(round(_scaled(request, _NANO) * share), _NANO)


def _scaled(quantity: Quantity, exponent: int) -> int:
    """The number in units of a power of ten, rounded up."""
    unit: int = 10 ** abs(quantity.exponent - exponent)
    if quantity.exponent >= exponent:
        return quantity.coefficient * unit
    return -(-quantity.coefficient // unit)
