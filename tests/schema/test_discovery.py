"""Discovery documents say what the registry holds, in kube-apiserver's shapes and order."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.kinds.builtin import registry
from kubetrio.machinery.names import GroupVersion, GroupVersionKind
from kubetrio.schema import builtin, discovery
from kubetrio.schema.kind import Kind, Subresource
from kubetrio.schema.registry import Registry
from kubetrio.schema.steps import finish

REGISTRY = registry()
RECORDS = builtin.load("resources")["resources"]
KIND = GroupVersionKind("stable.example.com", "v1", "CronTab")
CUSTOM = Kind(
    group=KIND.group,
    version=KIND.version,
    resource="crontabs",
    kind=KIND.kind,
    singular="crontab",
    namespaced=True,
    verbs=frozenset(discovery.CUSTOM_VERBS),
    short_names=("ct",),
    subresources={
        "scale": Subresource(
            name="scale",
            kind=GroupVersionKind("autoscaling", "v1", "Scale"),
            verbs=frozenset({"get", "patch", "update"}),
        ),
        "status": Subresource(
            name="status", kind=KIND, verbs=frozenset({"get", "patch", "update"})
        ),
    },
)
WITH_CUSTOM = REGISTRY.with_resources([CUSTOM])


def entry_of(path: str) -> discovery.Json:
    """The APIResource entry of a record of ``schemas/resources.json``."""
    group, version, name = path.split("/", 2)
    document = discovery.api_resource_list(REGISTRY, GroupVersion(group, version))
    assert document is not None
    return next(entry for entry in document["resources"] if entry["name"] == name)


def aggregated_entry_of(path: str) -> discovery.Json:
    """The APIResourceDiscovery or APISubresourceDiscovery entry of a record."""
    group, version, name, *sub = path.split("/")
    document = discovery.aggregated(REGISTRY, "named" if group else "core")
    item = next(item for item in document["items"] if item["metadata"].get("name", "") == group)
    found = next(entry for entry in item["versions"] if entry["version"] == version)
    entry = next(entry for entry in found["resources"] if entry["resource"] == name)
    for wanted in sub:
        entry = next(item for item in entry["subresources"] if item["subresource"] == wanted)
    return entry


def test_api_versions():
    """GET /api names the one core version and the server's address for every client."""
    assert discovery.api_versions("192.0.2.1:6443") == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [
            {"clientCIDR": "0.0.0.0/0", "serverAddress": "192.0.2.1:6443"}
        ],
    }


def test_group_list_order():
    """GET /apis lists the named groups in the order of a real server."""
    expected = [
        {"name": item["name"], "versions": item["versions"], "preferred": item["preferredVersion"]}
        for item in builtin.load("resources")["legacyGroups"]
    ]
    assert [
        {
            "name": group["name"],
            "versions": [item["version"] for item in group["versions"]],
            "preferred": group["preferredVersion"]["version"],
        }
        for group in discovery.api_group_list(REGISTRY)["groups"]
    ] == expected


def test_group_list_entries_have_no_kind():
    """A group inside a list does not repeat kind and apiVersion."""
    groups = discovery.api_group_list(REGISTRY)["groups"]
    assert all(list(group) == ["name", "versions", "preferredVersion"] for group in groups)


def test_group_prefers_first_version():
    """A group's preferred version is the first of the registry."""
    assert discovery.api_group(REGISTRY, "autoscaling") == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "autoscaling",
        "versions": [
            {"groupVersion": "autoscaling/v2", "version": "v2"},
            {"groupVersion": "autoscaling/v1", "version": "v1"},
        ],
        "preferredVersion": {"groupVersion": "autoscaling/v2", "version": "v2"},
    }


@pytest.mark.parametrize("group", ["", "no.such.group"])
def test_group_unknown(group):
    """The core group has no document below /apis, nor has a group that is not served."""
    assert discovery.api_group(REGISTRY, group) is None


def test_core_list_has_no_api_version():
    """The core resource list is without apiVersion; the others have v1."""
    core = discovery.api_resource_list(REGISTRY, GroupVersion("", "v1"))
    apps = discovery.api_resource_list(REGISTRY, GroupVersion("apps", "v1"))
    assert core is not None
    assert apps is not None
    assert list(core) == ["kind", "groupVersion", "resources"]
    assert list(apps) == ["kind", "apiVersion", "groupVersion", "resources"]


def test_resource_list_unknown():
    """A version that is not served has no list."""
    assert discovery.api_resource_list(REGISTRY, GroupVersion("apps", "v9")) is None


@pytest.mark.parametrize("path", RECORDS)
def test_resource_entry(path):
    """Every recorded resource and subresource is listed as recorded."""
    record, entry = RECORDS[path], entry_of(path)
    expected = {
        "name": path.split("/", 2)[2],
        "singularName": record["singular"],
        "namespaced": record["scope"] == "Namespaced",
        "kind": record["kind"],
        "verbs": record["verbs"],
    }
    same = ("shortNames", "categories", "storageVersionHash")
    expected |= {key: record[key] for key in same if key in record}
    for key, source in (("group", "legacyGroup"), ("version", "legacyVersion")):
        if source in record:
            expected[key] = record[source]
    assert entry == expected


