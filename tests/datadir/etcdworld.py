"""A data directory with some objects, and an etcd in memory to copy them to."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from kubetrio.datadir.migration import EtcdPlace
from kubetrio.resources.objects import stamp
from kubetrio.store.lock import DirectoryLock
from kubetrio.store.sqlite.inspection import FILE_NAME, inspect
from kubetrio.store.sqlite.loading import Loaded, loading
from kubetrio.testing.etcdmodel import EtcdModel

NOW_MS = 1_700_000_000_000
Json = dict[str, Any]
SECRET = "/registry/secrets/default/s"
HEAD = "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\nresources:\n"


def configured(path: Path, letter: str = "a") -> Path:
    """A configuration that encrypts Secrets."""
    key = base64.b64encode(letter.encode() * 32).decode()
    rule = f"- resources: [secrets]\n  providers: [{{aesgcm: {{keys: [{{name: {letter}, secret: "
    path.write_text(f"{HEAD}{rule}{key}}}]}}}}, {{identity: {{}}}}]\n")
    return path


def obj(kind: str, name: str, revision: int, **more: Any) -> Loaded:
    """An object as it is stored, at a revision."""
    folders = {"ConfigMap": "configmaps", "Secret": "secrets", "Event": "events"}
    meta = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-of-{name}",
        "creationTimestamp": "2026-11-29T12:00:00Z",
    }
    body: Json = {"kind": kind, "apiVersion": "v1", "metadata": meta, **more}
    key = f"/registry/{folders.get(kind, kind)}/default/{name}"
    value = stamp(body)
    return Loaded(key, revision, value.at(revision), value.hole)


def widget(name: str, revision: int) -> Loaded:
    """A custom resource, with members that are not in the order of their names."""
    body: Json = {
        "kind": "Widget",
        "apiVersion": "example.com/v1",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-of-{name}"},
        "spec": {"b": 1, "a": 2.5},
    }
    value = stamp(body)
    key = f"/registry/example.com/widgets/default/{name}"
    return Loaded(key, revision, value.at(revision), value.hole)


OBJECTS = (
    obj("ConfigMap", "first", 1, data={"a": "1"}),
    obj("ConfigMap", "third", 3, data={"a": "3"}),
    obj("Secret", "s", 5, data={"a": "aHVudGVyMg=="}, type="Opaque"),
    obj("ConfigMap", "tenth", 10, data={"a": "10"}),
    obj("ConfigMap", "ninetieth", 90, data={"a": "é\n" * 100}),
    obj("ConfigMap", "next", 91),
)


def write(directory: Path, *rows: Loaded, revision: int = 120) -> None:
    """Make a data directory of objects."""
    directory.mkdir(parents=True, exist_ok=True)
    lock = DirectoryLock(directory)
    try:
        with loading(directory, NOW_MS) as loader:
            loader.write(rows, NOW_MS)
            loader.finish(revision, NOW_MS)
    finally:
        lock.release()


def read(directory: Path) -> dict[str, bytes]:
    """What objects a data directory has, without notes."""
    with inspect(directory / FILE_NAME) as seen:
        return {
            key: seen.value_of(revision)
            for revision, key in seen.live()
            if not key.startswith("/kubetrio/")
        }


def place(model: EtcdModel, **more: Any) -> EtcdPlace:
    """The etcd in memory."""
    return EtcdPlace(servers=("http://etcd",), dial=model.dial, **more)


class Bar:
    """What is told of how far a copy is."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int]] = []

    def to(self, done: int, total: int) -> None:
        """See `migration.Tell`."""
        assert 0 <= done <= total
        self.told.append((done, total))
