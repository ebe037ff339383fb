"""What the fuzzer of the OpenAPI documents makes of them, and a short run of it."""

from __future__ import annotations

import pytest

pytest.importorskip("schemathesis", reason="schemathesis is not installed: pip install '.[fuzz]'")

from fuzz import openapi_requests as fuzzer

REQUESTS = 30
KIND = {"group": "apps", "version": "v1", "kind": "Deployment"}


def test_a_body_has_the_type_that_the_server_looks_for() -> None:
    """And no identity that was drawn at random."""
    drawn = {"kind": "x", "metadata": {"uid": "u", "labels": {"a": "b"}}, "spec": 1}
    assert fuzzer.with_type(drawn, KIND, "n", plain=False) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "n", "labels": {"a": "b"}},
        "spec": 1,
    }
    assert fuzzer.with_type(drawn, KIND, "n", plain=True)["metadata"] == {"name": "n"}
    assert fuzzer.with_type([], KIND, "n", plain=True) == []


def test_members_that_go_prints_as_null_may_be_null() -> None:
    """Upstream's documents do not say so."""
    name = "io.k8s.api.core.v1.Pod"
    time = "io.k8s.apimachinery.pkg.apis.meta.v1.Time"
    schemas = {name: {"properties": {"spec": {}}}, time: {"type": "string"}, "other": {}}
    made = fuzzer.nullable({"components": {"schemas": schemas}})
    assert made["components"]["schemas"][time]["nullable"] is True


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.parametrize("path", ["apis/fuzz.example.test/v1", "apis/apps/v1"])
def test_the_server_keeps_to_its_documents(path: str) -> None:
    """No 5xx and no answer that breaks its schema, for a custom group and a built-in one."""
    findings = fuzzer.Findings()
    assert fuzzer.play(path, 1, 2, findings, lambda sent: sent < REQUESTS) >= REQUESTS
    assert findings.told == {}
