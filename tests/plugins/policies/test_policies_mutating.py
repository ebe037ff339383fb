"""Mutating admission policies on a whole server: what is changed, how often, what cannot be."""

from __future__ import annotations

from typing import Any

import pytest
from policy_objects import CONFIGS, RULE, Object, config, mutating, needs_engine, validating

from kubetrio.testing.client import Client

pytestmark = needs_engine
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


async def created(client: Client, **more: Any) -> Object:
    answer = await client.request("POST", f"{CONFIGS}?dryRun=All", json=config("c", **more))
    result: Object = answer.json()
    return result


def refused(why: str) -> str:
    return f"policy 'm' with binding 'm-b' denied request: {why}"


async def test_an_apply_configuration(client: Client) -> None:
    """It is merged; nobody owns what it sets."""
    source = "Object{metadata: Object.metadata{labels: {'by': object.metadata.name}}}"
    await mutating(client, source)
    answer = await client.request("POST", CONFIGS, json=config("c", labels={"own": "1"}))
    meta = answer.json()["metadata"]
    assert meta["labels"] == {"own": "1", "by": "c"}
    owned = meta["managedFields"][0]["fieldsV1"]
    assert owned["f:metadata"]["f:labels"] == {".": {}, "f:own": {}}
    stored = (await client.request("GET", f"{CONFIGS}/c")).json()
    assert stored["metadata"]["labels"] == {"own": "1", "by": "c"}
    update = await client.request("PUT", f"{CONFIGS}/c", json=config("c", data={"a": "b"}))
    assert update.json()["metadata"]["labels"] == {"by": "c"}


def deployment() -> Object:
    labels = {"app": "d"}
    pod = {"containers": [{"name": "main", "image": "i"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


APPS = {**RULE, "apiGroups": ["apps"], "resources": ["deployments"], "operations": ["CREATE"]}


async def test_lists_with_keys_are_merged(client: Client) -> None:
    """A container of another name is added, with its defaults."""
    containers = "Object.spec.template.spec.containers{name: 'side', image: 's'}"
    source = (
        "Object{spec: Object.spec{replicas: object.spec.replicas + 1, template: "
        "Object.spec.template{spec: Object.spec.template.spec{containers: "
        f"[{containers}]}}}}}}}}"
    )
    await mutating(client, source, match={"resourceRules": [APPS]})
    spec = (await client.request("POST", DEPLOYMENTS, json=deployment())).json()["spec"]
    assert spec["replicas"] == 2
    found = spec["template"]["spec"]["containers"]
    assert [container["name"] for container in found] == ["main", "side"]
    assert found[1]["imagePullPolicy"] == "Always"


async def test_a_json_patch(client: Client) -> None:
    """Operations of any kind, with keys escaped; objects and lists as values."""
    source = (
        "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a/b': 'x'}}, "
        "JSONPatch{op: 'copy', from: '/metadata/labels/' + jsonpatch.escapeKey('a/b'), "
        "path: '/metadata/labels/c'}, JSONPatch{op: 'remove', path: '/data/gone'}]"
    )
    await mutating(client, source)
    found = await created(client, data={"gone": "1", "kept": "2"})
    assert found["metadata"]["labels"] == {"a/b": "x", "c": "x"}
    assert found["data"] == {"kept": "2"}


async def test_a_test_that_fails_changes_nothing(client: Client) -> None:
    """Neither what comes before it nor what comes behind."""
    source = (
        "[JSONPatch{op: 'add', path: '/data/b', value: '2'}, "
        "JSONPatch{op: 'test', path: '/data/a', value: 'other'}]"
    )
    await mutating(client, source)
    assert (await created(client, data={"a": "1"}))["data"] == {"a": "1"}


async def test_mutations_follow_one_another(client: Client) -> None:
    """Each sees what those before it did, within a policy and from policy to policy by name."""
    first = "Object{data: {'a': '1'}}"
    second = "[JSONPatch{op: 'add', path: '/data/b', value: object.data.a + '2'}]"
    await mutating(client, first, second, name="m1")
    third = "Object{data: {'c': object.data.b + '3'}}"
    await mutating(client, third, name="m2")
    await validating(client, {"expression": "object.data.c == '123'"})
    assert (await created(client))["data"] == {"a": "1", "b": "12", "c": "123"}


async def test_reinvocation(client: Client) -> None:
    """A policy that asks for it runs again where something changed; others do not."""
    count = "Object{data: {'%s': has(object.data) && '%s' in object.data ? 'twice' : 'once'}}"
    await mutating(client, count % ("a", "a"), name="a", reinvocationPolicy="IfNeeded")
    await mutating(client, count % ("b", "b"), name="b")
    assert (await created(client))["data"] == {"a": "twice", "b": "once"}


async def test_nothing_is_repeated_when_nothing_changes(client: Client) -> None:
    """A policy whose result is what is there already."""
    source = "Object{data: {'a': 'x'}}"
    await mutating(client, source, name="a", reinvocationPolicy="IfNeeded")
    found = await created(client, data={"a": "x"})
    assert found["data"] == {"a": "x"}


async def test_conditions_variables_and_parameters(client: Client) -> None:
    """As for validating policies."""
    param = config("p", data={"value": "v"})
    assert (await client.request("POST", CONFIGS, json=param)).status == 201
    await mutating(
        client,
        "Object{data: {'set': variables.value + '!'}}",
        variables=[{"name": "value", "expression": "params.data.value"}],
        matchConditions=[{"name": "a", "expression": "has(object.data)"}],
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        binding={"paramRef": {"name": "p", "parameterNotFoundAction": "Deny"}},
    )
    assert (await created(client, data={"x": "y"}))["data"] == {"x": "y", "set": "v!"}
    assert "data" not in await created(client)


FAILED = "expression 'Object{data: object.gone}' resulted in error"
MISNAMED = (
    'type mismatch: unexpected type name "Object.wrong", expected "Object.spec", which matches '
    "field name path from root Object type"
)
UNDECLARED = (
    "error applying patch: failed to convert patch object to typed object: .nope: field not "
    "declared in schema"
)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("Object{data: object.gone}", f"{FAILED}: no such key: gone"),
        ("Object{spec: Object.wrong{}}", MISNAMED),
        ("Object{nope: 1}", UNDECLARED),
        ("[JSONPatch{op: 'add', path: 'nope', value: 1}]",
         'JSON Patch: add operation does not apply: doc is missing path: "nope": missing value'),
        ("[JSONPatch{op: 'test', path: '/no/x', value: 1}]",
         "JSON Patch: test operation does not apply: is missing path: /no/x: missing value"),
    ],
)  # fmt: skip
async def test_what_cannot_be_done(client: Client, source: str, why: str) -> None:
    """It is told with the policy; the reason is that of a bad request, the code of a refusal."""
    await mutating(client, source)
    found = await created(client)
    assert found["message"] == refused(why)
    assert (found["reason"], found["code"]) == ("Invalid", 403)
    assert found["details"]["causes"] == [{"message": refused(why)}]


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        ("path: '/nope', value: 1", 'strict decoding error: unknown field "nope"'),
        ("path: '/kind', value: 'Other'", 'no kind "Other" is registered for version "v1"'),
        ("path: '/data', value: 5", "json: cannot unmarshal number into Go struct field"),
    ],
)
@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
async def test_a_patched_object_that_cannot_be_read(
    client: Client, operation: str, why: str, policy: str
) -> None:
    """It is the server's error, whatever the policy says of failures."""
    await mutating(client, f"[JSONPatch{{op: 'add', {operation}}}]", failurePolicy=policy)
    found = await created(client)
    assert (found["reason"], found["code"]) == ("InternalError", 500)
    assert found["message"].startswith(f"Internal error occurred: {why}")


