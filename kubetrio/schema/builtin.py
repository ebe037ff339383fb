"""Load the generated facts of ``schemas/`` lazily, one file at a time."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import orjson

from kubetrio.machinery.names import GroupVersionKind

Json = dict[str, Any]

# Kinds that are registered and that no OpenAPI document shows: the type with the same members.
UNPUBLISHED = {
    GroupVersionKind("policy", "v1beta1", "Eviction"): "io.k8s.api.policy.v1.Eviction",
}


@cache
def folder() -> Path:
    """The data folder: beside the package in a checkout, inside it when installed."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "_schemas"
    return installed if installed.is_dir() else package.parent / "schemas"


@cache
def load(name: str) -> Json:
    """One data file by its path without ``.json``; cached for the life of the process.

    Raises:
        FileNotFoundError: no such file.
    """
    data: Json = orjson.loads((folder() / f"{name}.json").read_bytes())
    return data


def type_schema(name: str) -> Json:
    """The schema of a type by full name, such as ``io.k8s.api.core.v1.ConfigMap``.

    Raises:
        KeyError: no such type.
    """
    try:
        schema: Json = load(f"types/{name.rpartition('.')[0]}")[name]
    except FileNotFoundError:
        raise KeyError(name) from None
    return schema


def message(name: str) -> list[list[Any]]:
    """Rows ``[number, name, type, label, flags, json name?]`` of a protobuf message.

    Raises:
        KeyError: no such message.
    """
    try:
        fields: list[list[Any]] = load(f"protobuf/{name.rpartition('.')[0]}")[name]["fields"]
    except FileNotFoundError:
        raise KeyError(name) from None
    return fields


def message_name(type_name: str) -> str:
    """Protobuf message of a type: the same name with the domain the other way round."""
    return type_name.replace("io.k8s.", "k8s.io.", 1)


def type_name_of(gvk: GroupVersionKind) -> str:
    """Type name of a kind, or an empty string."""
    known: dict[str, str] = load("kinds")
    return known.get(f"{gvk.group}/{gvk.version}/{gvk.kind}", "") or UNPUBLISHED.get(gvk, "")
