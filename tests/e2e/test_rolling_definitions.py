"""Operators and clients that go on while the definition of their kind rolls to another version."""

from __future__ import annotations

import json
import subprocess
import sys
import threading  # noqa: TID251  (the client under test blocks)
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pytest

from kubetrio.testing.process import ServerProcess

kubernetes: Any = pytest.importorskip("kubernetes", reason="the kubernetes client is not installed")
dynamic: Any = pytest.importorskip("kubernetes.dynamic")

Start = Callable[..., ServerProcess]
pytestmark = pytest.mark.e2e
GROUP, PLURAL = "crews.example.com", "crews"
NAME = f"{PLURAL}.{GROUP}"
LIMIT_S = 30
OPERATOR = f"""\
import kopf

@kopf.on.create("{GROUP}", "v1", "{PLURAL}")
def created(spec, patch, **_):
    patch.status["made"] = spec["size"]
    return {{"size": spec["size"]}}

@kopf.on.update("{GROUP}", "v1", "{PLURAL}", field="spec.size")
def updated(old, new, patch, **_):
    patch.status["made"] = new

@kopf.on.delete("{GROUP}", "v1", "{PLURAL}")
def deleted(name, logger, **_):
    logger.info(f"gone: {{name}}")
"""


def version(name: str, *, storage: bool, served: bool = True, more: Any = None) -> Any:
    """A version of the definition."""
    spec = {"type": "object", "properties": {"size": {"type": "integer"}, **(more or {})}}
    # kopf keeps its progress in annotations and, of old, in the status.
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    return {
        "name": name, "served": served, "storage": storage, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }  # fmt: skip


