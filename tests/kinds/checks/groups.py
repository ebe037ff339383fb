"""What is said of the kinds of one API group, compared with what is served of it."""

from __future__ import annotations

from collections.abc import Mapping

from kubetrio.kinds.builtin import registry
from kubetrio.kinds.common.builtinkind import BuiltinKind, Reference, resolved


def assert_complete(group: str, kinds: Mapping[str, BuiltinKind]) -> None:
    """Every served kind of a group has a value, nothing else has, and what values name is there."""
    served = {kind.resource for kind in registry().resources.values() if kind.group == group}
    values = {name: resolved(value) for name, value in kinds.items()}
    assert {name for name, value in values.items() if not value.below} == served
    for value in values.values():
        for part in value.parts():
            assert not isinstance(resolved(part.value), Reference), part.path
