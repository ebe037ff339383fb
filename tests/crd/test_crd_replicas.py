"""Definitions that another replica judges at the same time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import trio
from trio.testing import MockClock

from kubetrio.kinds.apiextensions.conditions import accept_names, with_condition
from kubetrio.resources.objects import restamp, stamp
from kubetrio.server.parts import Parts
from kubetrio.store.model import Event
from kubetrio.testing.etcdmodel import etcd_model
from kubetrio.testing.etcdstore import modelled, stored
from kubetrio.testing.server import in_memory, open_api

Object = dict[str, Any]
API, GROUP = "apiextensions.k8s.io/v1", "zoo.example.com"
SCHEMA = {"openAPIV3Schema": {"type": "object"}}
SERVICE = f"/registry/apiregistration.k8s.io/apiservices/v2.{GROUP}"
CRDS = "/registry/apiextensions.k8s.io/customresourcedefinitions/"


def definition(plural: str, kind: str, *versions: str) -> Object:
    """A definition with a short name, which is always the same."""
    listed = [
        {"name": name, "served": True, "storage": name == versions[0], "schema": SCHEMA}
        for name in versions
    ]
    names: Object = {"plural": plural, "kind": kind, "shortNames": ["z"]}
    return {
        "apiVersion": API,
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": listed},
    }


def accepted(definition: Object, first: Object) -> Object:
    """A definition with what a replica says of its names."""
    names = accept_names(definition, [first, definition])
    named = {**definition, "status": {"acceptedNames": names.accepted}}
    return with_condition(named, "NamesAccepted", names.names, "2026-01-01T00:00:00Z")


async def test_names_are_not_taken_by_the_definition_itself(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    """Another replica accepts names while this one writes APIServices; what it said stays.

    Two replicas answered one definition with a conflict of its own names.
    """
    first, second = definition("zebras", "Zebra", "v1"), definition("yaks", "Yak", "v2", "v3")
    name = second["metadata"]["name"]
    async with etcd_model() as model, modelled(model, restamp) as store:

        @asynccontextmanager
        async def opened(*_: object) -> AsyncIterator[Any]:
            yield store

        config = in_memory(tmp_path)
        told: list[str] = []
        said: set[tuple[str, str]] = set()

        def note(event: Event) -> None:
            status = orjson.loads(event.value).get("status") or {}
            for each in status.get("conditions") or ():
                if each["type"] == "NamesAccepted":
                    said.add((each["reason"], each["message"]))

        async with open_api(config=config, parts=Parts(open_store=opened), kept=True) as server:
            client = server.client()
            crds = client.kind(API, "CustomResourceDefinition")
            await client.create(first)
            await trio.sleep(1)
            first = await client.get(crds, first["metadata"]["name"])

            def other_replica(event: Event) -> None:
                if not told:
                    key = (CRDS + name).encode()
                    value = store._live[CRDS + name].value
                    told.append(event.key)
                    model.put(b"/t/" + key, stored(stamp(accepted(orjson.loads(value), first))))

            dispatcher = server.api.storage.informers.dispatcher
            dispatcher.subscribe(SERVICE, other_replica)
            dispatcher.subscribe(CRDS + name, note)
            await client.create(second)
            await trio.sleep(5)
            names = (await client.get(crds, name))["status"]["acceptedNames"]
    assert told
    assert (names["plural"], names["kind"]) == ("yaks", "Yak")
    assert said == {("ShortNamesConflict", '"z" is already in use')}
