"""Plays the CSI drivers and the volume managers of kubelets of a simulated cluster.

A driver attaches what a VolumeAttachment asks for at once, unless the volume's annotation says why
not.  A kubelet says in the status of its node which volumes it has in use.
"""

from __future__ import annotations

from typing import Any

from kubetrio.controllers.attachdetach.attachable import Volume
from kubetrio.controllers.attachdetach.attachments import (
    Attachment,
    attachment_view,
    with_in_use,
)
from kubetrio.controllers.attachdetach.wanted import Place, WantedVolumes
from kubetrio.controllers.controller import Context, Controller
from kubetrio.kinds.core.nodedigests import PREFIX
from kubetrio.machinery.timestamps import format_time
from kubetrio.resources.own import OWN
from kubetrio.resources.writes import Target
from kubetrio.simulation.annotations import LOST
from kubetrio.simulation.nodeobjects import SimulatedNode, kubelet_of, simulated_view

Object = dict[str, Any]

ATTACHMENT, NODE = "attachment:", "node:"


class SimulatedAttachments(Controller):
    """The controller; its keys are VolumeAttachments and nodes.

    Args:
        context: what it is made of.
    """

    name = "simulated-attachment-controller"
    workers = 4

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        resources = context.registry.resources
        self._kind = resources["storage.k8s.io", "v1", "volumeattachments"]
        self._node_kind = resources["", "v1", "nodes"]
        # Who follows is told of what is there at once, and looks at both.
        self._nodes = context.informers.digests(PREFIX, simulated_view)
        self._attachments = context.informers.digests(self._kind.storage_prefix, attachment_view)
        self._wanted = WantedVolumes(self, context, self._wants)
        self.follow_digests(self._wanted.attachable.volumes, self._volume_changed)
        self.follow_digests(self._nodes, self._node_changed)
        self.follow_digests(self._attachments, self._attachment_changed)

    def _wants(self, place: Place) -> None:
        self.queue.add(NODE + place.node)

    def _node_changed(
        self, _: str, name: str, old: SimulatedNode | None, new: SimulatedNode | None
    ) -> None:
        if new is not None and (old is None or (old.uid, old.state) != (new.uid, new.state)):
            self.queue.add(NODE + name)

    def _attachment_changed(
        self, _: str, name: str, __: Attachment | None, new: Attachment | None
    ) -> None:
        if new is not None and not new.attached:
            self.queue.add(ATTACHMENT + name)

    def _volume_changed(self, _: str, name: str, old: Volume | None, new: Volume | None) -> None:
        if new is None or (old is not None and old.attach_error == new.attach_error):
            return
        for attachment, facts in sorted(self._attachments.within("").items()):
            if facts.volume == name and not facts.attached:
                self.queue.add(ATTACHMENT + attachment)

    def begin_anew(self) -> None:
        """See `Reconciler.begin_anew`."""
        super().begin_anew()
        for name in self._nodes.within(""):
            self.queue.add(NODE + name)
        for name in self._attachments.within(""):
            self.queue.add(ATTACHMENT + name)

    async def sync(self, key: str) -> None:
        """Attach a volume, or say which volumes a node has in use.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same.
        """
        if key.startswith(ATTACHMENT):
            await self._attach(key.removeprefix(ATTACHMENT))
            return
        name = key.removeprefix(NODE)
        node = self._nodes.get("", name)
        if node is None or not node.simulated or node.state == LOST:
            return
        names = self._wanted.at_node(name)
        target = Target(self._node_kind, "", name, "status")
        if set(names) != node.in_use:
            await self._operations.patch(
                target, lambda old: with_in_use(old, names), kubelet_of(name)
            )

    async def _attach(self, name: str) -> None:
        attachment = self._attachments.get("", name)
        if attachment is None or attachment.attached or attachment.deleting:
            return
        if not self._wanted.attachable.driver(attachment.driver).simulated:
            return
        volume = self._wanted.attachable.volumes.get("", attachment.volume)
        error = "" if volume is None else volume.attach_error
        if error == attachment.error and error:
            return
        now = format_time(self._env.now())
        status: Object = {"attached": not error}
        if error:
            status["attachError"] = {"time": now, "message": error}
        target = Target(self._kind, "", name, "status")
        await self._operations.patch(target, lambda old: {**old, "status": status}, OWN)
