"""The compiler of ``x-kubernetes-validations`` in schemas of custom resources.

Source: docs "Extend the Kubernetes API with CustomResourceDefinitions" (validation rules).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kubetrio.cel.engine import NOT_INSTALLED, Missing
from kubetrio.kinds.apiextensions.validation.schemas import SchemaRules
from kubetrio.kinds.common.checks import Json
from kubetrio.machinery.fielderrors import forbidden, internal, invalid
from kubetrio.machinery.status import Cause

if TYPE_CHECKING:
    from kubetrio.cel.ruleproblems import Finding

_MEMBERS = {
    "rule": "",
    "message": "",
    "messageExpression": "",
    "reason": None,
    "fieldPath": "",
    "optionalOldSelf": None,
}


_UNTYPED = (
    "internal error: failed to construct type information for x-kubernetes-validations rules: "
    "unable to convert structural schema to CEL declarations"
)


def _shown(rule: Mapping[str, Any]) -> Json:
    """A rule as kube-apiserver prints it: all of its members, by their names in Go."""
    return {
        f"{name[:1].upper()}{name[1:]}": rule.get(name, zero) for name, zero in _MEMBERS.items()
    }


def compile_rules(rules: SchemaRules) -> Sequence[Cause]:
    """What is wrong with the rules of a schema; a `CompileRules`.

    Args:
        rules: the rules.
    """
    from kubetrio.cel.ruleproblems import problems_of
    from kubetrio.cel.schemas import SchemaTypes, untyped
    from kubetrio.cel.sizes import Sizes

    path, faulty = rules.path, rules.faulty
    out: list[Cause] = []
    try:
        types, sizes = SchemaTypes(rules.schema), Sizes()
        for place in untyped(types, sizes, faulty):
            where = f"{path}{place}.x-kubernetes-validations"
            out.append(internal(where, _UNTYPED))
        problems = problems_of(types, sizes, stored=rules.stored, faulty=faulty)
        out.extend(_cause(problem, path) for problem in problems)
    except Missing:
        out.append(forbidden(path, f"x-kubernetes-validations: {NOT_INSTALLED}"))
    return out


def _cause(found: Finding, path: str) -> Cause:
    if found.place is None:
        return forbidden(path, found.text)
    rule = found.place.rules[found.index]
    where = f"{path}{found.place.path}.x-kubernetes-validations[{found.index}].{found.member}"
    if found.too_dear:
        return forbidden(where, found.text)
    shown = rule.get(found.value) if found.value else _shown(rule)
    text = found.text if found.below is None else f"{found.text}{path}{found.below}"
    return invalid(where, shown, text)
