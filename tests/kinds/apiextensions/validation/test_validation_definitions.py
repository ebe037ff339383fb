"""Checks of CustomResourceDefinitions."""

from __future__ import annotations

import pytest
from checks.helpers import Json, changed, refused, resource
from checks.recorded import Case, assert_as_recorded, recorded

DEFINITIONS = resource("customresourcedefinitions", "apiextensions.k8s.io")


def definition(properties: Json | None = None, **spec: object) -> Json:
    schema: Json = {"type": "object"}
    if properties:
        schema["properties"] = properties
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "metadata": {"name": "as.b.c"},
        "spec": {
            "group": "b.c",
            "scope": "Namespaced",
            "names": {"plural": "as", "kind": "A"},
            "versions": [version],
            **spec,
        },
    }


def test_the_first_version_is_told_twice() -> None:
    """The internal version names it once more."""
    body = changed(definition(), "spec.versions.0.name", "V1")
    fields = [line.partition(": ")[0] for line in refused(DEFINITIONS, body)]
    assert fields == ["spec.version", "spec.versions[0].name"]


def test_unknown_fields_and_defaults_do_not_go_together() -> None:
    """Who keeps all fields can neither have defaults nor convert."""
    body = definition(
        {"a": {"type": "string", "default": "x"}},
        preserveUnknownFields=True,
        conversion={
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": {"url": "https://a.example"},
                "conversionReviewVersions": ["v1"],
            },
        },
    )
    assert refused(DEFINITIONS, body) == [
        (
            'spec.conversion.strategy: Invalid value: "Webhook": must be None if '
            "spec.preserveUnknownFields is true"
        ),
        (
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
            "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        ),
        (
            "spec.preserveUnknownFields: Invalid value: true: must be false in order to use "
            "defaults in the schema"
        ),
    ]


@pytest.mark.parametrize("case", recorded("apiextensions.k8s.io"))
def test_writes_are_judged_as_recorded(case: Case) -> None:
    """By kube-apiserver: its reasons, paths and messages, and nothing more."""
    assert_as_recorded(case)
