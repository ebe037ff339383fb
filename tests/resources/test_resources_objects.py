"""Objects to stored bytes: printing order, the hole for the revision."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubetrio.kinds.builtin import registry
from kubetrio.machinery.status import ApiError
from kubetrio.resources.objects import (
    META_ORDER,
    MOST_BYTES,
    canonical,
    check_size,
    head,
    metadata,
    order_metadata,
    restamp,
    stamp,
    uid,
    unversioned,
)
from kubetrio.store.model import Stamped

# Texts that look like the mark a stored object is cut at.
TEXTS = st.sampled_from(["", "a", '"resourceVersion":"', '\\"', "é\0<>", '":"7"']) | st.text(
    max_size=5
)
METAS = st.fixed_dictionaries(
    {"name": TEXTS},
    optional={
        "uid": TEXTS,
        "resourceVersion": st.integers(0, 10**9).map(str),
        "labels": st.dictionaries(TEXTS, TEXTS, max_size=2),
        "finalizers": st.lists(TEXTS, max_size=2),
        "managedFields": st.just([{"manager": '"resourceVersion":"'}]),
    },
)
OBJECTS = st.fixed_dictionaries(
    {"kind": st.just("ConfigMap"), "apiVersion": st.just("v1"), "metadata": METAS},
    optional={"data": st.dictionaries(TEXTS, TEXTS, max_size=2)},
)


def test_metadata_is_ordered_as_kubernetes_prints_it() -> None:
    """Whatever order it comes in; members nobody knows do not exist."""
    shuffled = dict.fromkeys(reversed(META_ORDER), "x") | {"unknown": 1}
    assert tuple(order_metadata(shuffled)) == META_ORDER


def test_kind_and_version_come_first() -> None:
    """They are what a joined list leaves out."""
    shaped = canonical({"data": {}, "metadata": {"uid": "u", "name": "n"}}, "ConfigMap", "v1")
    assert list(shaped) == ["kind", "apiVersion", "metadata", "data"]
    assert list(shaped["metadata"]) == ["name", "uid"]


@pytest.mark.parametrize(
    ("group", "version", "plural", "expected"),
    [
        ("", "v1", "configmaps", b'{"kind":"ConfigMap","apiVersion":"v1",'),
        ("apps", "v1", "deployments", b'{"kind":"Deployment","apiVersion":"apps/v1",'),
        # Another version than the stored one: the bytes are still those of the stored one.
        (
            "autoscaling",
            "v1",
            "horizontalpodautoscalers",
            b'{"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v2",',
        ),
    ],
)
def test_the_head_of_stored_objects(group: str, version: str, plural: str, expected: bytes) -> None:
    """The first bytes are those of the version that is stored."""
    assert head(registry().resources[group, version, plural]) == expected


@settings(max_examples=60)
@given(obj=OBJECTS, revision=st.integers(1, 2**63 - 1))
def test_a_stamped_object_is_the_object_at_its_revision(obj: dict[str, Any], revision: int) -> None:
    """The hole takes the revision and nothing else changes, whatever texts the object holds."""
    expected = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(revision)}}
    assert orjson.loads(stamp(obj).at(revision)) == expected


@settings(max_examples=60)
@given(obj=OBJECTS, old=st.integers(1, 10**6), new=st.integers(1, 10**12))
def test_restamping_is_stamping_again(obj: dict[str, Any], old: int, new: int) -> None:
    """The hole of stored bytes is found without a parser."""
    assert restamp(stamp(obj).at(old)).at(new) == stamp(obj).at(new)


def test_stamping_changes_nothing_it_is_given() -> None:
    """The object of the caller stays as it is."""
    obj = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "n"}}
    stamp(obj)
    assert obj == {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "n"}}


def test_an_object_that_is_not_stored_keeps_its_version() -> None:
    """A dry run shows the resourceVersion it came with, or none."""
    obj: dict[str, Any] = {"apiVersion": "v1", "metadata": {"uid": "u"}, "kind": "ConfigMap"}
    assert unversioned(obj) == b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"uid":"u"}}'
    obj["metadata"]["resourceVersion"] = "7"
    assert orjson.loads(unversioned(obj))["metadata"]["resourceVersion"] == "7"


@given(OBJECTS, st.booleans())
def test_metadata_are_read_without_the_rest(obj: dict[str, Any], inside: bool) -> None:
    """Whatever looks like the end of them; who owns which fields may be missing."""
    obj["metadata"].setdefault("uid", "u")
    if inside:
        obj["spec"] = {"template": {"metadata": {"labels": {}, "managedFields": [{"a": 1}]}}}
    value = stamp(obj).at(7)
    expected = orjson.loads(value)["metadata"]
    found = metadata(value)
    found.pop("managedFields", None)
    expected.pop("managedFields", None)
    assert found == expected


@given(OBJECTS, st.uuids())
def test_the_uid_is_found(obj: dict[str, Any], number: object) -> None:
    """Before everything that looks like one."""
    obj["metadata"] |= {"uid": str(number), "annotations": {"uid": "no", '"uid":"': '"uid":"no"'}}
    assert uid(stamp(obj).at(7)) == str(number)


@given(OBJECTS)
def test_an_object_without_a_uid(obj: dict[str, Any]) -> None:
    """It has none, whatever those have that it names."""
    obj["metadata"].pop("uid", None)
    assert uid(stamp(obj).at(7)) == ""
    obj["metadata"]["ownerReferences"] = [{"uid": "no"}]
    obj["spec"] = {"claimRef": {"uid": "no"}}
    assert uid(stamp(obj).at(7)) == ""


@pytest.mark.parametrize(
    ("size", "before", "fits"),
    [
        (MOST_BYTES, 0, True),
        (MOST_BYTES + 1, 0, False),
        (MOST_BYTES + 1, MOST_BYTES, False),
        (MOST_BYTES + 2, MOST_BYTES + 2, True),
        (MOST_BYTES + 2, MOST_BYTES + 1, False),
    ],
)
def test_what_is_too_large_is_refused(size: int, before: int, *, fits: bool) -> None:
    """In etcd's words; what is so already may become smaller, to go away for one."""
    value = Stamped(b"x" * (size - 10), b"y" * 10)
    if fits:
        check_size(value, before)
        return
    with pytest.raises(ApiError) as caught:
        check_size(value, before)
    assert caught.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "etcdserver: request is too large",
        "code": 500,
    }