def definition(*versions: Any) -> Any:
    """The definition."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": PLURAL, "singular": "crew", "kind": "Crew"},
            "versions": list(versions),
        },
    }


def crew(name: str, size: int, api: str = "v1") -> Any:
    """An object."""
    return {
        "apiVersion": f"{GROUP}/{api}",
        "kind": "Crew",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"size": size},
    }


COLOR = {"color": {"type": "string", "default": "red"}}


class Cluster:
    """A server with the definition, as an administrator sees it."""

    def __init__(self, server: ServerProcess) -> None:
        self.api = kubernetes.config.new_client_from_config(str(server.kubeconfig))
        self.crds = kubernetes.client.ApiextensionsV1Api(self.api)
        self.crews = kubernetes.client.CustomObjectsApi(self.api)
        self.kubeconfig = server.kubeconfig

    def install(self) -> None:
        """Have the definition served in ``v1``."""
        self.crds.create_custom_resource_definition(definition(version("v1", storage=True)))
        self._established()

    def _established(self) -> None:
        for event in kubernetes.watch.Watch().stream(
            self.crds.list_custom_resource_definition, timeout_seconds=LIMIT_S
        ):
            for one in event["object"].status.conditions or ():
                if (one.type, one.status) == ("Established", "True"):
                    return
        raise AssertionError("it is not established")

    def roll(self, *versions: Any) -> None:
        """Change the versions of the definition."""
        self.crds.patch_custom_resource_definition(NAME, {"spec": {"versions": list(versions)}})

    def forget(self, *stored: str) -> None:
        """Say which versions are still stored."""
        body = {"status": {"storedVersions": list(stored)}}
        self.crds.patch_custom_resource_definition_status(NAME, body)

    def rewrite(self, api: str) -> None:
        """Write every object anew, so that it is stored in the version of today."""
        for obj in self.crews.list_namespaced_custom_object(GROUP, api, "default", PLURAL)["items"]:
            self.crews.replace_namespaced_custom_object(
                GROUP, api, "default", PLURAL, obj["metadata"]["name"], obj
            )

    def wait(self, name: str, holds: Callable[[Any], bool], api: str = "v1") -> Any:
        """An object once it is as it should be; watched anew when a watch ends."""
        until = threading.Event()
        timer = threading.Timer(LIMIT_S, until.set)
        timer.start()
        try:
            while not until.is_set():
                for event in kubernetes.watch.Watch().stream(
                    self.crews.list_namespaced_custom_object, GROUP, api, "default", PLURAL,
                    field_selector=f"metadata.name={name}", timeout_seconds=2,
                ):  # fmt: skip
                    if holds(event["object"]):
                        return event["object"]
        finally:
            timer.cancel()
        found = self.crews.get_namespaced_custom_object(GROUP, api, "default", PLURAL, name)
        raise AssertionError(found)


@pytest.fixture
def cluster(start_server: Start, tmp_path: Path) -> Iterator[Cluster]:
    """A server with the definition in one version."""
    made = Cluster(start_server(tmp_path / "data", "--durability", "normal"))
    with made.api:
        made.install()
        yield made
        made.api.rest_client.pool_manager.clear()


@contextmanager
def operator(cluster: Cluster, folder: Path) -> Iterator[Path]:
    """A kopf operator that runs meanwhile; what it logs."""
    handler, log = folder / "operator.py", folder / "kopf.log"
    handler.write_text(OPERATOR)
    command = [sys.executable, "-m", "kopf", "run", "--standalone", "-n", "default", str(handler)]
    environment = {"KUBECONFIG": str(cluster.kubeconfig), "HOME": str(folder)}
    with log.open("w") as out, subprocess.Popen(command, env=environment, stderr=out) as kopf:
        try:
            yield log
        finally:
            kopf.terminate()


def size_is(size: int) -> Callable[[Any], bool]:
    """Whether the operator has seen to a size."""
    return lambda obj: (obj.get("status") or {}).get("made") == size


def test_a_kopf_operator_goes_on(cluster: Cluster, tmp_path: Path) -> None:
    """Create, update and delete handlers work before, during and after a rolling change."""
    pytest.importorskip("kopf", reason="kopf is not installed")
    crews = cluster.crews
    place = (GROUP, "v1", "default", PLURAL)
    with operator(cluster, tmp_path) as log:
        crews.create_namespaced_custom_object(*place, crew("one", 1))
        made = cluster.wait("one", size_is(1))
        assert made["status"]["created"] == {"size": 1}
        assert made["metadata"]["finalizers"] == ["kopf.zalando.org/KopfFinalizerMarker"]
        # A version comes.
        cluster.roll(version("v1", storage=True), version("v2", storage=False, more=COLOR))
        crews.patch_namespaced_custom_object(*place, "one", {"spec": {"size": 2}})
        cluster.wait("one", size_is(2))
        # It is the one that is stored; objects are written in both.
        cluster.roll(version("v1", storage=False), version("v2", storage=True, more=COLOR))
        crews.create_namespaced_custom_object(
            GROUP, "v2", "default", PLURAL, crew("two", 5, api="v2")
        )
        two = cluster.wait("two", size_is(5))
        assert "color" not in two["spec"]
        assert cluster.wait("two", size_is(5), api="v2")["spec"]["color"] == "red"
        # What is stored is of the new version alone.
        cluster.rewrite("v1")
        cluster.forget("v2")
        crews.patch_namespaced_custom_object(*place, "two", {"spec": {"size": 6}})
        cluster.wait("two", size_is(6))
        # The operator's finalizers are taken away by its handlers.
        for name in ("one", "two"):
            crews.delete_namespaced_custom_object(*place, name)
            while crews.list_namespaced_custom_object(
                *place, field_selector=f"metadata.name={name}"
            )["items"]:
                for event in kubernetes.watch.Watch().stream(
                    crews.list_namespaced_custom_object, *place, timeout_seconds=1
                ):
                    if event["type"] == "DELETED":
                        break
    said = log.read_text()
    assert "gone: one" in said
    assert "gone: two" in said
    assert "Traceback" not in said, said


class Informer:
    """What an informer does: a list, then watches, and a list again when that is asked for."""

    def __init__(self, resource: Any) -> None:
        self._resource = resource
        self._stop = threading.Event()
        self._changed = threading.Condition()
        self._items: dict[str, Any] = {}
        self.gone = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(LIMIT_S)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                listed = self._resource.get(namespace="default")
            except dynamic.exceptions.NotFoundError:
                with self._changed:
                    self.gone = True
                    self._changed.notify_all()
                return
            with self._changed:
                self._items = {one.metadata.name: one.to_dict() for one in listed.items}
                self._changed.notify_all()
            self._watch(listed.metadata.resourceVersion)

    def _watch(self, revision: str) -> None:
        try:
            # One second, as nothing else tells this client to stop.
            for event in self._resource.watch(
                namespace="default", resource_version=revision, timeout=1
            ):
                obj = event["raw_object"]
                with self._changed:
                    if event["type"] == "DELETED":
                        self._items.pop(obj["metadata"]["name"], None)
                    else:
                        self._items[obj["metadata"]["name"]] = obj
                    self._changed.notify_all()
        except (dynamic.exceptions.DynamicApiError, kubernetes.client.ApiException) as error:
            if error.status not in (404, 410):
                raise

    def wait(self, holds: Callable[[dict[str, Any]], bool]) -> None:
        """Wait until what it knows is as it should be."""
        with self._changed:
            assert self._changed.wait_for(lambda: holds(self._items), LIMIT_S), self._items

    def wait_gone(self) -> None:
        """Wait until there is nothing to list any more."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.gone, LIMIT_S)


