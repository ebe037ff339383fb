"""What strategies draw is taken by a server where it is to be valid, and never breaks it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.harness import strategies
from kubetrio.harness.machine import SETTINGS, no_failure
from kubetrio.harness.origin import Copy, open_origin
from kubetrio.harness.script import Request, Script, Settle

GROUP = "zoo.example.com"
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": f"beasts.{GROUP}"},
    "spec": {
        "group": GROUP, "scope": "Namespaced", "names": {"plural": "beasts", "kind": "Beast"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
            "type": "object", "required": ["spec"],
            "properties": {"spec": {
                "type": "object", "required": ["legs", "name"],
                "properties": {
                    "legs": {"type": "integer", "minimum": 0, "maximum": 9, "multipleOf": 2},
                    "weight": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
                    "name": {"type": "string", "pattern": "^[a-z]{2,5}$"},
                    "born": {"type": "string", "format": "date-time", "nullable": True},
                    "diet": {"enum": ["meat", "grass"], "type": "string"},
                    "port": {"x-kubernetes-int-or-string": True},
                    "tags": {"type": "array", "items": {"type": "string", "minLength": 1},
                             "x-kubernetes-list-type": "set", "maxItems": 2},
                    "notes": {"type": "object", "additionalProperties": {"type": "boolean"}},
                    "young": {"type": "array", "x-kubernetes-list-type": "map",
                              "x-kubernetes-list-map-keys": ["name"],
                              "items": {"type": "object", "required": ["name"], "properties": {
                                  "name": {"type": "string"}, "age": {"type": "integer"}}}},
                },
            }},
        }}}],
    },
}  # fmt: skip
DEFINE = Request(
    method="POST",
    path="/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    body=DEFINITION,
)
BEASTS = f"/apis/{GROUP}/v1/namespaces/default/beasts"
DRY = "?dryRun=All&fieldValidation=Strict"
FEW = settings(SETTINGS, max_examples=25)


@pytest.fixture(scope="module")
def copy() -> Iterator[Copy]:
    """A server with a custom resource, whose examples leave nothing in it."""
    with open_origin(Script(steps=(DEFINE, Settle()))) as origin, origin.fork() as made:
        yield made


def created(copy: Copy, path: str, body: Any) -> tuple[int, bytes]:
    """Status and body of what is answered to a create that stores nothing."""
    reply = copy.do(Request(method="POST", path=path + DRY, body=body))
    return reply.status, reply.body


@FEW
@given(made=strategies.objects())
def test_objects_of_built_in_kinds_are_taken(copy: Copy, made: dict[str, Any]) -> None:
    """Of every kind, with all that is drawn."""
    path = strategies.path_of(f"{made['apiVersion']} {made['kind']}")
    status, body = created(copy, path, made)
    assert status == 201 or b"AlreadyExists" in body, body


@FEW
@given(made=strategies.custom_objects(DEFINITION))
def test_custom_objects_are_taken(copy: Copy, made: dict[str, Any]) -> None:
    """As their schema says."""
    status, body = created(copy, BEASTS, made)
    assert status == 201, body


@FEW
@given(made=strategies.mutated(strategies.objects() | strategies.custom_objects(DEFINITION)))
def test_mutated_objects_are_answered(copy: Copy, made: dict[str, Any]) -> None:
    """Taken or refused, without an error of the server's own."""
    kind = f"{made['apiVersion']} {made['kind']}"
    path = BEASTS if GROUP in kind else strategies.path_of(kind)
    status, body = created(copy, path, made)
    assert status < 500, body


@FEW
@given(request=strategies.requests(st.sampled_from(("v1 ConfigMap", "v1 Service", "v1 Pod"))))
def test_requests_can_be_in_scripts_and_are_answered(copy: Copy, request: Request) -> None:
    """Whatever their options."""
    script = Script(steps=(request,))
    assert Script.parse(str(script)) == script
    no_failure(request, copy.do(request))


@settings(max_examples=50)
@given(patch=strategies.patches(strategies.objects("apps/v1 Deployment")))
def test_patches_are_of_the_forms_there_are(patch: tuple[str, Any]) -> None:
    """A list of operations for JSON patch, an object for the others."""
    media, body = patch
    assert isinstance(body, list if media == strategies.PATCHES["json"] else dict)
    assert media in strategies.PATCHES.values()


def test_a_kind_that_is_not_there() -> None:
    """Has no path."""
    assert (
        strategies.path_of("apps/v1 Deployment") == "/apis/apps/v1/namespaces/default/deployments"
    )
    assert strategies.path_of("v1 Node", name="n") == "/api/v1/nodes/n"
    with pytest.raises(KeyError):
        strategies.path_of("v1 Nothing")
