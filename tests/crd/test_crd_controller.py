"""CustomResourceDefinitions on a running server: what is served, and what is said of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from kubetrio.client.client import Client
from kubetrio.config import Config, Requests, Serving
from kubetrio.crd.controller import AUTOMANAGED, NAME
from kubetrio.machinery.status import ApiError
from kubetrio.server import Server, open_server
from kubetrio.testing.server import open_api

Object = dict[str, Any]
API = "apiextensions.k8s.io/v1"
GROUP = "zoo.example.com"
PROTO_V2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
PROTO_V3 = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
SPEC: Object = {
    "type": "object",
    "properties": {
        "legs": {"type": "integer", "minimum": 0, "default": 4},
        "sort": {"type": "string", "maxLength": 10},
        "tags": {
            "type": "array",
            "items": {"type": "string"},
            "x-kubernetes-list-type": "set",
        },
    },
}


def schema(spec: Object | None = None) -> Object:
    """The schema of a version."""
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec or SPEC}}}


def version(name: str = "v1", *, storage: bool = True, **more: Any) -> Object:
    """A version of a definition."""
    return {"name": name, "served": True, "storage": storage, "schema": schema(), **more}


def definition(plural: str = "beasts", kind: str = "Beast", *versions: Object) -> Object:
    """A CustomResourceDefinition."""
    return {
        "apiVersion": API,
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": list(versions) or [version()],
        },
    }


def beast(name: str, api: str = "v1", **spec: Any) -> Object:
    """An object of the definition."""
    return {
        "apiVersion": f"{GROUP}/{api}",
        "kind": "Beast",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def conditions(obj: Object) -> dict[str, tuple[str, str]]:
    """Conditions of a definition: (status, reason) by type."""
    found = (obj.get("status") or {}).get("conditions") or ()
    return {one["type"]: (one["status"], one["reason"]) for one in found}


async def settled(client: Client, name: str, kind: str = "NamesAccepted") -> Object:
    """A definition once it has been looked at."""
    with trio.fail_after(10):
        while True:
            found = await client.get(client.kind(API, "CustomResourceDefinition"), name)
            said = conditions(found)
            if kind in said and (
                said[kind][0] == "False" or said.get("Established", ("", ""))[0] == "True"
            ):
                return found
            await trio.sleep(0.01)


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait for something, up to ten seconds."""
    with trio.fail_after(10):
        while True:
            if await holds():
                return
            await trio.sleep(0.01)


async def define(client: Client, body: Object) -> Object:
    """Make a definition, and wait until it is looked at."""
    made = await client.create(body)
    return await settled(client, made["metadata"]["name"])


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    """A running server."""
    config = Config(data_dir=tmp_path, serving=Serving(secure_port=0))
    async with open_server(config) as running:
        yield running


async def test_conditions_in_their_order(server: Server) -> None:
    """Names first, then the endpoint, in kube-apiserver's words."""
    found = await define(server.client(), definition())
    assert list(conditions(found).items()) == [
        ("NamesAccepted", ("True", "NoConflicts")),
        ("Established", ("True", "InitialNamesAccepted")),
    ]
    assert found["status"]["acceptedNames"] == found["spec"]["names"]
    assert found["status"]["storedVersions"] == ["v1"]


async def test_objects_are_defaulted_and_pruned(server: Server) -> None:
    """By the schema, before they are stored."""
    client = server.client()
    await define(client, definition())
    made = await client.create(beast("a", sort="cat", wings=2))
    assert made["spec"] == {"sort": "cat", "legs": 4}


async def test_objects_that_are_not_valid(server: Server) -> None:
    """422, with every cause."""
    client = server.client()
    await define(client, definition())
    with pytest.raises(ApiError) as caught:
        await client.create(beast("a", legs=-1, tags=["x", "x"]))
    assert caught.value.code == 422
    assert "spec.legs in body should be greater than or equal to 0" in caught.value.message
    assert 'spec.tags[1]: Duplicate value: "x"' in caught.value.message


