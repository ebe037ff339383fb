"""Custom resources whose versions a webhook converts."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kubetrio.client.client import Client
from kubetrio.config import Aggregation, Config, Serving
from kubetrio.machinery.status import ApiError
from kubetrio.server import Server, open_server
from kubetrio.server.parts import Parts
from kubetrio.testing.hooks import Called, HookServer, open_hook
from kubetrio.tls import pki

Object = dict[str, Any]
API, GROUP = "apiextensions.k8s.io/v1", "moved.example.com"
FIELDS = {f"{GROUP}/v1": "size", f"{GROUP}/v1beta1": "extent"}


async def renamed(called: Called) -> None:
    """What a well-behaved webhook answers: a field has another name in each version."""
    wanted = called.request["desiredAPIVersion"]
    made = []
    for obj in called.request["objects"]:
        spec = {
            FIELDS[wanted] if name == FIELDS[obj["apiVersion"]] else name: value
            for name, value in (obj.get("spec") or {}).items()
        }
        made.append({**obj, "apiVersion": wanted, "spec": spec})
    await called.reply({"result": {"status": "Success"}, "convertedObjects": made})


LIMITS = {"size": 100, "extent": 50}


def schema(field: str) -> Object:
    """The schema of a version."""
    number = {"type": "integer", "maximum": LIMITS[field]}
    spec = {"type": "object", "properties": {field: number}}
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}


def version(name: str, *, storage: bool) -> Object:
    """A version of the definition."""
    field = FIELDS[f"{GROUP}/{name}"]
    return {"name": name, "served": True, "storage": storage, "schema": schema(field)}


def moved(name: str, api: str, **spec: int) -> Object:
    """An object."""
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": f"{GROUP}/{api}", "kind": "Moved", "metadata": meta, "spec": spec}


@dataclass(frozen=True, slots=True)
class Place:
    """A server with the definition, and its webhook."""

    server: Server
    client: Client
    hook: HookServer

    async def get(self, api: str, name: str = "a") -> Object:
        """An object in a version."""
        kind = self.client.kind(f"{GROUP}/{api}", "Moved")
        return await self.client.get(kind, name, namespace="default")


def definition(client_config: Object) -> Object:
    """The definition, which a webhook converts: v1 is stored."""
    return {
        "apiVersion": API,
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"moveds.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "moveds", "kind": "Moved"},
            "versions": [version("v1", storage=True), version("v1beta1", storage=False)],
            "conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "conversionReviewVersions": ["v1"],
                    "clientConfig": client_config,
                },
            },
        },
    }


@pytest.fixture
async def place(tmp_path: Path, certificates: pki.Pki) -> AsyncIterator[Place]:
    """The definition is served, v1 is stored."""
    config = Config(data_dir=tmp_path / "data", serving=Serving(secure_port=0))
    async with (
        open_hook(certificates, {"/convert": renamed}) as hook,
        open_server(config) as server,
    ):
        client = server.client()
        await client.create(definition(hook.client("/convert")))
        await server.settled()
        yield Place(server, client, hook)


async def test_objects_in_both_versions(place: Place) -> None:
    """Whatever version they are written in."""
    await place.client.create(moved("a", "v1", size=1))
    assert (await place.get("v1beta1"))["spec"] == {"extent": 1}
    made = await place.client.create(moved("b", "v1beta1", extent=2))
    assert (made["apiVersion"], made["spec"]) == (f"{GROUP}/v1beta1", {"extent": 2})
    assert (await place.get("v1", "b"))["spec"] == {"size": 2}


async def test_a_list_is_one_review(place: Place) -> None:
    """All of its objects are converted together."""
    for name in "abc":
        await place.client.create(moved(name, "v1", size=1))
    before = len(place.hook.calls)
    found = await place.client.list(place.client.kind(f"{GROUP}/v1beta1", "Moved"))
    assert [item["spec"] for item in found.items] == [{"extent": 1}] * 3
    assert len(place.hook.calls) == before + 1


async def test_another_storage_version(place: Place) -> None:
    """What is stored is converted when it is read, until somebody writes it."""
    await place.client.create(moved("a", "v1", size=1))
    crds = place.client.kind(API, "CustomResourceDefinition")
    versions = [version("v1", storage=False), version("v1beta1", storage=True)]
    await place.client.patch(crds, f"moveds.{GROUP}", {"spec": {"versions": versions}})
    assert (await place.get("v1beta1"))["spec"] == {"extent": 1}
    assert (await place.get("v1"))["spec"] == {"size": 1}


async def test_a_webhook_that_refuses(place: Place) -> None:
    """500, with what it says; what is stored can be read as it is."""
    await place.client.create(moved("a", "v1", size=1))

    async def refuse(called: Called) -> None:
        await called.reply({"result": {"status": "Failure", "message": "not today"}})

    place.hook.hooks["/convert"] = refuse
    with pytest.raises(ApiError) as caught:
        await place.get("v1beta1")
    assert caught.value.code == 500
    assert caught.value.message == (
        f"conversion webhook for {GROUP}/v1, Kind=Moved failed: not today"
    )
    assert (await place.get("v1"))["spec"] == {"size": 1}


async def test_a_webhook_that_lies(place: Place) -> None:
    """Objects of another identity are refused."""
    await place.client.create(moved("a", "v1", size=1))

    async def other(called: Called) -> None:
        [obj] = called.request["objects"]
        wanted = {"apiVersion": called.request["desiredAPIVersion"]}
        meta = {**obj["metadata"], "name": "b"}
        made = [{**obj, **wanted, "metadata": meta}]
        await called.reply({"result": {"status": "Success"}, "convertedObjects": made})

    place.hook.hooks["/convert"] = other
    with pytest.raises(ApiError, match="must have the same name: a != b"):
        await place.get("v1beta1")


def unspecified(api: str) -> Object:
    """What is applied by who wants nothing of the spec."""
    found = moved("a", api)
    del found["spec"]
    return found


async def test_what_another_version_owns_stays_when_an_apply_gives_it_up(place: Place) -> None:
    """A member that has another name there; whoever else owns it applied or updated."""
    client = place.client
    await client.apply(moved("a", "v1beta1", extent=4), field_manager="two")
    await client.apply(moved("a", "v1", size=4), field_manager="one")
    left = await client.apply(unspecified("v1"), field_manager="one")
    assert left["spec"] == {"size": 4}
    [owner] = left["metadata"]["managedFields"]
    assert (owner["manager"], owner["fieldsV1"]) == ("two", {"f:spec": {"f:extent": {}}})
    left = await client.apply(unspecified("v1beta1"), field_manager="two")
    assert not left.get("spec")


async def test_limits_are_those_of_the_request(place: Place) -> None:
    """What one version takes another may refuse, whichever is stored."""
    await place.client.create(moved("a", "v1", size=60))
    with pytest.raises(ApiError, match=r"spec\.extent in body should be less than"):
        await place.client.create(moved("b", "v1beta1", extent=60))
    await place.client.create(moved("b", "v1beta1", extent=40))


Edit = Callable[[Object], Any]


def answering(edit: Edit) -> Callable[[Called], Awaitable[None]]:
    """A webhook that changes what a good one makes."""

    async def answer(called: Called) -> None:
        wanted = called.request["desiredAPIVersion"]
        made = [edit({**obj, "apiVersion": wanted}) for obj in called.request["objects"]]
        await called.reply({"result": {"status": "Success"}, "convertedObjects": made})

    return answer


def with_meta(**members: Any) -> Edit:
    """Another metadata."""
    return lambda obj: {**obj, "metadata": {**obj["metadata"], **members}}


async def test_what_the_asked_version_does_not_know_is_dropped(place: Place) -> None:
    """Of what a webhook makes, in both directions; numbers are as Go has them."""
    extra = {"extent": 2.0, "size": 10**30, "other": None}
    place.hook.hooks["/convert"] = answering(lambda obj: {**obj, "spec": extra, "more": 1})
    await place.client.create(moved("a", "v1", size=1))
    got = await place.get("v1beta1")
    assert (got["spec"], "more" in got) == ({"extent": 2}, False)
    await place.client.create(moved("b", "v1beta1", extent=1))
    got = await place.get("v1", "b")
    assert (got["spec"], "more" in got) == ({"size": 1e30}, False)


METADATA = "returned invalid metadata: "


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (
            with_meta(labels={"a": 5}),
            f"{METADATA}metadata.labels[a] must be a string, but is int64 in converted object",
        ),
        (
            with_meta(annotations={"a": None}),
            f"{METADATA}metadata.annotations[a] must be a string, but is <nil> in converted object",
        ),
        (
            with_meta(labels=["a"]),
            f"{METADATA}invalid metadata.labels of type []interface {{}} in converted object",
        ),
        (
            with_meta(annotations=True),
            f"{METADATA}invalid metadata.annotations of type bool in converted object",
        ),
        (
            with_meta(annotations={"a": "x" * 300_000}),
            f"{METADATA}metadata.annotation: Too long: may not be more than 262144 bytes",
        ),
        (with_meta(name=5), "returned invalid object: must have the same name: a != "),
        (
            lambda obj: {**obj, "apiVersion": 5},
            (
                "returned invalid object at index 0: invalid groupVersion (expected "
                f"{GROUP}/v1beta1, received )"
            ),
        ),
    ],
)
async def test_a_bad_object_is_not_served(place: Place, edit: Edit, why: str) -> None:
    """In no way of reading, and nothing is written of it."""
    await place.client.create(moved("a", "v1", size=1))
    place.hook.hooks["/convert"] = answering(edit)
    kind = place.client.kind(f"{GROUP}/v1beta1", "Moved")
    said = f"conversion webhook for {GROUP}/v1, Kind=Moved {why}"
    with pytest.raises(ApiError) as caught:
        await place.get("v1beta1")
    assert (caught.value.code, caught.value.message) == (500, said)
    with pytest.raises(ApiError) as caught:
        await place.client.list(kind)
    assert (caught.value.code, caught.value.message) == (500, said)
    for write in (
        place.client.patch(kind, "a", {"spec": {"extent": 3}}, namespace="default"),
        place.client.delete(kind, "a", namespace="default"),
        place.client.create(moved("b", "v1beta1", extent=1)),
    ):
        with pytest.raises(ApiError) as caught:
            await write
        assert (caught.value.code, why.partition(": ")[0] in caught.value.message) == (500, True)
    assert (await place.get("v1"))["spec"] == {"size": 1}
    assert len((await place.client.list(place.client.kind(f"{GROUP}/v1", "Moved"))).items) == 1


async def test_labels_that_are_bad_names_are_refused_unless_they_were_there(place: Place) -> None:
    """Only what a webhook changes is checked."""
    await place.client.create(moved("a", "v1", size=1))
    place.hook.hooks["/convert"] = answering(with_meta(labels={"a b": "x"}))
    with pytest.raises(ApiError, match=r'returned invalid metadata: metadata\.labels: .*"a b"'):
        await place.get("v1beta1")
    place.hook.hooks["/convert"] = answering(with_meta(labels={"a": "b"}, finalizers=["no"]))
    meta = (await place.get("v1beta1"))["metadata"]
    assert (meta["labels"], "finalizers" in meta) == ({"a": "b"}, False)


@pytest.mark.parametrize(
    ("converted", "why"),
    [
        (None, "unexpected end of JSON input"),
        ("x", "json: cannot unmarshal string into Go value of type map[string]interface {}"),
        ([], "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ({}, "Object 'Kind' is missing in '{}'"),
    ],
)
async def test_what_is_no_object(place: Place, converted: Any, why: str) -> None:
    """kube-apiserver does not say then that a webhook made it."""
    await place.client.create(moved("a", "v1", size=1))
    place.hook.hooks["/convert"] = answering(lambda _: converted)
    with pytest.raises(ApiError) as caught:
        await place.get("v1beta1")
    assert (caught.value.code, caught.value.message) == (500, why)


GO = "json: cannot unmarshal"
SCHEME = 'in scheme "k8s.io/apiserver/pkg/util/webhook/client.go:71"'
WANTED = "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got"


@pytest.mark.parametrize(
    ("review", "why"),
    [
        ({"response": None}, "no response provided"),
        (
            {"response": "x"},
            (
                f"{GO} string into Go struct field ConversionReview.response of type "
                "v1.ConversionResponse"
            ),
        ),
        (
            {"response": {"result": "x"}},
            (
                f"{GO} string into Go struct field ConversionResponse.response.result of type "
                "v1.Status"
            ),
        ),
        (
            {"response": {"result": {"status": 5}}},
            f"{GO} number into Go struct field Status.response.result.status of type string",
        ),
        (
            {"response": {"uid": 5}},
            f"{GO} number into Go struct field ConversionResponse.response.uid of type types.UID",
        ),
        (
            {"response": {"convertedObjects": {}}},
            (
                f"{GO} object into Go struct field ConversionResponse.response.convertedObjects of "
                "type []runtime.RawExtension"
            ),
        ),
        ({"kind": "Other"}, f'no kind "Other" is registered for version "{API}" {SCHEME}'),
        ({"apiVersion": None}, f"{WANTED} /, Kind=ConversionReview"),
        (
            {"apiVersion": "apiextensions.k8s.io/v1beta1"},
            "converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion",
        ),
        (None, f"{WANTED} /, Kind="),
    ],
)
async def test_what_is_no_review(place: Place, review: Object | None, why: str) -> None:
    """The types of all that counts are checked, in the words of Go's decoder."""
    await place.client.create(moved("a", "v1", size=1))

    async def answer(called: Called) -> None:
        whole = {"kind": "ConversionReview", "apiVersion": API, **(review or {})}
        shown = {name: value for name, value in whole.items() if value is not None}
        await called.send(json.dumps(None if review is None else shown).encode())

    place.hook.hooks["/convert"] = answer
    with pytest.raises(ApiError) as caught:
        await place.get("v1beta1")
    said = f"conversion webhook for {GROUP}/v1, Kind=Moved failed: {why}"
    assert (caught.value.code, caught.value.message) == (500, said)


