"""Deletes pods from nodes whose ``NoExecute`` taints they do not stand, or no longer.

Source: docs "Taints and Tolerations"; k8s.io/kubernetes/pkg/controller/tainteviction.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.podcontrol.taints import (
    NO_EXECUTE,
    Node,
    Taint,
    nodes_in,
    stands_for_s,
)
from kubetrio.controllers.recorder import NORMAL, EventRecorder, Reference
from kubetrio.kinds.core.pods.conditions import set_pod_condition
from kubetrio.kinds.core.pods.digests import DISRUPTION_TARGET, PREFIX, parsed
from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import format_time
from kubetrio.resources.writes import DeleteOptions, Target

Object = dict[str, Any]

ACCOUNT = "node-controller"
COMPONENT = "taint-eviction-controller"


class Placed(NamedTuple):
    """A pod on a node.

    Args:
        uid: of the pod.
        node: its name, empty for none.
        deleting: whether the pod is to be gone.
        tolerations: of the pod, as JSON.
    """

    uid: str
    node: str
    deleting: bool
    tolerations: bytes


class Planned(NamedTuple):
    """A pod that is going to be deleted.

    Args:
        uid: of the pod.
        at: when, in seconds.
    """

    uid: str
    at: float


def placed(value: bytes) -> Placed:
    """What is kept of a pod.

    Args:
        value: the stored pod.
    """
    pod = parsed(value)
    meta, spec = pod["metadata"], pod.get("spec") or {}
    return Placed(
        meta["uid"],
        spec.get("nodeName") or "",
        bool(meta.get("deletionTimestamp")),
        orjson.dumps(spec.get("tolerations") or []),
    )


class TaintEviction(Controller):
    """The controller; its keys are namespaces and names of pods.

    Args:
        context: what it is made of.
    """

    name = "taint-eviction-controller"
    workers = 5

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._kind = context.registry.resources["", "v1", "pods"]
        self._who = as_service_account(ACCOUNT)
        self._events = EventRecorder(
            COMPONENT, ACCOUNT, context.registry, context.operations, context.env
        )
        self._taints: dict[str, list[Taint]] = {}  # by name of the node
        self._on_node: dict[str, set[str]] = {}
        self._planned: dict[str, Planned] = {}
        self.follow_digests(nodes_in(context.informers), self._node_changed)
        pods = context.informers.digests(PREFIX, placed)
        self._pods = self.follow_digests(pods, self._pod_changed)
        self.beside.append(self._events.run)

    def _node_changed(self, _: str, name: str, __: Node | None, new: Node | None) -> None:
        taints = [] if new is None else [one for one in new.taints if one.effect == NO_EXECUTE]
        if taints == self._taints.get(name, []):
            return
        self._taints.pop(name, None)
        if taints:
            self._taints[name] = taints
        for key in sorted(self._on_node.get(name, ())):  # each process has the same order
            self.queue.add(key)

    def _pod_changed(
        self, namespace: str, name: str, old: Placed | None, new: Placed | None
    ) -> None:
        if old == new:
            return
        key = f"{namespace}/{name}"
        if old is not None and (new is None or new.node != old.node):
            there = self._on_node.get(old.node, set())
            there.discard(key)
            if not there:
                self._on_node.pop(old.node, None)
        if new is not None and new.node:
            self._on_node.setdefault(new.node, set()).add(key)
        if key in self._planned or (new is not None and new.node in self._taints):
            self.queue.add(key)

    def begin_anew(self) -> None:
        """See `Reconciler.begin_anew`; plans of another time are forgotten."""
        self._planned.clear()
        super().begin_anew()

    async def sync(self, key: str) -> None:
        """Delete a pod, or plan or give up its deletion.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same.
        """
        namespace, _, name = key.partition("/")
        pod, known = self._pods.get(namespace, name), self._planned.get(key)
        taints = [] if pod is None else self._taints.get(pod.node, [])
        now = self._env.now()
        stands_s = None
        if pod is not None and taints:
            stands_s = stands_for_s(orjson.loads(pod.tolerations), taints)
        if known is not None and (pod is None or pod.uid != known.uid or stands_s is None):
            self._planned.pop(key)
            self._tell(namespace, name, "Cancelling deletion of")
            known = None
        if pod is None or stands_s is None or pod.deleting:
            self._planned.pop(key, None)
            return
        at = now if stands_s == 0 else known.at if known is not None else now + stands_s
        if at > now:
            self._planned[key] = Planned(pod.uid, at)
            self.look_again_in(key, at - now)
            return
        self._planned.pop(key, None)
        self._tell(namespace, name, "Marking for deletion")
        await self._evict(namespace, name, pod.uid)

    def _tell(self, namespace: str, name: str, what: str) -> None:
        about = Reference("v1", "Pod", namespace, name, "")
        self._events.record(about, NORMAL, "TaintManagerEviction", f"{what} Pod {namespace}/{name}")

    async def _evict(self, namespace: str, name: str, uid: str) -> None:
        def condemned(old: Object) -> Object:
            if old["metadata"]["uid"] != uid:
                raise ApiError(404, "NotFound", f"{name} is another pod now")
            condition = {
                "type": DISRUPTION_TARGET,
                "observedGeneration": old["metadata"].get("generation") or 0,
                "status": "True",
                "reason": "DeletionByTaintManager",
                "message": "Taint manager: deleting due to NoExecute taint",
            }
            return set_pod_condition(old, condition, format_time(self._env.now()))

        target = Target(self._kind, namespace, name, "status")
        await self._operations.patch(target, condemned, self._who)
        options = DeleteOptions(uid=uid)
        await self._operations.delete(Target(self._kind, namespace, name), options, self._who)
