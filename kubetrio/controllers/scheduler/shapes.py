"""What a scheduler knows of a pod: little of its own, and a shape that it shares with its like.

The pods of one workload ask for the same.  What they ask for is read once, and kept once.

Source: docs "Kubernetes Scheduler", "Assigning Pods to Nodes", "Pod Topology Spread Constraints",
"Pod Priority and Preemption"; k8s.io/kubernetes/pkg/scheduler/framework (``PodInfo``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import orjson

from kubetrio.controllers.podcontrol.nodeselector import PREFERRED, REQUIRED
from kubetrio.kinds.core.podresources import total_with_overhead
from kubetrio.kinds.core.pods.digests import DISRUPTION_TARGET, parsed
from kubetrio.machinery.labels import NOTHING, Selector, from_label_selector

Object = dict[str, Any]
Amounts = Mapping[str, int]

NAMED = "default-scheduler"
PREEMPTED = "PreemptionByScheduler"
CPU, MEMORY = "cpu", "memory"
USUAL = {CPU: "100m", MEMORY: "200Mi"}
"""What a container without requests is taken to need where nodes are compared."""
_OVER = ("Succeeded", "Failed")
_SPEC = (
    "affinity",
    "containers",
    "initContainers",
    "nodeSelector",
    "overhead",
    "preemptionPolicy",
    "priority",
    "resourceClaims",
    "resources",
    "schedulerName",
    "schedulingGates",
    "tolerations",
    "topologySpreadConstraints",
)
_CONTAINER = ("resources", "restartPolicy", "ports")


class Port(NamedTuple):
    """A port of a node that a pod takes."""

    protocol: str
    number: int
    address: str


class Claim(NamedTuple):
    """A claim of volumes that a pod uses.

    Args:
        name: of the claim, in the pod's namespace; without the pod's name if it is made for it.
        made_for_pod: whether it is made with the pod, under the pod's name and this one.
    """

    name: str
    made_for_pod: bool


class Term(NamedTuple):
    """A term of affinity between pods.

    Args:
        selector: of labels of pods.
        namespaces: of these pods.
        by_labels: selects more namespaces by their labels.
        topology: label of nodes that says which are together.
        weight: of a preferred term, else 0.
    """

    selector: Selector
    namespaces: frozenset[str]
    by_labels: Selector
    topology: str
    weight: int


class Constraint(NamedTuple):
    """A constraint on how pods are spread.

    Args:
        topology: label of nodes that says which are together.
        most_skew: by how many pods a domain may be ahead.
        selector: of the pods that count.
        hard: whether a node that breaks it is refused.
        fewest_domains: with fewer domains the emptiest counts as empty.
        honors_affinity: whether only nodes count that the pod's node affinity allows.
        honors_taints: whether only nodes count whose taints the pod tolerates.
    """

    topology: str
    most_skew: int
    selector: Selector
    hard: bool
    fewest_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False


class Affinity(NamedTuple):
    """Terms that a pod has about other pods, and those to keep away from."""

    required: tuple[Term, ...] = ()
    preferred: tuple[Term, ...] = ()
    anti_required: tuple[Term, ...] = ()
    anti_preferred: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class PodShape:
    """What pods have in common that ask for the same; equal only to itself.

    Args:
        namespace: of the pods.
        labels: of the pods.
        owner: kind and name of their controller, empty for none.
        spec: members of their specs.
        priority: of the pods.
        requests: amounts by resource, of CPU in thousandths; none is 0.
        usual: CPU and memory that they are taken to need where nodes are compared.
        ports: of nodes.
        affinity: terms about other pods.
        spread: constraints.
        claims: of volumes.
    """

    namespace: str
    labels: Mapping[str, str]
    owner: tuple[str, str]
    spec: Object
    priority: int
    requests: Amounts
    usual: tuple[int, int]
    ports: tuple[Port, ...]
    affinity: Affinity
    spread: tuple[Constraint, ...]
    claims: tuple[Claim, ...]


class PodView(NamedTuple):
    """What is kept of a pod.

    Args:
        name: of the pod.
        uid: of the pod.
        node: its name, empty for none.
        nominated: node that is being cleared for it, empty for none.
        shape: what it has in common with others.
        started: when it started, or was made; RFC 3339.
        over: whether it has ended for good.
        terminating: whether it is being deleted.
        preempted: whether that is for another pod's sake.
        made_claims: names of claims in its spec, and of the ResourceClaims made for them; empty
            where none is needed.
    """

    name: str
    uid: str
    node: str
    nominated: str
    shape: PodShape
    started: str
    over: bool
    terminating: bool
    preempted: bool
    made_claims: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """Namespace and name."""
        return f"{self.shape.namespace}/{self.name}"

    @property
    def waits(self) -> bool:
        """Whether it waits for a node from the scheduler that it names."""
        gates = self.shape.spec.get("schedulingGates")
        return not (self.node or self.over or self.terminating or gates)

    @property
    def scheduler(self) -> str:
        """The name of the scheduler that is to give it a node."""
        return str(self.shape.spec.get("schedulerName") or "")


_shapes: WeakValueDictionary[bytes, PodShape] = WeakValueDictionary()


def pod_view(value: bytes) -> PodView:
    """What is kept of a pod.

    Args:
        value: the stored pod.
    """
    pod = parsed(value)
    meta, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    terminating = bool(meta.get("deletionTimestamp"))
    return PodView(
        name=meta["name"],
        uid=meta.get("uid") or "",
        node=spec.get("nodeName") or "",
        nominated=status.get("nominatedNodeName") or "",
        shape=shape_of(meta, spec),
        started=status.get("startTime") or meta.get("creationTimestamp") or "",
        over=status.get("phase") in _OVER,
        terminating=terminating,
        preempted=terminating and _preempted(status),
        made_claims=tuple(
            (one["name"], one.get("resourceClaimName") or "")
            for one in status.get("resourceClaimStatuses") or ()
        ),
    )


def _preempted(status: Object) -> bool:
    return any(
        one.get("type") == DISRUPTION_TARGET
        and one.get("status") == "True"
        and one.get("reason") == PREEMPTED
        for one in status.get("conditions") or ()
    )


def shape_of(meta: Object, spec: Object) -> PodShape:
    """The shape of a pod, the one of its like if there is one.

    Args:
        meta: of the pod.
        spec: of the pod.
    """
    owner: Object = next(
        (one for one in meta.get("ownerReferences") or () if one.get("controller")), {}
    )
    kept = {name: spec[name] for name in _SPEC if name in spec}
    for name in ("containers", "initContainers"):
        kept[name] = [
            {member: one[member] for member in _CONTAINER if member in one}
            for one in spec.get(name) or ()
        ]
    kept["claims"] = [claim for one in spec.get("volumes") or () if (claim := _claim(one))]
    whole = {
        "namespace": meta.get("namespace") or "",
        "labels": meta.get("labels") or {},
        "owner": (owner.get("kind") or "", owner.get("name") or ""),
        "spec": kept,
    }
    # Another order of members makes another shape, which costs room and nothing else.
    known = orjson.dumps(whole)
    shape = _shapes.get(known)
    if shape is None:
        shape = _shapes[known] = _shape(whole)
    return shape


def _claim(volume: Object) -> tuple[str, bool] | None:
    """The claim of a volume as a `Claim` has it, None for no claim."""
    if "persistentVolumeClaim" in volume:
        return volume["persistentVolumeClaim"]["claimName"], False
    return (volume["name"], True) if volume.get("ephemeral") else None


def _shape(whole: Object) -> PodShape:
    spec, namespace, labels = whole["spec"], whole["namespace"], whole["labels"]
    usual = _amounts({**spec, **{name: _usual(spec, name) for name in _LISTS}})
    return PodShape(
        namespace=namespace,
        labels=labels,
        owner=whole["owner"],
        spec={name: value for name, value in spec.items() if name not in _READ},
        priority=spec.get("priority") or 0,
        requests={name: amount for name, amount in _amounts(spec).items() if amount},
        usual=(usual.get(CPU, 0), usual.get(MEMORY, 0)),
        ports=_ports(spec),
        affinity=_affinity(spec.get("affinity") or {}, namespace),
        spread=tuple(
            _constraint(one, labels) for one in spec.get("topologySpreadConstraints") or ()
        ),
        claims=tuple(Claim(*one) for one in spec["claims"]),
    )


_LISTS = ("containers", "initContainers")
_READ = (*_LISTS, "claims", "overhead", "resources", "topologySpreadConstraints")


def _amounts(spec: Object) -> dict[str, int]:
    return {
        name: amount.milli_value() if name == CPU else amount.value()
        for name, amount in total_with_overhead(spec, "requests").items()
    }


def _usual(spec: Object, member: str) -> list[Object]:
    """Containers that all request something."""
    return [
        {
            **one,
            "resources": {
                "requests": {**USUAL, **((one.get("resources") or {}).get("requests") or {})}
            },
        }
        for one in spec.get(member) or ()
    ]  # fmt: skip


def _ports(spec: Object) -> tuple[Port, ...]:
    beside = [one for one in spec.get("initContainers") or () if one.get("restartPolicy")]
    return tuple(
        Port(port.get("protocol") or "TCP", port["hostPort"], port.get("hostIP") or "0.0.0.0")  # noqa: S104
        for one in (*beside, *spec["containers"])
        for port in one.get("ports") or ()
        if port.get("hostPort")
    )


def _selector(selector: Object | None) -> Selector:
    """A selector; one that cannot be read selects nothing."""
    try:
        return from_label_selector(selector)
    except ValueError:
        return NOTHING


def _affinity(affinity: Object, namespace: str) -> Affinity:
    def terms(name: str) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
        both = affinity.get(name) or {}
        return (
            tuple(_term(one, namespace, 0) for one in both.get(REQUIRED) or ()),
            tuple(
                _term(one.get("podAffinityTerm") or {}, namespace, one.get("weight") or 0)
                for one in both.get(PREFERRED) or ()
            ),
        )

    return Affinity(*terms("podAffinity"), *terms("podAntiAffinity"))


def _term(term: Object, namespace: str, weight: int) -> Term:
    names, by_labels = term.get("namespaces") or (), term.get("namespaceSelector")
    return Term(
        _selector(term.get("labelSelector")),
        frozenset(names or (() if by_labels is not None else (namespace,))),
        _selector(by_labels),
        term.get("topologyKey") or "",
        weight,
    )


def _constraint(constraint: Object, labels: Mapping[str, str]) -> Constraint:
    selector = constraint.get("labelSelector")
    keys = [key for key in constraint.get("matchLabelKeys") or () if key in labels]
    if selector is not None and keys:
        same = [{"key": key, "operator": "In", "values": [labels[key]]} for key in keys]
        known = selector.get("matchExpressions") or ()
        selector = {**selector, "matchExpressions": [*known, *same]}
    return Constraint(
        constraint.get("topologyKey") or "",
        constraint.get("maxSkew") or 0,
        _selector(selector),
        constraint.get("whenUnsatisfiable") != "ScheduleAnyway",
        constraint.get("minDomains") or 1,
        constraint.get("nodeAffinityPolicy") != "Ignore",
        constraint.get("nodeTaintsPolicy") == "Honor",
    )
