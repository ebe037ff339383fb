"""Namespaces that are deleted, with content that other servers have."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio
from registered import SERVICES, post, register, until

from kubetrio.controllers.namespaces import others
from kubetrio.testing.aggregated import GROUP, NAME, PATH, RESOURCES, OtherServer, api_service
from kubetrio.testing.backend import ReceivedRequest
from kubetrio.testing.client import Client

Object = dict[str, Any]
THINGS = f"{PATH}/namespaces/n/things"
NAMESPACES = "/api/v1/namespaces"
DISCOVERY, CONTENT, REMAINING, FINALIZERS = (
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionContentFailure",
    "NamespaceContentRemaining",
    "NamespaceFinalizersRemaining",
)
STALE = (
    "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server "
    f"APIs: {GROUP}/v1: stale GroupVersion discovery: {GROUP}/v1"
)
JSON = {"Content-Type": "application/json"}


class Things:
    """Objects of another server, in the namespace ``n``.

    Args:
        other: the server.
        verbs: what it says can be done with them.
        objects: their finalizers by name.
    """

    def __init__(self, other: OtherServer, verbs: list[str], objects: dict[str, list[str]]) -> None:
        self.objects = objects
        self.asked: list[tuple[str, str, Object]] = []
        self.refusal: tuple[int, bytes] | None = None
        first, *rest = RESOURCES["resources"]
        other.documents[PATH] = {**RESOURCES, "resources": [{**first, "verbs": verbs}, *rest]}
        other.answers[THINGS] = self.collection
        for name in objects:
            other.answers[f"{THINGS}/{name}"] = self.one

    async def collection(self, asked: ReceivedRequest) -> None:
        await self._note(asked)
        if asked.method == "DELETE":
            if self.refusal is not None:
                status, body = self.refusal
                await asked.reply(status, body, JSON if body.startswith(b"{") else None)
                return
            for name in list(self.objects):
                self._delete(name)
        names = sorted(self.objects)
        start = int(dict(asked.query).get("continue", 0))
        page = names[start : start + 2]
        more = {"continue": str(start + 2)} if names[start + 2 :] else {}
        metas = [{"name": one, "finalizers": self.objects[one]} for one in page]
        body = {"kind": "ThingList", "metadata": more, "items": [{"metadata": m} for m in metas]}
        await asked.reply(200, json.dumps(body).encode(), JSON)

    async def one(self, asked: ReceivedRequest) -> None:
        await self._note(asked)
        name = asked.path.rpartition("/")[2]
        self._delete(name)
        await asked.reply(200 if name in self.objects else 404, b"{}", JSON)

    async def _note(self, asked: ReceivedRequest) -> None:
        body = await asked.body()
        self.asked.append((asked.method, asked.path, json.loads(body) if body else {}))

    def _delete(self, name: str) -> None:
        if not self.objects[name]:
            del self.objects[name]

    def deleted(self) -> set[str]:
        """What it was told to delete."""
        return {path for method, path, _ in self.asked if method == "DELETE"}


async def end_namespace(client: Client) -> None:
    """Make the namespace, and delete it."""
    await post(client, NAMESPACES, {"metadata": {"name": "n"}})
    assert (await client.request("DELETE", f"{NAMESPACES}/n")).status == 200


async def conditions(client: Client) -> dict[str, tuple[str, str, str]]:
    """What the namespace says: status, reason and message by type; nothing when it is gone."""
    answer = await client.request("GET", f"{NAMESPACES}/n")
    if answer.status == 404:
        return {}
    said = answer.json()["status"].get("conditions") or ()
    return {one["type"]: (one["status"], one["reason"], one["message"]) for one in said}


async def until_said(client: Client, kind: str, status: str = "True") -> tuple[str, str]:
    """Reason and message of a condition as soon as it has a status."""
    with trio.fail_after(15):
        while (await conditions(client)).get(kind, ("",))[0] != status:  # noqa: ASYNC110
            await trio.sleep(0.02)
    return (await conditions(client))[kind][1:]


async def until_gone(client: Client) -> None:
    """Wait for the end of the namespace."""
    with trio.fail_after(20):
        while (await client.request("GET", f"{NAMESPACES}/n")).status != 404:  # noqa: ASYNC110
            await trio.sleep(0.02)


async def test_collections_are_deleted(admin: Client, other: OtherServer) -> None:
    """By the controller's service account, in the background, before the namespace goes."""
    things = Things(other, ["delete", "deletecollection", "list"], {"a": [], "b": [], "c": []})
    await register(admin, other)
    await end_namespace(admin)
    await until_gone(admin)
    assert not things.objects
    method, path, options = things.asked[0]
    assert (method, path, options["propagationPolicy"]) == ("DELETE", THINGS, "Background")
    asked = other.asked(THINGS)[0]
    assert asked.get("x-remote-user") == "system:serviceaccount:kube-system:namespace-controller"
    groups = [value for name, value in asked.headers if name == "x-remote-group"]
    assert groups == [
        "system:serviceaccounts",
        "system:serviceaccounts:kube-system",
        "system:authenticated",
    ]
    listing = other.asked(THINGS)[-1]
    assert listing.method == "GET"
    assert "as=PartialObjectMetadataList" in (listing.get("accept") or "")


