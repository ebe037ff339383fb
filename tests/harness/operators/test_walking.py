"""Walks through states find what depends on the way, and what is left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from shelves import SHELF, books, operator

from kubetrio.embedding import ApiError, Client, Manager, ReconcileRequest
from kubetrio.harness.operators.exploring import Failure
from kubetrio.harness.operators.ground import open_ground
from kubetrio.harness.operators.plans import Plan
from kubetrio.harness.operators.subjects import subject
from kubetrio.harness.operators.walking import WalkSearch, walk
from kubetrio.harness.script import Request, Settle

CERTIFICATES = (
    Path(__file__).parents[2] / "scenarios" / "definitions" / "certificates.yaml"
).read_text()


@pytest.mark.parametrize(
    ("mistake", "oracles"),
    [
        ("", set()),
        ("surplus", {"does-not-go-back"}),
        ("entry", {"left-behind"}),
    ],
)
def test_a_walk_and_back(mistake: str, oracles: set[str]) -> None:
    """More books, fewer books, none."""
    about = subject(SHELF)
    up = Plan(steps=(about.create("a", books(1)), Settle(), about.change("a", books(2))))
    with open_ground(operator(mistake), before=about.before) as ground:
        _, findings = WalkSearch(ground, about).judged(up)
    assert {one.oracle for one in findings} == oracles


def test_the_shortest_walk_is_one_state() -> None:
    """What is left behind is left of any object."""
    failure = walk(operator("entry"), SHELF, examples=2)
    assert failure is not None
    assert len(failure.plan.steps) == 1
    assert str(failure).startswith("What the operator did wrong:\nleft-behind: ConfigMap default/a")


class Certificates:
    """An operator that keeps the labels of a Certificate's template in a ConfigMap.

    Args:
        client: asks the server.
        forgets: whether they go when the template has none any more.
    """

    def __init__(self, client: Client, *, forgets: bool) -> None:
        self._client = client
        self._forgets = forgets
        self.manager = Manager(client)
        self._certificates = self.manager.informer("certs.example.com/v1", "Certificate")
        self.manager.controller("certificates", self._reconcile, self._certificates)

    async def _reconcile(self, request: ReconcileRequest) -> None:
        certificate: Any = self._certificates.get(request.name, request.namespace)
        if certificate is None:
            return
        labels = certificate["spec"].get("secretTemplate", {}).get("labels")
        meta: dict[str, Any] = {"name": request.name, "namespace": request.namespace}
        owner = {"apiVersion": "certs.example.com/v1", "kind": "Certificate"}
        owner |= {"name": request.name, "uid": certificate["metadata"]["uid"]}
        meta["ownerReferences"] = [owner]
        try:
            await self._client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
        if labels or self._forgets:
            data = {"labels": json.dumps(labels) if labels else None}
            kind = self._client.kind("v1", "ConfigMap")
            await self._client.patch(kind, request.name, {"data": data}, request.namespace)


def walked(*, forgets: bool, limit_s: float = 600) -> Failure | None:
    """What a walk of Certificates tells of the operator."""

    async def operate(client: Client) -> None:
        await Certificates(client, forgets=forgets).manager.run()

    definition = next(yaml.safe_load_all(CERTIFICATES))
    return walk(operate, definition, examples=3, limit_s=limit_s)


@pytest.mark.slow
def test_a_property_that_is_not_taken_back_is_found_by_the_definition_alone() -> None:
    """The walk is reduced to that property and what a Certificate has to have."""
    failure = walked(forgets=False)
    assert failure is not None
    assert {one.oracle for one in failure.findings} & {"does-not-go-back", "depends-on-the-way"}
    requests = [one for one in failure.plan.steps if isinstance(one, Request)]
    assert len(requests) == 2
    specs = [requests[0].body["spec"], requests[1].body[0]["value"]]
    optional = [spec.keys() - {"issuerRef", "secretName"} for spec in specs]
    assert sorted(map(sorted, optional)) == [[], ["secretTemplate"]]
    assert walked(forgets=True) is None
