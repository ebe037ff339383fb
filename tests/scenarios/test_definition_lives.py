"""Definitions in the shapes that popular operators ship, from installation to deletion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
import trio
from definition_lives import Case, Life, cases, converted

from kubetrio.testing.client import Answer, Client
from kubetrio.testing.hooks import Called, open_hook
from kubetrio.testing.server import InProcess, open_api
from kubetrio.tls import pki

Object = dict[str, Any]
WEBHOOK = "machinedeployments"


@dataclass(frozen=True, slots=True)
class Replied:
    """An answer in memory."""

    answer: Answer

    @property
    def status(self) -> int:
        """HTTP status code."""
        return self.answer.status

    def json(self) -> Any:
        """The body."""
        return self.answer.json()

    def header(self, name: str) -> str:
        """A header, empty where there is none."""
        return self.answer.head.get(name.encode()).decode()


@dataclass(frozen=True, slots=True)
class InMemory:
    """A way to a server in memory."""

    server: InProcess
    client: Client

    async def ask(
        self, method: str, target: str, headers: Mapping[str, str] | None = None, body: Any = None
    ) -> Replied:
        """See `definition_lives.Connection`."""
        return Replied(await self.client.request(method, target, headers, json=body))

    async def watched(
        self, target: str, number: int, headers: Mapping[str, str] | None = None
    ) -> list[Object]:
        """See `definition_lives.Connection`."""
        found: list[Object] = []
        async with self.server.connect() as client:
            fields = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
            await client.send(f"GET {target} HTTP/1.1\r\nHost: x\r\n{fields}\r\n".encode())
            assert (await client.head()).status == 200
            with trio.fail_after(10):
                while len(found) < number:
                    found += map(orjson.loads, (await client.chunk()).splitlines())
        return found


async def lived(case: Case) -> None:
    """Live a life in a server in memory."""
    async with open_api(kept=True) as server, server.connect() as client:
        await Life(InMemory(server, client), case).lived()


@pytest.mark.parametrize(
    "case", [case for case in cases() if case.name != WEBHOOK], ids=lambda case: case.name
)
async def test_a_definition_lives(case: Case, autojump_clock: trio.testing.MockClock) -> None:
    """Installed, described, written in every way, watched, upgraded and deleted."""
    pytest.importorskip("cel_expr_python")
    await lived(case)


async def test_a_definition_with_a_webhook_lives(certificates: pki.Pki) -> None:
    """The same, with versions that a webhook converts."""
    [case] = [case for case in cases() if case.name == WEBHOOK]

    async def convert(called: Called) -> None:
        wanted = called.request["desiredAPIVersion"]
        made = [converted(obj, wanted) for obj in called.request["objects"]]
        await called.reply({"result": {"status": "Success"}, "convertedObjects": made})

    async with open_hook(certificates, {"/convert": convert}) as hook:
        webhook = case.definition["spec"]["conversion"]["webhook"]
        webhook["clientConfig"] = hook.client("/convert")
        await lived(case)
        assert hook.calls


MANY = 4200


def large() -> Case:
    """A definition of about a megabyte: thousands of described fields, some with a default."""
    text = "What this field is for, in the words of its authors, at the length they like. " * 2
    fields: Object = {
        f"field{at}": {
            "type": "object",
            "description": text,
            "properties": {"size": {"type": "integer", "minimum": 0, "default": at}},
        }
        for at in range(MANY)
    }
    spec = {"type": "object", "required": ["field0"], "properties": fields}
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True,
               "schema": {"openAPIV3Schema": schema}}  # fmt: skip
    names = {"plural": "larges", "singular": "large", "kind": "Large"}
    return Case(
        "large",
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "larges.size.example.com"},
            "spec": {
                "group": "size.example.com",
                "scope": "Namespaced",
                "names": names,
                "versions": [version],
            },
        },
        {
            "apiVersion": "size.example.com/v1",
            "kind": "Large",
            "metadata": {"name": "one", "namespace": "default"},
            "spec": {f"field{at}": {"other": 1} for at in range(MANY)},
        },
        {
            "read": {f"spec.field{MANY - 1}": {"size": MANY - 1}},
            "refused": [
                {"patch": {"spec": {"field0": None}}, "because": "spec.field0: Required value"},
                {"patch": {"spec": {"field7": {"size": -1}}}, "because": "spec.field7.size"},
            ],
            "second": {"spec": {"field1": {"size": 5}}},
            "conflict": [],
            "merged": {"spec.field1.size": 5},
            "row": ["one"],
        },
    )


@pytest.mark.slow
async def test_a_large_definition_lives(autojump_clock: trio.testing.MockClock) -> None:
    """A megabyte of schema, and an object in which all of it is used."""
    case = large()
    size = len(orjson.dumps(case.definition))
    assert 1_000_000 < size < 1_500_000
    await lived(case)