async def test_objects_are_deleted_where_collections_cannot_be(
    admin: Client, other: OtherServer
) -> None:
    """One by one, of all pages."""
    names = [f"t{number}" for number in range(5)]
    things = Things(other, ["delete", "get", "list"], {name: [] for name in names})
    await register(admin, other)
    await end_namespace(admin)
    await until_gone(admin)
    assert things.deleted() == {f"{THINGS}/{name}" for name in names}


async def test_what_cannot_be_deleted_is_let_be(admin: Client, other: OtherServer) -> None:
    """As metrics, which are only read."""
    things = Things(other, ["get", "list"], {"a": []})
    await register(admin, other)
    await end_namespace(admin)
    await until_gone(admin)
    assert not things.asked


async def test_a_server_that_does_not_have_what_it_says(admin: Client, other: OtherServer) -> None:
    """404 and 405 mean that there is nothing to delete in that way."""
    things = Things(other, ["delete", "deletecollection", "list"], {"a": []})
    things.refusal = (405, b"")
    await register(admin, other)
    await end_namespace(admin)
    await until_gone(admin)
    assert things.deleted() == {THINGS, f"{THINGS}/a"}


async def test_finalizers(admin: Client, other: OtherServer) -> None:
    """They are told of and waited for, beside those of objects of this server."""
    things = Things(other, ["delete", "deletecollection", "list"], {"a": ["x/y"], "b": ["x/y"]})
    await register(admin, other)
    await post(admin, NAMESPACES, {"metadata": {"name": "n"}})
    held = {"metadata": {"name": "held", "finalizers": ["x/y"]}}
    await post(admin, f"{NAMESPACES}/n/configmaps", held)
    await admin.request("DELETE", f"{NAMESPACES}/n")
    left = f"configmaps. has 1 resource instances, things.{GROUP} has 2 resource instances"
    said = await until_said(admin, REMAINING)
    assert said == ("SomeResourcesRemain", f"Some resources are remaining: {left}")
    assert (await until_said(admin, FINALIZERS))[1].endswith("x/y in 3 resource instances")
    things.objects.clear()
    merge = {"Content-Type": "application/merge-patch+json"}
    path = f"{NAMESPACES}/n/configmaps/held"
    await admin.request("PATCH", path, merge, b'{"metadata":{"finalizers":null}}')
    await until_gone(admin)


@pytest.mark.parametrize(
    ("status", "body", "text"),
    [
        (403, b'{"kind":"Status","message":"not you"}', "not you"),
        (503, b"busy\n", "the server is currently unable to handle the request"),
        (
            500,
            b"oh",
            'an error on the server ("oh") has prevented the request from succeeding',
        ),
        (
            302,
            b"",
            "the server responded with the status code 302 but did not return more information",
        ),
    ],
)
async def test_refusals(
    admin: Client, other: OtherServer, status: int, body: bytes, text: str
) -> None:
    """The namespace says why it stays, and goes when they end."""
    things = Things(other, ["delete", "deletecollection", "list"], {"a": []})
    things.refusal = (status, body)
    await register(admin, other)
    await end_namespace(admin)
    assert await until_said(admin, CONTENT) == (
        "ContentDeletionFailed",
        f"Failed to delete all resource types, 1 remaining: {text}",
    )
    assert (await conditions(admin))[DISCOVERY][1] == "ResourcesDiscovered"
    things.refusal = None
    await until_gone(admin)


