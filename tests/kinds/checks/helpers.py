"""Objects on their way to the checks, as a request would take them there."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest

from kubetrio.cel.engine import available
from kubetrio.kinds.builtin import registry
from kubetrio.machinery.status import Cause
from kubetrio.resources.validation import (
    validate_create,
    validate_update,
    warnings,
    with_metadata_of_new,
)
from kubetrio.schema.kind import Kind
from kubetrio.schema.rules import Context
from kubetrio.schema.structural import Report, compile_type

Json = dict[str, Any]
CONTEXT = Context(now="2024-01-01T00:00:00Z", uid="0f2f6d3c-1111-2222-3333-444455556666")
CONTAINER: Json = {"name": "c", "image": "img"}


def resource(name: str, group: str = "", version: str = "v1") -> Kind:
    found = registry().get(group, version, name)
    assert found is not None
    return found


def made(kind: Kind, body: Json) -> Json:
    """The body decoded, defaulted and prepared."""
    obj = compile_type(kind.schema_name).decode(copy.deepcopy(body), Report())
    metadata = obj.setdefault("metadata", {})
    metadata.setdefault("name", "x")
    metadata.setdefault("uid", CONTEXT.uid)
    if kind.namespaced:
        metadata.setdefault("namespace", "ns")
    kind.rules.default(obj)
    kind.rules.prepare_create(obj, CONTEXT)
    kind.rules.default(obj)
    return obj


def lines(causes: list[Cause]) -> list[str]:
    """Causes as ``field: message``, sorted."""
    return sorted(f"{cause.field}: {cause.message}" for cause in causes)


def refused(kind: Kind, body: Json) -> list[str]:
    """What is wrong with a new object."""
    obj = made(kind, body)
    return lines(with_metadata_of_new(kind, obj, validate_create(kind, obj)))


def refused_change(kind: Kind, old: Json, new: Json, subresource: str = "") -> list[str]:
    """What is wrong with a change, given both objects as stored."""
    return lines(validate_update(kind, new, old, subresource))


def warned(kind: Kind, body: Json) -> list[str]:
    """Warnings about a new object."""
    return warnings(kind, made(kind, body), None)


def pod(**spec: Any) -> Json:
    return {"spec": {"containers": [CONTAINER], **spec}}


def changed(obj: Json, path: str, value: Any) -> Json:
    """A copy with one member (dotted path, numbers for places in lists) set or, with None, gone."""
    out = copy.deepcopy(obj)
    target: Any = out
    *names, last = (int(name) if name.isdigit() else name for name in path.split("."))
    for name in names:
        target = target[name] if isinstance(name, int) else target.setdefault(name, {})
    if value is None:
        target.pop(last, None)
    else:
        target[last] = value
    return out


_EXPRESSIONS = re.compile('"(?:[a-zA-Z]*[eE]xpression|x-kubernetes-validations)"')


def skip_without_engine(body: Json) -> None:
    """Skip what cannot be told without the CEL engine."""
    if not available() and _EXPRESSIONS.search(json.dumps(body)):
        pytest.skip("needs the extra cel")
