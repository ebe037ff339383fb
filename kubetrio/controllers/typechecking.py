"""Tells in the status of validating admission policies what is wrong with their expressions.

An expression is checked when it is written, without knowing of what type objects are.  Afterwards
it is checked against the kinds that its policy names; what does not fit is no error, since other
kinds may come.

Source: docs "Validating Admission Policy" (type checking);
k8s.io/apiserver/pkg/admission/plugin/policy/validating (``TypeChecker``) and
k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubetrio.controllers.controller import Context, Controller
from kubetrio.controllers.identity import as_service_account
from kubetrio.informers.informer import Item
from kubetrio.machinery.names import GroupVersionKind
from kubetrio.resources.operations import Configuration
from kubetrio.resources.writes import Target
from kubetrio.schema import builtin
from kubetrio.schema.kind import Kind
from kubetrio.schema.registry import Registry

Object = dict[str, Any]

NAME = "validatingadmissionpolicy-status"
ACCOUNT = "validatingadmissionpolicy-status-controller"
MOST_KINDS = 10
_METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def kinds_to_check(policy: Object, registry: Registry) -> list[Kind]:
    """The kinds that a policy names, without wildcards; not more than ten of a rule.

    Args:
        policy: the policy.
        registry: what is served.
    """
    by_gvk = dict[GroupVersionKind, Kind]()
    constraints = (policy.get("spec") or {}).get("matchConstraints") or {}
    for rule in constraints.get("resourceRules") or ():
        groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
        if any("*" in one for one in (*groups, *versions)):
            continue
        resources = [one for one in rule.get("resources") or () if not set("*/") & set(one)]
        named = (
            registry.get(group, version, resource)
            for group in sorted(groups)
            for version in sorted(versions)
            for resource in sorted(resources)
        )
        kinds = [kind for kind in named if kind is not None][:MOST_KINDS]
        by_gvk.update((kind.group_version_kind, kind) for kind in kinds)
        if len(kinds) == MOST_KINDS:
            break
    return [by_gvk[gvk] for gvk in sorted(by_gvk)]


def expressions_of(policy: Object) -> Iterator[tuple[str, str]]:
    """The expressions that are checked, with their paths."""
    for index, item in enumerate((policy.get("spec") or {}).get("validations") or ()):
        for member in ("expression", "messageExpression"):
            if item.get(member):
                yield f"spec.validations[{index}].{member}", item[member]


def _schema_of(kind: Kind) -> Mapping[str, Any] | None:
    """The schema of a kind as the OpenAPI documents have it, None for one without."""
    if kind.schema_name:
        return {"$ref": kind.schema_name}
    own = kind.type.schema
    if own is None:
        return None
    text = {"type": "string"}
    whole = {"apiVersion": text, "kind": text, "metadata": {"$ref": _METADATA}}
    return {**own, "properties": {**(own.get("properties") or {}), **whole}}


def warnings_of(policy: Object, registry: Registry) -> list[Object]:
    """What is wrong with the expressions of a policy; nothing without an engine.

    Args:
        policy: the policy.
        registry: what is served.
    """
    from kubetrio.cel.engine import available

    kinds = kinds_to_check(policy, registry)
    expressions = list(expressions_of(policy))
    if not kinds or not expressions or not available():
        return []
    from kubetrio.cel.expressions import CompileError
    from kubetrio.cel.typed import ObjectTypes, TypedChecks

    spec = policy["spec"]
    variables = [(one["name"], one["expression"]) for one in spec.get("variables") or ()]
    texts: dict[str, list[str]] = {}
    for kind in kinds:
        schema = _schema_of(kind)
        if schema is None:
            continue
        types = ObjectTypes(builtin.type_schema)
        checks = TypedChecks(
            types, types.kind_of(schema), _params(spec, types, registry), variables
        )
        gvk = kind.group_version_kind
        for path, text in expressions:
            try:
                checks.check(text)
            except CompileError as error:
                shown = f"{gvk.group}/{gvk.version}, Kind={gvk.kind}: {error}\n"
                texts.setdefault(path, []).append(shown)
    return [
        {"fieldRef": path, "warning": "\n".join(texts[path])}
        for path, _ in expressions
        if path in texts
    ]


def _params(spec: Object, types: Any, registry: Registry) -> str:
    """The type of ``params``; empty without them."""
    named = spec.get("paramKind")
    if not named:
        return ""
    group, _, version = (named.get("apiVersion") or "").rpartition("/")
    kind = registry.by_kind.get(GroupVersionKind(group, version, named.get("kind") or ""))
    schema = None if kind is None else _schema_of(kind)
    type_name: str = "" if schema is None else types.kind_of(schema)
    return type_name or "dyn"


class ValidatingAdmissionPolicyStatus(Controller):
    """The controller; its keys are names of policies.

    Args:
        context: what it is made of.
    """

    name = "validatingadmissionpolicy-status-controller"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        group = "admissionregistration.k8s.io"
        self._kind = context.registry.resources[group, "v1", "validatingadmissionpolicies"]
        self._who = as_service_account(ACCOUNT, NAME)
        self._informer = self.follow(self._kind, self._changed)

    def _changed(self, _: Item | None, item: Item | None) -> None:
        if item is not None:
            self.queue.add(item.object["metadata"]["name"])

    async def sync(self, key: str) -> None:
        """Check the expressions of a policy, if they are not those that were checked.

        Raises:
            ApiError: it cannot be written.
            StoreError: the same.
        """
        policy = self._informer.lister.get(key)
        if policy is None:
            return
        generation = policy["metadata"].get("generation") or 0
        if generation <= ((policy.get("status") or {}).get("observedGeneration") or 0):
            return
        current = self._registry.current
        warnings = await self._env.run_blocking(warnings_of, policy, current)
        checked: Object = {"expressionWarnings": warnings} if warnings else {}
        status = {
            "apiVersion": self._kind.api_version,
            "kind": self._kind.kind,
            # A policy that was deleted meanwhile does not come back.
            "metadata": {"name": key, "uid": policy["metadata"]["uid"]},
            "status": {"observedGeneration": generation, "typeChecking": checked},
        }
        target = Target(self._kind, "", key, "status")
        await self._operations.apply(target, Configuration(lambda: status, force=True), self._who)