async def test_a_server_that_is_silent(
    admin: Client, other: OtherServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is waited for as long as for any request."""
    things = Things(other, ["delete", "list"], {"a": []})
    monkeypatch.setattr(others, "LIMIT_S", 0.1)

    async def silent(asked: ReceivedRequest) -> None:
        await asked.receive()

    other.answers[THINGS] = silent
    await register(admin, other)
    await end_namespace(admin)
    assert (await until_said(admin, CONTENT))[1].endswith(
        "1 remaining: error trying to reach service: context deadline exceeded"
    )
    monkeypatch.undo()
    other.answers[THINGS] = things.collection
    await until_gone(admin)


@pytest.mark.parametrize("answer", [b"no", b"[]", b'{"items":[7]}', b'{"items":[{"metadata":{}}]}'])
async def test_lists_that_are_none(admin: Client, other: OtherServer, answer: bytes) -> None:
    """What cannot be understood is no empty list."""
    things = Things(other, ["delete", "list"], {"a": []})

    async def lie(asked: ReceivedRequest) -> None:
        await asked.reply(200, answer, JSON)

    other.answers[THINGS] = lie
    await register(admin, other)
    await end_namespace(admin)
    assert "no list of objects" in (await until_said(admin, CONTENT))[1]
    other.answers[THINGS] = things.collection
    await until_gone(admin)


async def test_more_was_deleted_than_is_read(admin: Client, other: OtherServer) -> None:
    """The answer to the deletion of a collection may hold all of it."""
    things = Things(other, ["delete", "deletecollection", "list"], {"a": []})

    async def much(asked: ReceivedRequest) -> None:
        if asked.method == "GET":
            await things.collection(asked)
            return
        things.objects.clear()
        await asked.reply(200, b" " * 40 * others.SAID_BYTES, JSON)

    other.answers[THINGS] = much
    await register(admin, other)
    await end_namespace(admin)
    await until_gone(admin)


async def test_a_server_that_is_not_there(admin: Client, other: OtherServer) -> None:
    """Nobody knows what it has, so the namespace stays; all else in it goes."""
    things = Things(other, ["delete", "deletecollection", "list"], {"a": []})
    await post(admin, SERVICES, api_service(other.port, other.ca))
    await until(admin, "ServiceNotFound")
    await post(admin, NAMESPACES, {"metadata": {"name": "n"}})
    await post(admin, f"{NAMESPACES}/n/configmaps", {"metadata": {"name": "c"}})
    await admin.request("DELETE", f"{NAMESPACES}/n")
    assert await until_said(admin, DISCOVERY) == ("DiscoveryFailed", STALE)
    assert (await admin.request("GET", f"{NAMESPACES}/n/configmaps/c")).status == 404
    assert (await conditions(admin))[CONTENT][0] == "False"
    assert not things.asked
    service = {"spec": {"type": "ExternalName", "externalName": "localhost"}}
    await post(admin, f"{NAMESPACES}/default/services", {"metadata": {"name": "be"}, **service})
    await until_gone(admin)
    assert not things.objects


async def test_it_is_told_while_pods_go(admin: Client, other: OtherServer) -> None:
    """Before anything else is looked at."""
    await post(admin, SERVICES, api_service(other.port, other.ca))
    await until(admin, "ServiceNotFound")
    await post(admin, NAMESPACES, {"metadata": {"name": "n"}})
    pod = {"metadata": {"name": "p", "finalizers": ["x/y"]}}
    spec = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    await post(admin, f"{NAMESPACES}/n/pods", {**pod, **spec})
    await admin.request("DELETE", f"{NAMESPACES}/n")
    await until_said(admin, DISCOVERY)
    assert (await conditions(admin))[REMAINING][0] == "False"


async def test_an_apiservice_that_goes(admin: Client, other: OtherServer) -> None:
    """With it goes what was waited for."""
    await post(admin, SERVICES, api_service(other.port, other.ca))
    await until(admin, "ServiceNotFound")
    await end_namespace(admin)
    await until_said(admin, DISCOVERY)
    await admin.request("DELETE", f"{SERVICES}/{NAME}")
    await until_gone(admin)
