"""Which volumes pods want on which nodes.

What a pod wants stays wanted while it is on its node, whatever becomes of its claims meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kubetrio.controllers.attachdetach.attachable import AttachableVolumes, Claim, Driver, Volume
from kubetrio.controllers.controller import Context, Controller
from kubetrio.kinds.core.pods.digests import PodDigest, pods_of
from kubetrio.machinery.multimaps import discard


class Place(NamedTuple):
    """A volume on a node.

    Args:
        node: name of the node.
        unique_name: of the volume in the status of nodes.
    """

    node: str
    unique_name: str


class WantedVolumes:
    """The places, kept as pods, claims, volumes and drivers change.

    Args:
        controller: that follows them.
        context: what it is made of.
        changed: told of a place that is wanted now, or by other pods, or no longer.

    Attributes:
        attachable: the claims, volumes and drivers.
    """

    def __init__(
        self, controller: Controller, context: Context, changed: Callable[[Place], None]
    ) -> None:
        self._changed = changed
        self.attachable = AttachableVolumes(context)
        self._pods = pods_of(context.informers)
        self._of_claim: dict[str, set[str]] = {}  # pods on nodes by namespace and name of a claim
        self._of_pod: dict[str, set[Place]] = {}
        self._pods_at: dict[Place, set[str]] = {}
        self._names: dict[str, str] = {}  # of volumes, by their unique names
        self._at_node: dict[str, set[Place]] = {}
        controller.follow_digests(self.attachable.drivers, self._driver_changed)
        controller.follow_digests(self.attachable.volumes, self._volume_changed)
        controller.follow_digests(self.attachable.claims, self._claim_changed)
        controller.follow_digests(self._pods, self._pod_changed)

    # ------------------------------------------------------------------ what is asked

    def pods(self, place: Place) -> list[tuple[str, str]]:
        """Namespaces and names of the pods that want a volume there, in order."""
        keys = sorted(self._pods_at.get(place, ()))
        return [(key.partition("/")[0], key.partition("/")[2]) for key in keys]

    def at_node(self, node: str) -> list[str]:
        """Unique names of the volumes that are wanted on a node, in order."""
        return sorted(place.unique_name for place in self._at_node.get(node, ()))

    def volume_name(self, unique_name: str) -> str:
        """The name of the PersistentVolume that was wanted last under a unique name."""
        return self._names.get(unique_name, "")

    def uid_of(self, namespace: str, name: str) -> str:
        """The uid of a pod, empty where it is gone."""
        pod = self._pods.get(namespace, name)
        return "" if pod is None else pod.uid

    # ------------------------------------------------------------------ what changes

    def _pod_changed(
        self, namespace: str, name: str, old: PodDigest | None, new: PodDigest | None
    ) -> None:
        key = f"{namespace}/{name}"
        if old is not None and _claims(old):
            same = new is not None and (new.uid, new.node) == (old.uid, old.node)
            if not same or new is None or new.over:
                for claim in _claims(old):
                    discard(self._of_claim, f"{namespace}/{claim}", key)
                self._drop(key)
        if new is None or not new.node or new.over or not _claims(new):
            return
        for claim in _claims(new):
            self._of_claim.setdefault(f"{namespace}/{claim}", set()).add(key)
            self._consider(key, namespace, claim)

    def _claim_changed(self, namespace: str, name: str, _: Claim | None, new: Claim | None) -> None:
        if new is not None and new.volume:
            for key in sorted(self._of_claim.get(f"{namespace}/{name}", ())):
                self._consider(key, namespace, name)

    def _volume_changed(self, _: str, __: str, ___: Volume | None, new: Volume | None) -> None:
        if new is not None and new.claim:
            namespace, _, name = new.claim.partition("/")
            for key in sorted(self._of_claim.get(new.claim, ())):
                self._consider(key, namespace, name)

    def _driver_changed(self, _: str, __: str, old: Driver | None, new: Driver | None) -> None:
        if old == new:
            return
        for claim, keys in sorted(self._of_claim.items()):
            namespace, _, name = claim.partition("/")
            for key in sorted(keys):
                self._consider(key, namespace, name)

    def _consider(self, key: str, namespace: str, claim: str) -> None:
        """Note that a pod wants the volume of a claim, if that is known and attached."""
        pod = self._pods.get(*_split(key))
        bound = self.attachable.of_claim(namespace, claim)
        if pod is None or bound is None:
            return
        name, volume = bound
        place = Place(pod.node, volume.unique_name)
        places = self._of_pod.setdefault(key, set())
        if place in places:
            return
        places.add(place)
        self._names[volume.unique_name] = name
        self._pods_at.setdefault(place, set()).add(key)
        self._at_node.setdefault(place.node, set()).add(place)
        self._changed(place)

    def _drop(self, key: str) -> None:
        for place in sorted(self._of_pod.pop(key, ())):
            discard(self._pods_at, place, key)
            if place not in self._pods_at:
                discard(self._at_node, place.node, place)
            self._changed(place)

    def forget(self, unique_name: str) -> None:
        """Forget the name of a volume that is wanted and attached nowhere."""
        self._names.pop(unique_name, None)


def _claims(pod: PodDigest) -> tuple[str, ...]:
    return (*pod.claims, *pod.ephemeral)


def _split(key: str) -> tuple[str, str]:
    namespace, _, name = key.partition("/")
    return namespace, name
