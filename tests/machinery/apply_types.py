"""Types for the tests of merging: one of each kind, without any API."""

from __future__ import annotations

from kubetrio.machinery.typeschema import DEDUCED, TypeKind, TypeSchema

STRING = TypeSchema(kind=TypeKind.SCALAR, scalar="string")
NUMBER = TypeSchema(kind=TypeKind.SCALAR, scalar="numeric")
BOOLEAN = TypeSchema(kind=TypeKind.SCALAR, scalar="boolean")
STRINGS = TypeSchema(kind=TypeKind.MAP, load_element=lambda: STRING)
PROTOCOL = TypeSchema(kind=TypeKind.SCALAR, scalar="string", default="TCP")
ITEM = TypeSchema(
    kind=TypeKind.MAP,
    load_fields=lambda: {"name": STRING, "v": STRING, "deep": STRINGS},
)
PORT = TypeSchema(
    kind=TypeKind.MAP,
    load_fields=lambda: {"port": NUMBER, "protocol": PROTOCOL, "name": STRING},
)
DEEP = TypeSchema(
    kind=TypeKind.MAP,
    load_fields=lambda: {
        "sets": TypeSchema(kind=TypeKind.LIST, list_type="set", load_element=lambda: STRING),
        "map": STRINGS,
        "text": STRING,
    },
)
ROOT = TypeSchema(
    kind=TypeKind.MAP,
    load_fields=lambda: {
        "apiVersion": STRING,
        "kind": STRING,
        "metadata": TypeSchema(
            kind=TypeKind.MAP,
            load_fields=lambda: {"name": STRING, "annotations": STRINGS, "labels": STRINGS},
        ),
        "spec": TypeSchema(
            kind=TypeKind.MAP, load_fields=lambda: {"labels": STRINGS, "deep": DEEP}
        ),
        "data": STRINGS,
        "count": NUMBER,
        "on": BOOLEAN,
        "set": TypeSchema(kind=TypeKind.LIST, list_type="set", load_element=lambda: STRING),
        "items": TypeSchema(
            kind=TypeKind.LIST, list_type="map", keys=("name",), load_element=lambda: ITEM
        ),
        "ports": TypeSchema(
            kind=TypeKind.LIST,
            list_type="map",
            keys=("port", "protocol"),
            load_element=lambda: PORT,
        ),
        "list": TypeSchema(kind=TypeKind.LIST, load_element=lambda: STRING),
        "whole": TypeSchema(kind=TypeKind.MAP, map_type="atomic", load_element=lambda: STRING),
        "any": DEDUCED,
    },
)