async def test_defaults_that_make_an_object_too_large(server: Server) -> None:
    """They are refused in etcd's words, and soon; what fits is stored."""
    client = server.client()
    pad = {"type": "object", "properties": {"pad": {"type": "string", "default": "x" * 100_000}}}
    spec = {"type": "object", "properties": {"many": {"type": "array", "items": pad}}}
    await define(client, definition("beasts", "Beast", version(schema=schema(spec))))
    for many in ([{"pad": "y" * 150_000}, *[{}] * 41], [{}] * 20_000):
        with pytest.raises(ApiError) as caught:
            await client.create(beast("a", many=many))
        assert caught.value.status() == {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": "etcdserver: request is too large",
            "code": 500,
        }
    made = await client.create(beast("a", many=[{}] * 30))
    assert len(made["spec"]["many"][29]["pad"]) == 100_000
    made["spec"]["many"] += [{}] * 12
    with pytest.raises(ApiError, match="request is too large"):
        await client.update(made)


SLOW: Object = {
    "type": "object",
    "properties": {
        "many": {
            "type": "array",
            "items": {"type": "integer", "anyOf": [{"minimum": at} for at in range(1, 1000)]},
        }
    },
}


async def test_objects_that_are_too_much_work(server: Server) -> None:
    """422, from a thread: others are served meanwhile."""
    client = server.client()
    await define(client, definition("beasts", "Beast", version(schema=schema(SLOW))))
    latest = 0.0

    async def watch() -> None:
        nonlocal latest
        while True:
            began = trio.current_time()
            await trio.sleep(0.001)
            latest = max(latest, trio.current_time() - began)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        with pytest.raises(ApiError) as caught:
            await client.create(beast("a", many=[0] * 1000))
        nursery.cancel_scope.cancel()
    assert caught.value.message == (
        'Beast.zoo.example.com "a" is invalid: <nil>: Forbidden: '
        "checking the object by its schema takes more than 3000000 steps"
    )
    assert latest < 0.5


async def test_work_ends_with_the_time_of_its_request(tmp_path: Path) -> None:
    """And makes room for that of others."""
    config = Config(
        data_dir=tmp_path,
        serving=Serving(secure_port=0),
        requests=Requests(request_timeout_s=0.1),
    )
    async with open_server(config) as server:
        client = server.client()
        await define(client, definition("beasts", "Beast", version(schema=schema(SLOW))))
        for _ in range(3):
            with pytest.raises(ApiError) as caught:
                await client.create(beast("a", many=[0] * 1000))
            assert (caught.value.code, caught.value.reason) == (504, "Timeout")
        # Work that went on would keep the places of these, and this would be too late.
        await client.create(beast("a", many=[1] * 10))


async def test_objects_that_are_too_deep(server: Server) -> None:
    """400, and no failure of the server."""
    client = server.client()
    await define(client, definition())
    deep: Object = {}
    for _ in range(500):
        deep = {"a": deep}
    with pytest.raises(ApiError, match="exceeded max depth"):
        await client.create(beast("a", deep=deep))


async def test_names_that_are_taken(server: Server) -> None:
    """The second definition of a kind is not served until the first goes."""
    client = server.client()
    await define(client, definition())
    await client.create(definition("animals", "Beast"))
    found = await settled(client, f"animals.{GROUP}")
    assert conditions(found) == {
        "NamesAccepted": ("False", "ListKindConflict"),
        "Established": ("False", "NotAccepted"),
    }
    await client.delete(client.kind(API, "CustomResourceDefinition"), f"beasts.{GROUP}")

    async def served() -> bool:
        return (GROUP, "v1", "animals") in server.api.storage.registry.resources

    await until(served)


