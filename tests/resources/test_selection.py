"""Label and field selectors together."""

from __future__ import annotations

import orjson
import pytest

from kubetrio.kinds.builtin import registry
from kubetrio.machinery import fields, labels
from kubetrio.resources.selection import Object, Selection

PODS = registry().resources["", "v1", "pods"]


def selection(label: str = "", field: str = "") -> Selection:
    return Selection(
        labels.parse(label) if label else None,
        fields.parse(field) if field else None,
        PODS.selectors.values,
    )


def pod(name: str, node: str = "", **tags: str) -> Object:
    meta: Object = {"name": name, "namespace": "ns", "resourceVersion": "1"}
    if tags:
        meta["labels"] = tags
    return {"metadata": meta, "spec": {"nodeName": node}}


@pytest.mark.parametrize(
    ("label", "field", "names"),
    [
        ("a=b", "", {"p", "q"}),
        ("", "spec.nodeName=n", {"q", "r"}),
        ("a=b", "spec.nodeName=n", {"q"}),
        ("a!=b", "metadata.name!=r", set()),
        ("!a", "", {"r"}),
        ("", "", {"p", "q", "r"}),
    ],
)
def test_both_selectors_must_match(label: str, field: str, names: set[str]) -> None:
    """A missing selector matches everything, a missing label is no match."""
    pods = [pod("p", a="b"), pod("q", "n", a="b"), pod("r", "n")]
    chosen = {p["metadata"]["name"] for p in pods if selection(label, field).matches(p)}
    assert chosen == names


def test_stored_bytes_are_matched_as_their_object() -> None:
    """A list filters what the store has."""
    assert selection("a=b").matches_bytes(orjson.dumps(pod("p", a="b")))
    assert not selection("a=b").matches_bytes(orjson.dumps(pod("p")))


def test_labels_that_are_null_are_none() -> None:
    """As Go reads them."""
    obj = pod("p")
    obj["metadata"]["labels"] = None
    assert selection("!a").matches(obj)


def test_equal_selections_share_their_frames() -> None:
    """The identity is that of the selectors, not of the request."""
    assert selection("a=b,c=d").identity == selection("c=d,a=b").identity
    assert selection("a=b").identity != selection("a=c").identity
    assert selection("a=b").identity != selection("", "metadata.name=b").identity
