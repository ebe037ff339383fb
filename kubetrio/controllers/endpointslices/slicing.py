"""Keeps the endpoint slices of services with selectors.

Source: docs "EndpointSlices"; k8s.io/kubernetes/pkg/controller/endpointslice.
"""

from __future__ import annotations

from typing import Any

from kubetrio.controllers.controller import Context
from kubetrio.controllers.endpoints.backends import TRIGGER_TIME, selected
from kubetrio.controllers.endpoints.following import ServiceFollower
from kubetrio.controllers.endpointslices.slices import CONTROLLER, planned
from kubetrio.controllers.endpointslices.slicewrites import OwnSlices, SliceWriter
from kubetrio.controllers.recorder import WARNING, EventRecorder, reference_to
from kubetrio.controllers.rivals import Rivals
from kubetrio.kinds.core.nodedigests import NodeDigest, nodes_of
from kubetrio.machinery.status import ApiError

Object = dict[str, Any]

ACCOUNT = "endpointslice-controller"
LOOK_AGAIN_S = 1.0
"""How long after a change of a slice it is looked at; its own changes are among these."""
FAILED = "FailedToUpdateEndpointSlices"


class EndpointSliceController(ServiceFollower):
    """The controller.

    Args:
        context: what it is made of.
    """

    name = "endpointslice-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._writer = SliceWriter(ACCOUNT, context.registry, context.operations)
        self._events = EventRecorder(
            "endpoint-slice-controller", ACCOUNT, context.registry, context.operations, context.env
        )
        self._rivals = Rivals(self.name, "endpointslices of a service")
        self._slices = OwnSlices(CONTROLLER, context.informers, self._slice_changed)
        self._nodes = self.follow_digests(nodes_of(context.informers), self._node_changed)
        self.sources.append(self._slices.digests)
        self.beside.append(self._events.run)

    def _slice_changed(self, key: str) -> None:
        self.queue.add_after(key, LOOK_AGAIN_S)

    def _node_changed(
        self, _: str, name: str, old: NodeDigest | None, new: NodeDigest | None
    ) -> None:
        if old is not None and new is not None and old.zone == new.zone:
            return
        for namespace, _name, pod in self._pods.everywhere():
            if pod.node != name:
                continue
            for service, digest in self._services.within(namespace).items():
                if digest.selects(pod):
                    self.queue.add(f"{namespace}/{service}")

    async def sync(self, key: str) -> None:
        """Give a service's slices its pods.

        Raises:
            ApiError: one cannot be written.
            StoreError: the same, or something cannot be read.
        """
        service = await self._service(key)
        if service is None:
            self._triggers.forget(key)  # its slices go with it: it owns them
            return
        if service["spec"].get("type") == "ExternalName" or not service["spec"].get("selector"):
            return
        existing = await self._slices.of(key)
        # Nothing waits in between: pods, nodes and trigger times are of one moment.
        pods = list(selected(service, self._pods.within(service["metadata"]["namespace"])))
        trigger = self._triggers.of(key, service, pods)
        nodes = {pod.node: self._nodes.get("", pod.node) for _, pod in pods}
        there = {name: node for name, node in nodes.items() if node is not None}
        plan, lost = await self._worked_out(len(pods), planned, service, pods, there, existing)
        about = reference_to(service, "v1", "Service")
        failed = f"Error updating Endpoint Slices for Service {key}: "
        for name in lost:
            # It is looked at again when the node comes.
            node = dict(pods)[name].node
            why = f"skipping Pod {name} for Service {key}: Node {node} Not Found"
            self._events.record(about, WARNING, FAILED, failed + why)
        inputs = (service["metadata"]["resourceVersion"], *pods, *sorted(there.items()))
        if plan and (wait_s := self._rivals.wait_s(key, hash(inputs))):
            self.queue.add_after(key, wait_s)
            return
        for slice_ in (*plan.create, *plan.update):
            meta = slice_["metadata"]
            annotations = dict(meta.pop("annotations", None) or {})
            annotations.pop(TRIGGER_TIME, None)
            if trigger:
                annotations[TRIGGER_TIME] = trigger
            if annotations:
                meta["annotations"] = annotations
        try:
            await self._writer.write(plan)
        except ApiError as error:
            self._events.record(about, WARNING, FAILED, failed + str(error))
            raise
        if plan:
            self._rivals.corrected(key)
