"""Validating admission policies on a whole server: what is refused, warned of, let through."""

from __future__ import annotations

from typing import Any

import pytest
from policy_objects import CONFIGS, GROUP, RULE, config, made, needs_engine, validating

from kubetrio.admission.attributes import Attributes
from kubetrio.plugins.policies.plugins import ValidatingAdmissionPolicy
from kubetrio.testing.client import Answer, Client

pytestmark = needs_engine
POLICY = f"/apis/{GROUP}/validatingadmissionpolicies/p"


def denied(why: str, name: str = "c", policy: str = "p") -> str:
    return (
        f"configmaps \"{name}\" is forbidden: ValidatingAdmissionPolicy '{policy}' with binding "
        f"'{policy}-b' denied request: {why}"
    )


def warning(answer: Answer) -> str:
    """The only warning of an answer."""
    [found] = [value for name, value in answer.head.headers if name == b"warning"]
    return found.decode()


async def refusal(client: Client, **more: Any) -> str:
    """The message of a refused create, or nothing."""
    answer = await client.request("POST", f"{CONFIGS}?dryRun=All", json=config("c", **more))
    return "" if answer.status == 201 else str(answer.json()["message"])


async def test_a_refusal(client: Client) -> None:
    """The Status has the reason of the validation and the message as its only cause."""
    await validating(
        client,
        {"expression": "object.metadata.name != 'bad'", "message": " not that "},
        {"expression": "!has(object.data)", "reason": "Forbidden",
         "messageExpression": "'no data in ' + object.metadata.name"},
        {"expression": "size(object.metadata.name) < 10"},
    )  # fmt: skip
    answer = await client.request("POST", CONFIGS, json=config("bad"))
    message = denied("not that", "bad")
    assert answer.json() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": "Invalid",
        "details": {
            "name": "bad",
            "kind": "configmaps",
            "causes": [{"message": message.partition("is forbidden: ")[2]}],
        },
        "code": 422,
    }
    answer = await client.request("POST", CONFIGS, json=config("c", data={"a": "b"}))
    assert (answer.status, answer.json()["reason"]) == (403, "Forbidden")
    assert answer.json()["message"] == denied("no data in c")
    answer = await client.request("POST", CONFIGS, json=config("long-name-of-it"))
    why = "failed expression: size(object.metadata.name) < 10"
    assert answer.json()["message"] == denied(why, "long-name-of-it")
    assert (await client.request("POST", CONFIGS, json=config("good"))).status == 201


async def test_changes_count_at_once(client: Client) -> None:
    """A new policy, a changed one, one that is unbound: from the next request on."""
    assert await refusal(client) == ""
    await validating(client, {"expression": "false", "message": "never"})
    assert await refusal(client) == denied("never")
    patch = [{"op": "replace", "path": "/spec/validations/0/message", "value": "no"}]
    headers = {"Content-Type": "application/json-patch+json"}
    answer = await client.request("PATCH", POLICY, json=patch, headers=headers)
    assert answer.status == 200
    assert await refusal(client) == denied("no")
    bindings = POLICY.replace("policies/p", "policybindings/p-b")
    assert (await client.request("DELETE", bindings)).status == 200
    assert await refusal(client) == ""


async def test_updates_and_deletions(client: Client) -> None:
    """Both see the old object; a deletion has no new one."""
    await validating(
        client,
        {"expression": "request.operation != 'UPDATE' || object.data.a != oldObject.data.a",
         "message": "no change"},
        {"expression": "request.operation != 'DELETE' || object == null && "
                       "oldObject.data.a == 'y'", "message": "kept"},
    )  # fmt: skip
    assert (await client.request("POST", CONFIGS, json=config("c", data={"a": "x"}))).status == 201
    path = f"{CONFIGS}/c"
    same = await client.request("PUT", path, json=config("c", data={"a": "x"}))
    assert same.json()["message"] == denied("no change")
    assert (await client.request("DELETE", path)).json()["message"] == denied("kept")
    assert (await client.request("PUT", path, json=config("c", data={"a": "y"}))).status == 200
    assert (await client.request("DELETE", path)).status == 200


