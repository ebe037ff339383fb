"""OpenAPI documents: their index, references, operations and hashes."""

from dataclasses import replace

import orjson
import pytest
from examples import shortened
from hypothesis import given
from hypothesis import strategies as st
from openapidocuments import (
    CUSTOM,
    CUSTOM_PATH,
    PATHS,
    REGISTRY,
    VERSION,
    WITH_CUSTOM,
    Recorded,
    document,
    references,
)

from kubetrio.crd.custom import CustomParts
from kubetrio.schema import openapi
from kubetrio.schema.steps import finish
from kubetrio.wire import jsonwire


def test_index_names_every_version():
    """The index has every served version, every group, and the plain documents."""
    paths = openapi.index(WITH_CUSTOM, version=VERSION)["paths"]
    plain = {".well-known/openid-configuration", "api", "apis", "openid/v1/jwks", "version"}
    versions = {
        f"apis/{group}/{version}"
        for group, versions in WITH_CUSTOM.groups.items()
        for version in versions
        if group
    }
    groups = {f"apis/{group}" for group in REGISTRY.groups if group}
    assert set(paths) == plain | versions | groups | {"api/v1"}


def test_index_url():
    """An entry is a URL relative to the server with a SHA-512 in upper-case hexadecimal."""
    url = openapi.index(REGISTRY, version=VERSION)["paths"]["apis/apps/v1"]["serverRelativeURL"]
    path, _, digest = url.partition("?hash=")
    assert path == "/openapi/v3/apis/apps/v1"
    assert len(digest) == 128
    assert digest == digest.upper()


@pytest.mark.parametrize("path", PATHS)
def test_index_hash_is_the_documents(path):
    """The hash in the index is the one a server checks a request against."""
    url = openapi.index(REGISTRY, version=VERSION)["paths"][path]["serverRelativeURL"]
    assert url.endswith(f"?hash={openapi.document_hash(REGISTRY, path, version=VERSION)}")


@pytest.mark.parametrize("path", ["", "apis/apps/v9", "apis/no.such.group", "logs", "healthz"])
def test_unknown_path(path):
    """What the index does not name has no document and no hash."""
    assert openapi.document(REGISTRY, path, version=VERSION) is None
    assert openapi.document_hash(REGISTRY, path, version=VERSION) is None


@pytest.mark.parametrize("path", [*PATHS, CUSTOM_PATH])
def test_references_resolve(path):
    """A document holds exactly the types that it refers to, directly or not."""
    made = document(path)
    prefix = "#/components/schemas/"
    used = {item.removeprefix(prefix) for item in references(made)}
    assert used == set(made["components"].get("schemas", {}))


@pytest.mark.parametrize("path", PATHS)
def test_head(path):
    """Every document has version, title and the security scheme."""
    made = document(path)
    assert made["openapi"] == "3.0.0"
    assert made["info"] == {"title": "Kubernetes", "version": VERSION}
    assert made["components"]["securitySchemes"]["BearerToken"]["type"] == "apiKey"


def test_hash_changes_with_custom_schema():
    """A new schema changes the hash of its own document and of no other."""
    others = [replace(CUSTOM, parts=CustomParts(schema={"type": "object"}))]
    old, new = (
        openapi.index(served, version=VERSION)["paths"]
        for served in (WITH_CUSTOM, REGISTRY.with_resources(others))
    )
    assert {path for path in old if old[path] != new[path]} == {CUSTOM_PATH}


def test_hash_changes_with_version():
    """Another Kubernetes version changes every hash, since it is in every document."""
    old, new = (openapi.index(REGISTRY, version=item)["paths"] for item in (VERSION, "v1.36.1"))
    assert all(old[path] != new[path] for path in old)


def test_hash_changes_with_resources():
    """A resource that appears in a version changes the hash of that version."""
    other = replace(CUSTOM, resource="others", kind="Other")
    registry = WITH_CUSTOM.with_resources([other])
    assert openapi.document_hash(registry, CUSTOM_PATH, version=VERSION) != openapi.document_hash(
        WITH_CUSTOM, CUSTOM_PATH, version=VERSION
    )


@pytest.mark.parametrize("path", PATHS)
def test_a_document_in_steps_is_the_document(path):
    """Whoever takes a step at a time ends with the same bytes, and has many steps to take."""
    taken = list(steps := Recorded(openapi.document_steps(REGISTRY, path, version=VERSION)))
    assert steps.result == openapi.document(REGISTRY, path, version=VERSION)
    assert len(taken) >= len(orjson.loads(steps.result)["paths"]) // 4


@shortened(100)
@given(st.dictionaries(st.text(), st.dictionaries(st.text(), st.text() | st.lists(st.text()))))
def test_json_in_steps_is_json(value):
    """Whatever the members hold, empty ones included."""
    assert finish(openapi.json_steps(value)) == jsonwire.encode(value)


def test_document_is_repeatable():
    """The same registry gives the same bytes."""
    first, second = (openapi.document(REGISTRY, "apis/apps/v1", version=VERSION) for _ in range(2))
    assert first == second
