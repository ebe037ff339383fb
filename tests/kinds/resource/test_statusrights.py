"""Who may write which part of a claim's status, through the whole pipeline."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from kubetrio.kinds.resource.preparation import update_resource_claim
from kubetrio.machinery.identity import UserInfo
from kubetrio.schema.rules import Context
from kubetrio.testing.client import Answer, Client
from kubetrio.testing.rights import grant, rule
from kubetrio.testing.server import InProcess

GROUP = ("resource.k8s.io",)
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
STATUS = f"{CLAIMS}/c/status"
CLAIM = {
    "metadata": {"name": "c"},
    "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}},
}  # fmt: skip
DEVICE = {"driver": "d.io", "pool": "p", "device": "x"}
ON_NODE = [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]
ALLOCATION: dict[str, Any] = {
    "devices": {"results": [{"request": "r", **DEVICE}]},
    "nodeSelector": {"nodeSelectorTerms": [{"matchFields": ON_NODE}]},
}
RESERVED = [{"resource": "pods", "name": "a", "uid": "b"}]
MERGE = {"Content-Type": "application/merge-patch+json"}
NODE_NAME = "authentication.kubernetes.io/node-name"
DRIVER = "system:serviceaccount:default:driver"
STATUS_ONLY = rule("update", "patch", groups=GROUP, resources=("resourceclaims/status",))
BINDING = (
    'Forbidden: changing status.allocation or status.reservedFor requires resource="resource'
    'claims/binding", verb="patch" permission: resourceclaims.resource.k8s.io is forbidden: '
    'User "bob" cannot patch resource "resourceclaims/binding" in API group "resource.k8s.io" '
    "at the cluster scope"
)


def user(name: str = "bob", node: str = "") -> UserInfo:
    return UserInfo(name, extra={NODE_NAME: (node,)} if node else {})


async def write(client: Client, query: str = "", **status: Any) -> Answer:
    return await client.request("PATCH", STATUS + query, MERGE, json={"status": status})


def causes(answer: Answer) -> list[str]:
    if answer.status == 200:
        return []
    assert answer.status == 422, answer.json()
    return [f"{one['field']}: {one['message']}" for one in answer.json()["details"]["causes"]]


@pytest.fixture
async def admin(server: InProcess) -> AsyncIterator[Client]:
    """An administrator, in a cluster with a claim that has no status."""
    async with server.connect() as client:
        assert (await client.request("POST", CLAIMS, json=CLAIM)).status == 201
        yield client


async def test_binding_needs_a_right(server: InProcess, admin: Client) -> None:
    """Whether a claim is allocated, reserved or taken back; the right to the status is less."""
    await grant(server, user(), STATUS_ONLY)
    async with server.connect(certificate=user()) as bob:
        refused = [f"status.allocation: {BINDING}"]
        assert causes(await write(bob, allocation=ALLOCATION)) == refused
        assert causes(await write(bob, "?dryRun=All", allocation=ALLOCATION)) == refused
        assert causes(await write(admin, allocation=ALLOCATION)) == []
        assert causes(await write(bob, reservedFor=RESERVED)) == refused
        assert causes(await write(admin, reservedFor=RESERVED)) == []
        assert causes(await write(bob, reservedFor=RESERVED)) == []  # nothing changes
        assert causes(await write(bob, reservedFor=None)) == refused
        assert causes(await write(bob, reservedFor=None, allocation=None)) == refused


async def test_the_right_to_bind_is_one_to_the_cluster(server: InProcess, admin: Client) -> None:
    """A scheduler has it; in one namespace nobody can."""
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    bind = rule("patch", groups=GROUP, resources=("resourceclaims/binding",))
    role = {"metadata": {"name": "here"}, "rules": [bind]}
    binding = {
        "metadata": {"name": "here"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "here"},
        "subjects": [{"kind": "User", "name": "bob"}],
    }
    assert (await admin.request("POST", f"{rbac}/roles", json=role)).status == 201
    assert (await admin.request("POST", f"{rbac}/rolebindings", json=binding)).status == 201
    await grant(server, user(), STATUS_ONLY)
    await grant(server, user("eve"), STATUS_ONLY, bind)
    async with (
        server.connect(certificate=user()) as bob,
        server.connect(certificate=user("eve")) as eve,
        server.connect(certificate=user("system:kube-scheduler")) as scheduler,
    ):
        assert causes(await write(bob, allocation=ALLOCATION)) != []
        assert causes(await write(scheduler, "?dryRun=All", allocation=ALLOCATION)) == []
        assert causes(await write(eve, allocation=ALLOCATION)) == []


@pytest.mark.parametrize(
    ("who", "verb", "allowed"),
    [
        (user(), "arbitrary-node:patch", True),
        (user(), "arbitrary-node:update", False),
        (user(), "associated-node:patch", False),
        (user(node="n1"), "associated-node:patch", False),
        (user(DRIVER, "n1"), "associated-node:patch", True),
        (user(DRIVER, "n2"), "associated-node:patch", False),
        (user(DRIVER), "associated-node:patch", False),
        (user(DRIVER, "n2"), "arbitrary-node:patch", True),
        (user(DRIVER, "n1"), "patch", False),
        (user(DRIVER, "n1"), "*", True),
    ],
)
async def test_a_driver_tells_of_its_devices(
    server: InProcess, admin: Client, who: UserInfo, verb: str, allowed: bool
) -> None:
    """From anywhere, or as a service account from the node of the claim; of others it does not."""
    drivers = rule(verb, groups=GROUP, resources=("resourceclaims/driver",), names=("d.io",))
    await grant(server, who, STATUS_ONLY, drivers)
    assert causes(await write(admin, allocation=ALLOCATION)) == []
    async with server.connect(certificate=who) as client:
        found = causes(await write(client, devices=[DEVICE]))
        assert (found == []) is allowed
        if not allowed:
            there = who == user(DRIVER, "n1")
            verbs = [f"{prefix}-node:patch" for prefix in ("associated", "arbitrary")]
            shown = " ".join(verbs if there else verbs[1:])
            first = verbs[0] if there else verbs[1]
            words = (
                'status.devices: Forbidden: changing status.devices requires resource="resource'
                f'claims/driver", verb="[{shown}]" permission: resourceclaims.resource.k8s.io '
                f'"d.io" is forbidden: User "{who.name}" cannot {first} resource "resourceclaims/'
                'driver" in API group "resource.k8s.io" in the namespace "default"'
            )
            assert found == [words]
        other = [*([DEVICE] if allowed else []), {**DEVICE, "driver": "e.io"}]
        assert any(
            '"e.io" is forbidden' in one for one in causes(await write(client, devices=other))
        )


async def test_devices_that_change_in_any_way(server: InProcess, admin: Client) -> None:
    """Added, changed and taken away; not those that go with the allocation."""
    await grant(server, user(), STATUS_ONLY)
    assert causes(await write(admin, allocation=ALLOCATION, devices=[DEVICE])) == []
    async with server.connect(certificate=user()) as bob:
        for devices in ([], [{**DEVICE, "data": {"a": 1}}], [{**DEVICE, "networkData": {}}]):
            (cause,) = causes(await write(bob, devices=devices))
            assert cause.startswith("status.devices: Forbidden")
        assert causes(await write(bob, devices=[{**DEVICE, "conditions": []}])) == []
        (cause,) = causes(await write(bob, allocation=None))
        assert cause.startswith("status.allocation: Forbidden")


def test_what_is_told_of_a_share_goes_with_it() -> None:
    """Two shares of one device are allocated and taken back each for itself."""
    one, two = ({**DEVICE, "shareID": share} for share in "ab")

    def claim(*results: dict[str, str]) -> dict[str, Any]:
        allocation = {"devices": {"results": list(results)}}
        return {"status": {"allocation": allocation, "devices": [one, two]}}

    new = claim(two)
    update_resource_claim(new, claim(one, two), Context(now=""), "status")
    assert new["status"]["devices"] == [two]
