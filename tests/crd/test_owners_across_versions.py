"""Who owns fields of a custom resource whose versions have different schemas, and of its scale.

What a kube-apiserver 1.36 answers: it compares objects in the versions of their owners before a
schema has taken anything away.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio

from kubetrio.client.client import Client
from kubetrio.config import Config, Serving
from kubetrio.machinery.status import ApiError
from kubetrio.server import open_server

Object = dict[str, Any]
GROUP = "fleet.example.com"
TEXT = {"type": "string"}
ANYTHING: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def version(name: str, spec: Object, *, storage: bool = False) -> Object:
    """A version of the definition."""
    schema = {"type": "object", "properties": {"spec": spec}}
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {
            "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
        },
    }


def members(*names: str) -> Object:
    """The schema of a spec with some texts and a size."""
    texts: Object = dict.fromkeys(names, TEXT)
    return {"type": "object", "properties": {**texts, "size": {"type": "integer"}}}


def ship(api: str, spec: Object, **meta: Any) -> Object:
    """An object in a version."""
    return {
        "apiVersion": f"{GROUP}/{api}",
        "kind": "Ship",
        "metadata": {"name": "s", "namespace": "default", **meta},
        "spec": spec,
    }


def owners(obj: Object) -> list[tuple[str, str, str]]:
    """Managers, operations and versions of an object's owners."""
    return [
        (one["manager"], one["operation"], one["apiVersion"].rpartition("/")[2])
        for one in obj["metadata"].get("managedFields", ())
    ]


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """A client of a server with a definition of ships in three versions."""
    config = Config(data_dir=tmp_path, serving=Serving(secure_port=0))
    async with open_server(config) as server:
        client = server.client()
        definition = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"ships.{GROUP}"},
            "spec": {
                "group": GROUP,
                "scope": "Namespaced",
                "names": {"plural": "ships", "kind": "Ship"},
                "versions": [
                    version("v1", members("a", "new")),
                    version("v1beta1", members("a", "old"), storage=True),
                    version("v1alpha1", ANYTHING),
                ],
            },
        }
        await client.create(definition)
        with trio.fail_after(10):
            while True:
                if (GROUP, "v1", "ships") in server.api.storage.registry.resources:
                    break
                await trio.sleep(0.01)
        yield client


async def test_an_update_with_what_another_version_lacks_has_no_owners(client: Client) -> None:
    """It is stored without that; a later apply finds an object that nobody owns."""
    made = await client.create(ship("v1beta1", {"a": "x", "old": "o"}), field_manager="one")
    assert owners(made) == [("one", "Update", "v1beta1")]
    v1 = client.kind(f"{GROUP}/v1", "Ship")
    got = await client.get(v1, "s", namespace="default")
    put = await client.update({**got, "spec": {"a": "z", "new": "n"}}, field_manager="two")
    assert (put["spec"], owners(put)) == ({"a": "z"}, [])
    applied = await client.apply(ship("v1", {"a": "q"}), field_manager="three", force=True)
    assert owners(applied) == [("three", "Apply", "v1"), ("before-first-apply", "Update", "v1")]
    with pytest.raises(ApiError) as caught:
        await client.apply(ship("v1beta1", {"old": "w"}), field_manager="four")
    assert caught.value.code == 500
    assert str(caught.value.message) == (
        "failed to convert new object: .spec.old: field not declared in schema"
    )


async def test_what_the_stored_version_lacks_counts_as_a_change(client: Client) -> None:
    """The generation is counted in the version of the client."""
    await client.create(ship("v1beta1", {"a": "x"}))
    loose = client.kind(f"{GROUP}/v1alpha1", "Ship")
    patched = await client.patch(loose, "s", {"spec": {"free": 1}}, namespace="default")
    assert (patched["spec"], patched["metadata"]["generation"]) == ({"a": "x"}, 2)
    given = {"metadata": {"generation": 9}}
    same = await client.patch(loose, "s", given, namespace="default")
    assert same["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("size", "force", "code", "said"),
    [
        (None, False, 500, "failed to create manager for existing fields: failed to convert live"),
        (2, False, 409, 'conflict with "one" using autoscaling/v1: .spec.replicas'),
        (2, True, 500, "failed to convert new object (default/s; autoscaling/v1, Kind=Scale) to"),
    ],
)
async def test_scales_are_not_applied(
    client: Client, size: int | None, force: bool, code: int, said: str
) -> None:
    """kube-apiserver has no version of the custom resource to apply them in."""
    spec: Object = {"a": "x"} if size is None else {"size": size}
    await client.create(ship("v1beta1", spec), field_manager="one")
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "s", "namespace": "default"},
        "spec": {"replicas": 3},
    }
    kind = client.kind(f"{GROUP}/v1beta1", "Ship")
    with pytest.raises(ApiError) as caught:
        await client.apply(scale, kind=kind, subresource="scale", field_manager="two", force=force)
    assert (caught.value.code, said in str(caught.value.message)) == (code, True)
    got = await client.get(kind, "s", namespace="default")
    assert got["spec"] == spec
