"""Expressions of admission, checked against the types of the objects that they are about.

Source: docs "Validating Admission Policy" (type checking); k8s.io/apiserver/pkg/cel/common
(``SchemaDeclType``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubetrio.cel.engine import engine
from kubetrio.cel.escaping import escaped, is_reserved
from kubetrio.cel.expressions import (
    Checked,
    CompileError,
    admission_scope,
    checked_as,
    new_environment,
    parse,
)
from kubetrio.cel.macros import loop_variables
from kubetrio.cel.messages import ADMISSION, Descriptors
from kubetrio.cel.schemas import DYN, FORMATS, SCALARS

Schema = Mapping[str, Any]
Resolve = Callable[[str], Schema]
"""The schema that a ``$ref`` names."""
VARIABLES = "variables."


class ObjectTypes:
    """Types of the engine, made of OpenAPI schemas.

    Args:
        resolve: what a ``$ref`` names.
    """

    def __init__(self, resolve: Resolve) -> None:
        self.messages: dict[str, dict[str, str]] = {}
        self._resolve = resolve

    def kind_of(self, schema: Schema) -> str:
        """The type of a schema; empty for one that has none, whose members cannot be named.

        Args:
            schema: of an object or of a part of it.
        """
        name = schema.get("$ref")
        if isinstance(name, str):
            message = "t_" + "".join(char if char.isalnum() else "_" for char in name)
            if message in self.messages:
                return message  # a type may be part of itself
            return self._kind(self._resolve(name), message)
        return self._kind(schema, f"object{len(self.messages)}")

    def _kind(self, schema: Schema, name: str) -> str:
        """The type of a schema without reference; an object has the name of a message."""
        # What may be a number or a text is either at run time: of amounts, too, nothing is said.
        if (
            schema.get("x-kubernetes-int-or-string")
            or schema.get("format") == "int-or-string"
            or ("type" not in schema and "oneOf" in schema)
        ):
            return DYN
        kind = schema.get("type")
        if kind == "array":
            inner = self.kind_of(schema.get("items") or {})
            return f"list<{inner}>" if inner else ""
        if kind != "object":
            if kind == "string":
                return FORMATS.get(schema.get("format") or "", "string")
            return SCALARS.get(kind or "", "")
        others = schema.get("additionalProperties")
        if isinstance(others, Mapping):
            inner = self.kind_of(others)
            return f"map<string,{inner}>" if inner else ""
        fields = self.messages[name] = {}
        for member, inner_schema in sorted((schema.get("properties") or {}).items()):
            inner = self.kind_of(inner_schema)
            if inner and (field := escaped(member)):
                fields[field] = inner
                if is_reserved(member):
                    fields[member] = inner
        return name


class TypedChecks:
    """Checks expressions about objects of one kind.

    Args:
        types: made of the schemas.
        kind: of ``object`` and ``oldObject``.
        params: of ``params``; ``dyn`` for a kind that is not known, empty without parameters.
        variables: names and texts of earlier expressions; what one of them is that does not
            compile is not known.
    """

    def __init__(
        self, types: ObjectTypes, kind: str, params: str, variables: Sequence[tuple[str, str]]
    ) -> None:
        scope = admission_scope(params=bool(params), authorizer=True, composed=True, patches=False)
        cel = engine()
        self._pool = Descriptors({**ADMISSION, **types.messages})
        own = {"object": kind, "oldObject": kind, "params": params}
        self._names = {name: cel.Type(own.get(name) or seen) for name, seen in scope.names}
        self._names["variables"] = cel.Type("kubernetes.variables")
        for name, text in variables:
            try:
                type_ = self.check(text).engine_type
            except CompileError:
                type_ = cel.Type.DYN
            self._names[VARIABLES + name] = type_

    def check(self, source: str) -> Checked:
        """Compile an expression.

        Args:
            source: its text.

        Raises:
            CompileError: it does not compile.
        """
        syntax = parse(source)
        loops = set(loop_variables(syntax.expr)) - self._names.keys()
        dyn = dict.fromkeys(sorted(loops), engine().Type.DYN)
        env = new_environment(self._pool, {**self._names, **dyn}, {}, patches=False)
        return checked_as(env, source, source, syntax)
