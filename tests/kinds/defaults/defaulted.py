"""Defaults of built-in types by their full names."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from importlib.util import find_spec

from kubetrio import kinds
from kubetrio.kinds.common.defaulters import compile_rules
from kubetrio.kinds.common.defaulting import Change, Rules


def _tables() -> dict[str, Rules]:
    found: dict[str, Rules] = {}
    for each in pkgutil.iter_modules(kinds.__path__, "kubetrio.kinds."):
        if each.ispkg and find_spec(f"{each.name}.defaults") is not None:
            found.update(import_module(f"{each.name}.defaults").TABLES)
    return found


TABLES = _tables()


def defaults_of(type_name: str) -> Change:
    """The defaults of a type; those of a type without a table change nothing."""
    return compile_rules(type_name, TABLES.get(type_name, ()))
