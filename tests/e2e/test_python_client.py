"""The official Python client against a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kubetrio.testing.process import ServerProcess

kubernetes: Any = pytest.importorskip("kubernetes", reason="the kubernetes client is not installed")

Start = Callable[..., ServerProcess]
pytestmark = pytest.mark.e2e


@pytest.fixture
def core(start_server: Start, tmp_path: Path) -> Iterator[Any]:
    """CoreV1Api of an administrator."""
    server = start_server(tmp_path / "data", "--durability", "normal")
    api = kubernetes.config.new_client_from_config(str(server.kubeconfig))
    with api:
        yield kubernetes.client.CoreV1Api(api)
        api.rest_client.pool_manager.clear()


def configmap(name: str, **data: str) -> Any:
    meta = kubernetes.client.V1ObjectMeta(name=name, labels={"made": "here"})
    return kubernetes.client.V1ConfigMap(metadata=meta, data=data)


def test_objects_live_and_die(core: Any) -> None:
    """Create, read, replace, conflict, delete, not found."""
    made = core.create_namespaced_config_map("default", configmap("one", a="1"))
    assert made.metadata.uid
    read = core.read_namespaced_config_map("one", "default")
    assert read == made
    read.data = {"a": "2"}
    replaced = core.replace_namespaced_config_map("one", "default", read)
    assert replaced.data == {"a": "2"}
    with pytest.raises(kubernetes.client.ApiException) as conflict:
        core.replace_namespaced_config_map("one", "default", read)
    assert conflict.value.status == 409
    with pytest.raises(kubernetes.client.ApiException) as exists:
        core.create_namespaced_config_map("default", configmap("one"))
    assert exists.value.status == 409
    core.delete_namespaced_config_map("one", "default")
    with pytest.raises(kubernetes.client.ApiException) as gone:
        core.read_namespaced_config_map("one", "default")
    assert gone.value.status == 404


def test_lists_come_in_pages(core: Any) -> None:
    """Each object once, in order, all at one revision."""
    for number in range(7):
        core.create_namespaced_config_map("default", configmap(f"c{number}"))
    seen, token, revisions = [], None, set()
    while True:
        page = core.list_namespaced_config_map(
            "default", limit=3, _continue=token, label_selector="made=here"
        )
        seen += [item.metadata.name for item in page.items]
        revisions.add(page.metadata.resource_version)
        token = page.metadata._continue
        if not token:
            break
        assert len(page.items) == 3
        core.create_namespaced_config_map("default", configmap(f"later-{len(seen)}"))
    assert seen == [f"c{number}" for number in range(7)]
    assert len(revisions) == 1


def test_watches_tell_what_happened(core: Any) -> None:
    """Every event behind a list's revision, in order."""
    start = core.list_namespaced_config_map("default").metadata.resource_version
    core.create_namespaced_config_map("default", configmap("one", a="1"))
    core.patch_namespaced_config_map("one", "default", {"data": {"a": "2"}})
    core.delete_namespaced_config_map("one", "default")
    events = []
    watch = kubernetes.watch.Watch()
    for event in watch.stream(
        core.list_namespaced_config_map, "default", resource_version=start, timeout_seconds=10
    ):
        events.append((event["type"], event["object"].data))
        if event["type"] == "DELETED":
            watch.stop()
    assert events == [("ADDED", {"a": "1"}), ("MODIFIED", {"a": "2"}), ("DELETED", {"a": "2"})]
