"""Attaches volumes to the nodes whose pods want them, and detaches them when those are gone.

It asks CSI drivers to do so by VolumeAttachments, and tells nodes by their statuses.  What is
attached is read from these objects each time, so that a restart loses nothing.

Source: docs "Nodes" (non-graceful node shutdown), "Persistent Volumes";
k8s.io/kubernetes/pkg/controller/volume/attachdetach.
"""

from __future__ import annotations

from typing import Any

import trio

from kubetrio.controllers.attachdetach.attachable import Volume, attachment_name, parts_of
from kubetrio.controllers.attachdetach.attachments import (
    Attachment,
    NodeVolumes,
    attachment_view,
    node_view,
    with_attached,
    without_attached,
)
from kubetrio.controllers.attachdetach.wanted import Place, WantedVolumes
from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.controllers.recorder import NORMAL, WARNING, EventRecorder, Reference
from kubetrio.kinds.core.nodedigests import PREFIX
from kubetrio.machinery.multimaps import discard
from kubetrio.machinery.status import ApiError
from kubetrio.resources.writes import DeleteOptions, Target

Object = dict[str, Any]

COMPONENT = ACCOUNT = "attachdetach-controller"
ATTACHMENT = "attachment:"
"""Begins keys of VolumeAttachments; others are nodes and unique names of volumes."""
LONGEST_UNMOUNT_S = 360.0
"""Seconds for which a volume in use is not detached from a node that is not well."""
FAILED, SUCCEEDED = "FailedAttachVolume", "SuccessfulAttachVolume"


