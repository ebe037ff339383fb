"""What webhooks and admission policies match: rules, resources, conditions.

Source: "Dynamic Admission Control" and "Validating Admission Policy" in the Kubernetes
documentation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kubetrio.kinds.common.checks import Causes, Json, each, one_of, row, table
from kubetrio.kinds.common.selectors import label_selector
from kubetrio.kinds.common.shared_checks import (
    Compile,
    Expression,
    compiled,
    sole_wildcard,
)
from kubetrio.machinery.fielderrors import (
    duplicate,
    invalid,
    not_supported,
    required,
    too_many,
)
from kubetrio.machinery.names_validation import dns1035_label, path_segment, qualified_name

FAILURE_POLICIES = ("Fail", "Ignore")
MATCH_POLICIES = ("Equivalent", "Exact")
REINVOCATIONS = ("IfNeeded", "Never")
OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
MUTATING_OPERATIONS = ("*", "CONNECT", "CREATE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_REVIEW_VERSIONS = ("v1", "v1beta1")
_CONDITIONS_MAX = 64


def review_versions(
    versions: Sequence[str], path: str, out: Causes, recognized: bool = True
) -> None:
    """Check versions of reviews.

    Args:
        versions: the list.
        path: its path.
        out: receives causes.
        recognized: whether one of them must be known.
    """
    if not versions:
        out.append(required(path, f"must specify one of {', '.join(_REVIEW_VERSIONS)}"))
        return
    for index, version in enumerate(versions):
        where = f"{path}[{index}]"
        if version in versions[:index]:
            out.append(invalid(where, version, "duplicate version"))
            continue
        out.extend(invalid(where, version, text) for text in dns1035_label(version))
    if recognized and not set(_REVIEW_VERSIONS) & set(versions):
        detail = f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"
        out.append(invalid(path, list(versions), detail))


# --- rules ---


def _resources(items: Sequence[str], path: str, out: Causes) -> None:
    with_all_subresources: set[str] = set()
    of_all_resources: set[str] = set()
    plain = False
    for index, item in enumerate(items):
        where = f"{path}[{index}]"
        if not item:
            out.append(required(where))
            continue
        resource, slash, subresource = item.partition("/")
        if not slash:
            # the last one decides, as upstream does
            plain = item != "*"
            continue
        if resource in with_all_subresources:
            detail = f"if '{resource}/*' is present, must not specify {item}"
            out.append(invalid(where, item, detail))
        if subresource in of_all_resources:
            detail = f"if '*/{subresource}' is present, must not specify {item}"
            out.append(invalid(where, item, detail))
        if subresource == "*":
            with_all_subresources.add(resource)
        if resource == "*":
            of_all_resources.add(subresource)
    if len(items) > 1 and "*/*" in items:
        detail = "if '*/*' is present, must not specify other resources"
        out.append(invalid(path, list(items), detail))
    if "*" in items and plain:
        detail = "if '*' is present, must not specify other resources without subresources"
        out.append(invalid(path, list(items), detail))


def _not_empty(value: str, path: str, out: Causes) -> None:
    if not value:
        out.append(required(path))


operation_rule = table(
    row("operations", sole_wildcard("*", "operations"), each(one_of(*OPERATIONS)), missing=""),
    row("apiGroups", sole_wildcard("*", "API groups"), missing=""),
    row("apiVersions", sole_wildcard("*", "API versions"), each(_not_empty), missing=""),
    row("resources", _resources, missing=""),
    row("scope", one_of(*_SCOPES)),
)
"""Check of a ``RuleWithOperations``."""


def _named_rule(rule: Mapping[str, Any], path: str, out: Causes) -> None:
    seen: set[str] = set()
    for index, name in enumerate(rule.get("resourceNames") or ()):
        where = f"{path}.resourceNames[{index}]"
        out.extend(invalid(where, name, text) for text in path_segment(name))
        if name in seen:
            out.append(duplicate(where, name))
        seen.add(name)
    operation_rule(rule, path, out)


_MATCH = table(
    row("matchPolicy", one_of(*MATCH_POLICIES), unset=""),
    row("namespaceSelector", label_selector),
    row("objectSelector", label_selector),
    row("resourceRules", each(_named_rule)),
    row("excludeResourceRules", each(_named_rule)),
)


def match_resources(value: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check a ``MatchResources``.

    Args:
        value: the object.
        path: its path.
        out: receives causes.
    """
    for name in ("namespaceSelector", "objectSelector"):
        if value.get(name) is None:
            out.append(required(f"{path}.{name}"))
    _MATCH(value, path, out)


def mutating_operations(value: Mapping[str, Any], path: str, out: Causes) -> None:
    """Check that nothing is mutated that is deleted.

    Args:
        value: a ``MatchResources``.
        path: its path.
        out: receives causes.
    """
    for rule in value.get("resourceRules") or ():
        for operation in rule.get("operations") or ():
            if operation not in MUTATING_OPERATIONS:
                where = f"{path}.resourceRules.operations"
                out.append(not_supported(where, operation, MUTATING_OPERATIONS))


class MatchConditions:
    """Check of ``matchConditions``.

    Args:
        compiler: tells what is wrong with an expression.
    """

    __slots__ = ("_compiler",)

    def __init__(self, compiler: Compile) -> None:
        self._compiler = compiler

    def __call__(
        self,
        items: Sequence[Json],
        path: str,
        out: Causes,
        *,
        params: bool = False,
        stored: Collection[str] = (),
    ) -> None:
        """Check conditions.

        Args:
            items: the list.
            path: its path.
            out: receives causes.
            params: whether expressions may use ``params``.
            stored: expressions that the stored object has.
        """
        if len(items) > _CONDITIONS_MAX:
            out.append(too_many(path, len(items), _CONDITIONS_MAX))
        seen: set[str] = set()
        for index, item in enumerate(items):
            where = f"{path}[{index}]"
            text = (item.get("expression") or "").strip()
            if not text:
                out.append(required(f"{where}.expression"))
            else:
                known = (item.get("expression") or "") in stored
                expression = Expression(
                    text=text, purpose="matchCondition", params=params, stored=known
                )
                compiled(self._compiler, expression, f"{where}.expression", out)
            name = item.get("name") or ""
            if not name:
                out.append(required(f"{where}.name"))
                continue
            out.extend(invalid(f"{where}.name", name, text) for text in qualified_name(name))
            if name in seen:
                out.append(duplicate(f"{where}.name", name))
            seen.add(name)