async def test_deletion_takes_objects_first(server: Server) -> None:
    """An object with a finalizer holds the definition up, and creates are refused meanwhile."""
    client = server.client()
    await define(client, definition())
    held = beast("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await client.create(held)
    await client.create(beast("free"))
    crds = client.kind(API, "CustomResourceDefinition")
    await client.delete(crds, f"beasts.{GROUP}")
    beasts = client.kind(f"{GROUP}/v1", "Beast")

    async def one_left() -> bool:
        return len((await client.list(beasts)).items) == 1

    await until(one_left)
    waiting = await client.get(crds, f"beasts.{GROUP}")
    assert conditions(waiting)["Terminating"] == ("True", "InstanceDeletionInProgress")
    with pytest.raises(ApiError, match="definition is terminating"):
        await client.create(beast("late"))
    await client.patch(beasts, "held", {"metadata": {"finalizers": None}}, namespace="default")

    async def gone() -> bool:
        return (GROUP, "v1", "beasts") not in server.api.storage.registry.resources

    await until(gone)


async def test_definitions_of_what_is_built_in(server: Server) -> None:
    """They are not served, and their deletion takes no object with it."""
    client = server.client()
    await define(client, definition())
    body = definition("customresourcedefinitions", "Copy", version("v9"))
    body["metadata"] = {
        "name": "customresourcedefinitions.apiextensions.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, a test"},
    }
    body["spec"]["group"] = "apiextensions.k8s.io"
    await client.create(body)
    policy = "KubernetesAPIApprovalPolicyConformant"
    found = await settled(client, body["metadata"]["name"], policy)
    assert conditions(found)[policy] == (
        "False", "UnapprovedAnnotation",
    )  # fmt: skip
    key = ("apiextensions.k8s.io", "v9", "customresourcedefinitions")
    assert key not in server.api.storage.registry.resources
    crds = client.kind(API, "CustomResourceDefinition")
    await client.delete(crds, found["metadata"]["name"])

    async def gone() -> bool:
        return {item["metadata"]["name"] for item in (await client.list(crds)).items} == {
            f"beasts.{GROUP}"
        }

    await until(gone)


async def test_apiservices_of_versions(server: Server) -> None:
    """Each version that is served has a local one, which goes with it."""
    client = server.client()
    await define(client, definition())
    services = client.kind("apiregistration.k8s.io/v1", "APIService")
    found = await client.get(services, f"v1.{GROUP}")
    assert found["spec"] == {
        "group": GROUP, "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 100,
    }  # fmt: skip
    assert found["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "true"}
    await client.delete(client.kind(API, "CustomResourceDefinition"), f"beasts.{GROUP}")

    async def gone() -> bool:
        left = (await client.list(services)).items
        return f"v1.{GROUP}" not in {item["metadata"]["name"] for item in left}

    await until(gone)


async def test_groups_of_what_is_not_served(autojump_clock: trio.testing.MockClock) -> None:
    """The older documents have them as long as there are APIServices, the newer one has not."""
    path = f"/apis/{GROUP}"
    newer = {"Accept": "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io"}
    async with open_api(kept=True) as running, running.connect() as client:

        async def listed(headers: dict[str, str] | None = None) -> bool:
            return GROUP in (await client.request("GET", "/apis", headers)).body.decode()

        await define(running.client(), definition())
        assert await listed()
        assert await listed(newer)
        kind = running.client().kind(API, "CustomResourceDefinition")
        conditions = [{"type": "Custom", "status": "True", "reason": "r", "message": "m"}]
        await running.client().patch(
            kind, f"beasts.{GROUP}", {"status": {"conditions": conditions}}, subresource="status"
        )
        while await listed(newer):  # noqa: ASYNC110  (there is no event for it)
            await trio.sleep(0.01)
        assert await listed()
        shown = (await client.request("GET", path)).json()
        assert [one["version"] for one in shown["versions"]] == ["v1"]
        assert path in (await client.request("GET", "/")).json()["paths"]
        answer = await client.request("GET", f"{path}/v1")
        assert (answer.status, answer.body) == (404, b"404 page not found\n")
        await running.client().delete(kind, f"beasts.{GROUP}")
        while await listed():  # noqa: ASYNC110  (there is no event for it)
            await trio.sleep(0.01)
        assert (await client.request("GET", path)).status == 404


async def test_apiservices_that_were_left_over(tmp_path: Path) -> None:
    """Those of definitions that are gone go at the next start, and no others."""
    config = Config(data_dir=tmp_path, serving=Serving(secure_port=0))
    body: Object = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "spec": {"groupPriorityMinimum": 1000, "versionPriority": 100, "version": "v1"},
    }
    async with open_server(config) as server:
        client = server.client()
        await define(client, definition())
        for group, labels in (("gone.example", {AUTOMANAGED: "true"}), ("mine.example", {})):
            meta = {"name": f"v1.{group}", "labels": labels}
            await client.create(
                {**body, "metadata": meta, "spec": {**body["spec"], "group": group}}
            )
    async with open_server(config) as server:
        client = server.client()
        services = client.kind("apiregistration.k8s.io/v1", "APIService")

        async def gone() -> bool:
            names = {one["metadata"]["name"] for one in (await client.list(services)).items}
            assert {f"v1.{GROUP}", "v1.mine.example", "v1.apps"} <= names
            return "v1.gone.example" not in names

        await until(gone)


