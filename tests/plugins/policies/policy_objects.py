"""Policies and bindings as tests write them."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.cel.engine import available
from kubetrio.testing.client import Answer, Client

Object = dict[str, Any]
needs_engine = pytest.mark.skipif(not available(), reason="needs the extra cel")

GROUP = "admissionregistration.k8s.io/v1"
CONFIGS = "/api/v1/namespaces/default/configmaps"
RULE = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE", "DELETE"],
    "resources": ["configmaps"],
}


def config(name: str, **more: Any) -> Object:
    """A ConfigMap; ``labels`` goes to its metadata."""
    meta: Object = {"name": name}
    if "labels" in more:
        meta["labels"] = more.pop("labels")
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, **more}


async def made(client: Client, kind: str, name: str, spec: Object) -> Answer:
    """Create a policy or binding; it must be accepted."""
    plural = "policies" if kind.endswith("Policy") else "policybindings"
    path = kind.removesuffix("Binding").removesuffix("Policy").lower() + plural
    obj = {"apiVersion": GROUP, "kind": kind, "metadata": {"name": name}, "spec": spec}
    answer = await client.request("POST", f"/apis/{GROUP}/{path}", json=obj)
    assert answer.status == 201, answer.json()
    return answer


async def validating(
    client: Client,
    *validations: Object,
    name: str = "p",
    match: Object | None = None,
    binding: Object | None = None,
    **spec: Any,
) -> None:
    """A policy with its binding."""
    constraints = {"resourceRules": [RULE], **(match or {})}
    body = {"matchConstraints": constraints, "validations": list(validations), **spec}
    await made(client, "ValidatingAdmissionPolicy", name, body)
    bound = {"policyName": name, "validationActions": ["Deny"], **(binding or {})}
    await made(client, "ValidatingAdmissionPolicyBinding", f"{name}-b", bound)


async def mutating(
    client: Client,
    *mutations: str,
    name: str = "m",
    match: Object | None = None,
    binding: Object | None = None,
    **spec: Any,
) -> None:
    """A policy with its binding; what begins with a bracket is a JSON Patch."""
    made_of = [
        {"patchType": "JSONPatch", "jsonPatch": {"expression": text}}
        if text.startswith("[")
        else {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}}
        for text in mutations
    ]
    rule = {**RULE, "operations": ["CREATE", "UPDATE"]}
    body = {
        "matchConstraints": {"resourceRules": [rule], **(match or {})},
        "mutations": made_of,
        "reinvocationPolicy": "Never",
        **spec,
    }
    await made(client, "MutatingAdmissionPolicy", name, body)
    bound = {"policyName": name, **(binding or {})}
    await made(client, "MutatingAdmissionPolicyBinding", f"{name}-b", bound)
