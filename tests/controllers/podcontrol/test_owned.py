"""Pods by owner."""

from __future__ import annotations

from kubetrio.controllers.podcontrol.owned import OwnedPods
from kubetrio.controllers.podcontrol.view import Pod, views_of
from kubetrio.testing.server import open_api
from kubetrio.testing.workloads import template, workload


async def test_pods_are_found_by_owner_and_orphans_by_namespace() -> None:
    """As they come, change hands and go."""
    async with open_api() as server:
        client, seen = server.client(), list[tuple[str, str]]()

        def told(old: Pod | None, new: Pod | None) -> None:
            seen.append((old.name if old else "", new.name if new else ""))

        views = views_of(server.api.storage.informers)
        pods = OwnedPods("ReplicaSet", views, told)
        await views.sync()
        owner = await client.create(workload("ReplicaSet", replicas=0))
        other = await client.create(workload("StatefulSet", serviceName="s", replicas=0))
        uid = owner["metadata"]["uid"]

        def made(name: str, above: dict[str, str] | None) -> dict[str, object]:
            meta: dict[str, object] = {"name": name, "namespace": "default"}
            if above:
                meta["ownerReferences"] = [{**above, "controller": True}]
            return {"apiVersion": "v1", "kind": "Pod", "metadata": meta,
                    "spec": template()["spec"]}  # fmt: skip

        mine = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "w", "uid": uid}
        theirs = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "w",
                  "uid": other["metadata"]["uid"]}  # fmt: skip
        for name, above in (("a", mine), ("b", None), ("c", theirs)):
            await client.create(made(name, above))
        assert [pod.name for pod in pods.of(uid)] == ["a"]
        assert (pods.count(uid), pods.count("other")) == (1, 0)
        assert [pod.name for pod in pods.orphans("default")] == ["b"]
        assert seen == [("", "a"), ("", "b")]
        kind = client.kind("v1", "Pod")
        owners = {"metadata": {"ownerReferences": [{**mine, "controller": True}]}}
        await client.patch(kind, "b", owners, "default")
        assert [pod.name for pod in pods.of(uid)] == ["a", "b"]
        assert pods.orphans("default") == []
        await client.delete(kind, "a", "default")
        assert [pod.name for pod in pods.of(uid)] == ["b"]
        assert seen[2] == ("b", "b")
        assert seen[-1] == ("a", "")
