"""Deletes pods that no kubelet will.

Those on nodes that are gone, those on their way out and on no node, and the oldest of too many that
are over.

Source: docs "Pod Lifecycle" (garbage collection of pods), "Node Shutdowns" (non-graceful);
k8s.io/kubernetes/pkg/controller/podgc.  That one looks at all pods every 20 seconds; this one when
a pod or a node changes.
"""

from __future__ import annotations

from typing import Any

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.kinds.core.nodedigests import PREFIX, NodeDigest, nodes_of
from kubetrio.kinds.core.pods.conditions import set_pod_condition
from kubetrio.kinds.core.pods.digests import DISRUPTION_TARGET, PodDigest, pods_of
from kubetrio.machinery.status import ApiError
from kubetrio.machinery.timestamps import format_time
from kubetrio.resources.writes import DeleteOptions, Target

Object = dict[str, Any]

ACCOUNT = "pod-garbage-collector"
THRESHOLD = 12500
"""Pods that are over and may stay; kube-controller-manager's ``--terminated-pod-gc-threshold``."""
QUARANTINE_S = 40.0
"""For how long a node has to be gone before its pods go, in seconds."""
PATIENCE_S = 5.0
"""How long a pod may be on its way out before this controller ends it, in seconds."""
_POD, _NODE, _OVER = "pod", "node", "over"
_ORPHANED = {
    "type": DISRUPTION_TARGET,
    "status": "True",
    "reason": "DeletionByPodGC",
    "message": "PodGC: node no longer exists",
}


def is_over(pod: PodDigest | None) -> bool:
    """Whether a pod is in no phase in which it may still run."""
    return pod is not None and pod.phase not in ("Pending", "Running", "Unknown")


def _age(found: tuple[str, str, PodDigest]) -> tuple[bool, str, str]:
    """Which of the pods that are over go first: evicted ones, then the oldest."""
    _, name, pod = found
    return not (pod.phase == "Failed" and pod.reason == "Evicted"), pod.created, name


class PodGC(Controller):
    """The controller; its keys are pods, nodes, and a word for all pods that are over.

    Args:
        context: what it is made of.
        threshold: how many pods that are over stay; 0 for all.
    """

    name = "pod-garbage-collector-controller"

    def __init__(self, context: Context, threshold: int = THRESHOLD) -> None:
        super().__init__(context)
        self._kind = context.registry.resources["", "v1", "pods"]
        self._threshold = threshold
        self._over = 0
        self._who = as_service_account(ACCOUNT)
        self._nodes = nodes_of(context.informers)
        self._pods = pods_of(context.informers)
        self.follow_digests(self._nodes, self._node_changed)
        self.follow_digests(self._pods, self._pod_changed)

    def _pod_changed(
        self, namespace: str, name: str, old: PodDigest | None, new: PodDigest | None
    ) -> None:
        self._over += is_over(new) - is_over(old)
        if self._over > self._threshold > 0:
            self.queue.add(_OVER)
        if new is None:
            return
        if new.deleting:
            # Its client may be about to remove it, and is to be told that it was there.
            self.queue.add_after(f"{_POD}/{namespace}/{name}", PATIENCE_S)
        if new.node and self._nodes.get("", new.node) is None:
            self.queue.add_after(f"{_NODE}/{new.node}", QUARANTINE_S)

    def _node_changed(
        self, _: str, name: str, old: NodeDigest | None, new: NodeDigest | None
    ) -> None:
        if new is None:
            self.queue.add_after(f"{_NODE}/{name}", QUARANTINE_S)
        elif old != new and _abandoned(new):
            for namespace, pod_name, pod in self._pods.everywhere():
                if pod.node == name and pod.deleting:
                    self.queue.add(f"{_POD}/{namespace}/{pod_name}")

    async def sync(self, key: str) -> None:
        """Delete the pods that a key stands for, if they are still to go.

        Raises:
            ApiError: one cannot be written.
            StoreError: the same, or a node cannot be read.
        """
        what, _, rest = key.partition("/")
        if what == _POD:
            namespace, _, name = rest.partition("/")
            pod = self._pods.get(namespace, name)
            if pod is not None and self._ends(pod):
                await self._end(namespace, name, pod)
        elif what == _NODE:
            await self._end_all_on(rest)
        else:
            await self._end_oldest()

    def _ends(self, pod: PodDigest) -> bool:
        """Whether no kubelet will end a pod that is being deleted."""
        if not pod.deleting:
            return False
        if not pod.node:
            return True
        node = self._nodes.get("", pod.node)
        return node is not None and _abandoned(node)

    async def _end_all_on(self, node: str) -> None:
        if await self._store.get(PREFIX + node) is not None:
            return
        pods = [one for one in self._pods.everywhere() if one[2].node == node]
        for namespace, name, pod in pods:
            await self._end(namespace, name, pod, _ORPHANED)

    async def _end_oldest(self) -> None:
        pods = [one for one in self._pods.everywhere() if is_over(one[2])]
        most = max(len(pods) - self._threshold, 0)
        for namespace, name, pod in sorted(pods, key=_age)[:most]:
            await self._end(namespace, name, pod)

    async def _end(
        self, namespace: str, name: str, pod: PodDigest, condition: Object | None = None
    ) -> None:
        """Delete a pod at once; one that did not end is said to have failed."""
        target = Target(self._kind, namespace, name)
        try:
            if not pod.over:

                def failed(old: Object) -> Object:
                    if old["metadata"]["uid"] != pod.uid:
                        return old
                    generation = old["metadata"].get("generation") or 0
                    status = {**(old.get("status") or {}), "phase": "Failed"}
                    if generation:
                        status["observedGeneration"] = generation
                    new = {**old, "status": status}
                    if condition is None:
                        return new
                    observed = {**condition, "observedGeneration": generation}
                    return set_pod_condition(new, observed, format_time(self._env.now()))

                status = target._replace(subresource="status")
                await self._operations.patch(status, failed, self._who)
            # Not another one that has its name by now.
            options = DeleteOptions(grace_period_s=0, uid=pod.uid)
            await self._operations.delete(target, options, self._who)
        except ApiError as error:
            gone = self._pods.get(namespace, name)
            if error.code != 404 and gone is not None and gone.uid == pod.uid:
                raise


def _abandoned(node: NodeDigest) -> bool:
    """Whether a taint says that a node does not come back, and the node does not say otherwise."""
    return node.out_of_service and not node.ready
