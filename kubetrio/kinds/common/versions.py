"""What conversions between versions of built-in kinds have in common."""

from __future__ import annotations

from kubetrio.schema.rules import Convert, Json
from kubetrio.schema.structural import Report, compile_type


def converting(change: Convert, api_version: str, type_name: str) -> Convert:
    """A conversion whose result is as the other version's decoder returns it.

    Args:
        change: renames and moves members; it does not change what it is given.
        api_version: of the result.
        type_name: full name of its type.
    """

    def convert(obj: Json) -> Json:
        changed = {**change(obj), "apiVersion": api_version}
        return compile_type(type_name).decode(changed, Report())

    return convert
