"""Who may ask for admin access to devices."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.kinds.builtin import registry
from kubetrio.plugins.namespaces import PREFIX
from kubetrio.resources.objects import stamp
from kubetrio.resources.writes import Target
from kubetrio.testing.store_model import MemoryStore

Object = dict[str, Any]
RESOURCES = registry().resources
CLAIMS = RESOURCES["resource.k8s.io", "v1", "resourceclaims"]
TEMPLATES = RESOURCES["resource.k8s.io", "v1", "resourceclaimtemplates"]
DENIED = (
    "Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` "
    "label on the containing namespace"
)
PLAIN = {"name": "a", "exactly": {"deviceClassName": "c"}}
ADMIN = {"name": "b", "exactly": {"deviceClassName": "c", "adminAccess": True}}
SPEC = {"devices": {"requests": [PLAIN, ADMIN]}}
GIVEN = {"allocation": {"devices": {"results": [{"request": "b", "adminAccess": True}]}}}


@pytest.fixture
async def store() -> MemoryStore:
    made = MemoryStore()
    for name, labels in (
        ("plain", {}),
        ("no", {"resource.kubernetes.io/admin-access": "yes"}),
        ("admin", {"resource.kubernetes.io/admin-access": "true"}),
    ):
        namespace = {
            "kind": "Namespace",
            "apiVersion": "v1",
            "metadata": {"name": name, "labels": labels},
        }
        await made.create(PREFIX + name, stamp(namespace))
    return made


async def admin_access(
    store: MemoryStore, target: Target, new: Object, old: Object | None
) -> list[Any]:
    """What a kind's look at other objects finds, as a write asks for it."""

    async def get(key: str) -> Object | None:
        found = await store.get(key)
        return None if found is None else orjson.loads(found.value)

    look = target.resource.rules.look_up
    if look is None:
        return []
    return await look(get, target.namespace, target.subresource, new, old)


def told(causes: list[Any]) -> list[str]:
    return [f"{cause.field}: {cause.message}" for cause in causes]


@pytest.mark.parametrize("namespace", ["plain", "no"])
async def test_a_label_is_needed(store: MemoryStore, namespace: str) -> None:
    """The first request that asks is named, with the path of older versions."""
    path = "spec.devices.requests[1].adminAccess"
    claim = Target(resource=CLAIMS, namespace=namespace)
    assert told(await admin_access(store, claim, {"spec": SPEC}, None)) == [f"{path}: {DENIED}"]
    template = Target(resource=TEMPLATES, namespace=namespace)
    found = await admin_access(store, template, {"spec": {"spec": SPEC}}, None)
    assert told(found) == [f"{path}: {DENIED}"]


async def test_who_may_ask(store: MemoryStore) -> None:
    """Labelled namespaces, and everybody who does not ask."""
    target = Target(resource=CLAIMS, namespace="admin")
    assert await admin_access(store, target, {"spec": SPEC}, None) == []
    target = Target(resource=CLAIMS, namespace="plain")
    other = {"spec": {"devices": {"requests": [PLAIN, {"name": "f", "firstAvailable": [{}]}]}}}
    assert await admin_access(store, target, other, None) == []
    assert await admin_access(store, target, {"spec": SPEC}, {"spec": SPEC}) == []
    slices = RESOURCES["resource.k8s.io", "v1", "resourceslices"]
    assert (
        await admin_access(store, Target(resource=slices, namespace=""), {"spec": SPEC}, None) == []
    )


async def test_an_allocation_with_admin_access(store: MemoryStore) -> None:
    """It needs the label when it is made, not while it lasts."""
    target = Target(resource=CLAIMS, namespace="plain", name="c", subresource="status")
    assert told(await admin_access(store, target, {"status": GIVEN}, {"status": {}})) == [
        f"status.allocation.devices.results[0].adminAccess: {DENIED}"
    ]
    assert await admin_access(store, target, {"status": GIVEN}, {"status": GIVEN}) == []


async def test_a_namespace_that_is_gone(store: MemoryStore) -> None:
    """Nobody can say what its labels were."""
    target = Target(resource=CLAIMS, namespace="gone")
    assert told(await admin_access(store, target, {"spec": SPEC}, None)) == [
        (
            "spec.devices.requests[1].adminAccess: Internal error: could not retrieve namespace "
            'to verify admin access: namespaces "gone" not found'
        )
    ]
