"""Facts that a running kube-apiserver of any version tells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from facts import bootstrap, discovery, lifecycle, metric_list, openapi, probes
from facts.client import Client
from facts.documents import Json, dump, in_order, load

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


def samples() -> dict[str, Json]:
    """Objects to send, by label: members ``path`` and ``object``."""
    return load(Path(__file__).parent, "samples")


def live_documents(client: Client) -> Iterator[Json]:
    """OpenAPI v3 documents of a server."""
    for entry in client.get("/openapi/v3")["paths"].values():
        yield client.get(entry["serverRelativeURL"])


def live_resources(client: Client) -> Json:
    """Groups, resources and paths of a server."""
    items = [
        item
        for root in ("/api", "/apis")
        for item in client.get(root, accept=discovery.AGGREGATED)["items"]
    ]
    legacy = {}
    for item in items:
        group = item["metadata"].get("name", "")
        for version in item["versions"]:
            name = f"{group}/{version['version']}".lstrip("/")
            legacy[name] = client.get(f"/{'apis' if group else 'api'}/{name}")
    return {
        "groupOrder": discovery.groups(items),
        "legacyGroups": discovery.legacy_groups(client.get("/apis")),
        "rootPaths": discovery.root_paths(client.get("/")),
        "resources": discovery.resources(items, legacy),
    }


def make(client: Client, output: Path, *, private: bool = False) -> Iterator[str]:
    """Write every input that a server gives; yields their names.

    Args:
        client: of a fresh server that nothing else uses, as cluster administrator.
        output: folder for the inputs.
        private: whether objects may be stored and left there, to see what becomes of them.

    Raises:
        LookupError: the server refuses a request.
        OSError: it cannot be reached.
    """
    version = client.get("/version")
    dump(output / "version.json", {key: version[key] for key in ("major", "minor", "gitVersion")})
    yield "version"
    found = live_resources(client)
    resources = found["resources"]
    # Before anything else is asked: later there may be more than the server made by itself.
    objects = bootstrap.objects(bootstrap.snapshot(client, resources))
    documents = list(live_documents(client))
    types = in_order(openapi.types(documents))
    sent = samples()
    makers: dict[str, Callable[[], Mapping[str, Any]]] = {
        "bootstrap": lambda: objects,
        "aggregated-roles": lambda: bootstrap.aggregated(objects),
        "resources": lambda: found,
        "types": lambda: types,
        "operations": lambda: in_order(openapi.operations(documents)),
        "tables": lambda: probes.columns(client, resources),
        "field-selectors": lambda: probes.selectors(client, resources, types),
        "names": lambda: probes.name_classes(client, sent.values(), resources),
        "defaults": lambda: probes.defaults(client, sent),
        "metrics": lambda: _metrics(client),
    }
    # Pods need it; kube-controller-manager would make it.
    account = client.request("POST", ACCOUNTS, {"metadata": {"name": "default"}})
    for name, maker in makers.items():
        dump(output / f"{name}.json", maker())
        yield name
    if private:
        seen = lifecycle.behaviours(client, sent.values(), resources, load(output, "names"))
        dump(output / "behaviours.json", seen)
        yield "behaviours"
    if account.status == 201:
        client.request("DELETE", f"{ACCOUNTS}/default")


def _metrics(client: Client) -> dict[str, Json]:
    # A metric is shown once there is something to count.
    client.request("GET", "/version", user="system:anonymous")
    return metric_list.observed(client.request("GET", "/metrics").body.decode(errors="replace"))
