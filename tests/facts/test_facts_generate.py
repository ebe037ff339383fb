"""Inputs become the files that the server reads."""

import json
from pathlib import Path
from typing import Any

import pytest
from trees import GVK, plant

from facts.documents import dump, load
from facts.generate import generate, group_version_kinds, operations_file
from facts.source import make

DEPLOYMENT = "io.k8s.api.apps.v1.Deployment"
ENUM = {"type": "string", "enum": ["a"]}
RESOURCE = {"kind": "Deployment", "verbs": ["list"]}
LIVE: dict[str, Any] = {
    "types": {DEPLOYMENT: {**ENUM, "x-kubernetes-group-version-kind": [GVK]}},
    "operations": {"/version/": {"get": {"id": "getVersion"}}},
    "resources": {
        "groupOrder": [],
        "legacyGroups": [],
        "rootPaths": ["/healthz"],
        "resources": {"apps/v1/deployments": RESOURCE},
    },
    "metrics": {},
    **{
        name: {"b": 1, "a": 2}
        for name in (
            "tables", "field-selectors", "bootstrap", "aggregated-roles", "names", "behaviours",
            "flags",
        )
    },
}  # fmt: skip


@pytest.fixture
def made(tmp_path: Path) -> Path:
    inputs = tmp_path / "inputs"
    list(make(plant(tmp_path / "tree"), inputs))
    for name, records in LIVE.items():
        dump(inputs / f"{name}.json", records)
    list(generate(inputs, tmp_path / "schemas"))
    return tmp_path / "schemas"


def test_a_type_that_is_served_is_the_server_s(made: Path) -> None:
    """Upstream publishes types without enums."""
    assert load(made, "types/io.k8s.api.apps.v1")[DEPLOYMENT]["enum"] == ["a"]
    assert load(made, "kinds") == {"apps/v1/Deployment": DEPLOYMENT}


def test_a_resource_that_is_not_served_is_disabled(made: Path) -> None:
    """What upstream publishes and the server lacks is off by default."""
    found = load(made, "resources")
    assert found["resources"] == {"apps/v1/deployments": RESOURCE}
    assert list(found["disabledByDefaultResources"]) == ["/v1/pods"]


def test_operations_are_a_file_per_version(made: Path) -> None:
    """Published ones too; a file for those above the versions."""
    assert sorted(path.stem for path in (made / "operations").iterdir()) == ["apps.v1", "root"]


def test_messages_are_a_file_per_package(made: Path) -> None:
    """Under the name of the package."""
    assert list(load(made, "protobuf/k8s.io.api.apps.v1")) == ["k8s.io.api.apps.v1.Deployment"]


def test_facts_by_key_are_sorted_and_objects_are_not(made: Path) -> None:
    """The order of objects of a fresh server is that of discovery."""
    assert list(load(made, "tables")) == ["a", "b"]
    assert list(load(made, "bootstrap")) == ["b", "a"]


def test_an_input_that_is_missing_is_named(tmp_path: Path) -> None:
    """Nothing is made up."""
    with pytest.raises(FileNotFoundError, match="published-types"):
        list(generate(tmp_path, tmp_path))


def test_kinds_of_many_types() -> None:
    """A type with several kinds is found by its name."""
    kinds = [{"group": group, "version": "v1", "kind": "DeleteOptions"} for group in ("", "apps")]
    types = {"x.DeleteOptions": {"x-kubernetes-group-version-kind": kinds}}
    assert group_version_kinds(types) == {}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/api/v1/pods", "core.v1"),
        ("/apis/apps/v1/deployments", "apps.v1"),
        ("/apis/apps/", "root"),
        ("/version/", "root"),
    ],
)
def test_files_of_operations(path: str, name: str) -> None:
    """A file for each version."""
    assert operations_file(path) == name


def test_the_files_are_one_record_a_line(made: Path) -> None:
    """A new release is a short diff."""
    lines = (made / "names.json").read_text().splitlines()
    assert lines == ["{", '"b":1,', '"a":2', "}"]
    assert json.loads("".join(lines)) == {"b": 1, "a": 2}