@pytest.mark.parametrize(
    ("match", "binding", "matched"),
    [
        ({}, {}, True),
        ({"resourceRules": [{**RULE, "operations": ["UPDATE"]}]}, {}, False),
        ({"resourceRules": [{**RULE, "operations": ["*"], "resources": ["*"]}]}, {}, True),
        ({"resourceRules": [{**RULE, "resources": ["configmaps/status"]}]}, {}, False),
        ({"resourceRules": [{**RULE, "resources": ["*/*"]}]}, {}, True),
        ({"resourceRules": [{**RULE, "apiGroups": ["apps"]}]}, {}, False),
        ({"resourceRules": [{**RULE, "scope": "Cluster"}]}, {}, False),
        ({"resourceRules": [{**RULE, "scope": "Namespaced"}]}, {}, True),
        ({"resourceRules": [{**RULE, "resourceNames": ["d"]}]}, {}, False),
        ({"resourceRules": [{**RULE, "resourceNames": ["c"]}]}, {}, True),
        ({"excludeResourceRules": [{**RULE, "resourceNames": ["c"]}]}, {}, False),
        ({"objectSelector": {"matchLabels": {"app": "web"}}}, {}, True),
        ({"objectSelector": {"matchLabels": {"app": "db"}}}, {}, False),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}},
         {}, True),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "x"}}}, {}, False),
        ({}, {"matchResources": {"namespaceSelector": {"matchLabels": {"x": "y"}}}}, False),
        ({}, {"matchResources": {"objectSelector": {"matchLabels": {"app": "web"}}}}, True),
        ({}, {"matchResources": {"resourceRules": [{**RULE, "resources": ["pods"]}]}}, False),
    ],
)  # fmt: skip
async def test_matching(
    client: Client, match: dict[str, Any], binding: dict[str, Any], *, matched: bool
) -> None:
    """Rules, names and selectors, of the policy and of its binding."""
    await validating(client, {"expression": "false"}, match=match, binding=binding)
    assert bool(await refusal(client, labels={"app": "web"})) == matched


