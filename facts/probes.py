"""What a running server answers about its resources: columns, field selectors, names, defaults.

Nothing is stored: reads, and writes with ``dryRun=All``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any
from urllib.parse import quote

from facts.client import Client
from facts.documents import Json
from facts.listable import collection_path, listable, storable

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"

FIRST_SELECTORS = (
    "metadata.name", "metadata.namespace", "metadata.uid", "name", "namespace",
    "spec.nodeName", "spec.unschedulable", "status.phase",
    *(
        f"{reference}.{field}"
        for reference in ("involvedObject", "regarding")
        for field in (
            "kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath",
        )
    ),
    "reason", "reportingComponent", "reportingController", "source", "type",
    "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
    "status.podIP", "status.podIPs", "status.nominatedNodeName",
    "status.successful",
)  # fmt: skip
"""Selectors to try on every resource, also those that are no path of an object."""
VALUES = ("a", "true", "0")
"""Values to select by: one of them is of the field's type."""
LEAVES = frozenset({"string", "integer", "number", "boolean"})
DEPTH = 3
"""How far below the object a field may be to be tried as a selector."""

NAMES = {
    "dot": "dotted.name",
    "digitFirst": "1name",
    "plain": "plain-name",
    "long": "a" * 64,
    "upper": "Upper",
    "colon": "with:colon",
}
CLASSES = {
    frozenset(NAMES): "pathSegment",
    frozenset({"plain", "digitFirst", "dot", "long"}): "dns1123Subdomain253",
    frozenset({"plain", "digitFirst"}): "dns1123Label63",
    frozenset({"plain"}): "dns1035Label63",
    frozenset(): "special",
}
"""Class of a resource's names by which of the names it takes."""


def columns(client: Client, resources: Mapping[str, Json]) -> dict[str, list[list[Any]]]:
    """Columns of tables by resource: name, type, format, priority."""
    found = {}
    for name in listable(resources):
        table = client.get(f"{collection_path(name)}?limit=1", accept=TABLE)
        found[name] = [
            [column[key] for key in ("name", "type", "format", "priority")]
            for column in table["columnDefinitions"]
        ]
    return dict(sorted(found.items()))


def leaves(types: Mapping[str, Json], schema: Json, depth: int) -> Iterator[str]:
    """Dotted paths of the fields of a type that hold one value.

    Args:
        types: by name, for references.
        schema: of the type.
        depth: how many levels to look into.
    """
    while "$ref" in schema:
        schema = types.get(schema["$ref"], {})
    if schema.get("type") in LEAVES:
        yield ""
    elif depth:
        for name, member in schema.get("properties", {}).items():
            for rest in leaves(types, member, depth - 1):
                yield f"{name}.{rest}".rstrip(".")


def selectors(
    client: Client, resources: Mapping[str, Json], types: Mapping[str, Json]
) -> dict[str, list[str]]:
    """Field selectors that each resource takes, found by trying.

    Args:
        client: of the server.
        resources: to ask.
        types: of the same server; their fields are tried too.
    """
    kinds: dict[str, str] = {}
    for type_name, schema in types.items():
        for gvk in schema.get("x-kubernetes-group-version-kind", ()):
            kinds[f"{gvk['group']}/{gvk['version']}/{gvk['kind']}"] = type_name
    found = {}
    for name in listable(resources):
        kind = f"{name.rpartition('/')[0]}/{resources[name]['kind']}"
        own = types.get(kinds.get(kind, ""), {})
        tried = dict.fromkeys((*FIRST_SELECTORS, *sorted(leaves(types, own, DEPTH))))
        found[name] = [
            key for key in tried if _selects(client, f"{collection_path(name)}?limit=1", key)
        ]
    return dict(sorted(found.items()))


def _selects(client: Client, path: str, key: str) -> bool:
    """Whether a field selector is known; a value of another type than the field's is refused."""
    return any(
        client.request("GET", f"{path}&fieldSelector={quote(f'{key}={value}')}").status == 200
        for value in VALUES
    )