async def test_a_new_default_is_seen_in_old_objects(server: Server) -> None:
    """Without a write: the resourceVersion stays."""
    client = server.client()
    await define(client, definition())
    old = await client.create(beast("a", sort="cat"))
    spec = {
        **SPEC,
        "properties": {**SPEC["properties"], "sound": {"type": "string", "default": "?"}},
    }
    changed = [version(schema=schema(spec))]
    await client.patch(
        client.kind(API, "CustomResourceDefinition"),
        f"beasts.{GROUP}",
        {"spec": {"versions": changed}},
    )
    got = await client.get(client.kind(f"{GROUP}/v1", "Beast"), "a", namespace="default")
    assert got["spec"] == {"sort": "cat", "legs": 4, "sound": "?"}
    assert got["metadata"]["resourceVersion"] == old["metadata"]["resourceVersion"]


async def test_objects_of_an_older_storage_version(server: Server) -> None:
    """They are read in any version, and rewritten by whoever writes them."""
    client = server.client()
    await define(client, definition())
    await client.create(beast("a", sort="cat"))
    both = [version("v2"), version("v1", storage=False)]
    crds = client.kind(API, "CustomResourceDefinition")
    changed = await client.patch(crds, f"beasts.{GROUP}", {"spec": {"versions": both}})
    assert changed["status"]["storedVersions"] == ["v1", "v2"]
    for api in ("v1", "v2"):
        kind = client.kind(f"{GROUP}/{api}", "Beast")
        got = await client.get(kind, "a", namespace="default")
        assert got["apiVersion"] == f"{GROUP}/{api}"
        assert got["spec"] == {"sort": "cat", "legs": 4}
    written = await client.patch(kind, "a", {"spec": {"legs": 3}}, namespace="default")
    assert written["spec"] == {"sort": "cat", "legs": 3}


async def test_stored_bytes_go_out_once_it_is_known_that_they_may(server: Server) -> None:
    """A collection without older objects needs no look at each of them."""
    client = server.client()
    await define(client, definition())
    await client.create(beast("a"))
    kind = server.api.storage.registry.resources[GROUP, "v1", "beasts"]

    async def known() -> bool:
        return kind.migrate_stored is None

    await until(known)
    assert kind.waiting is None


async def test_definitions_are_served_after_a_restart(tmp_path: Path) -> None:
    """From the first request on."""
    config = Config(data_dir=tmp_path, serving=Serving(secure_port=0))
    async with open_server(config) as server:
        await define(server.client(), definition())
        await server.client().create(beast("a", sort="cat"))
    async with open_server(config) as server:
        client = server.client()
        got = await client.get(client.kind(f"{GROUP}/v1", "Beast"), "a", namespace="default")
        assert got["spec"] == {"sort": "cat", "legs": 4}