async def test_equivalent_resources(client: Client) -> None:
    """A rule for another version of a resource means it too, and sees objects in that version."""
    rule = {**RULE, "apiGroups": ["events.k8s.io"], "resources": ["events"]}
    validation = {
        "expression": "object.note != 'bad' || request.resource.group == ''",
        "messageExpression": "request.resource.group + ' ' + request.requestResource.group + '.'",
    }
    await validating(client, validation, match={"resourceRules": [rule]})
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "message": "bad",
    }
    path = "/api/v1/namespaces/default/events"
    answer = await client.request("POST", path, json=event)
    assert answer.json()["message"].endswith("denied request: events.k8s.io .")
    patch = [{"op": "replace", "path": "/spec/matchConstraints/matchPolicy", "value": "Exact"}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert (await client.request("PATCH", POLICY, json=patch, headers=headers)).status == 200
    assert (await client.request("POST", path, json=event)).status == 201


async def test_what_expressions_see(client: Client) -> None:
    """The request, its user, the namespace, the authorizer, variables."""
    facts = (
        "request.operation == 'CREATE' && request.name == 'c' && request.namespace == 'default'",
        "request.kind.kind == 'ConfigMap' && request.resource.resource == 'configmaps'",
        "request.dryRun && 'system:masters' in request.userInfo.groups",
        "request.options.kind == 'CreateOptions' && !has(request.subResource)",
        "namespaceObject.metadata.name == 'default' && namespaceObject.status.phase == 'Active'",
        "object.apiVersion == 'v1' && object.kind == 'ConfigMap' && oldObject == null",
        "authorizer.requestResource.check('delete').allowed()",
        "!authorizer.serviceAccount('a', 'b').group('').resource('pods').check('get').allowed()",
        "variables.size == 1 && variables.twice == 2",
    )
    variables = [
        {"name": "size", "expression": "object.data.size()"},
        {"name": "twice", "expression": "variables.size * 2"},
    ]
    validations = [{"expression": fact} for fact in facts]
    await validating(client, *validations, variables=variables)
    assert await refusal(client, data={"a": "b"}) == ""


@pytest.mark.parametrize("failure", ["Fail", "Ignore"])
async def test_errors_follow_the_failure_policy(client: Client, failure: str) -> None:
    """An expression that fails refuses, or does not."""
    await validating(client, {"expression": "object.data.x == 'y'"}, failurePolicy=failure)
    why = "expression 'object.data.x == 'y'' resulted in error: no such key: data"
    assert await refusal(client) == (denied(why) if failure == "Fail" else "")
    assert await refusal(client, data={"x": "y"}) == ""
    assert "failed expression" in await refusal(client, data={"x": "z"})


async def test_match_conditions(client: Client) -> None:
    """All must hold; false is stronger than an error."""
    conditions = [
        {"name": "a", "expression": "object.data.mode != 'off'"},
        {"name": "b", "expression": "object.data.level == 'high'"},
    ]
    await validating(client, {"expression": "false"}, matchConditions=conditions)
    high, off = {"mode": "on", "level": "high"}, {"mode": "off"}
    assert "failed expression: false" in await refusal(client, data=high)
    assert await refusal(client, data={"mode": "on", "level": "low"}) == ""
    assert await refusal(client, data=off) == ""
    why = "expression 'object.data.level == 'high'' resulted in error: no such key: level"
    assert await refusal(client, data={"mode": "on"}) == denied(why)
    both = ", ".join(
        f"expression '{condition['expression']}' resulted in error: no such key: data"
        for condition in conditions
    )
    assert await refusal(client) == denied(f"[{both}]")


async def test_warnings(client: Client) -> None:
    """With Warn the request goes through, or is refused by somebody else, with a warning."""
    warn = {"validationActions": ["Warn", "Audit"]}
    await validating(client, {"expression": "false", "message": "hm"}, binding=warn)
    answer = await client.request("POST", CONFIGS, json=config("c"))
    told = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p-b': hm"
    assert answer.status == 201
    assert warning(answer) == f'299 - "{told}"'
    await validating(client, {"expression": "false", "message": "stop"}, name="q")
    answer = await client.request("DELETE", f"{CONFIGS}/c")
    assert answer.json()["message"] == denied("stop", policy="q")
    assert warning(answer) == f'299 - "{told}"'


async def test_audit_annotations(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are noted with the request, values of several parameters together."""
    seen: list[Attributes] = []
    plain = ValidatingAdmissionPolicy.validate

    async def spying(self: ValidatingAdmissionPolicy, attributes: Attributes) -> None:
        seen.append(attributes)
        await plain(self, attributes)

    monkeypatch.setattr(ValidatingAdmissionPolicy, "validate", spying)
    for name in ("one", "two"):
        param = config(name, data={"v": name}, labels={"param": "yes"})
        assert (await client.request("POST", CONFIGS, json=param)).status == 201
    selector = {"matchLabels": {"param": "yes"}}
    await validating(
        client,
        {"expression": "object.metadata.name != 'c'", "message": "hm"},
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        binding={
            "validationActions": ["Audit"],
            "paramRef": {"selector": selector, "parameterNotFoundAction": "Deny"},
        },
        auditAnnotations=[
            {"key": "from", "valueExpression": "'param ' + params.data.v"},
            {"key": "none", "valueExpression": "null"},
            {"key": "blank", "valueExpression": "' '"},
        ],
    )
    seen.clear()
    assert await refusal(client) == ""
    failures = "validation.policy.admission.k8s.io/validation_failure"
    assert seen[0].annotations == {
        "p/from": "param one, param two",
        failures: '[{"message":"hm","policy":"p","binding":"p-b","expressionIndex":0,'
        '"validationActions":["Audit"]}]',
    }


async def test_audit_annotations_that_fail_refuse(client: Client) -> None:
    """Whatever the binding does about validations."""
    await validating(
        client,
        {"expression": "true"},
        auditAnnotations=[{"key": "k", "valueExpression": "string(object.data.x)"}],
        binding={"validationActions": ["Audit"]},
    )
    why = "expression 'string(object.data.x)' resulted in error: no such key: data"
    assert await refusal(client) == denied(why)


async def test_parameters(client: Client) -> None:
    """By name, in the namespace of the request or another; without one, as the binding says."""
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    rule = {**RULE, "operations": ["CREATE"]}
    await validating(
        client,
        {"expression": "params == null || object.metadata.name != params.data.forbidden",
         "message": "forbidden name"},
        paramKind=kind,
        match={"resourceRules": [rule]},
        binding={"paramRef": {"name": "limits", "namespace": "kube-system",
                              "parameterNotFoundAction": "Deny"}},
    )  # fmt: skip
    missing = "no params found for policy binding with `Deny` parameterNotFoundAction"
    assert await refusal(client) == denied(f"failed to configure binding: {missing}")
    bindings = POLICY.replace("policies/p", "policybindings/p-b")
    headers = {"Content-Type": "application/merge-patch+json"}
    allow = {"spec": {"paramRef": {"parameterNotFoundAction": "Allow"}}}
    assert (await client.request("PATCH", bindings, json=allow, headers=headers)).status == 200
    assert await refusal(client) == ""
    param = config("limits", data={"forbidden": "c"})
    elsewhere = "/api/v1/namespaces/kube-system/configmaps"
    assert (await client.request("POST", elsewhere, json=param)).status == 201
    assert await refusal(client) == denied("forbidden name")
    change = {"data": {"forbidden": "d"}}
    path = f"{elsewhere}/limits"
    assert (await client.request("PATCH", path, json=change, headers=headers)).status == 200
    assert await refusal(client) == ""
    none = {"spec": {"paramRef": None}}
    assert (await client.request("PATCH", bindings, json=none, headers=headers)).status == 200
    assert await refusal(client) == ""


async def test_parameters_that_cannot_be(client: Client) -> None:
    """An unknown kind, a namespace for what has none."""
    kind = {"apiVersion": "rules.example.com/v1", "kind": "Limit"}
    await validating(client, {"expression": "true"}, paramKind=kind)
    assert await refusal(client) == (
        "configmaps \"c\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed to "
        "configure policy: failed to find resource referenced by paramKind: "
        "'rules.example.com/v1, Kind=Limit'"
    )
    assert (await client.request("DELETE", POLICY)).status == 200
    await validating(
        client,
        {"expression": "true"},
        name="q",
        paramKind={"apiVersion": "v1", "kind": "Node"},
        binding={"paramRef": {"name": "n", "namespace": "x", "parameterNotFoundAction": "Allow"}},
    )
    why = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
    assert await refusal(client) == denied(f"failed to configure binding: {why}", policy="q")


async def test_policies_are_not_asked_about_policies(client: Client) -> None:
    """Who locks everybody out can take it back."""
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}
    await validating(client, {"expression": "false"}, match={"resourceRules": [rule]})
    assert await refusal(client)
    assert (await client.request("DELETE", POLICY)).status == 200
    assert await refusal(client) == ""


async def test_namespaces_are_in_themselves(client: Client) -> None:
    """A selector of namespaces looks at the labels of a namespace that is written."""
    rule = {**RULE, "resources": ["namespaces"], "operations": ["CREATE", "DELETE"]}
    selector = {"matchLabels": {"team": "a"}}
    match = {"resourceRules": [rule], "namespaceSelector": selector}
    seen = "request.namespace == request.name && namespaceObject == null"
    await validating(client, {"expression": f"!({seen})", "message": "seen"}, match=match)
    space: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    assert (await client.request("POST", "/api/v1/namespaces", json=space)).status == 201
    space["metadata"] = {"name": "m", "labels": {"team": "a"}}
    answer = await client.request("POST", "/api/v1/namespaces", json=space)
    assert answer.json()["message"].endswith("denied request: seen")


async def test_loops_without_end(client: Client) -> None:
    """A policy that turns too often refuses with what it costs, and nothing else is run."""
    source = "object.data.all(a, object.data.all(b, a != '' && b != ''))"
    await validating(client, {"expression": source}, {"expression": "false"})
    data = {f"k{number}": "" for number in range(150)}
    assert await refusal(client, data=data) == denied(
        "validation failed due to running out of cost budget, no further validation rules will "
        "be run"
    )


async def test_messages_that_are_no_messages(client: Client) -> None:
    """Blank, of several lines or failing ones give way to what is written."""
    for name, message in (("a", "' '"), ("b", "'x\\ny'"), ("c", "object.absent.x")):
        await validating(
            client,
            {"expression": "false", "message": "plain", "messageExpression": f"string({message})"},
            name=name,
            match={"resourceRules": [{**RULE, "resourceNames": [name]}]},
        )
        answer = await client.request("POST", CONFIGS, json=config(name))
        assert answer.json()["message"] == denied("plain", name, name)


async def test_expressions_are_compiled_when_a_policy_is_written(client: Client) -> None:
    """One that does not compile is refused where it stands, variables and their users alike."""
    obj = {
        "apiVersion": GROUP,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "bad"},
        "spec": {
            "matchConstraints": {"resourceRules": [RULE]},
            "matchConditions": [{"name": "a", "expression": "variables.x == 1"}],
            "variables": [{"name": "x", "expression": "1 +"}],
            "validations": [{"expression": "1", "messageExpression": "2"}],
            "auditAnnotations": [{"key": "k", "valueExpression": "3"}],
        },
    }
    answer = await client.request("POST", POLICY.rpartition("/")[0], json=obj)
    fields = {cause["field"]: cause["message"] for cause in answer.json()["details"]["causes"]}
    assert sorted(fields) == [
        "spec.auditAnnotations[0].valueExpression",
        "spec.matchConditions[0].expression",
        "spec.validations[0].expression",
        "spec.validations[0].messageExpression",
        "spec.variables[0].expression",
    ]
    assert fields["spec.validations[0].expression"] == (
        'Invalid value: "1": must evaluate to bool but got int'
    )
    assert fields["spec.validations[0].messageExpression"] == (
        'Invalid value: "2": must evaluate to string but got int'
    )


async def test_an_unbound_policy_does_nothing(client: Client) -> None:
    """Only bindings put a policy to work."""
    spec = {
        "matchConstraints": {"resourceRules": [RULE]},
        "validations": [{"expression": "false"}],
    }
    await made(client, "ValidatingAdmissionPolicy", "p", spec)
    assert await refusal(client) == ""
