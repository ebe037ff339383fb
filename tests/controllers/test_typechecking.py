"""What the status of policies says of their expressions."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.controllers.typechecking import kinds_to_check, warnings_of
from kubetrio.machinery.status import ApiError
from kubetrio.testing.controllers import controlled
from kubetrio.testing.server import InProcess
from kubetrio.testing.widgets import widgets

pytest.importorskip("cel_expr_python", reason="the extra cel is not installed")
Object = dict[str, Any]
NAME = "validatingadmissionpolicy-status-controller"


def policy(*expressions: str, resource: str = "apps/v1/deployments", **spec: Any) -> Object:
    """A policy about one resource."""
    group, version, plural = resource.split("/", 2)
    rule = {"apiGroups": [group], "apiVersions": [version], "resources": plural.split(","),
            "operations": ["*"]}  # fmt: skip
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": text} for text in expressions],
            **spec,
        },
    }


async def test_a_member_that_is_not_there_is_told_of() -> None:
    """In the words of kube-apiserver, once for a generation."""
    async with controlled(NAME) as running:
        client = running.client
        kind = client.kind("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy")
        await client.create(policy("object.replicas > 1", "object.spec.replicas > 1"))
        await running.settled()
        found = await client.get(kind, "p")
        assert found["status"] == {
            "observedGeneration": 1,
            "typeChecking": {
                "expressionWarnings": [
                    {
                        "fieldRef": "spec.validations[0].expression",
                        "warning": "apps/v1, Kind=Deployment: compilation failed: "
                        "ERROR: <input>:1:7: undefined field 'replicas'\n"
                        " | object.replicas > 1\n"
                        " | ......^\n",
                    }
                ]
            },
        }
        managers = {entry["manager"] for entry in found["metadata"]["managedFields"]}
        assert "validatingadmissionpolicy-status" in managers
        spec = {"validations": [{"expression": "object.spec.replicas > 1"}]}
        await client.patch(kind, "p", {"spec": spec})
        await running.settled()
        found = await client.get(kind, "p")
        assert found["status"] == {"observedGeneration": 2, "typeChecking": {}}


@pytest.mark.parametrize(
    ("expression", "good"),
    [
        ("object.spec.template.spec.containers.all(c, c.image.startsWith('a'))", True),
        ("object.spec.template.spec.containers.all(c, c.picture == '')", False),
        ("object.spec.strategy.rollingUpdate.maxSurge == 1", True),
        ("object.spec.strategy.rollingUpdate.maxSurge == '1%'", True),
        ("has(object.metadata.labels) && object.metadata.labels['a'] == 'b'", True),
        ("object.metadata.labels.all(k, k != '')", True),
        ("object.metadata.labels['a'] == 1", False),
        ("object.spec.replicas == '1'", False),
        ("object.metadata.creationTimestamp < timestamp('2030-01-01T00:00:00Z')", True),
        ("object.spec.template.spec.containers.all(c, has(c.resources.limits.cpu))", True),
        ("oldObject == null || oldObject.spec.replicas <= object.spec.replicas", True),
        ("request.userInfo.username != ''", True),
        ("variables.n > 1", True),
        ("variables.n == 'x'", False),
        ("params.data['a'] == 'b'", True),
        ("params.nothing == 'b'", False),
    ],
)
async def test_types_are_those_of_the_kind(expression: str, good: bool, server: InProcess) -> None:
    """References, lists, maps, texts that may be numbers, variables and parameters."""
    about = policy(
        expression,
        variables=[{"name": "n", "expression": "object.spec.replicas"}],
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
    )
    assert (warnings_of(about, server.api.storage.registry.current) == []) is good


async def test_kinds_are_those_that_are_named(server: InProcess) -> None:
    """Not those that a star means, nor subresources, nor what is not served."""
    registry = server.api.storage.registry

    def named(**about: Any) -> list[str]:
        found = kinds_to_check(policy("true", **about), registry.current)
        return [kind.kind for kind in found]

    assert named(resource="/v1/pods,pods/status,*,nothing") == ["Pod"]
    assert named(resource="*/v1/pods") == []
    assert named(resource="apps/*/deployments") == []
    registry.add(widgets())
    assert named(resource="example.com/v1/widgets") == ["Widget"]
    about = policy("object.spec.size > 1 && object.spec.nope", resource="example.com/v1/widgets")
    (warning,) = warnings_of(about, registry.current)
    assert "example.com/v1, Kind=Widget" in warning["warning"]
    assert "undefined field 'nope'" in warning["warning"]
    assert "size" not in warning["warning"].split("|")[0]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("spec.validations[0].expression", ""),
        ("  x y ", ""),
        (" ", "Required value"),
        (
            "{.spec}",
            (
                'Invalid value: "{.spec}": invalid JSONPath: unrecognized character in action: '
                "U+007B '{'"
            ),
        ),
        ("spec.a[x]", 'Invalid value: "spec.a[x]": invalid JSONPath: invalid array index x'),
    ],
)
async def test_a_warning_that_a_client_writes_names_a_path(path: str, why: str) -> None:
    """It must parse; where it leads is nobody's concern."""
    async with controlled(NAME) as running:
        client = running.client
        kind = client.kind("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy")
        await client.create(policy("true"))
        warnings = [{"fieldRef": path, "warning": "w"}]
        status = {"status": {"typeChecking": {"expressionWarnings": warnings}}}
        if not why:
            found = await client.patch(kind, "p", status, subresource="status")
            assert found["status"]["typeChecking"]["expressionWarnings"] == warnings
            return
        with pytest.raises(ApiError) as caught:
            await client.patch(kind, "p", status, subresource="status")
        [cause] = caught.value.details["causes"]
        assert (cause["field"], cause["message"]) == (
            "status.typeChecking.expressionWarnings[0].fieldRef",
            why,
        )