@pytest.mark.parametrize("path", RECORDS)
def test_aggregated_entry(path):
    """Every recorded resource and subresource is in the aggregated document as recorded."""
    record, entry = RECORDS[path], aggregated_entry_of(path)
    same = ("responseKind", "verbs", "shortNames", "categories")
    assert {key: entry.get(key) for key in same} == {key: record.get(key) for key in same}


@pytest.mark.parametrize("group_version", list(REGISTRY.by_group_version))
def test_resource_list_sorted(group_version):
    """Lists are sorted by name, so that a resource comes right before its subresources."""
    document = discovery.api_resource_list(REGISTRY, group_version)
    assert document is not None
    names = [entry["name"] for entry in document["resources"]]
    assert names == sorted(names)


def test_aggregated_core():
    """GET /api gives the core group alone, and a core group has no name."""
    document = discovery.aggregated(REGISTRY, "core")
    assert [item["metadata"] for item in document["items"]] == [{}]
    assert document["apiVersion"] == "apidiscovery.k8s.io/v2"


def test_aggregated_named_order():
    """GET /apis gives the named groups in registry order, versions preferred first."""
    document = discovery.aggregated(REGISTRY, "named")
    assert {
        item["metadata"]["name"]: tuple(version["version"] for version in item["versions"])
        for item in document["items"]
    } == {group: versions for group, versions in REGISTRY.groups.items() if group}


def test_custom_verbs_order():
    """Verbs of a custom resource keep the order of kube-apiserver's extension server."""
    document = discovery.api_resource_list(WITH_CUSTOM, CUSTOM.group_version)
    assert document is not None
    assert document["resources"][0]["verbs"] == list(discovery.CUSTOM_VERBS)


def test_custom_subresources_order():
    """A custom resource lists status before scale."""
    document = discovery.api_resource_list(WITH_CUSTOM, CUSTOM.group_version)
    assert document is not None
    names = [entry["name"] for entry in document["resources"]]
    assert names == ["crontabs", "crontabs/status", "crontabs/scale"]


def test_custom_response_kind():
    """The aggregated document spells out group and version of a custom kind."""
    resource = discovery.aggregated(WITH_CUSTOM, "named")["items"][-1]["versions"][0]
    assert resource["resources"][0]["responseKind"] == {
        "group": "stable.example.com",
        "version": "v1",
        "kind": "CronTab",
    }


def test_custom_group_last():
    """A group that came with a definition is listed after the built-in ones."""
    assert discovery.api_group_list(WITH_CUSTOM)["groups"][-1]["name"] == "stable.example.com"


def test_version_without_resources():
    """A served version without resources has an empty list and no member in the aggregate."""
    registry = Registry(groups={"empty.example.com": ("v1",)}, resources={})
    document = discovery.api_resource_list(registry, GroupVersion("empty.example.com", "v1"))
    assert document is not None
    assert document["resources"] == []
    versions = discovery.aggregated(registry, "named")["items"][0]["versions"]
    assert versions == [{"version": "v1", "freshness": "Current"}]


def test_root_paths():
    """GET / lists the recorded paths, with those of groups and versions, all sorted."""
    recorded = builtin.load("resources")["rootPaths"]
    health = [path for path in recorded if path.startswith(discovery.HEALTH_ROOTS)]
    paths = discovery.root_paths(REGISTRY, health)["paths"]
    assert paths == sorted(paths)
    assert set(recorded) <= set(paths)
    assert paths[:7] == [
        "/.well-known/openid-configuration",
        "/api",
        "/api/v1",
        "/apis",
        "/apis/",
        "/apis/admissionregistration.k8s.io",
        "/apis/admissionregistration.k8s.io/v1",
    ]


def test_root_paths_health():
    """Health paths are those given, not those recorded."""
    paths = discovery.root_paths(REGISTRY, ["/livez", "/livez/ping"])["paths"]
    health = [path for path in paths if path.startswith(discovery.HEALTH_ROOTS)]
    assert health == ["/livez", "/livez/ping"]


@given(st.binary(max_size=64))
@settings(max_examples=20)
def test_etag(document):
    """The entity tag is the SHA-512 in upper-case hexadecimal, quoted."""
    tag = discovery.etag(document)
    assert bytes.fromhex(tag.strip('"')) == hashlib.sha512(document).digest()
    assert tag == f'"{tag[1:-1].upper()}"'


@pytest.mark.parametrize("size", [0, 1, discovery.HASHED_BYTES, 2 * discovery.HASHED_BYTES + 1])
def test_a_tag_made_in_steps_is_the_tag(size: int):
    document = b"x" * size
    assert finish(discovery.etag_steps(document)) == discovery.etag(document)
