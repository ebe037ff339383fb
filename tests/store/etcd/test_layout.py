"""Keys of the store and of etcd."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.kinds.builtin import registry
from kubetrio.storagevalues.table import folders
from kubetrio.store.etcd.layout import OTHER_FOLDERS, OTHERS, Layout
from kubetrio.store.model import Range

# kube-apiserver 1.36: the resource's name, but for these.
ODD = {
    ("", "endpoints"): "services/endpoints",
    ("", "nodes"): "minions",
    ("", "replicationcontrollers"): "controllers",
    ("", "services"): "services/specs",
    ("apiextensions.k8s.io", "customresourcedefinitions"): (
        "apiextensions.k8s.io/customresourcedefinitions"
    ),
    ("apiregistration.k8s.io", "apiservices"): "apiregistration.k8s.io/apiservices",
    ("networking.k8s.io", "ingresses"): "ingress",
}


def test_folders_of_built_in_kinds() -> None:
    """Those of kube-apiserver, with its default prefix and with another."""
    for prefix, folder in folders(registry().resources.values()).items():
        kind = folder.kind
        said = ODD.get((kind.group, kind.resource), kind.resource)
        assert Layout().to_etcd(prefix) == f"/registry/{said}/".encode()
        assert Layout("kube/one/").to_etcd(prefix) == f"/kube/one/{said}/".encode()


names = st.text(alphabet="abc-.é0/", min_size=1, max_size=12)


@given(st.sampled_from(["/registry/", "/kubetrio/"]), names, st.sampled_from(["/registry", "a/b"]))
def test_keys_come_back(begin: str, name: str, prefix: str) -> None:
    """Every key has one of its own in etcd."""
    layout = Layout(prefix)
    key = begin + name
    found = layout.to_etcd(key)
    if begin == "/registry/" and (name.startswith("kubetrio/") or _other(name)):
        return  # no group is named so
    assert layout.from_etcd(found) == key
    assert layout.everything[0] <= found < layout.everything[1]


@pytest.mark.parametrize("prefix", ["/registry", "a/b"])
def test_keys_that_are_not_utf_8(prefix: str) -> None:
    """They are no keys of the store, wherever below the prefix they are."""
    layout = Layout(prefix)
    for folder in ("pods/default/", "kubetrio/", ""):
        assert layout.from_etcd(layout.everything[0] + folder.encode() + b"\xff\xfe") is None


def _other(name: str) -> bool:
    return name in OTHERS or name.startswith(OTHER_FOLDERS)


@given(names, names)
def test_order_is_kept(one: str, other: str) -> None:
    """So a range of the store is a range of etcd."""
    layout = Layout("/x")
    keys = [f"/registry/{name}" for name in (one, other)]
    first, second = (layout.to_etcd(key) for key in keys)
    assert (first < second) == (keys[0].encode() < keys[1].encode())


def test_ranges() -> None:
    """Of a folder, of one key, of everything."""
    layout = Layout("/x")
    assert layout.range_of(Range.prefix("/registry/pods/")) == (b"/x/pods/", b"/x/pods0")
    assert layout.range_of(Range.single("/registry/a")) == (b"/x/a", b"/x/a\0")
    assert layout.range_of(Range.prefix("/registry/")) == layout.everything == (b"/x/", b"/x0")
    assert layout.range_of(Range.prefix("/kubetrio/")) == (b"/x/kubetrio/", b"/x/kubetrio0")


@pytest.mark.parametrize("name", [*OTHERS, "peerserverleases/10.0.0.1"])
def test_what_is_no_object_is_none_of_the_store(name: str) -> None:
    """Nor is what lies outside of the prefix."""
    assert Layout().from_etcd(Layout().other(name)) is None
    assert Layout().from_etcd(b"compact_rev_key") is None
    assert Layout("/x").from_etcd(b"/registry/pods/default/p") is None


def test_groups_that_begin_like_other_keys() -> None:
    """They are groups."""
    for name in ("health.example.com/checks/default/c", "masterleases.example.com/a/b"):
        assert Layout().from_etcd(Layout().other(name)) == f"/registry/{name}"


def test_mistakes() -> None:
    """An empty prefix, and a key of no folder."""
    with pytest.raises(ValueError, match="--etcd-prefix"):
        Layout("//")
    with pytest.raises(ValueError, match="/other/a"):
        Layout().to_etcd("/other/a")
