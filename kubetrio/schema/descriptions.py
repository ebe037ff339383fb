"""Sentences about types and their fields, for OpenAPI documents.

``schemas/descriptions`` has a file per API group, shared by the versions of the group, because a
field rarely changes its meaning from one version to the next.  A file maps the short name of a
type to its sentences: the type's own under ``""``, the others by field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

from kubetrio.schema import builtin

Json = dict[str, Any]
Texts = Mapping[str, str]

LIKE: Final = "$like"
"""Names a type of the same file that lends the sentences which a type does not have itself."""
SHARED: Final = "shared"
"""File of the sentences that all kinds, all lists and all conditions have in common."""
GVK: Final = "x-kubernetes-group-version-kind"
_VERSION: Final = re.compile(r"\.v\d+(?:(?:alpha|beta)\d+)?$")


class Descriptions:
    """The sentences that one document needs.

    Each file is read when a type of it comes; who makes a document drops all with the instance,
    so that a server whose documents are made does not keep them.
    """

    def __init__(self) -> None:
        self._files: dict[str, Mapping[str, Texts]] = {}

    def add(self, name: str, schema: Mapping[str, Any]) -> Json:
        """A schema with descriptions of the type and its fields; those that it has stay.

        Args:
            name: full type name, such as ``io.k8s.api.core.v1.PodSpec``.
            schema: OpenAPI schema of the type; it is not changed.
        """
        texts = self._texts(name, schema)
        result = {"description": texts[""], **schema} if "" in texts else dict(schema)
        if "properties" in schema:
            result["properties"] = {
                field: {"description": texts[field], **child} if field in texts else child
                for field, child in schema["properties"].items()
            }
        return result

    def _texts(self, name: str, schema: Mapping[str, Any]) -> Texts:
        package, _, short = name.rpartition(".")
        types = self._file(_VERSION.sub("", package))
        own = types.get(short, {})
        shared = self._file(SHARED).get(_sort_of(short, schema), {})
        return {**shared, **types.get(own.get(LIKE, ""), {}), **own}

    def _file(self, name: str) -> Mapping[str, Texts]:
        if name not in self._files:
            path = builtin.folder() / "descriptions" / f"{name}.json"
            try:
                self._files[name] = orjson.loads(path.read_bytes())
            except FileNotFoundError:  # the group of a custom resource
                self._files[name] = {}
        return self._files[name]


def _sort_of(short: str, schema: Mapping[str, Any]) -> str:
    """Which shared sentences a type takes."""
    if GVK in schema:
        return "List" if "items" in schema.get("properties", ()) else "Kind"
    return "Condition" if short.endswith("Condition") else ""
