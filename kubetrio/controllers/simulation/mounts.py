"""Whether the volumes of pods on simulated nodes are there, and what their kubelets say if not.

A kubelet tries again after half a second, and then after twice as long each time; so does this, and
nothing is kept of the Secrets and ConfigMaps of a cluster.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kubetrio.controllers.attachdetach.attachable import AttachableVolumes
from kubetrio.controllers.controller import Context
from kubetrio.controllers.simulation.sources import Sources
from kubetrio.simulation.mounting import Wait, begun, needs_of, next_wait, problems_of
from kubetrio.simulation.nodeobjects import SimulatedNode

Object = dict[str, Any]


class Mounted(NamedTuple):
    """What came of mounting the volumes of a pod.

    Args:
        there: whether all are mounted.
        problems: what the kubelet says now, in its words.
        again_in_s: when it tries again, in seconds; None where a change of the node is waited for.
    """

    there: bool
    problems: tuple[str, ...] = ()
    again_in_s: float | None = None


class Mounts:
    """The volumes of pods.

    Args:
        context: of the controllers.
        sources: what volumes take files from.

    Attributes:
        unattached: keys of pods that wait for their nodes to have volumes attached.
        volumes: those that are attached.
    """

    def __init__(self, context: Context, sources: Sources) -> None:
        self.unattached: set[str] = set()
        self.volumes = AttachableVolumes(context)
        self._env = context.env
        self._sources = sources
        self._waits: dict[str, Wait] = {}

    def forget(self, key: str) -> None:
        """Note that a pod is gone."""
        self.unattached.discard(key)
        self._waits.pop(key, None)

    def clear(self) -> None:
        """Forget how long pods wait: what was kept is of another time."""
        self._waits.clear()

    async def mounted(self, key: str, pod: Object, node: SimulatedNode) -> Mounted:
        """Mount the volumes of a pod, as far as they are there.

        Args:
            key: namespace and name of the pod.
            pod: it.
            node: that it is on.

        Raises:
            StoreError: what it needs cannot be read.
        """
        if not self._attached(key, pod, node):
            return Mounted(there=False)
        if not (needs := needs_of(pod)) or begun(pod):
            self._waits.pop(key, None)
            return Mounted(there=True)
        uid, now, wait = pod["metadata"]["uid"], self._env.now(), self._waits.get(key)
        if wait is not None and wait.uid == uid and wait.until > now:
            return Mounted(there=False, again_in_s=wait.until - now)
        namespace = key.partition("/")[0]
        sources = (part.source for _, parts in needs for part in parts)
        objects = await self._sources.read(namespace, sources)
        problems = problems_of(namespace, needs, objects)
        if not problems:
            self._waits.pop(key, None)
            return Mounted(there=True)
        only_claims = all(not one.startswith("MountVolume") for one in problems)
        wait = self._waits[key] = next_wait(uid, wait, now, only_claims=only_claims)
        return Mounted(there=False, problems=tuple(problems), again_in_s=wait.delay_s)

    def _attached(self, key: str, pod: Object, node: SimulatedNode) -> bool:
        """Whether all volumes of a pod are attached that have to be."""
        namespace, _, name = key.partition("/")
        names = []
        for volume in pod["spec"].get("volumes") or ():
            if volume.get("persistentVolumeClaim"):
                names.append(volume["persistentVolumeClaim"].get("claimName") or "")
            elif volume.get("ephemeral"):
                names.append(f"{name}-{volume['name']}")
        volumes = [self.volumes.of_claim(namespace, claim) for claim in names]
        there = all(one is None or one[1].unique_name in node.attached for one in volumes)
        (self.unattached.discard if there else self.unattached.add)(key)
        return there
