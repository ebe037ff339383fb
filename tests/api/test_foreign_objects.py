"""Objects that another tool has written to etcd, and that lack what every object has here.

The answers are those of a kube-apiserver 1.36 on the same etcd.
"""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from kubetrio.resources.objects import stamp
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess, open_api

PATH = "/api/v1/namespaces/default/configmaps/one"
KEY = "/registry/configmaps/default/one"
UID = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"
META = {
    "name": "one",
    "namespace": "default",
    "uid": UID,
    "creationTimestamp": "2026-01-01T00:00:00Z",
}
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
CHANGED = {
    "kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "one"}, "data": {"a": "c"},
}  # fmt: skip


async def written(server: InProcess, *missing: str, **more: str) -> None:
    """Have an object without some members of its metadata, as another tool leaves it."""
    meta = {name: value for name, value in META.items() if name not in missing} | more
    obj = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta, "data": {"a": "b"}}
    await server.api.storage.store.create(KEY, stamp(obj))


def shown(obj: Any) -> Any:
    """Metadata but for what each write changes."""
    return {
        k: v for k, v in obj["metadata"].items() if k not in ("resourceVersion", "managedFields")
    }


@pytest.mark.parametrize(
    "missing", [("uid",), ("creationTimestamp",), ("uid", "creationTimestamp")]
)
async def test_a_replaced_object_lacks_what_it_lacked(
    server: InProcess, client: Client, missing: tuple[str, ...]
) -> None:
    """The server gives none of it, and a client cannot."""
    await written(server, *missing)
    body = {**CHANGED, "metadata": {"name": "one", "creationTimestamp": "2020-01-01T00:00:00Z"}}
    answer = await client.request("PUT", PATH, json=body)
    assert (answer.status, answer.json()["data"]) == (200, {"a": "c"})
    assert shown(answer.json()) == {k: v for k, v in META.items() if k not in missing}


async def test_another_uid_than_none(server: InProcess, client: Client) -> None:
    """Is a conflict."""
    await written(server, "uid")
    body = {**CHANGED, "metadata": {"name": "one", "uid": OTHER}}
    answer = await client.request("PUT", PATH, json=body)
    assert answer.status == 409
    assert answer.json()["message"] == (
        'Operation cannot be fulfilled on configmaps "one": StorageError: invalid object, Code: 4, '
        f"Key: {KEY}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
        f"UID in precondition: {OTHER}, UID in object meta: "
    )


async def test_a_patch_without_a_uid(server: InProcess, client: Client) -> None:
    """Has nothing to change; an apply takes the object for a new one, and owns all of it."""
    await written(server, "uid")
    answer = await client.request(
        "PATCH", PATH, json={"data": {"a": "c"}}, headers={"content-type": MERGE}
    )
    assert (answer.status, answer.json()["message"]) == (404, 'configmaps "one" not found')
    answer = await client.request(
        "PATCH", PATH + "?fieldManager=m", json=CHANGED, headers={"content-type": APPLY}
    )
    assert (answer.status, answer.json()["data"]) == (200, {"a": "c"})
    assert shown(answer.json()) == {k: v for k, v in META.items() if k != "uid"}
    [entry] = answer.json()["metadata"]["managedFields"]
    assert entry["manager"] == "m"


async def test_a_patch_without_a_time(server: InProcess, client: Client) -> None:
    """Is like any other."""
    await written(server, "creationTimestamp")
    answer = await client.request(
        "PATCH", PATH, json={"data": {"a": "c"}}, headers={"content-type": MERGE}
    )
    assert (answer.status, answer.json()["data"]) == (200, {"a": "c"})


@pytest.mark.parametrize(
    ("missing", "details"),
    [
        (("uid",), {"name": "one", "kind": "configmaps"}),
        (("name",), {"kind": "configmaps", "uid": UID}),
        (("uid", "name", "namespace", "creationTimestamp"), {"kind": "configmaps"}),
    ],
)
async def test_it_can_be_deleted(
    server: InProcess, client: Client, missing: tuple[str, ...], details: dict[str, str]
) -> None:
    """What is told of it is what it had; a uid in the precondition is another one."""
    await written(server, *missing)
    if "uid" in missing:
        body = {"preconditions": {"uid": OTHER}}
        answer = await client.request("DELETE", PATH, json=body)
        assert answer.status == 409
        assert f"({OTHER}) does not match the UID in record ()" in answer.json()["message"]
    answer = await client.request("DELETE", PATH)
    assert (answer.status, answer.json()["details"]) == (200, details)
    assert (await client.request("GET", PATH)).status == 404


async def test_a_pod_without_a_uid_can_be_deleted(server: InProcess, client: Client) -> None:
    """Its grace is written before it goes, and what is removed then is that object."""
    spec = {"containers": [{"name": "c", "image": "i"}]}
    meta = {name: value for name, value in META.items() if name != "uid"}
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": spec}
    await server.api.storage.store.create("/registry/pods/default/one", stamp(pod))
    path = "/api/v1/namespaces/default/pods/one"
    answer = await client.request("DELETE", path)
    assert (answer.status, answer.json()["metadata"]["name"]) == (200, "one")
    assert (await client.request("GET", path)).status == 404


@pytest.mark.parametrize("marked", [False, True])
async def test_controllers_let_objects_without_a_uid_go(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture, *, marked: bool
) -> None:
    """A namespace ends with what is in it, and no controller fails meanwhile."""
    async with open_api(kept=True) as server:
        client, store = server.client(), server.api.storage.store
        await trio.sleep(1)
        namespace = {
            "kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "n"},
            "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
        }  # fmt: skip
        await store.create("/registry/namespaces/n", stamp(namespace))
        refs = [{"apiVersion": "v1", "kind": "Namespace", "name": "n", "uid": OTHER}]
        meta = {"name": "one", "namespace": "n"} | ({"ownerReferences": refs} if marked else {})
        spec = {"containers": [{"name": "c", "image": "i"}]}
        for kind, key in (("Pod", "pods"), ("ConfigMap", "configmaps")):
            obj = {"kind": kind, "apiVersion": "v1", "metadata": meta}
            obj |= {"spec": spec} if kind == "Pod" else {}
            await store.create(f"/registry/{key}/n/one", stamp(obj))
        await trio.sleep(1)
        await client.delete(client.kind("v1", "Namespace"), "n")
        await trio.sleep(10)
        for key in ("namespaces/n", "pods/n/one", "configmaps/n/one"):
            assert await store.get(f"/registry/{key}") is None
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_name_that_is_not_that_of_the_key(server: InProcess, client: Client) -> None:
    """Cannot be changed to it; messages of the store name the key's."""
    await written(server, name="two")
    answer = await client.request("PUT", PATH, json=CHANGED)
    assert answer.status == 422
    assert "metadata.name" in answer.json()["message"]
    body = {**CHANGED, "metadata": {"name": "one", "uid": OTHER}}
    answer = await client.request("PUT", PATH, json=body)
    assert answer.status == 409
    assert 'configmaps "one": StorageError' in answer.json()["message"]


async def test_a_name_that_is_missing(server: InProcess, client: Client) -> None:
    """Cannot be given."""
    await written(server, "name")
    answer = await client.request("PUT", PATH, json=CHANGED)
    assert (answer.status, answer.json()["message"]) == (
        422,
        'ConfigMap "one" is invalid: metadata.name: Invalid value: "one": field is immutable',
    )
