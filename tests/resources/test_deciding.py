"""Writes that create although they were let in for another verb: who may only change, may not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from kubetrio.machinery.identity import UserInfo
from kubetrio.testing.client import Client
from kubetrio.testing.rights import grant, rule
from kubetrio.testing.server import InProcess

DEFAULT = "/api/v1/namespaces/default"
WRITER = UserInfo("writer", groups=("devs",))
APPLY = {"Content-Type": "application/apply-patch+yaml"}
SERVICE = {
    "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
    "spec": {"ports": [{"port": 80}]},
}  # fmt: skip
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}}
LEASE = {
    "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "mine"},
}  # fmt: skip
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


@asynccontextmanager
async def writer(server: InProcess, *rules: dict[str, Any]) -> AsyncIterator[Client]:
    """A connection of somebody who has these rules, and no others."""
    await grant(server, WRITER, *rules)
    async with server.connect(certificate=WRITER) as client:
        yield client


async def apply(client: Client, path: str, obj: dict[str, Any], query: str = "") -> Any:
    target = f"{path}?fieldManager=test{query}"
    return await client.request("PATCH", target, headers=APPLY, body=orjson.dumps(obj))


def refusal(resource: str, name: str, group: str = "") -> str:
    full = f"{resource}.{group}" if group else resource
    return (
        f'{full} "{name}" is forbidden: User "writer" cannot create resource "{resource}" '
        f'in API group "{group}" in the namespace "default"'
    )


@pytest.mark.parametrize("dry", ["", "&dryRun=All"])
async def test_an_apply_that_creates_needs_create(server: InProcess, dry: str) -> None:
    """With `patch` alone it is refused, in a dry run too, and nothing is there afterwards."""
    async with writer(server, rule("patch", "get")) as client:
        answer = await apply(client, DEFAULT + "/secrets/keys", SECRET, dry)
        assert (answer.status, answer.json()["message"]) == (403, refusal("secrets", "keys"))
        assert answer.json()["details"] == {"name": "keys", "kind": "secrets"}
        assert (await client.request("GET", DEFAULT + "/secrets/keys")).status == 404


@pytest.mark.parametrize("dry", ["", "?dryRun=All"])
async def test_a_put_that_creates_needs_create(server: InProcess, dry: str) -> None:
    """With `update` alone it is refused, in a dry run too."""
    async with writer(server, rule("update", "get")) as client:
        for path, obj, words in (
            (DEFAULT + "/services/web", SERVICE, refusal("services", "web")),
            (LEASES + "/mine", LEASE, refusal("leases", "mine", "coordination.k8s.io")),
        ):
            answer = await client.request("PUT", path + dry, json=obj)
            assert (answer.status, answer.json()["message"]) == (403, words)
            assert (await client.request("GET", path)).status == 404


async def test_what_is_there_is_changed_without_it(server: InProcess) -> None:
    """The right to create is asked for where an object is made, and nowhere else."""
    async with server.connect() as admin:
        await admin.request("POST", DEFAULT + "/services", json=SERVICE)
        await admin.request("POST", DEFAULT + "/secrets", json=SECRET)
    async with writer(server, rule("patch", "update")) as client:
        labelled = {**SECRET, "metadata": {"name": "keys", "labels": {"a": "b"}}}
        assert (await apply(client, DEFAULT + "/secrets/keys", labelled)).status == 200
        again = {**SERVICE, "metadata": {"name": "web", "labels": {"a": "b"}}}
        assert (await client.request("PUT", DEFAULT + "/services/web", json=again)).status == 200


async def test_the_right_to_create_may_be_one_to_a_name(server: InProcess) -> None:
    """Unlike with POST, the name is known: `resourceNames` count."""
    async with writer(server, rule("patch"), rule("create", names=("keys",))) as client:
        assert (await apply(client, DEFAULT + "/secrets/keys", SECRET)).status == 201
        other = {**SECRET, "metadata": {"name": "other"}}
        answer = await apply(client, DEFAULT + "/secrets/other", other)
        assert (answer.status, answer.json()["message"]) == (403, refusal("secrets", "other"))


async def test_what_is_not_valid_is_told_first(server: InProcess) -> None:
    """As in kube-apiserver, which asks when the object is complete."""
    async with writer(server, rule("update")) as client:
        wrong = {**SERVICE, "spec": {"ports": [{"port": 0}]}}
        answer = await client.request("PUT", DEFAULT + "/services/web", json=wrong)
        assert answer.status == 422


async def test_who_may_create_and_not_change_is_refused_before(server: InProcess) -> None:
    """The verb of the request is asked for all the same."""
    async with writer(server, rule("create")) as client:
        answer = await client.request("PUT", DEFAULT + "/services/web", json=SERVICE)
        assert "cannot update resource" in answer.json()["message"]
        answer = await apply(client, DEFAULT + "/secrets/keys", SECRET)
        assert "cannot patch resource" in answer.json()["message"]


DOOMED = {"deletionTimestamp": "2030-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5}


async def test_what_put_creates_may_say_that_it_is_deleted(server: InProcess) -> None:
    """Unlike POST, in kube-apiserver too; the next write that finds no finalizer removes it."""
    async with server.connect() as admin:
        path = DEFAULT + "/services/web"
        held = {"name": "web", "selfLink": "/x", "finalizers": ["a.b/c"], **DOOMED}
        made = await admin.request("PUT", path, json={**SERVICE, "metadata": held})
        assert made.status == 201
        meta = (await admin.request("GET", path)).json()["metadata"]
        assert {name: meta[name] for name in DOOMED} == DOOMED
        assert "selfLink" not in meta
        owned = meta["managedFields"][0]["fieldsV1"]["f:metadata"]
        assert {"f:deletionTimestamp", "f:deletionGracePeriodSeconds"} <= set(owned)
        merge = {"Content-Type": "application/merge-patch+json"}
        body = {"metadata": {"finalizers": None, "deletionGracePeriodSeconds": 0}}
        assert (await admin.request("PATCH", path, merge, json=body)).status == 422
        posted = {**SERVICE, "metadata": {**held, "name": "other"}}
        posted = (await admin.request("POST", DEFAULT + "/services", json=posted)).json()
        assert not {*DOOMED, "selfLink"} & set(posted["metadata"])


@pytest.mark.parametrize("member", sorted(DOOMED))
async def test_a_put_does_not_begin_a_deletion(server: InProcess, member: str) -> None:
    """It is refused as a patch is, and not passed over."""
    async with server.connect() as admin:
        path = DEFAULT + "/configmaps/c"
        body = {"metadata": {"name": "c"}}
        assert (await admin.request("POST", DEFAULT + "/configmaps", json=body)).status == 201
        linked = {"metadata": {"name": "c", "selfLink": "/x"}}
        answer = await admin.request("PUT", path, json=linked)
        assert (answer.status, "selfLink" in answer.json()["metadata"]) == (200, False)
        body = {"metadata": {"name": "c", member: DOOMED[member]}}
        answer = await admin.request("PUT", path, json=body)
        assert answer.status == 422
        causes = answer.json()["details"]["causes"]
        assert {cause["field"] for cause in causes} == {f"metadata.{member}"}
        assert all("field is immutable" in cause["message"] for cause in causes)
