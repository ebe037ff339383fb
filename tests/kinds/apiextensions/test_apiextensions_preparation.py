"""What writes of definitions do beside what their clients say."""

from __future__ import annotations

from checks.prepared import create, update

from kubetrio.schema.rules import Json


def test_storage_versions_of_a_definition_add_up() -> None:
    """A version that was a storage version stays in the list."""
    names = {"plural": "foos", "kind": "Foo"}

    def spec(stored: str) -> Json:
        versions = [
            {"name": name, "served": True, "storage": name == stored} for name in ("v1", "v2")
        ]
        return {"group": "g.x", "scope": "Cluster", "names": names, "versions": versions}

    kind = ("apiextensions.k8s.io", "customresourcedefinitions")
    old = create(*kind, spec=spec("v1"))
    assert old["status"]["storedVersions"] == ["v1"]
    new = update(*kind, old, spec=spec("v2"), status=old["status"])
    assert new["status"]["storedVersions"] == ["v1", "v2"]
