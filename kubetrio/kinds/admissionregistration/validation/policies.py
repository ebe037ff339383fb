"""Validating and mutating admission policies.

Source: "Validating Admission Policy" and "Mutating Admission Policy" in the Kubernetes
documentation; KEP-3488, KEP-3962.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubetrio.kinds.common import jsonpath
from kubetrio.kinds.common.checks import (
    Causes,
    Json,
    Validation,
    member,
    one_of,
    row,
    same,
    table,
)
from kubetrio.kinds.common.gostructs import go_structs_of
from kubetrio.kinds.common.shared_checks import (
    Compile,
    Expression,
    compiled,
    conditions,
)
from kubetrio.kinds.common.webhooks import (
    FAILURE_POLICIES,
    REINVOCATIONS,
    MatchConditions,
    match_resources,
    mutating_operations,
)
from kubetrio.machinery.fielderrors import duplicate, invalid, not_supported, required
from kubetrio.machinery.names_validation import (
    byte_length,
    dns1035_label,
    dns1123_subdomain,
    qualified_name,
)

_GROUP = "admissionregistration.k8s.io"
_AUDIT_TYPE = "io.k8s.api.admissionregistration.v1.AuditAnnotation"
_AUDIT_MAX = 20
_AUDIT_BYTES = 5 * 1024
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_PATCH_TYPES = ("ApplyConfiguration", "JSONPatch")
_NOTHING_TO_DO = "validations or auditAnnotations must contain at least one item"
_NOT_EMPTY = "must be non-empty if specified"
_KIND_INTRO = "may have mixed case, but should otherwise match: "
_newline = re.compile(r"[\n\r]")
_identifier = re.compile("[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED = frozenset(
    {"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function"}
    | {"if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while"}
)


@dataclass(frozen=True, slots=True)
class _Scope:
    """What expressions of one policy see."""

    compiler: Compile
    params: bool
    stored: frozenset[str]
    variables: tuple[tuple[str, str], ...] = ()

    def check(
        self,
        text: str,
        purpose: str,
        path: str,
        out: Causes,
        *,
        shown: str = "",
        authorizer: bool = True,
    ) -> None:
        expression = Expression(
            text=text,
            purpose=purpose,
            params=self.params,
            authorizer=authorizer,
            variables=self.variables,
            stored=(shown or text) in self.stored,
        )
        compiled(self.compiler, expression, path, out, shown)


# --- what both have ---


def _param_kind(value: Mapping[str, Any], path: str, out: Causes) -> None:
    version, kind = value.get("apiVersion") or "", value.get("kind") or ""
    where = f"{path}.apiVersion"
    if not version:
        out.append(required(where))
    elif version.count("/") > 1:
        out.append(invalid(where, version, f"unexpected GroupVersion string: {version}"))
    else:
        group, _, number = version.rpartition("/")
        if group and (messages := dns1123_subdomain(group)):
            out.append(invalid(where, group, ",".join(messages)))
        if not number:
            out.append(invalid(where, version, "version must be specified"))
        elif messages := dns1035_label(number):
            out.append(invalid(where, number, ",".join(messages)))
    if not kind:
        out.append(required(f"{path}.kind"))
    elif messages := dns1035_label(kind.lower()):
        out.append(invalid(f"{path}.kind", kind, _KIND_INTRO + ",".join(messages)))


_FAILURE = table(row("failurePolicy", one_of(*FAILURE_POLICIES), unset=""))


def _head(spec: Mapping[str, Any], out: Causes, *, mutating: bool) -> None:
    _FAILURE(spec, "spec", out)
    kind = spec.get("paramKind")
    if kind is not None:
        _param_kind(kind, "spec.paramKind", out)
    constraints = spec.get("matchConstraints")
    path = "spec.matchConstraints"
    if constraints is None:
        out.append(required(path))
        return
    match_resources(constraints, path, out)
    if not constraints.get("resourceRules"):
        out.append(required(f"{path}.resourceRules"))
    if mutating:
        mutating_operations(constraints, path, out)


def _variables(items: Sequence[Json], scope: _Scope, out: Causes) -> _Scope:
    for index, item in enumerate(items):
        path = f"spec.variables[{index}]"
        name, text = item.get("name") or "", item.get("expression") or ""
        if not name.strip():
            out.append(required(f"{path}.name", "name is not specified"))
        elif not _identifier.fullmatch(name) or name in _RESERVED:
            out.append(invalid(f"{path}.name", name, "must be a valid CEL identifier"))
        if not text.strip():
            out.append(required(f"{path}.expression", "expression is not specified"))
        else:
            scope.check(text, "variable", f"{path}.expression", out)
        scope = _Scope(scope.compiler, scope.params, scope.stored, (*scope.variables, (name, text)))
    return scope


def _expressions(policy: Mapping[str, Any]) -> frozenset[str]:
    spec = member(policy, "spec")
    lists = (
        ("matchConditions", "expression"),
        ("validations", "expression"),
        ("validations", "messageExpression"),
        ("auditAnnotations", "valueExpression"),
        ("variables", "expression"),
    )
    expressions = {item.get(key) or "" for name, key in lists for item in spec.get(name) or ()}
    for item in spec.get("mutations") or ():
        expressions.update(
            member(item, name).get("expression") or ""
            for name in ("applyConfiguration", "jsonPatch")
        )
    return frozenset(expressions)


# --- validating ---


def _validation(item: Mapping[str, Any], path: str, out: Causes, scope: _Scope) -> None:
    text = item.get("expression") or ""
    if not text.strip():
        out.append(required(f"{path}.expression", "expression is not specified"))
    else:
        scope.check(text, "validation", f"{path}.expression", out)
    shown = item.get("messageExpression") or ""
    where = f"{path}.messageExpression"
    if shown.strip():
        scope.check(shown, "message", where, out, authorizer=False)
    elif shown:
        out.append(invalid(where, shown, _NOT_EMPTY))
    message = item.get("message") or ""
    if message and not message.strip():
        out.append(invalid(f"{path}.message", message, _NOT_EMPTY))
    elif _newline.search(message.strip()):
        out.append(invalid(f"{path}.message", message, "must not contain line breaks"))
    reason = item.get("reason")
    if reason is not None and reason not in _REASONS:
        out.append(not_supported(f"{path}.reason", reason, _REASONS))


def _audit(policy: Mapping[str, Any], items: Sequence[Json], out: Causes, scope: _Scope) -> None:
    path = "spec.auditAnnotations"
    if len(items) > _AUDIT_MAX:
        detail = f"must not have more than {_AUDIT_MAX} auditAnnotations"
        out.append(invalid(path, go_structs_of(_AUDIT_TYPE, items), detail))
    owner = policy["metadata"].get("name") or ""
    seen: set[str] = set()
    for index, item in enumerate(items):
        where = f"{path}[{index}]"
        key = item.get("key") or ""
        if owner:
            full = f"{owner}/{key}"
            out.extend(invalid(f"{where}.key", full, text) for text in qualified_name(full))
        else:
            detail = "requires metadata.name be non-empty"
            out.append(invalid(f"{where}.key", key, detail))
        _audit_value(item.get("valueExpression") or "", f"{where}.valueExpression", out, scope)
        if key in seen:
            out.append(duplicate(f"{where}.key", key))
        seen.add(key)


def _audit_value(text: str, path: str, out: Causes, scope: _Scope) -> None:
    trimmed = text.strip()
    if not trimmed:
        out.append(required(path, "valueExpression is not specified"))
    elif byte_length(trimmed) > _AUDIT_BYTES:
        out.append(required(path, f"must not exceed {_AUDIT_BYTES} bytes in length"))
    else:
        scope.check(trimmed, "auditAnnotation", path, out, shown=text)


# --- mutating ---


def _mutation(item: Mapping[str, Any], path: str, out: Causes, scope: _Scope) -> None:
    kind = item.get("patchType") or ""
    if not kind:
        out.append(required(f"{path}.patchType"))
        return
    if kind not in _PATCH_TYPES:
        out.append(not_supported(f"{path}.patchType", kind, _PATCH_TYPES))
        return
    allowed, other = "applyConfiguration", "jsonPatch"
    if kind == "JSONPatch":
        allowed, other = other, allowed
    patch = item.get(allowed)
    if patch is None:
        detail = f"must be specified when patchType is {kind}"
        out.append(required(f"{path}.{allowed}", detail))
    else:
        where = f"{path}.{allowed}.expression"
        text = (patch.get("expression") or "").strip()
        if not text:
            out.append(required(where))
        else:
            scope.check(text, allowed, where, out)
    if item.get(other) is not None:
        detail = f"must not be specified when patchType is {kind}"
        out.append(invalid(f"{path}.{other}", f"{{{other}}}", detail))


_REINVOCATION = table(row("reinvocationPolicy", one_of(*REINVOCATIONS), unset=""))


# --- policies ---


def policy_rules(compiler: Compile) -> Mapping[str, Validation]:
    """The rules of both kinds of policies.

    Args:
        compiler: tells what is wrong with an expression.
    """
    match_conditions = MatchConditions(compiler)

    def begin(
        new: Mapping[str, Any], old: Mapping[str, Any], out: Causes, *, mutating: bool
    ) -> _Scope:
        spec, before = member(new, "spec"), member(old, "spec")
        _head(spec, out, mutating=mutating)
        params = spec.get("paramKind") is not None
        stored = _expressions(old)
        kept = bool(old) and all(
            same(spec.get(name), before.get(name)) for name in ("paramKind", "matchConditions")
        )
        if not kept:
            items = spec.get("matchConditions") or ()
            match_conditions(items, "spec.matchConditions", out, params=params, stored=stored)
        scope = _Scope(compiler, params, stored)
        return _variables(spec.get("variables") or (), scope, out)

    def validating(new: Mapping[str, Any], old: Mapping[str, Any], out: Causes) -> None:
        scope = begin(new, old, out, mutating=False)
        spec = member(new, "spec")
        validations, audit = spec.get("validations") or (), spec.get("auditAnnotations") or ()
        if not validations and not audit:
            out.append(required("spec.validations", _NOTHING_TO_DO))
            out.append(required("spec.auditAnnotations", _NOTHING_TO_DO))
            return
        for index, item in enumerate(validations):
            _validation(item, f"spec.validations[{index}]", out, scope)
        _audit(new, audit, out, scope)

    def mutating(new: Mapping[str, Any], old: Mapping[str, Any], out: Causes) -> None:
        scope = begin(new, old, out, mutating=True)
        spec = member(new, "spec")
        mutations = spec.get("mutations") or ()
        if not mutations:
            detail = "mutations must contain at least one item"
            out.append(required("spec.mutations", detail))
        for index, item in enumerate(mutations):
            _mutation(item, f"spec.mutations[{index}]", out, scope)
        _REINVOCATION(spec, "spec", out)

    return {
        "validatingadmissionpolicies": Validation(
            create=lambda obj, _, out: validating(obj, {}, out),
            update=validating,
            revalidate=False,
            subresources={"status": _status},
        ),
        "mutatingadmissionpolicies": Validation(
            create=lambda obj, _, out: mutating(obj, {}, out),
            update=mutating,
            revalidate=False,
        ),
    }


def _status(new: Json, _: Json, out: Causes) -> None:
    status = member(new, "status")
    for index, item in enumerate(member(status, "typeChecking").get("expressionWarnings") or ()):
        path = f"status.typeChecking.expressionWarnings[{index}]"
        if not item.get("warning"):
            out.append(required(f"{path}.warning"))
        where = (item.get("fieldRef") or "").strip()
        if not where:
            out.append(required(f"{path}.fieldRef"))
            continue
        try:
            jsonpath.parse(where)
        except jsonpath.JsonPathError as error:
            out.append(invalid(f"{path}.fieldRef", where, f"invalid JSONPath: {error}"))
    conditions(status.get("conditions") or (), "status.conditions", out)
