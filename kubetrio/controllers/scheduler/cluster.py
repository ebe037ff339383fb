"""The nodes of a cluster and the pods on them, as a scheduler counts them.

What was decided and is not written yet counts as if it were there.  Pods are counted by their
shapes too, so that a question about labels is asked once for all pods that are alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from kubetrio.controllers.scheduler.devices.facts import Devices
from kubetrio.controllers.scheduler.nodefacts import NodeFacts
from kubetrio.controllers.scheduler.shapes import PodShape, PodView, Port, Term
from kubetrio.controllers.scheduler.volumes import NO_VOLUMES, Volumes
from kubetrio.machinery.labels import Selector, from_label_selector

T = TypeVar("T")
Counts = dict[str, int]
"""How many pods of a shape are on nodes, by the nodes' names."""
Kept = tuple[PodShape, bool]
"""A shape, and whether its pods are being deleted."""


class NodeState:
    """A node and what is on it.

    Args:
        facts: the node.
        pods: those on it, by namespace and name.

    Attributes:
        used: requested amounts by resource.
        usual_cpu: what its pods are taken to need where nodes are compared.
        usual_memory: the same.
        ports: that its pods have taken, and how many have.
        priorities: of its pods, and how many have each.
    """

    __slots__ = ("facts", "pods", "ports", "priorities", "used", "usual_cpu", "usual_memory")

    def __init__(self, facts: NodeFacts, pods: dict[str, PodView]) -> None:
        self.facts = facts
        self.pods = pods
        self.used: dict[str, int] = {}
        self.usual_cpu = 0
        self.usual_memory = 0
        self.ports: dict[Port, int] = {}
        self.priorities: dict[int, int] = {}
        for pod in pods.values():
            self.count(pod.shape, 1)

    def count(self, shape: PodShape, sign: int) -> None:
        """Count a pod that came (1) or went (-1)."""
        used = self.used
        for name, amount in shape.requests.items():
            used[name] = used.get(name, 0) + sign * amount
        self.usual_cpu += sign * shape.usual[0]
        self.usual_memory += sign * shape.usual[1]
        _add(self.priorities, shape.priority, sign)
        for port in shape.ports:
            _add(self.ports, port, sign)


def _add(counts: dict[T, int], key: T, sign: int) -> None:
    count = counts.get(key, 0) + sign
    if count:
        counts[key] = count
    else:
        del counts[key]


class Owners:
    """Selectors of Services and of the controllers of pods, by namespace and name."""

    def __init__(self) -> None:
        self.services: dict[str, dict[str, Mapping[str, str]]] = {}
        self.controllers: dict[tuple[str, str, str], Selector] = {}

    def selector_of(self, shape: PodShape) -> Selector:
        """What selects a pod's like: of its Services and of its controller.

        Source: k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper (``DefaultSelector``).
        """
        labels: dict[str, str] = {}
        for selector in self.services.get(shape.namespace, {}).values():
            if selector and selector.items() <= shape.labels.items():
                labels.update(selector)
        of_services = from_label_selector({"matchLabels": labels})
        owner = self.controllers.get((shape.namespace, *shape.owner))
        if owner is None or owner.nothing:
            return of_services
        return Selector((*of_services.requirements, *owner.requirements))


class Cluster:
    """The state.

    Args:
        volumes: claims and volumes.
    """

    def __init__(self, volumes: Volumes = NO_VOLUMES) -> None:
        self.nodes: dict[str, NodeState] = {}
        self.order: list[NodeState] = []
        self.volumes = volumes
        self.devices = Devices()
        self.owners = Owners()
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self.placed: dict[str, dict[Kept, Counts]] = {}
        self.affine: dict[PodShape, Counts] = {}
        self.nominated: dict[str, dict[str, PodView]] = {}
        self._where: dict[str, PodView] = {}
        self._on: dict[str, dict[str, PodView]] = {}

    # ------------------------------------------------------------------ what is told

    def set_node(self, name: str, facts: NodeFacts | None) -> None:
        """Note a node as it is now, None when it is gone."""
        state = self.nodes.get(name)
        if facts is None:
            if state is not None:
                del self.nodes[name]
                self.order.remove(state)
        elif state is None:
            state = self.nodes[name] = NodeState(facts, self._on.setdefault(name, {}))
            self.order.append(state)
        else:
            state.facts = facts

    def put(self, key: str, pod: PodView | None) -> None:
        """Note where a pod is.

        Args:
            key: namespace and name.
            pod: on a node and not over; None otherwise.
        """
        old = self._where.get(key)
        if (
            old is not None
            and pod is not None
            and (old.node, old.shape, old.terminating) == (pod.node, pod.shape, pod.terminating)
        ):
            self._where[key] = self._on[pod.node][key] = pod
            return
        if old is not None:
            del self._where[key]
            self._count(key, old, -1)
        if pod is not None:
            self._where[key] = pod
            self._count(key, pod, 1)

    def at(self, key: str) -> PodView | None:
        """The pod of that key that is on a node, None if it is not."""
        return self._where.get(key)

    def _count(self, key: str, pod: PodView, sign: int) -> None:
        shape, node = pod.shape, pod.node
        there = self._on.setdefault(node, {})
        if sign > 0:
            there[key] = pod
        else:
            del there[key]
        kept = self.placed.setdefault(shape.namespace, {})
        _count_in(kept, (shape, pod.terminating), node, sign)
        if not kept:
            del self.placed[shape.namespace]
        if any(shape.affinity):
            _count_in(self.affine, shape, node, sign)
        state = self.nodes.get(node)
        if state is not None:
            state.count(shape, sign)
        elif not there:
            del self._on[node]

    def nominate(self, key: str, pod: PodView | None, node: str) -> None:
        """Note which node is being cleared for a pod, empty for none."""
        for name, pods in tuple(self.nominated.items()):
            if pods.pop(key, None) is not None and not pods:
                del self.nominated[name]
        if node and pod is not None:
            self.nominated.setdefault(node, {})[key] = pod

    # ------------------------------------------------------------------ what is asked

    @contextmanager
    def supposing(self, pods: Iterable[PodView], node: str) -> Iterator[None]:
        """Count pods without a node as if they were on one; nothing may be told meanwhile."""
        added = [pod._replace(node=node) for pod in pods if pod.key not in self._where]
        for pod in added:
            self.put(pod.key, pod)
        try:
            yield
        finally:
            for pod in added:
                self.put(pod.key, None)

    def matching(self, selector: Selector, namespace: str) -> Counts:
        """How many pods of a namespace are on nodes that a selector selects.

        Pods that are being deleted do not count; a selector without requirements selects none.
        """
        total: Counts = {}
        if selector.empty:
            return total
        for (shape, terminating), counts in self.placed.get(namespace, {}).items():
            if not terminating and selector.matches(shape.labels):
                for node, count in counts.items():
                    total[node] = total.get(node, 0) + count
        return total

    def selects(self, term: Term, shape: PodShape) -> bool:
        """Whether a term of affinity is about a pod."""
        if shape.namespace not in term.namespaces and not term.by_labels.matches(
            self.namespaces.get(shape.namespace, {})
        ):
            return False
        return term.selector.matches(shape.labels)

    def shapes(self) -> Iterator[tuple[PodShape, Counts]]:
        """The shapes of all pods on nodes, and where they are; some more than once."""
        for kept in self.placed.values():
            for (shape, _), counts in kept.items():
                yield shape, counts


def _count_in(kept: dict[T, Counts], key: T, node: str, sign: int) -> None:
    counts = kept.setdefault(key, {})
    _add(counts, node, sign)
    if not counts:
        del kept[key]