def test_the_dynamic_client_goes_on(cluster: Cluster) -> None:
    """Informers in two versions follow a change to the end: the old one is taken away."""
    client = dynamic.DynamicClient(cluster.api)
    old = client.resources.get(api_version=f"{GROUP}/v1", kind="Crew")
    old.create(body=crew("one", 1), namespace="default")
    with Informer(old) as first:
        first.wait(lambda known: known["one"]["spec"] == {"size": 1} if "one" in known else False)
        cluster.roll(version("v1", storage=True), version("v2", storage=False, more=COLOR))
        client.resources.invalidate_cache()
        new = client.resources.get(api_version=f"{GROUP}/v2", kind="Crew")
        with Informer(new) as second:
            new.create(body=crew("two", 2, api="v2"), namespace="default")
            # What is stored is of the old version, which has no color; defaults are its own.
            second.wait(lambda known: colored(known) == {"one": "", "two": ""})
            first.wait(lambda known: sorted(known) == ["one", "two"])
            cluster.roll(version("v1", storage=False), version("v2", storage=True, more=COLOR))
            body = {"spec": {"size": 3, "color": "blue"}}
            new.patch(body=body, name="one", namespace="default",
                      content_type="application/merge-patch+json")  # fmt: skip
            second.wait(lambda known: colored(known) == {"one": "blue", "two": ""})
            first.wait(lambda known: known["one"]["spec"]["size"] == 3)
            refused = cluster.crds.patch_custom_resource_definition
            with pytest.raises(kubernetes.client.ApiException) as error:
                refused(NAME, {"spec": {"versions": [version("v2", storage=True, more=COLOR)]}})
            assert "status.storedVersions[0]" in json.loads(error.value.body)["message"]
            cluster.rewrite("v2")
            second.wait(lambda known: colored(known) == {"one": "blue", "two": "red"})
            cluster.forget("v2")
            # Not served any more, then not there at all.
            unserved = version("v1", storage=False, served=False)
            cluster.roll(unserved, version("v2", storage=True, more=COLOR))
            first.wait_gone()
            cluster.roll(version("v2", storage=True, more=COLOR))
            new.delete(name="two", namespace="default")
            second.wait(lambda known: colored(known) == {"one": "blue"})
            assert not second.gone
    found = cluster.crds.read_custom_resource_definition(NAME)
    assert found.status.stored_versions == ["v2"]
    with pytest.raises(kubernetes.client.ApiException) as error:
        cluster.crews.get_namespaced_custom_object(GROUP, "v1", "default", PLURAL, "one")
    assert error.value.status == 404


def colored(known: dict[str, Any]) -> dict[str, str]:
    """Colors by name."""
    return {name: obj["spec"].get("color", "") for name, obj in known.items()}