class AttachDetach(Controller):
    """The controller; its keys are VolumeAttachments, and volumes on nodes.

    Args:
        context: what it is made of.
    """

    name = "persistentvolume-attach-detach-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        resources = context.registry.resources
        self._attachment_kind = resources["storage.k8s.io", "v1", "volumeattachments"]
        self._node_kind = resources["", "v1", "nodes"]
        self._who = as_service_account(ACCOUNT)
        self._events = EventRecorder(
            COMPONENT, ACCOUNT, context.registry, context.operations, context.env
        )
        self._places: dict[str, set[Place]] = {}  # of volumes, by their unique names
        self._on_node: dict[str, set[Place]] = {}
        self._of_attachment: dict[str, Place] = {}
        self._of_volume: dict[str, set[str]] = {}  # attachments by the name of their volume
        self._unwanted_since: dict[Place, float] = {}  # by Trio's clock
        self._told: dict[Place, str] = {}  # what was told last of a volume that is not attached
        prefix = self._attachment_kind.storage_prefix
        self._attachments = context.informers.digests(prefix, attachment_view)
        self._nodes = context.informers.digests(PREFIX, node_view)
        self._wanted = WantedVolumes(self, context, self._look_at)
        self.follow_digests(self._nodes, self._node_changed)
        self.follow_digests(self._attachments, self._attachment_changed)
        self.beside.append(self._events.run)

    # ------------------------------------------------------------------ what changes

    def _look_at(self, place: Place) -> None:
        self._places.setdefault(place.unique_name, set()).add(place)
        self._on_node.setdefault(place.node, set()).add(place)
        self.queue.add("/".join(place))

    def _node_changed(
        self, _: str, name: str, old: NodeVolumes | None, new: NodeVolumes | None
    ) -> None:
        if old == new:
            return
        for unique_name in () if new is None else new.attached:
            if parts_of(unique_name)[0]:
                self._look_at(Place(name, unique_name))
        for place in sorted(self._on_node.get(name, ())):
            self._look_at(place)

    def _attachment_changed(
        self, _: str, name: str, old: Attachment | None, new: Attachment | None
    ) -> None:
        if new is not None:
            self._of_volume.setdefault(new.volume, set()).add(name)
        elif old is not None:
            discard(self._of_volume, old.volume, name)
        place = self._of_attachment.get(name)
        if place is None:
            self.queue.add(ATTACHMENT + name)  # its volume may not be known yet
        else:
            self._look_at(place)

    async def sync(self, key: str) -> None:
        """Attach a volume to a node, or detach it.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same.
        """
        if key.startswith(ATTACHMENT):
            self._find_place(key.removeprefix(ATTACHMENT))
            return
        node, _, unique_name = key.partition("/")
        place = Place(node, unique_name)
        driver, handle = parts_of(unique_name)
        name = attachment_name(driver, handle, node)
        self._of_attachment[name] = place
        pods = self._wanted.pods(place)
        if not pods:
            self._told.pop(place, None)
            await self._detach(place, name)
            return
        self._unwanted_since.pop(place, None)
        volume = self._wanted.attachable.volumes.get("", self._wanted.volume_name(unique_name))
        facts = self._nodes.get("", node)
        if volume is not None and facts is not None and facts.managed:
            await self._attach(place, name, volume, facts)

    def _find_place(self, name: str) -> None:
        """Find out of which volume an attachment is that no pod is known to want."""
        attachment = self._attachments.get("", name)
        volume = None
        if attachment is not None and attachment.volume:
            volume = self._wanted.attachable.volumes.get("", attachment.volume)
        if attachment is None or volume is None:
            return
        if attachment_name(volume.driver, volume.handle, attachment.node) == name:
            self._look_at(Place(attachment.node, volume.unique_name))

    async def _stored(self, name: str) -> Attachment | None:
        stored = await self._store.get(self._attachment_kind.key("", name))
        return None if stored is None else attachment_view(stored.value)

    # ------------------------------------------------------------------ attach

    async def _attach(self, place: Place, name: str, volume: Volume, facts: NodeVolumes) -> None:
        attachment = await self._stored(name)
        if attachment is not None and attachment.deleting:
            return  # it is looked at again when that is gone
        if attachment is not None and attachment.attached:
            if place.unique_name not in facts.attached:
                await self._tell_node(place)
            return
        if volume.exclusive and (others := await self._elsewhere(place)):
            self._refuse(place, others)
            return
        if attachment is None:
            await self._create(place, name, volume.driver)
        elif attachment.error and self._told.get(place) != attachment.error:
            self._told[place] = attachment.error
            text = f"AttachVolume.Attach failed for volume {self._quoted(place)} : "
            self._tell(place, WARNING, FAILED, text + attachment.error)

    async def _create(self, place: Place, name: str, driver: str) -> None:
        body = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "VolumeAttachment",
            "metadata": {"name": name},
            "spec": {
                "attacher": driver,
                "source": {"persistentVolumeName": self._wanted.volume_name(place.unique_name)},
                "nodeName": place.node,
            },
        }
        try:
            await self._operations.create(Target(self._attachment_kind, ""), body, self._who)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise

    async def _tell_node(self, place: Place) -> None:
        """Tell a node that it has a volume, and pods too."""
        target = Target(self._node_kind, "", place.node, "status")
        await self._operations.patch(
            target, lambda old: with_attached(old, place.unique_name), self._who
        )
        self._told.pop(place, None)
        text = f"AttachVolume.Attach succeeded for volume {self._quoted(place)} "
        self._tell(place, NORMAL, SUCCEEDED, text)

    async def _elsewhere(self, place: Place) -> list[Place]:
        """Other nodes that have a volume, or are about to."""
        nodes = set()
        # After a restart the place of an attachment that no pod wants may not be known yet.
        for name in sorted(self._of_volume.get(self._wanted.volume_name(place.unique_name), ())):
            attachment = await self._stored(name)
            if attachment is not None:
                nodes.add(attachment.node)
        for other in self._places.get(place.unique_name, ()):
            facts = self._nodes.get("", other.node)
            if facts is not None and other.unique_name in facts.attached:
                nodes.add(other.node)
        return [Place(node, place.unique_name) for node in sorted(nodes - {place.node})]

    def _refuse(self, place: Place, others: list[Place]) -> None:
        """Tell pods, once, that a volume is on another node."""
        if place in self._told:
            return
        self._told[place] = "Multi-Attach error"
        using = [pod for other in others for pod in self._wanted.pods(other)]
        begin = f"Multi-Attach error for volume {self._quoted(place)} "
        for pod in self._wanted.pods(place):
            self._record(pod, WARNING, FAILED, begin + _used_by(using, pod[0]))

    # ------------------------------------------------------------------ detach

    async def _detach(self, place: Place, name: str) -> None:
        facts, attachment = self._nodes.get("", place.node), await self._stored(name)
        told = facts is not None and place.unique_name in facts.attached
        if attachment is None and not told:
            self._forget(place, name)
            return
        now = trio.current_time()
        since = self._unwanted_since.setdefault(place, now)
        in_use = facts is None or place.unique_name in facts.in_use
        if in_use and not (facts is not None and facts.out_of_service):
            left_s = since + LONGEST_UNMOUNT_S - now
            if left_s > 0:
                self.look_again_in("/".join(place), left_s)
                return
            if facts is not None and facts.ready:
                return  # its kubelet says when it has let go
        if told:
            target = Target(self._node_kind, "", place.node, "status")
            await self._operations.patch(
                target, lambda old: without_attached(old, place.unique_name), self._who
            )
        if attachment is not None and not attachment.deleting:
            target = Target(self._attachment_kind, "", name)
            await self._operations.delete(target, DeleteOptions(), self._who)

    def _forget(self, place: Place, name: str) -> None:
        """Forget a place that has no volume and wants none; others may have it now."""
        self._unwanted_since.pop(place, None)
        self._of_attachment.pop(name, None)
        discard(self._places, place.unique_name, place)
        discard(self._on_node, place.node, place)
        for other in sorted(self._places.get(place.unique_name, ())):
            self._look_at(other)
        if place.unique_name not in self._places:
            self._wanted.forget(place.unique_name)

    # ------------------------------------------------------------------ events

    def _quoted(self, place: Place) -> str:
        return f'"{self._wanted.volume_name(place.unique_name)}"'

    def _tell(self, place: Place, type_: str, reason: str, text: str) -> None:
        for pod in self._wanted.pods(place):
            self._record(pod, type_, reason, text)

    def _record(self, pod: tuple[str, str], type_: str, reason: str, text: str) -> None:
        about = Reference("v1", "Pod", *pod, self._wanted.uid_of(*pod))
        self._events.record(about, type_, reason, text)

    def begin_anew(self) -> None:
        """See `Reconciler.begin_anew`; nothing is known to wait."""
        super().begin_anew()
        self._unwanted_since.clear()
        self._told.clear()
        for places in list(self._places.values()):
            for place in sorted(places):
                self._look_at(place)


def _used_by(pods: list[tuple[str, str]], namespace: str) -> str:
    """Say who has a volume; a user of a namespace does not see names of pods in others.

    Args:
        pods: namespaces and names of those that have it.
        namespace: of the pod that is told.
    """
    names = [name for there, name in pods if there == namespace]
    others = len(pods) - len(names)
    if not pods:
        return "Volume is already exclusively attached to one node and can't be attached to another"
    elsewhere = f"{others} pod(s) in different namespaces"
    if not names:
        return f"Volume is already used by {elsewhere}"
    text = f"Volume is already used by pod(s) {', '.join(names)}"
    return f"{text} and {elsewhere}" if others else text
