"""Facts that upstream publishes in its source tree: nothing has to run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from facts import discovery, go_kinds, go_structs, metric_list, openapi, protobuf
from facts.documents import Json, dump, in_order

OPENAPI = "api/openapi-spec"
DISCOVERY = "api/discovery"


def _read(path: Path) -> Json:
    data: Json = json.loads(path.read_text(encoding="utf-8"))
    return data


def published_documents(source: Path) -> Iterator[Json]:
    """OpenAPI v3 documents of a Kubernetes tree."""
    for path in sorted((source / OPENAPI / "v3").glob("*.json")):
        yield _read(path)


def published_resources(source: Path) -> Json:
    """Groups and resources with every version and feature on."""
    folder = source / DISCOVERY
    legacy = {
        document["groupVersion"]: document
        for path in sorted(folder.glob("*.json"))
        if (document := _read(path)).get("kind") == "APIResourceList"
    }
    versions = _read(folder / "api.json")["versions"]
    items = [
        discovery.core(legacy, versions),
        *_read(folder / "aggregated_v2.json")["items"],
    ]
    return {
        "groupOrder": discovery.groups(items),
        "resources": discovery.resources(items, legacy),
    }


def make(source: Path, output: Path) -> Iterator[str]:
    """Write every input that a source tree gives; yields their names.

    Args:
        source: root of a checkout of the release.
        output: folder for the inputs.

    Raises:
        FileNotFoundError: it is not a Kubernetes tree.
        ValueError: a file is not what it was up to now.
    """
    documents = list(published_documents(source))
    if not documents:
        raise FileNotFoundError(f"{source}: no {OPENAPI}/v3/*.json")
    swagger = _read(source / OPENAPI / "swagger.json")
    makers: dict[str, Callable[[], Mapping[str, Any]]] = {
        "published-types": lambda: in_order(openapi.types(documents)),
        "published-operations": lambda: in_order(openapi.operations(documents)),
        "published-resources": lambda: published_resources(source),
        "parameters": lambda: openapi.shared_parameters(swagger),
        "protobuf": lambda: protobuf.all_messages(source),
        "strategies": lambda: go_kinds.strategies(source),
        "registered": lambda: go_kinds.registered(source),
        "gostructs": lambda: go_structs.pod_template(source),
        "published-metrics": lambda: metric_list.published(source),
    }
    for name, maker in makers.items():
        dump(output / f"{name}.json", maker())
        yield name