@pytest.mark.parametrize("accept", ["application/json", PROTO_V2, PROTO_V3])
async def test_fractions_in_schemas_are_described(
    accept: str, autojump_clock: trio.testing.MockClock
) -> None:
    """As limits, in defaults and among alternatives, in every form of OpenAPI."""
    spec = {
        "type": "object",
        "properties": {
            "part": {
                "type": "number", "minimum": 0.25, "multipleOf": 0.25,
                "default": 0.75, "enum": [0.75, 1.5],
            }
        },
    }  # fmt: skip
    path = "/openapi/v2" if accept != PROTO_V3 else f"/openapi/v3/apis/{GROUP}/v1"
    async with open_api(kept=True) as running, running.connect() as client:
        await define(running.client(), definition("beasts", "Beast", version(schema=schema(spec))))
        answer = await client.request("GET", path, {"Accept": accept})
        assert answer.status == 200
        assert b"0.75" in answer.body
        documented = await client.request("GET", f"/openapi/v3/apis/{GROUP}/v1")
    found = documented.json()["components"]["schemas"]["com.example.zoo.v1.Beast"]
    assert found["properties"]["spec"]["properties"] == spec["properties"]


async def test_waiting_for_objects_is_not_polling(autojump_clock: MockClock) -> None:
    """The collection is read later and later, and at once when an object is gone."""
    async with open_api(kept=True) as server:
        client = server.client()
        await define(client, definition())
        held = beast("held")
        held["metadata"]["finalizers"] = ["example.com/hold"]
        await client.create(held)
        crds = client.kind(API, "CustomResourceDefinition")
        beasts = client.kind(f"{GROUP}/v1", "Beast")
        await client.delete(crds, f"beasts.{GROUP}")
        [controller] = [one for one in server.resets._background._controllers if one.name == NAME]
        await trio.sleep(3600)
        before = controller.queue.retries
        await trio.sleep(3600)
        assert controller.queue.retries - before <= 7
        await client.patch(beasts, "held", {"metadata": {"finalizers": None}}, namespace="default")
        await trio.sleep(1)
        assert (GROUP, "v1", "beasts") not in server.api.storage.registry.resources


@pytest.mark.parametrize("accept", ["application/json", "application/yaml"])
async def test_a_collection_is_of_the_kind_that_the_definition_says(accept: str) -> None:
    """It was the kind with List behind it, whatever the definition said."""
    made = definition()
    made["spec"]["names"]["listKind"] = "Herd"
    async with open_api(kept=True) as server, server.connect() as wire:
        await server.client().create(made)

        async def served() -> bool:
            target = f"/apis/{GROUP}/v1/beasts"
            answer = await wire.request("GET", target, {"Accept": accept}, None)
            assert b"BeastList" not in answer.body
            return answer.status == 200 and b"Herd" in answer.body

        await until(served)


@pytest.mark.parametrize(
    ("how", "patch"),
    [("merge", {"kind": 5}), ("json", [{"op": "add", "path": "/kind", "value": 5}])],
)
async def test_a_refused_patch_shows_the_object_with_sorted_members(
    server: Server, how: Any, patch: Any
) -> None:
    """An unstructured object is a map to Go, with all that is in it."""
    client = server.client()
    await define(client, definition())
    await client.create(beast("a", legs=2))
    kind = client.kind(f"{GROUP}/v1", "Beast")
    with pytest.raises(ApiError) as caught:
        await client.patch(kind, "a", patch, namespace="default", how=how)
    names = ("creationTimestamp", "fieldsType", "fieldsV1", "manager", "operation", "uid")
    places = [caught.value.message.index(f'"{name}\\"') for name in names]
    assert places == sorted(places)
