"""Where the compiler of expressions is asked, and what becomes of its answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from checks.recorded import Case, group_writes, is_cel, pair

from kubetrio.kinds.admissionregistration.validation import webhooks as admissionregistration
from kubetrio.kinds.apiextensions.validation import definitions as apiextensions
from kubetrio.kinds.apiextensions.validation.schemas import SchemaRules
from kubetrio.kinds.common.shared_checks import Expression
from kubetrio.kinds.resource.validation import devices as resource_k8s

COMPILED = [case for case in group_writes() if is_cel(case)]


def refuse(_: Expression) -> Sequence[str]:
    return ("compilation failed: told so",)


@pytest.mark.parametrize("case", COMPILED, ids=lambda case: case["id"])
def test_a_compiler_is_asked_at_the_recorded_path(case: Case) -> None:
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
