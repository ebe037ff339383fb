"""Recorded writes of kinds outside the core groups: accepted and refused as kube-apiserver did."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from kubetrio.cel.engine import available
from kubetrio.kinds.admissionregistration.validation import webhooks as admissionregistration
from kubetrio.kinds.apiextensions.validation import definitions as apiextensions
from kubetrio.kinds.apiextensions.validation.schemas import SchemaRules
from kubetrio.kinds.builtin import registry
from kubetrio.kinds.common.shared_checks import Expression
from kubetrio.kinds.resource.validation import devices as resource_k8s
from kubetrio.machinery.identity import UserInfo
from kubetrio.resources.validation import validate_create, validate_update, with_metadata_of_new
from kubetrio.schema.kind import Kind
from kubetrio.schema.rules import Context
from kubetrio.schema.structural import Report, compile_type

from .helpers import skip_without_engine

Json = dict[str, Any]

CONTEXT = Context(
    now="2024-01-01T00:00:00Z",
    uid="00000000-0000-4000-8000-000000000000",
    user=UserInfo("admin", "admin-uid", ("system:masters", "system:authenticated")),
)
CASES: list[Json] = [
    case
    for path in sorted((Path(__file__).parent / "cases/groups").glob("*.json"))
    for case in json.loads(path.read_text())
]
# what a compiler of expressions says, or an estimator of their cost
_CEL = re.compile(
    r"compilation failed|must evaluate to|estimated (?:rule )?(?:cost|messageExpression)|rule cost"
)


def is_cel(case: Json) -> bool:
    return any(_CEL.search(message) for _, _, message in case["causes"])


RECORDED = [case for case in CASES if not is_cel(case)]
COMPILED = [case for case in CASES if is_cel(case)]


def resource_of(case: Json) -> Kind:
    found = registry().get(*case["resource"])
    assert found is not None
    return found


def decoded(resource: Kind, raw: Json, namespace: str) -> Json:
    obj = compile_type(resource.schema_name).decode(deepcopy(raw), Report())
    if namespace:
        obj["metadata"]["namespace"] = namespace
    resource.rules.default(obj)
    return obj


def pair(case: Json) -> tuple[Kind, Json, Json | None]:
    """The new and the old object as they reach validation."""
    resource, namespace = resource_of(case), case["namespace"]
    new = decoded(resource, case["new"], namespace)
    if case["old"] is None:
        resource.rules.prepare_create(new, CONTEXT)
        resource.rules.default(new)
        return resource, new, None
    old = decoded(resource, case["old"], namespace)
    if resource.kind == "CustomResourceDefinition":
        resource.rules.prepare_create(old, CONTEXT)
        old["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    resource.rules.prepare_update(new, old, CONTEXT, case["subresource"])
    return resource, new, old


def found_causes(case: Json) -> list[tuple[str, str, str]]:
    resource, new, old = pair(case)
    if old is None:
        causes = with_metadata_of_new(resource, new, validate_create(resource, new))
    else:
        causes = validate_update(resource, new, old, case["subresource"])
    return sorted((cause.reason, cause.field, cause.message) for cause in causes)


def matches(wanted: str, found: str) -> bool:
    """Whether a message is the recorded one, in which some texts are left out."""
    pattern = "".join(
        ".*" if part in ("<object>", "<cel error>") else re.escape(part)
        for part in re.split(r"(<object>|<cel error>)", wanted)
    )
    return re.fullmatch(pattern, found, re.DOTALL) is not None


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case["id"])
def test_a_write_is_taken_or_refused_as_recorded(case: Json) -> None:
    """Same paths, same reasons, same messages, nothing more."""
    skip_without_engine(case["new"])
    wanted = sorted((reason, field, message) for reason, field, message in case["causes"])
    found = found_causes(case)
    assert [cause[:2] for cause in found] == [cause[:2] for cause in wanted]
    for mine, recorded in zip(found, wanted, strict=True):
        assert matches(recorded[2], mine[2]), (mine[2], recorded[2])


@pytest.mark.skipif(not available(), reason="needs the extra cel")
@pytest.mark.parametrize("case", COMPILED, ids=lambda case: case["id"])
def test_expressions_are_refused_as_recorded(case: Json) -> None:
    """What a compiler finds is found, where it was and in its words."""
    wanted = sorted((reason, field, message) for reason, field, message in case["causes"])
    found = found_causes(case)
    assert [cause[:2] for cause in found] == [cause[:2] for cause in wanted]
    for mine, recorded in zip(found, wanted, strict=True):
        assert matches(recorded[2], mine[2]), (mine[2], recorded[2])


def refuse(_: Expression) -> Sequence[str]:
    return ("compilation failed: told so",)


@pytest.mark.parametrize("case", COMPILED, ids=lambda case: case["id"])
def test_a_compiler_is_asked_at_the_recorded_path(case: Json) -> None:
    """The hook of each group is called with the expression, and its answer is a cause there."""
    resource, new, _ = pair(case)
    if resource.group == "apiextensions.k8s.io":
        roots: list[str] = []

        def compile_rules(rules: SchemaRules) -> Sequence[Any]:
            roots.append(rules.path)
            return ()

        tables = apiextensions.rules(compile_rules)
        check = tables[resource.resource].create
        assert check is not None
        check(new, "", [])
        assert all(field.startswith(roots[0]) for _, field, _ in case["causes"])
        return
    module = resource_k8s if resource.group == "resource.k8s.io" else admissionregistration
    check = module.rules(refuse)[resource.resource].create
    assert check is not None
    causes: list[Any] = []
    check(new, "", causes)
    assert {field for _, field, _ in case["causes"]} <= {cause.field for cause in causes}