async def test_reviews_hold_what_is_stored(place: Place) -> None:
    """Without the resourceVersion, which is not a part of that."""
    made = await place.client.create(moved("a", "v1", size=1))
    await place.get("v1beta1")
    [sent] = place.hook.calls[-1].request["objects"]
    version = made["metadata"].pop("resourceVersion")
    assert version
    assert sent["metadata"] == made["metadata"]


# ---------------------------------------------------------------- where the webhook is


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> pki.Pki:
    """Certificates for a Service."""
    directory = tmp_path_factory.mktemp("named")
    return pki.ensure(directory, now=dt.datetime.now(dt.UTC), hosts=["hook.default.svc"])


def by_service(hook: HookServer) -> Object:
    """A ``clientConfig`` that names a Service."""
    return {
        "service": {"namespace": "default", "name": "hook", "path": "/convert"},
        "caBundle": hook.client()["caBundle"],
    }


async def test_a_resolver_of_an_embedder(tmp_path: Path, named: pki.Pki) -> None:
    """It says where the Services of conversion webhooks are, too."""
    config = Config(data_dir=tmp_path, serving=Serving(secure_port=0))
    async with open_hook(named, {"/convert": renamed}) as hook:

        async def resolve(namespace: str, service: str, port: int) -> tuple[str, int]:
            assert (namespace, service, port) == ("default", "hook", 443)
            return "127.0.0.1", hook.port

        async with open_server(config, parts=Parts(resolve_service=resolve)) as server:
            client = server.client()
            await client.create(definition(by_service(hook)))
            await server.settled()
            made = await client.create(moved("a", "v1beta1", extent=2))
            assert made["spec"] == {"extent": 2}


@pytest.mark.parametrize("only", [True, False])
async def test_a_service_without_endpoints(tmp_path: Path, named: pki.Pki, only: bool) -> None:
    """With ``--enable-aggregator-routing`` its cluster IP is not tried."""
    config = Config(
        data_dir=tmp_path,
        serving=Serving(secure_port=0),
        aggregation=Aggregation(endpoint_routing=only),
    )
    async with open_hook(named) as hook, open_server(config) as server:
        client = server.client()
        spec = {"clusterIP": "None", "ports": [{"port": 443}]}
        await client.create(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "hook", "namespace": "default"},
                "spec": spec,
            }
        )
        await client.create(definition(by_service(hook)))
        await server.settled()
        why = (
            'no endpoints available for service "hook"'
            if only
            else 'cannot route to service with ClusterIP "None"'
        )
        with pytest.raises(ApiError, match=why):
            await client.create(moved("a", "v1beta1", extent=2))
