"""Resources of a running server that can be listed, and where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from facts.documents import Json


def collection_path(name: str) -> str:
    """Path of all objects of a resource.

    Args:
        name: ``group/version/resource``, as inputs name resources.
    """
    group, version, resource = name.split("/")
    root = f"/apis/{group}" if group else "/api"
    return f"{root}/{version}/{resource}"


def listable(resources: Mapping[str, Json]) -> Iterator[str]:
    """Names of resources with the verb ``list``, in the order of discovery."""
    for name, record in resources.items():
        if name.count("/") == 2 and "list" in record["verbs"]:
            yield name


def resource_path(path: str) -> str:
    """Path of a collection without the namespace: the key of facts about names.

    Args:
        path: such as ``/api/v1/namespaces/default/pods``.
    """
    before, found, after = path.partition("/namespaces/")
    return f"{before}/{after.partition('/')[2]}" if found and "/" in after else path


def storable(samples: Iterable[Json], resources: Mapping[str, Json]) -> dict[str, Json]:
    """The first sample of each resource that keeps its objects, by path without namespace.

    Args:
        samples: members ``path`` and ``object``.
        resources: of the running server.
    """
    paths = {collection_path(name) for name in listable(resources)}
    found: dict[str, Json] = {}
    for sample in samples:
        path = resource_path(sample["path"])
        if path in paths:
            found.setdefault(path, sample)
    return found
