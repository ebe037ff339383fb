"""The way from client-side to server-side apply.

kubectl's client-side apply keeps what it applied in an annotation.  When ``kubectl`` (the field
manager of that name) applies on the server, fields that the annotation says it has set already, and
that still have that value, are its own: conflicts about them do not count.  The annotation is kept
up to date, so that there is a way back.  Source: the documentation of Server-Side Apply, "Upgrading
from client-side apply to server-side apply".
"""

from __future__ import annotations

from typing import Any

import orjson

from kubetrio.machinery.applycompare import compare
from kubetrio.machinery.applyvalues import TypedError, field_set, validate
from kubetrio.machinery.fieldset import EMPTY, FieldSet
from kubetrio.machinery.ownership import Conflict, Typed

Json = dict[str, Any]

MANAGER = "kubectl"
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
ANNOTATIONS_LIMIT = 256 * 1024
"""Bytes of all annotations, keys and values."""

_ESCAPES = ((b"<", b"\\u003c"), (b">", b"\\u003e"), (b"&", b"\\u0026"))


def remaining(conflicts: tuple[Conflict, ...], live: Typed) -> tuple[Conflict, ...]:
    """The conflicts that client-side apply does not explain.

    Args:
        conflicts: of an apply.
        live: the object, in the version of the request.
    """
    explained = _last_applied(live)
    return tuple(each for each in conflicts if each.path not in explained)


def _last_applied(live: Typed) -> FieldSet:
    """Fields of the annotation that the live object still has with that value."""
    text = _annotations(live.value).get(ANNOTATION)
    if not text:
        return EMPTY
    try:
        last = orjson.loads(text)
        if not isinstance(last, dict) or last.get("apiVersion") != live.api_version:
            return EMPTY
        validate(last, live.schema)
        fields = field_set(last, live.schema)
        change = compare(last, live.value, live.schema)
    except (ValueError, TypedError):
        return EMPTY
    return fields.difference(change.set_now).difference(change.removed)


def refreshed(obj: Json, config: Json) -> Json:
    """The object with its annotation, if it has one, saying what was applied now.

    Args:
        obj: the object after the apply; it is not changed.
        config: what was applied.
    """
    annotations = _annotations(obj)
    if not annotations.get(ANNOTATION):
        return obj
    rest = {name: value for name, value in annotations.items() if name != ANNOTATION}
    text = _text(config)
    size = sum(len(name.encode()) + len(value.encode()) for name, value in rest.items())
    if size + len(ANNOTATION) + len(text) <= ANNOTATIONS_LIMIT:
        rest = {**annotations, ANNOTATION: text.decode()}
    return {**obj, "metadata": {**obj["metadata"], "annotations": rest}}


def _annotations(obj: Json) -> Json:
    metadata = obj.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return annotations if isinstance(annotations, dict) else {}


def _text(config: Json) -> bytes:
    """The annotation: JSON with sorted keys, as Go escapes it, and a line end."""
    annotations = _annotations(config)
    if ANNOTATION in annotations:
        rest = {name: value for name, value in annotations.items() if name != ANNOTATION}
        config = {**config, "metadata": {**config["metadata"], "annotations": rest}}
    text = orjson.dumps(config, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)
    for plain, escaped in _ESCAPES:
        text = text.replace(plain, escaped)
    return text
