"""Definitions in the shapes of forty projects, and what clients do with their objects."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from kubetrio.runtime.effort import MOST_STEPS, Effort
from kubetrio.structural.causes import Out
from kubetrio.structural.listtypes import check_lists
from kubetrio.structural.values import Checker
from kubetrio.testing.client import Answer, Client
from kubetrio.testing.server import open_api
from tests.crd.project_shapes import Shape, page, shapes

pytest.importorskip("cel_expr_python", reason="the extra cel is not installed")
ROOT = Path(__file__).parents[2]
Json = dict[str, Any]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"
SHAPES = {shape.kind: shape for shape in shapes()}
STATUS: Json = {
    "conditions": [
        {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}
    ],
    "phase": "x",
    "replicas": 1,
}


class Asking:
    """A client of one shape.

    Args:
        client: the connection.
        shape: what it is about.
    """

    def __init__(self, client: Client, shape: Shape) -> None:
        self._client = client
        self.shape = shape

    def path(self, version: str, name: str = "") -> str:
        """The path of an object, or of the collection."""
        shape = self.shape
        inside = "" if shape.cluster else "/namespaces/default"
        path = f"/apis/{shape.group}/{version}{inside}/{shape.plural}"
        return f"{path}/{name}" if name else path

    async def ask(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        media_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """An answer, which is never the server's fault."""
        content = None if body is None else orjson.dumps(body)
        sent = {**(headers or {}), **({"content-type": media_type} if content else {})}
        answer = await self._client.request(method, path, body=content, headers=sent)
        assert answer.status < 500, (method, path, answer.json())
        return answer

    async def apply(self, name: str, spec: Json, manager: str, *, force: bool = False) -> Answer:
        """The answer to an apply in the stored version."""
        shape = self.shape
        path = f"{self.path(shape.stored, name)}?fieldManager={manager}"
        body = shape.object(name, spec)
        return await self.ask(
            "PATCH", f"{path}&force=true" if force else path, body, media_type=APPLY
        )


@pytest.fixture(params=SHAPES)
async def asking(request: pytest.FixtureRequest) -> AsyncIterator[Asking]:
    """A client of a server that has the definition of a shape."""
    shape = SHAPES[request.param]
    async with open_api(kept=True) as server, server.connect() as client:
        found = Asking(client, shape)
        answer = await found.ask("POST", DEFINITIONS, shape.definition())
        assert answer.status == 201, answer.json()
        await server.resets.settled()
        yield found


def managers(obj: Json) -> set[str]:
    """Who owns fields of an object."""
    return {entry["manager"] for entry in obj["metadata"].get("managedFields", ())}


async def test_objects_of_a_shape(asking: Asking) -> None:
    """They are created, refused, applied by two managers, converted, listed and deleted."""
    shape = asking.shape
    stored = shape.stored
    made = await asking.ask(
        "POST", f"{asking.path(stored)}?fieldValidation=Strict", shape.object("a")
    )
    assert made.status == 201, made.json()
    for spec in shape.bad:
        answer = await asking.ask("POST", asking.path(stored), shape.object("bad", spec))
        assert answer.status == 422, spec

    first = await asking.apply("b", shape.made, "one")
    assert first.status == 201, first.json()
    second = await asking.apply("b", shape.claimed, "two", force=True)
    if second.status == 200:
        assert managers(second.json()) == {"one", "two"}
    else:  # what is claimed is no whole object, and the schema asks for more
        assert second.status == 422, second.json()
    again = await asking.apply("b", shape.made, "one", force=True)
    assert again.status == 200, again.json()

    for version in shape.specs:
        got = await asking.ask("GET", asking.path(version, "a"))
        assert got.json()["apiVersion"] == f"{shape.group}/{version}"
        put = await asking.ask("PUT", asking.path(version, "a"), got.json())
        assert put.status in (200, 422), put.json()  # another version may ask for what is not there
        table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
        rows = (await asking.ask("GET", asking.path(version), headers=table)).json()["rows"]
        assert [row["object"]["metadata"]["name"] for row in rows] == ["a", "b"]

    if shape.status:
        below = f"{asking.path(stored, 'a')}/status"
        told = await asking.ask("PATCH", below, {"status": STATUS}, media_type=MERGE)
        assert told.json()["status"]["phase"] == "x", told.json()
    if shape.scale:
        below = f"{asking.path(stored, 'a')}/scale"
        body = {"spec": {"replicas": 3}}
        scaled = await asking.ask("PATCH", below, body, media_type=MERGE)
        assert scaled.json()["spec"] == {"replicas": 3}

    assert (await asking.ask("DELETE", asking.path(stored, "a"))).status == 200
    assert (await asking.ask("DELETE", asking.path(stored))).status == 200
    left = (await asking.ask("GET", asking.path(stored))).json()["items"]
    assert left == []


@pytest.mark.parametrize("kind", SHAPES)
def test_an_object_takes_few_steps(kind: str) -> None:
    """To check it by its schema: a hundredth of what an object may."""
    shape = SHAPES[kind]
    [schema, *_] = [
        version["schema"]["openAPIV3Schema"] for version in shape.definition()["spec"]["versions"]
    ]
    effort = Effort(MOST_STEPS // 100)
    checker, obj, out = Checker(schema), shape.object("a"), Out("", effort)
    checker.check(obj, "", None, out)
    check_lists(checker, obj, "", out, effort)
    assert out == []


def test_the_page_is_as_it_would_be_made() -> None:
    """`python -m tests.crd.project_shapes` makes it anew."""
    assert (ROOT / "docs/reference/definitions.md").read_text() == page()


def test_there_are_forty() -> None:
    """Each of a kind of its own."""
    assert len(SHAPES) == len(shapes()) == 40
