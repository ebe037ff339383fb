"""What expressions of mutating policies make, and how it changes an object.

An apply configuration is merged as server-side apply merges, without owners; a JSON Patch is
RFC 6902, and a ``test`` that fails leaves the object as it is.

Source: docs "Mutating Admission Policy"; KEP-3962 ("atomic" parts may not be set by apply).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubetrio.cel.expressions import OBJECT_TYPE, PATCH_TYPE
from kubetrio.cel.programs import Inputs
from kubetrio.cel.rewriting import TYPE_KEY
from kubetrio.machinery import applymerge
from kubetrio.machinery.applyvalues import TypedError, validate
from kubetrio.machinery.typeschema import TypeKind, TypeSchema
from kubetrio.plugins.dynamic.conditions import Expression, MatchConditions
from kubetrio.plugins.dynamic.patches import FailedPatch, applied
from kubetrio.plugins.policies.policies import policy_scope
from kubetrio.schema.kind import Kind
from kubetrio.schema.structural import Report
from kubetrio.wire.gojson import GoJsonError

Object = dict[str, Any]
OBJECT_RESULT = OBJECT_TYPE
PATCH_RESULT = f"list({PATCH_TYPE})"


class MutationError(Exception):
    """A mutation cannot be made; the text is kube-apiserver's."""


class Mutation:
    """One mutation of a policy.

    Args:
        item: of the spec.
        scope: what its expression sees.
    """

    def __init__(self, item: Mapping[str, Any], scope: Any) -> None:
        self._patches = item.get("patchType") == "JSONPatch"
        member = "jsonPatch" if self._patches else "applyConfiguration"
        result = PATCH_RESULT if self._patches else OBJECT_RESULT
        source = (item.get(member) or {}).get("expression") or ""
        self._expression = Expression(source, scope, (result,))

    @property
    def patches(self) -> bool:
        """Whether it makes JSON patches."""
        return self._patches

    def apply(self, obj: Object, kind: Kind, inputs: Inputs) -> Object | None:
        """The changed object, None when it stays as it is; what a patch made is not decoded yet.

        Args:
            obj: the object, in the version of `kind`; not changed.
            kind: of the object.
            inputs: what the expression looks at.

        Raises:
            MutationError: it cannot be made.
        """
        if self._expression.error:
            raise MutationError(self._expression.error.removeprefix("compilation error: "))
        outcome = self._expression.evaluate(inputs)
        if outcome.error:
            raise MutationError(outcome.error)
        if self._patches:
            return _patched(obj, outcome.value)
        return _decoded(_applied(obj, outcome.value, kind), kind)


class Mutations:
    """The expressions of a policy.

    Args:
        spec: of the policy.
    """

    def __init__(self, spec: Object) -> None:
        scope = policy_scope(spec, patches=True)
        self.conditions = MatchConditions(spec, scope)
        self.mutations = [Mutation(item, scope) for item in spec.get("mutations") or ()]


def _decoded(obj: Object, resource: Kind) -> Object:
    """A changed object as its type has it."""
    report = Report()
    try:
        decoded = resource.type.decode(obj, report)
    except GoJsonError as error:
        raise MutationError(f"Internal error occurred: {error}") from None
    if report:
        raise MutationError(f"Internal error occurred: {report.error}")
    return decoded


# --- JSON Patch ---


def _patched(obj: Object, operations: list[Any]) -> Object | None:
    patches = []
    for operation in operations:
        if "value" in operation:
            _check_names(operation["value"], ())
        plain: Object = _plain(operation)
        if not plain.get("from"):
            plain.pop("from", None)
        patches.append(plain)
    try:
        patched: Object = applied(obj, patches)
    except FailedPatch as error:
        if error.tested:
            return None
        raise MutationError(f"JSON Patch: {error}") from None
    return patched


# --- apply configurations ---


def _applied(obj: Object, configuration: Any, resource: Kind) -> Object:
    _check_names(configuration, (OBJECT_TYPE,))
    config: Object = {
        **_plain(configuration),
        "apiVersion": resource.api_version,
        "kind": resource.kind,
    }
    schema = resource.type.merge
    try:
        validate(config, schema)
    except TypedError as error:
        raise MutationError(
            f"error applying patch: failed to convert patch object to typed object: {error}"
        ) from None
    if atomic := list(_atomics(config, schema, "")):
        raise MutationError(
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps "
            f"or structs: {', '.join(atomic)}"
        )
    try:
        return applymerge.merge(obj, config, schema)
    except TypedError as error:
        raise MutationError(f"error applying patch: failed to merge patch: {error}") from None


def _atomics(value: Any, schema: TypeSchema, path: str) -> Iterator[str]:
    """Paths of atomic maps and lists that a configuration sets."""
    if isinstance(value, dict) and schema.kind is TypeKind.MAP:
        if schema.map_type == "atomic":
            yield path
        for name, member in value.items():
            inner = schema.fields.get(name)
            if inner is not None:
                yield from _atomics(member, inner, f"{path}.{name}")
    elif isinstance(value, list) and schema.kind is TypeKind.LIST:
        if schema.list_type == "atomic":
            yield path
        element = schema.element
        if element is not None:
            for index, item in enumerate(value):
                yield from _atomics(item, element, f"{path}[{index}]")


# --- values that know their type ---


def _plain(value: Any) -> Any:
    """A value without the names of types."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if key != TYPE_KEY}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _check_names(value: Any, path: tuple[str, ...]) -> None:
    """Objects inside objects must be named for where they are.

    Args:
        value: what an expression made.
        path: the name it should have, in parts; empty for whatever it has.

    Raises:
        MutationError: listing those that are not.
    """
    if not path and isinstance(value, dict) and TYPE_KEY in value:
        path = tuple(value[TYPE_KEY].split("."))
    if wrong := list(_misnamed(value, path)):
        raise MutationError("type mismatch: " + "\n".join(wrong))


def _misnamed(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _misnamed(item, path)
    elif isinstance(value, dict):
        name = value.get(TYPE_KEY)
        if name is not None and name != ".".join(path):
            yield (
                f'unexpected type name "{name}", expected "{".".join(path)}", which matches field '
                "name path from root Object type"
            )
        for key, item in value.items():
            if key != TYPE_KEY:
                yield from _misnamed(item, (*path, key) if name is not None else path)
