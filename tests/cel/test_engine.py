"""The engine is optional: without it expressions are refused, not ignored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kubetrio.cel import engine, expressions
from kubetrio.cel.engine import NOT_INSTALLED
from kubetrio.cel.expressions import admission_scope, check
from kubetrio.kinds.apiextensions.validation.schemarules import compile_rules
from kubetrio.kinds.apiextensions.validation.schemas import SchemaRules
from kubetrio.kinds.common.expressions import compile_expression
from kubetrio.kinds.common.shared_checks import Expression
from kubetrio.testing.client import Client

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installation that lacks the extra."""

    def missing(name: str) -> Any:
        raise ImportError(name)

    engine._load.cache_clear()
    expressions._environment.cache_clear()  # what was made with the engine works without it
    monkeypatch.setattr(engine, "import_module", missing)
    yield
    engine._load.cache_clear()


@pytest.mark.usefixtures("without")
def test_nothing_compiles() -> None:
    """Who asks for the engine is told that there is none."""
    assert not engine.available()
    scope = admission_scope(params=False, authorizer=False, composed=False, patches=False)
    with pytest.raises(engine.Missing, match="install"):
        check("1 + 20261123", scope)  # what nobody compiled before


@pytest.mark.usefixtures("without")
def test_expressions_of_built_in_kinds() -> None:
    """New ones are refused; those that are stored stay, or their objects could never change."""
    assert compile_expression(Expression(text="1", purpose="device")) == (NOT_INSTALLED,)
    stored = Expression(text="1", purpose="validation", stored=True)
    assert compile_expression(stored) == ()


@pytest.mark.usefixtures("without")
def test_rules_of_custom_resources() -> None:
    """A schema with rules is refused, one without is not."""
    rule = {"type": "object", "x-kubernetes-validations": [{"rule": "true"}]}
    [cause] = compile_rules(SchemaRules(rule, "spec", stored=False))
    assert (cause.field, NOT_INSTALLED in cause.message) == ("spec", True)
    assert compile_rules(SchemaRules({"type": "object"}, "spec", stored=False)) == []


async def test_a_policy_is_refused(client: Client, without: None) -> None:
    """The answer says what to run."""
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "p"},
        "spec": {"validations": [{"expression": "true"}]},
    }
    answer = await client.request("POST", POLICIES, json=policy)
    assert answer.status == 422
    assert "install kubetrio[cel]" in answer.json()["message"]


@pytest.mark.skipif(not engine.available(), reason="needs the extra cel")
async def test_a_stored_policy_is_not_ignored(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that cannot evaluate a policy that is in force refuses what it is about, only."""
    group = "admissionregistration.k8s.io/v1"
    rule = {
        "apiGroups": [""],
        "apiVersions": ["*"],
        "operations": ["*"],
        "resources": ["configmaps"],
    }
    spec: dict[str, Any] = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "true"}],
        "failurePolicy": "Ignore",
    }
    for kind, path, body in (
        ("ValidatingAdmissionPolicy", POLICIES, spec),
        (
            "ValidatingAdmissionPolicyBinding",
            POLICIES.replace("policies", "policybindings"),
            {"policyName": "p", "validationActions": ["Deny"]},
        ),
    ):
        obj = {"apiVersion": group, "kind": kind, "metadata": {"name": "p"}, "spec": body}
        assert (await client.request("POST", path, json=obj)).status == 201
    monkeypatch.setattr("kubetrio.plugins.policies.policies.available", lambda: False)
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    answer = await client.request("POST", "/api/v1/namespaces/default/configmaps", json=config)
    assert (answer.status, answer.json()["reason"]) == (500, "InternalError")
    assert NOT_INSTALLED in answer.json()["message"]
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    answer = await client.request("POST", "/api/v1/namespaces/default/secrets", json=secret)
    assert answer.status == 201
