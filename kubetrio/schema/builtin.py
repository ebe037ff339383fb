"""Load the generated facts of ``schemas/`` lazily, one file at a time."""

from __future__ import annotations

from functools import cache, lru_cache
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


def parsed(name: str) -> Json:
    """One data file by its path without ``.json``, parsed anew.

    Raises:
        FileNotFoundError: no such file.
    """
    data: Json = orjson.loads(_text(name))
    return data


@cache
def load(name: str) -> Json:
    """Return what `parsed` does, cached for the life of the process."""
    return parsed(name)


@lru_cache(maxsize=4)  # those of core/v1 and of meta/v1
def _entries(name: str) -> bytes:
    """A data file that has an entry a line, of which most servers need few."""
    return _text(name)


def _text(name: str) -> bytes:
    return (folder() / f"{name}.json").read_bytes()


def _entry(file: str, name: str) -> Json:
    """One entry of such a file.

    Raises:
        KeyError: there is none.
    """
    try:
        text = _entries(file)
    except FileNotFoundError:
        raise KeyError(name) from None
    key = f'\n"{name}":'.encode()
    begin = text.find(key)
    if begin < 0:
        raise KeyError(name)
    begin += len(key)
    entry: Json = orjson.loads(text[begin : text.index(b"\n", begin)].rstrip(b","))
    return entry


@cache
def type_schema(name: str) -> Json:
    """The schema of a type by full name, such as ``io.k8s.api.core.v1.ConfigMap``.

    Raises:
        KeyError: no such type.
    """
    return _entry(f"types/{name.rpartition('.')[0]}", name)


@cache
def message(name: str) -> list[list[Any]]:
    """Rows ``[number, name, type, label, flags, json name?]`` of a protobuf message.

    Raises:
        KeyError: no such message.
    """
    fields: list[list[Any]] = _entry(f"protobuf/{name.rpartition('.')[0]}", name)["fields"]
    return fields


def message_name(type_name: str) -> str:
    """Protobuf message of a type: its name with the domain the other way round, without dashes."""
    return type_name.replace("io.k8s.", "k8s.io.", 1).replace("-", "_")


def type_name_of(gvk: GroupVersionKind) -> str:
    """Type name of a kind, or an empty string."""
    known: dict[str, str] = load("kinds")
    return known.get(f"{gvk.group}/{gvk.version}/{gvk.kind}", "") or UNPUBLISHED.get(gvk, "")
