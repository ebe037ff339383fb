"""What tests of the collector have in common: objects with owners, and what is left of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import trio

from kubetrio.client.client import Client
from kubetrio.machinery.status import ApiError
from kubetrio.testing.server import InProcess

Object = dict[str, Any]
SETTLED_S = 2.0


def ref(owner: Object, **more: Any) -> Object:
    """A reference to an object."""
    meta = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"],
        "uid": meta["uid"], **more,
    }  # fmt: skip


def configmap(name: str, *refs: Object, namespace: str = "default", **meta: Any) -> Object:
    """A ConfigMap with owners."""
    given: Object = {"name": name, "namespace": namespace, **meta}
    if refs:
        given["ownerReferences"] = list(refs)
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": given}


def role(name: str, *refs: Object) -> Object:
    """A ClusterRole with owners."""
    meta: Object = {"name": name}
    if refs:
        meta["ownerReferences"] = list(refs)
    api_version = "rbac.authorization.k8s.io/v1"
    return {"apiVersion": api_version, "kind": "ClusterRole", "metadata": meta, "rules": []}


class World:
    """Objects of a server, by name.

    Args:
        server: it runs its controllers, under a mock clock.
    """

    def __init__(self, server: InProcess) -> None:
        self.client: Client = server.client()

    async def make(self, obj: Object) -> Object:
        """Create an object."""
        return await self.client.create(obj)

    async def delete(self, obj: Object, policy: str = "Background") -> None:
        """Delete an object, if it is there."""
        meta = obj["metadata"]
        kind = self.client.kind(obj["apiVersion"], obj["kind"])
        try:
            await self.client.delete(
                kind, meta["name"], meta.get("namespace", ""), propagationPolicy=policy
            )
        except ApiError as error:
            _check_missing(error)

    async def find(self, obj: Object) -> Object | None:
        """An object as it is now, if it is still the same one."""
        meta = obj["metadata"]
        kind = self.client.kind(obj["apiVersion"], obj["kind"])
        try:
            found = await self.client.get(kind, meta["name"], meta.get("namespace", ""))
        except ApiError as error:
            _check_missing(error)
            return None
        return found if found["metadata"]["uid"] == meta["uid"] else None

    async def left(self, objects: Iterable[Object]) -> dict[str, frozenset[str]]:
        """The objects that are left after a while: names of their owners, by their names."""
        await trio.sleep(SETTLED_S)
        found: dict[str, frozenset[str]] = {}
        for obj in objects:
            now = await self.find(obj)
            if now is not None:
                meta = now["metadata"]
                owners = meta.get("ownerReferences") or ()
                found[meta["name"]] = frozenset(one["name"] for one in owners)
        return found


def _check_missing(error: ApiError) -> None:
    assert error.code == 404, error
