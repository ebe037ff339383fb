"""The in-process client: every verb, as any user, with the errors others get."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Literal, TypedDict

import pytest
import trio

from kubetrio.auth.authorize import ALLOWED, NO_OPINION
from kubetrio.client.client import Client
from kubetrio.faults import Rule
from kubetrio.machinery.identity import Attributes, UserInfo, Verdict
from kubetrio.machinery.status import ApiError
from kubetrio.schema.kind import Kind
from kubetrio.server.parts import Parts
from kubetrio.testing.server import InProcess, open_api
from kubetrio.types.apiserverinternal.v1alpha1 import StorageVersion
from kubetrio.types.apps.v1 import Deployment
from kubetrio.types.core.v1 import ConfigMap

Object = dict[str, Any]
ALICE = UserInfo("alice", groups=("system:authenticated",))


class Reader:
    """Lets alice read ConfigMaps."""

    def authorize(self, attributes: Attributes) -> Verdict:
        reads = attributes.verb in ("get", "list", "watch") and attributes.resource == "configmaps"
        return ALLOWED if reads and attributes.user.name == "alice" else NO_OPINION


@pytest.fixture
async def server() -> AsyncIterator[InProcess]:
    async with open_api(parts=Parts(authorizers=[Reader()])) as made:
        yield made


@pytest.fixture
def client(server: InProcess) -> Client:
    return server.client()


@pytest.fixture
def config_maps(client: Client) -> Kind:
    return client.kind("v1", "ConfigMap")


def config(name: str, **data: str) -> Object:
    meta = {"name": name, "namespace": "default", "labels": {"a": name}}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta, "data": data}


async def test_an_object_lives(client: Client, config_maps: Kind) -> None:
    """Create, get, update, patch, apply, list, delete."""
    made = await client.create(config("n", a="1"))
    assert made["metadata"]["uid"]
    assert await client.get(config_maps, "n", "default") == made
    made["data"]["a"] = "2"
    changed = await client.update(made)
    assert changed["data"] == {"a": "2"}
    patched = await client.patch(config_maps, "n", {"data": {"b": "3"}}, "default")
    assert patched["data"] == {"a": "2", "b": "3"}
    applied = await client.apply(config("n", c="4"), field_manager="me")
    assert applied["data"] == {"a": "2", "b": "3", "c": "4"}
    page = await client.list(config_maps, "default", label_selector="a=n")
    assert page.items == [applied]
    assert (await client.delete(config_maps, "n", "default"))["status"] == "Success"
    with pytest.raises(ApiError) as error:
        await client.get(config_maps, "n", "default")
    assert (error.value.code, error.value.reason) == (404, "NotFound")
    assert error.value.message == 'configmaps "n" not found'


async def test_what_is_given_is_not_changed(client: Client) -> None:
    """Values go in and out; nothing is shared."""
    given = config("n", a="1")
    made = await client.create(given)
    assert given == config("n", a="1")
    made["data"]["a"] = "x"
    again = await client.get(client.kind("v1", "ConfigMap"), "n", "default")
    assert again["data"] == {"a": "1"}


async def test_types_and_rules_hold(client: Client) -> None:
    """As for bytes: what does not fit, what is not valid, what is there already."""
    with pytest.raises(ApiError) as unfit:
        await client.create({**config("n"), "data": {"a": 1}})
    assert unfit.value.code == 400
    with pytest.raises(ApiError) as invalid:
        await client.create(config("N"))
    assert invalid.value.code == 422
    await client.create(config("n"))
    with pytest.raises(ApiError) as there:
        await client.create(config("n"))
    assert there.value.reason == "AlreadyExists"
    with pytest.raises(ApiError) as unknown:
        client.kind("v1", "Nothing")
    assert unknown.value.code == 404


async def test_it_is_a_user_like_any_other(client: Client, config_maps: Kind) -> None:
    """Authorization is asked about who it is for."""
    await client.create(config("n"))
    alice = client.as_user(ALICE)
    assert (await alice.get(config_maps, "n", "default"))["metadata"]["name"] == "n"
    with pytest.raises(ApiError) as error:
        await alice.create(config("m"))
    assert error.value.code == 403
    assert 'User "alice" cannot create resource "configmaps"' in error.value.message


async def test_a_dry_run_stores_nothing(client: Client, config_maps: Kind) -> None:
    """It goes through every stage but the last."""
    assert (await client.create(config("n"), dry_run=True))["metadata"]["uid"]
    assert (await client.list(config_maps, "default", label_selector="a=n")).items == []


async def test_pages(client: Client, config_maps: Kind) -> None:
    """A token continues the list at its revision."""
    for name in ("a", "b", "c"):
        await client.create(config(name))
    first = await client.list(config_maps, "default", limit=2, label_selector="a in (a,b,c)")
    await client.create(config("d"))
    second = await client.list(
        config_maps, "default", limit=2, token=first.token, label_selector="a in (a,b,c)"
    )
    names = [item["metadata"]["name"] for item in (*first.items, *second.items)]
    assert names == ["a", "b", "c"]
    assert second.token == ""
    assert second.resource_version == first.resource_version


async def test_subresources(client: Client) -> None:
    """Status, scale and what is posted below an object."""
    deployment = {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": "d", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    }
    made = await client.create(deployment)
    kind = client.kind("apps/v1", "Deployment")
    made["status"] = {"replicas": 1}
    assert (await client.update(made, subresource="status"))["status"]["replicas"] == 1
    scale = await client.get(kind, "d", "default", subresource="scale")
    assert scale["spec"] == {"replicas": 1}
    scaled = await client.patch(
        kind, "d", {"spec": {"replicas": 3}}, "default", subresource="scale"
    )
    assert scaled["spec"] == {"replicas": 3}


async def test_a_watch_sees_each_event_once(client: Client, config_maps: Kind) -> None:
    """The present state, then what happens, in order."""
    await client.create(config("a"))
    seen: list[tuple[str, str]] = []
    async with client.watch(config_maps, "default", label_selector="a in (a,b)") as events:
        await client.create(config("b"))
        await client.delete(config_maps, "a", "default")
        with trio.fail_after(5):
            async for event in events:
                seen.append((event.type, event.object["metadata"]["name"]))
                if event.type == "DELETED":
                    break
    assert seen == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]


async def test_a_watch_that_cannot_begin(client: Client, config_maps: Kind) -> None:
    """Its error is raised before there are events."""
    watch = client.watch(config_maps, resource_version="not-one")
    with pytest.raises(ApiError, match="invalid syntax"):
        await watch.__aenter__()


async def test_a_watch_ends_with_the_server(server: InProcess, config_maps: Kind) -> None:
    """As others do at a shutdown: cleanly."""
    with trio.fail_after(5):
        async with server.client().watch(config_maps) as events:
            await events.__anext__()
            server.api.end_streams()
            async for _ in events:
                pass


async def test_delete_collection(client: Client, config_maps: Kind) -> None:
    """What the selectors choose goes."""
    for name in ("a", "b"):
        await client.create(config(name))
    gone = await client.delete_collection(config_maps, "default", label_selector="a=a")
    assert [item["metadata"]["name"] for item in gone["items"]] == ["a"]
    left = await client.list(config_maps, "default", label_selector="a in (a,b)")
    assert [item["metadata"]["name"] for item in left.items] == ["b"]


async def test_every_failure_is_an_api_error(server: InProcess, config_maps: Kind) -> None:
    """Also those that are text on the wire: of flow control, of other servers, of unknown paths."""
    client = server.client()
    faults = server.api.faults
    for verb in ("list", "get", "create", "update", "patch", "delete", "watch"):
        faults.add(Rule(fault="429", verb=verb, retry_after_s=7))

    async def watch() -> None:
        async with client.watch(config_maps, "default"):
            pass

    asked = (
        lambda: client.list(config_maps),
        lambda: client.get(config_maps, "n", "default"),
        lambda: client.create(config("n")),
        lambda: client.update(config("n")),
        lambda: client.patch(config_maps, "n", {}, "default"),
        lambda: client.apply(config("n"), field_manager="me"),
        lambda: client.delete(config_maps, "n", "default"),
        watch,
    )
    for ask in asked:
        with pytest.raises(ApiError) as caught:
            await ask()
        error = caught.value
        assert (error.code, error.reason, error.retry_after) == (429, "TooManyRequests", 7)
        assert error.message == "Too many requests, please try again later."
        assert error.status()["details"] == {"retryAfterSeconds": 7}


async def test_a_kind_by_the_type_of_its_objects(client: Client, config_maps: Kind) -> None:
    """Of `kubetrio.types`, or of any that says its apiVersion and kind."""

    class Mapped(TypedDict):
        apiVersion: Literal["v1"]
        kind: Literal["ConfigMap"]

    class Version(TypedDict):
        apiVersion: str
        kind: Literal["ConfigMap"]

    assert client.kind(ConfigMap) is config_maps
    assert client.kind(Deployment).resource == "deployments"
    assert client.kind(Mapped) is config_maps
    with pytest.raises(TypeError, match="Version does not say its apiVersion and kind"):
        client.kind(Version)
    with pytest.raises(TypeError, match="ConfigMapSpec"):
        client.kind(TypedDict("ConfigMapSpec", {"a": int}))
    with pytest.raises(ApiError) as unknown:
        client.kind(StorageVersion)
    assert unknown.value.code == 404