async def test_atomic_parts_are_not_for_apply(client: Client) -> None:
    """They would lose what is not named."""
    source = "Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'a': 'b'}}}}"
    await mutating(client, source, match={"resourceRules": [APPS]})
    answer = await client.request("POST", DEPLOYMENTS, json=deployment())
    assert answer.json()["message"] == refused(
        "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or "
        "structs: .spec.selector"
    )


async def test_failures_may_be_ignored(client: Client) -> None:
    """The other mutations count."""
    bad = "Object{data: {'x': object.data.absent}}"
    good = "Object{data: {'y': '1'}}"
    await mutating(client, bad, good, failurePolicy="Ignore")
    assert (await created(client))["data"] == {"y": "1"}


async def test_what_policies_make_is_validated(client: Client) -> None:
    """As if the client had sent it."""
    await mutating(client, "Object{metadata: Object.metadata{labels: {'a b': 'x'}}}")
    found = await created(client)
    assert (found["code"], found["details"]["causes"][0]["field"]) == (422, "metadata.labels")


async def test_results_are_checked_when_a_policy_is_written(client: Client) -> None:
    """An apply configuration is an object, a JSON Patch a list of operations."""
    path = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
    spec = {
        "matchConstraints": {"resourceRules": [{**RULE, "operations": ["CREATE"]}]},
        "reinvocationPolicy": "Never",
        "mutations": [
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "1"}},
            {"patchType": "JSONPatch", "jsonPatch": {"expression": "Object{}"}},
        ],
    }
    obj = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": "m"},
        "spec": spec,
    }
    causes = (await client.request("POST", path, json=obj)).json()["details"]["causes"]
    assert [cause["message"] for cause in causes] == [
        'Invalid value: "1": must evaluate to Object but got int',
        'Invalid value: "Object{}": must evaluate to list(JSONPatch) but got Object',
    ]