def name_classes(
    client: Client, samples: Iterable[Json], resources: Mapping[str, Json]
) -> dict[str, Json]:
    """Which names each resource takes, by path without namespace.

    A resource whose sample is refused for what it is says nothing about names, and is left out.

    Args:
        client: of the server.
        samples: valid objects.
        resources: of the server.
    """
    found: dict[str, Json] = {}
    for path, sample in storable(samples, resources).items():
        answers = {label: _takes(client, sample, name) for label, name in NAMES.items()}
        if None not in answers.values():
            found[path] = name_class([label for label, taken in answers.items() if taken])
    return found


def name_class(taken: list[str]) -> Json:
    """The class of names of a resource.

    Args:
        taken: labels of the names that it takes, in the order of ``NAMES``.
    """
    known = CLASSES.get(frozenset(taken))
    return {"class": known} if known else {"class": "other", "accepts": " ".join(taken)}


def _takes(client: Client, sample: Json, name: str) -> bool | None:
    """Whether a name is good; None if the server does not say."""
    named = deepcopy(sample["object"])
    named["metadata"] = {**named.get("metadata", {}), "name": name}
    named["metadata"].pop("generateName", None)
    answer = client.request("POST", f"{sample['path']}?dryRun=All", named)
    if answer.status == 201:
        return True
    if answer.status != 422:
        return None
    causes = answer.json()["details"].get("causes", ())
    return not any(cause["field"].startswith("metadata.name") for cause in causes)


def defaults(client: Client, samples: Mapping[str, Json]) -> dict[str, Json]:
    """What the server makes of objects that say little.

    Args:
        client: of the server.
        samples: by label, members ``path`` and ``object``.

    Returns:
        By label: ``added`` (JSON pointer to value), ``changed`` (pointer to sent and stored),
        ``removed`` (pointers); or ``refused``, when the server does not take the object.
    """
    found: dict[str, Json] = {}
    for label, sample in samples.items():
        answer = client.request("POST", f"{sample['path']}?dryRun=All", sample["object"])
        if answer.status in {200, 201}:
            found[label] = changes(sample["object"], answer.json())
        else:
            found[label] = {"refused": [answer.status, _reason(answer.body)]}
    return found


def _reason(body: bytes) -> str:
    """Beginning of a message, which may hold names that change."""
    return body.decode(errors="replace").partition('"reason":"')[2].partition('"')[0]


GENERATED = ("uid", "creationTimestamp", "resourceVersion", "managedFields")
MASKS = (
    (re.compile(r"^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$"), "<uid>"),
    (re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+Z$"), "<now>"),
    (re.compile(r"^(kube-api-access-|gen-|g-)[bcdfghjklmnpqrstvwxz2456789]{5}$"), r"\1<5 random>"),
)
"""What differs each time: uids, times, and the names generated for samples."""


def changes(sent: Json, stored: Json) -> Json:
    """What differs between an object and what became of it.

    Args:
        sent: the object.
        stored: the answer.
    """
    metadata = {k: v for k, v in stored.get("metadata", {}).items() if k not in GENERATED}
    before = dict(pointers(sent))
    after = {key: masked(value) for key, value in pointers(stored | {"metadata": metadata})}
    result: Json = {
        "added": {key: value for key, value in after.items() if key not in before},
    }
    if changed := {
        key: [before[key], after[key]]
        for key in before
        if key in after and before[key] != after[key]
    }:
        result["changed"] = changed
    if removed := [key for key in before if key not in after]:
        result["removed"] = removed
    return result


def masked(value: Any) -> Any:
    """A value without what differs each time."""
    if isinstance(value, str):
        for pattern, shown in MASKS:
            value = pattern.sub(shown, value)
    return value


def pointers(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """JSON pointers of all leaves; empty objects and arrays are leaves.

    Args:
        value: a JSON value.
        prefix: pointer of the value itself.
    """
    if isinstance(value, dict) and value:
        for key, member in value.items():
            yield from pointers(member, f"{prefix}/{key.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list) and value:
        for index, member in enumerate(value):
            yield from pointers(member, f"{prefix}/{index}")
    else:
        yield prefix, value
