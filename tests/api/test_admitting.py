"""Requests that store no object of their own: plugins, checks, plugins, and then what they do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubetrio.admission.attributes import Attributes, Operation
from kubetrio.admission.plugin import Base
from kubetrio.config import Admission
from kubetrio.machinery.identity import UserInfo
from kubetrio.server.parts import Parts
from kubetrio.testing.server import ACCOUNTS, in_memory, open_api

NS = "/api/v1/namespaces/default"
AUTH = "/apis/authorization.k8s.io/v1"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction"}
NODE = UserInfo("system:node:n1", groups=("system:nodes", "system:authenticated"))


class Phases(Base):
    """Notes the phases in which it is asked about what is created, pods excepted."""

    name = "Phases"
    operations = frozenset({Operation.CREATE})

    def __init__(self) -> None:
        self.seen: list[str] = []

    def _note(self, phase: str, attributes: Attributes) -> None:
        kind = attributes.resource.resource
        if attributes.subresource or kind.endswith("reviews") or kind == "bindings":
            self.seen.append(phase)

    async def mutate(self, attributes: Attributes) -> None:
        self._note("mutate", attributes)

    async def validate(self, attributes: Attributes) -> None:
        self._note("validate", attributes)


NAMED = {"metadata": {"name": "p"}}
WRONG = {"metadata": {"name": "other"}}


@pytest.mark.parametrize(
    ("path", "right", "wrong"),
    [
        (f"{NS}/pods/p/binding", {**NAMED, "target": {"name": "n"}}, WRONG),
        (f"{NS}/bindings", {**NAMED, "target": {"name": "n"}}, NAMED),
        (f"{NS}/pods/p/eviction", {**EVICTION, **NAMED}, {**EVICTION, **WRONG}),
        (
            f"{AUTH}/selfsubjectaccessreviews",
            {"spec": {"nonResourceAttributes": {"verb": "get", "path": "/"}}},
            {"spec": {}},
        ),
        (
            f"{AUTH}/subjectaccessreviews",
            {"spec": {"user": "u", "nonResourceAttributes": {"verb": "get", "path": "/"}}},
            {"spec": {"user": "u"}},
        ),
        (
            f"{AUTH}/namespaces/default/localsubjectaccessreviews",
            {"spec": {"user": "u", "resourceAttributes": {"namespace": "default"}}},
            {"spec": {"user": "u"}},
        ),
        (f"{AUTH}/selfsubjectrulesreviews", {"spec": {"namespace": "n"}}, {"spec": {}}),
        (
            "/apis/authentication.k8s.io/v1/tokenreviews",
            {"spec": {"token": "t"}},
            {"spec": {}},
        ),
    ],
)
async def test_what_is_checked_between_the_plugins(
    path: str, right: dict[str, Any], wrong: dict[str, Any]
) -> None:
    """Mutating plugins see what was sent, validating ones only what is in order."""
    phases = Phases()
    async with (
        open_api(parts=Parts(admission=[phases])) as server,
        server.connect() as client,
    ):
        await client.request("POST", f"{NS}/pods", json=POD)
        answer = await client.request("POST", path, json=wrong)
        assert answer.status >= 400, answer.json()
        assert phases.seen == ["mutate"]
        phases.seen.clear()
        answer = await client.request("POST", path, json=right)
        assert answer.status == 201, answer.json()
        assert phases.seen == ["mutate", "validate"]


@pytest.mark.parametrize("named", ["p", "other", ""])
async def test_a_kubelet_learns_nothing_of_a_pod_elsewhere(tmp_path: Path, named: str) -> None:
    """NodeRestriction answers before anybody has looked into the body of an eviction."""
    admission = Admission(enable_plugins=("NodeRestriction",), disable_plugins=ACCOUNTS)
    config = replace(in_memory(tmp_path), admission=admission)
    async with open_api(config=config) as server:
        async with server.connect() as admin:
            await admin.request("POST", f"{NS}/pods", json=POD)
        async with server.connect(certificate=NODE) as node:
            body = {**EVICTION, "metadata": {"name": named}}
            answer = await node.request("POST", f"{NS}/pods/p/eviction", json=body)
            words = "node n1 can only evict pods with spec.nodeName set to itself"
            assert (answer.status, words in answer.json()["message"]) == (403, True)
