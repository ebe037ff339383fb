"""A whole simulated cluster in memory, on a clock that jumps, and what scenarios ask of it."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import trio

from kubetrio.client.client import Client, PatchType
from kubetrio.config import Simulation
from kubetrio.machinery.status import ApiError
from kubetrio.server.parts import Parts
from kubetrio.testing.server import InProcess, in_memory, open_api

Object = dict[str, Any]

NAMESPACE = "default"
API = {
    "Deployment": "apps/v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1", "ControllerRevision": "apps/v1",
    "Job": "batch/v1", "CronJob": "batch/v1",
    "PodDisruptionBudget": "policy/v1", "HorizontalPodAutoscaler": "autoscaling/v2",
    "RuntimeClass": "node.k8s.io/v1", "StorageClass": "storage.k8s.io/v1",
    "VolumeAttachment": "storage.k8s.io/v1",
    "EndpointSlice": "discovery.k8s.io/v1",
    "PriorityClass": "scheduling.k8s.io/v1", "Ingress": "networking.k8s.io/v1",
    "IngressClass": "networking.k8s.io/v1", "NetworkPolicy": "networking.k8s.io/v1",
    "CustomResourceDefinition": "apiextensions.k8s.io/v1",
    "ClusterRole": "rbac.authorization.k8s.io/v1", "Role": "rbac.authorization.k8s.io/v1",
    "ClusterRoleBinding": "rbac.authorization.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
}  # fmt: skip
WHOLE = frozenset({
    "Node", "PriorityClass", "Namespace", "PersistentVolume", "ClusterRole", "ClusterRoleBinding",
    "CustomResourceDefinition", "IngressClass", "RuntimeClass", "StorageClass", "VolumeAttachment",
})  # fmt: skip
SAID = "simulation.kubetrio.io/"


def template(app: str, *, said: Object | None = None, **spec: Any) -> Object:
    """A template of pods with one container.

    Args:
        app: label of the pods.
        said: annotations of the simulation, without their prefix.
        spec: members of the pods' specs.
    """
    annotations = {f"{SAID}{name}": value for name, value in (said or {}).items()}
    container: Object = {"name": "c", "image": spec.pop("image", "i")}
    if requests := spec.pop("requests", None):
        container["resources"] = {"requests": requests}
    if ports := spec.pop("ports", None):
        container["ports"] = ports
    meta = {"labels": {"app": app}, "annotations": annotations}
    return {"metadata": meta, "spec": {"containers": [container], **spec}}


class Cluster:
    """Asks a cluster, and waits for it.

    Args:
        server: the cluster.
    """

    def __init__(self, server: InProcess) -> None:
        self.server = server
        self.client: Client = server.client()

    def kind(self, kind: str) -> Any:
        """A kind by its name."""
        return self.client.kind(API.get(kind, "v1"), kind)

    def where(self, kind: str) -> str:
        """The namespace of objects of a kind, empty for none."""
        return "" if kind in WHOLE else NAMESPACE

    async def make(self, kind: str, name: str, /, **members: Any) -> Object:
        """Make an object.

        Args:
            kind: of the object.
            name: of the object.
            members: of it; of ``metadata``, those beside the name.
        """
        meta = {"name": name, **members.pop("metadata", {})}
        if kind not in WHOLE:
            meta.setdefault("namespace", NAMESPACE)
        body = {"apiVersion": API.get(kind, "v1"), "kind": kind, "metadata": meta, **members}
        return await self.client.create(body)

    def written(
        self,
        kind: str,
        name: str,
        /,
        said: Object | None = None,
        labels: Object | None = None,
        **spec: Any,
    ) -> Object:
        """A workload that selects its pods by their label ``app``, which is its name.

        Args:
            kind: of the workload.
            name: of the workload.
            said: annotations of the simulation for its pods, without their prefix.
            labels: of the workload itself.
            spec: members of its spec; ``pods`` are those of its pods' specs.
        """
        pods = spec.pop("pods", {})
        if kind in ("Job", "CronJob"):
            pods = {"restartPolicy": "Never", **pods}
        body: Object = {"template": template(name, said=said, **pods), **spec}
        if kind == "ReplicationController":
            body["selector"] = {"app": name}
        elif kind != "Job":
            body["selector"] = {"matchLabels": {"app": name}}
        if kind == "StatefulSet":
            body.setdefault("serviceName", name)
        meta = {"name": name, "namespace": NAMESPACE, "labels": labels or {}}
        return {"apiVersion": API.get(kind, "v1"), "kind": kind, "metadata": meta, "spec": body}

    async def workload(self, kind: str, name: str, /, **how: Any) -> Object:
        """Make a workload; for the arguments see `written`."""
        return await self.client.create(self.written(kind, name, **how))

    async def pod(self, name: str, *, said: Object | None = None, **spec: Any) -> Object:
        """Make a pod."""
        made = template(name, said=said, **spec)
        meta, labels = made["metadata"], spec.pop("labels", None)
        if labels is not None:
            meta["labels"] = labels
            made["spec"].pop("labels")
        return await self.make("Pod", name, metadata=meta, spec=made["spec"])

    async def get(self, kind: str, name: str) -> Object:
        """An object."""
        return await self.client.get(self.kind(kind), name, self.where(kind))

    async def stored_status(self, kind: str, name: str) -> Object:
        """An object as its subresource ``status`` shows it."""
        where = self.where(kind)
        return await self.client.get(self.kind(kind), name, where, subresource="status")

    async def find(self, kind: str, name: str) -> Object | None:
        """An object, None where there is none."""
        try:
            return await self.get(kind, name)
        except ApiError as error:
            if error.code != 404:
                raise
            return None

    async def all_of(self, kind: str, app: str = "") -> list[Object]:
        """Objects of a kind by name, or those with a label ``app``."""
        listed = await self.client.list(self.kind(kind), self.where(kind))
        return sorted(
            (
                one
                for one in listed.items
                if not app or (one["metadata"].get("labels") or {}).get("app") == app
            ),
            key=lambda one: str(one["metadata"]["name"]),
        )

    async def change(
        self, kind: str, name: str, subresource: str = "", /, **members: Any
    ) -> Object:
        """Merge members into an object."""
        where = self.where(kind)
        return await self.client.patch(
            self.kind(kind), name, members, where, subresource=subresource
        )

    async def patch(
        self, kind: str, name: str, patch: Object, *, how: PatchType = "strategic", below: str = ""
    ) -> Object:
        """Patch an object, or a subresource of it."""
        where = self.where(kind)
        return await self.client.patch(
            self.kind(kind), name, patch, where, how=how, subresource=below
        )

    async def updated(
        self, kind: str, name: str, edit: Callable[[Object], object], below: str = ""
    ) -> Object:
        """Read an object, edit it and write it; again while another writer is faster.

        Args:
            kind: of the object.
            name: of the object.
            edit: changes what was read.
            below: the subresource that is written.
        """
        for _ in range(5):
            read = await self.get(kind, name)
            edit(read)
            try:
                return await self.client.update(read, subresource=below)
            except ApiError as error:
                if error.code != 409:
                    raise
        raise AssertionError("another writer is always faster")

    async def chosen(self, kind: str, selector: str, namespace: str = "") -> list[Object]:
        """Objects that a selector of labels chooses, of all namespaces or of one."""
        listed = await self.client.list(self.kind(kind), namespace, label_selector=selector)
        return listed.items

    async def now(self, kind: str, selector: str = "") -> str:
        """The revision of a list of all namespaces, from which a watch may begin."""
        listed = await self.client.list(self.kind(kind), label_selector=selector)
        return listed.resource_version

    async def until_event(
        self,
        kind: str,
        since: str,
        what: Callable[[str, Object], bool],
        *,
        selector: str = "",
        fields: str = "",
        limit_s: float = 300.0,
    ) -> tuple[str, Object]:
        """Watch until an event is what is waited for; returns its type and object.

        A watch that ends is opened again after the last event.

        Args:
            kind: of the objects.
            since: revision to begin after.
            what: says of a type and an object whether this is the event.
            selector: of labels.
            fields: selector of fields.
            limit_s: seconds of the cluster's time after which it is an error.
        """
        with trio.fail_after(limit_s):
            while True:
                async with self.client.watch(
                    self.kind(kind),
                    self.where(kind),
                    resource_version=since,
                    label_selector=selector,
                    field_selector=fields,
                ) as events:
                    async for event in events:
                        since = event.object["metadata"]["resourceVersion"]
                        if what(event.type, event.object):
                            return event.type, event.object

    async def remove_all(self, kind: str, selector: str = "", **options: Any) -> None:
        """Delete the objects of a namespace that a selector of labels chooses."""
        where = self.where(kind)
        await self.client.delete_collection(
            self.kind(kind), where, label_selector=selector, **options
        )

    async def evict(self, eviction: Object) -> None:
        """Evict a pod."""
        name = str(eviction["metadata"]["name"])
        await self.client.create(eviction, subresource="eviction", name=name)

    async def remove(self, kind: str, name: str, **options: Any) -> None:
        """Delete an object."""
        await self.client.delete(self.kind(kind), name, self.where(kind), **options)

    async def until(self, what: Callable[[], Awaitable[object]], limit_s: float = 900.0) -> None:
        """Wait until something is so.

        Args:
            what: says whether.
            limit_s: seconds of the cluster's time after which it is an error.
        """
        waited = 0.0
        while not await what():
            assert waited < limit_s, "it does not come to pass"
            await trio.sleep(1)
            waited += 1

    async def names(self, kind: str, app: str = "") -> list[str]:
        """Names of objects."""
        return [one["metadata"]["name"] for one in await self.all_of(kind, app)]

    async def ready(self, app: str) -> list[Object]:
        """The pods of an application that are ready and stay."""
        return [
            one
            for one in await self.all_of("Pod", app)
            if "deletionTimestamp" not in one["metadata"] and is_ready(one)
        ]

    async def until_ready(self, app: str, count: int) -> None:
        """Wait until an application has so many pods, all of them ready."""

        async def enough() -> bool:
            return len(await self.ready(app)) == count == len(await self.all_of("Pod", app))

        await self.until(enough)

    async def condition(self, kind: str, name: str, type_: str) -> Object:
        """A condition of an object, empty for none."""
        found = await self.get(kind, name)
        conditions = (found.get("status") or {}).get("conditions") or ()
        return next((one for one in conditions if one["type"] == type_), {})

    async def until_condition(self, kind: str, name: str, type_: str) -> Object:
        """Wait until a condition is true; returns it."""

        async def true() -> bool:
            return (await self.condition(kind, name, type_)).get("status") == "True"

        await self.until(true)
        return await self.condition(kind, name, type_)

    async def node_of(self, pod: str) -> str:
        """The node of a pod, empty for none."""
        found = await self.get("Pod", pod)
        return str(found["spec"].get("nodeName") or "")

    async def refused(self, pod: str) -> str:
        """Wait until it is said why a pod has no node; returns that."""

        async def told() -> bool:
            found = await self.condition("Pod", pod, "PodScheduled")
            return found.get("status") == "False" and bool(found.get("message"))

        await self.until(told)
        return str((await self.condition("Pod", pod, "PodScheduled"))["message"])

    async def placed(self, pod: str) -> str:
        """Wait until a pod has a node; returns it."""

        async def has() -> str:
            return await self.node_of(pod)

        await self.until(has)
        return await self.node_of(pod)


def revision(stored: Object) -> int:
    """The revision of an object as a number; it has one."""
    text = str(stored["metadata"]["resourceVersion"])
    assert text.isdigit()
    assert not text.startswith("0")
    return int(text)


def is_ready(pod: Object) -> bool:
    """Whether a pod is ready."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


@asynccontextmanager
async def cluster(nodes: int = 2, parts: Parts | None = None) -> AsyncIterator[Cluster]:
    """Run a whole server with simulated nodes, all of which are ready.

    Args:
        nodes: how many.
        parts: what is added to the server.
    """
    with tempfile.TemporaryDirectory() as directory:
        config = replace(in_memory(Path(directory)), simulation=Simulation(nodes=nodes))
        async with open_api(config=config, parts=parts, kept=True) as server:
            there = Cluster(server)

            async def ready() -> bool:
                found = await there.all_of("Node")
                taints = [one for one in found if one["spec"].get("taints")]
                return len(found) == nodes and not taints and all(map(is_ready, found))

            await there.until(ready)
            yield there
