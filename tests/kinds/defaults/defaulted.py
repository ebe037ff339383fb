"""Defaults of built-in types by their full names."""

from __future__ import annotations

from kubetrio.kinds.authentication.tokenrequests import TOKEN_REQUEST
from kubetrio.kinds.builtin import registry
from kubetrio.kinds.common.builtinkind import resolved
from kubetrio.kinds.common.defaulters import compile_rules
from kubetrio.kinds.common.defaulting import Change, Rules
from kubetrio.kinds.parts import said_of

TABLES: dict[str, Rules] = {
    kind.schema_name: resolved(said_of(kind).defaults[kind.version])
    for kind in (*registry().resources.values(), TOKEN_REQUEST)
    if kind.version in said_of(kind).defaults
}


def defaults_of(type_name: str) -> Change:
    """The defaults of a type; those of a type without a table change nothing."""
    return compile_rules(type_name, TABLES.get(type_name, ()))
