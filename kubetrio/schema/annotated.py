"""Annotations of built-in kinds that hold what older versions had members for.

kube-apiserver reads them into members when it decodes an object and prints them again when it
encodes it, so texts that are no numbers are refused and others come back in their shortest form.

Source: "Well-Known Labels, Annotations and Taints" in the Kubernetes documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kubetrio.machinery.gonumbers import parse_int

Json = dict[str, Any]

ROLLBACK_TO = "deprecated.deployment.rollback.to"
"""Where a Deployment keeps the revision to go back to since apps/v1."""
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
"""Where a DaemonSet keeps the generation of its template since apps/v1."""


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


def _text(obj: Json, name: str) -> str | None:
    text: str | None = ((obj.get("metadata") or {}).get("annotations") or {}).get(name)
    return text


def _deployment(obj: Json) -> Json:
    text = _text(obj, ROLLBACK_TO)
    if text is None:
        return obj
    if not text:
        return _with(obj, ROLLBACK_TO, None)
    try:
        number = parse_int(text)
    except ValueError as error:
        why = f"failed to parse annotation[{ROLLBACK_TO}]={text} as int64: {error}"
        raise ValueError(why) from None
    return _with(obj, ROLLBACK_TO, str(number))


def _daemon_set(obj: Json) -> Json:
    text = _text(obj, TEMPLATE_GENERATION)
    return obj if text is None else _with(obj, TEMPLATE_GENERATION, str(parse_int(text)))


_READERS: Mapping[str, Callable[[Json], Json]] = {
    "io.k8s.api.apps.v1.Deployment": _deployment,
    "io.k8s.api.apps.v1.DaemonSet": _daemon_set,
}


def read_annotations(type_name: str, obj: Json) -> Json:
    """An object as it is after its annotations were read and printed again.

    Args:
        type_name: full name of its type.
        obj: the object as the type's decoder returns it; not changed.

    Raises:
        ValueError: an annotation is no number, in Go's words.
    """
    reader = _READERS.get(type_name)
    return obj if reader is None else reader(obj)
