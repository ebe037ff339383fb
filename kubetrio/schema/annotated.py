"""Annotations of built-in kinds that hold what older versions had members for.

kube-apiserver reads them into members when it decodes an object and prints them again when it
encodes it, so texts that are no numbers are refused and others come back in their shortest form.
Which kinds have one is in ``schemas/annotated.json``.

Source: "Well-Known Labels, Annotations and Taints" in the Kubernetes documentation.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from kubetrio.gotext.numbers import parse_int
from kubetrio.schema import builtin

Json = dict[str, Any]


class AnnotatedField(NamedTuple):
    """An annotation that is a member of the internal object.

    Args:
        annotation: its name; metadata alone do not show it.
        zero: its value in an object that was never filled in, None where there is none then.
        optional: whether an empty text is no value, and another that is no number is told with the
            name of the annotation.
    """

    annotation: str
    zero: str | None = None
    optional: bool = False


@cache
def annotated_field(type_name: str) -> AnnotatedField | None:
    """The annotation that is a member of a type's internal object, if there is one.

    Args:
        type_name: full name of the type.
    """
    row = builtin.load("annotated").get(type_name)
    return None if row is None else AnnotatedField(**row)


def _with(obj: Json, name: str, value: str | None) -> Json:
    meta = dict(obj["metadata"])
    annotations = dict(meta["annotations"])
    if value is None:
        del annotations[name]
    else:
        annotations[name] = value
    meta["annotations"] = annotations
    if not annotations:
        del meta["annotations"]
    return {**obj, "metadata": meta}


def read_annotations(type_name: str, obj: Json) -> Json:
    """An object as it is after its annotations were read and printed again.

    Args:
        type_name: full name of its type.
        obj: the object as the type's decoder returns it; not changed.

    Raises:
        ValueError: an annotation is no number, in Go's words.
    """
    held = annotated_field(type_name)
    if held is None:
        return obj
    name = held.annotation
    text = ((obj.get("metadata") or {}).get("annotations") or {}).get(name)
    if text is None:
        return obj
    if held.optional and not text:
        return _with(obj, name, None)
    try:
        number = parse_int(text)
    except ValueError as error:
        if not held.optional:
            raise
        why = f"failed to parse annotation[{name}]={text} as int64: {error}"
        raise ValueError(why) from None
    return _with(obj, name, str(number))
