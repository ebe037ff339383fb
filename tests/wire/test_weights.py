"""What bodies weigh."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.testing.server import open_api
from kubetrio.wire import weights, yamlwire
from kubetrio.wire.weights import too_heavy, weight

JSON = "application/json"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "an-ordinary-name", "labels": {"app.kubernetes.io/name": "web"}},
    "spec": {"containers": [{"name": "web", "image": "registry.example.com/team/web:1.2.3"}]},
}


def test_ordinary_objects_weigh_up_to_three_times_their_bytes() -> None:
    """A list of pods, and a text of a megabyte."""
    pods = orjson.dumps([POD] * 1000)
    assert len(pods) <= weight(pods, JSON) < 3.2 * len(pods)
    text = orjson.dumps({"data": {"a": "x" * 1_000_000}})
    assert weight(text, JSON) == len(text)


def test_small_values_weigh_more() -> None:
    """Three bytes can be an object."""
    objects = b"[" + b",".join([b"{}"] * 1000) + b"]"
    assert weight(objects, JSON) > 10 * len(objects)
    assert weight(objects, JSON, change=True) == 2 * weight(objects, JSON)
    lines = b"- a\n" * 1000
    assert weight(lines, "application/yaml") == 1000 * weights.VALUE


def test_dense_codecs_weigh_more() -> None:
    """One byte of CBOR is an object, two of protobuf are a message."""
    assert weight(b"x" * 10, "application/vnd.kubernetes.protobuf") == 10 * weights.PROTOBUF
    assert weight(b"x" * 10, "application/cbor") == 10 * weights.CBOR


def test_bodies_up_to_a_megabyte_are_never_too_heavy() -> None:
    """Whatever they are made of."""
    for piece in (b"{},", b"[],", b'"":1,', b"1,", b'{"":1},', b'{"":{}},'):
        assert not too_heavy(piece * (1_000_000 // len(piece)), JSON)
    assert not too_heavy(b"{}," * 390_000, JSON)
    assert too_heavy(b"{}," * 450_000, JSON)


def test_what_stands_in_texts_does_not_count() -> None:
    """Three megabytes of commas and brackets in a text are one value."""
    text = "{},:" * 700_000
    body = json.dumps({"data": {"a": text, "b": '\\"' + text[:40]}}).encode()
    assert not too_heavy(body, JSON)


VALUES = st.recursive(
    st.text(alphabet='a\\",:{}[]') | st.integers(0, 9),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='a\\":,'), inner, max_size=3)
    ),
    max_leaves=30,
)


@given(VALUES, st.integers(2, 40))
def test_texts_are_skipped_wherever_pieces_end(value: Any, size: int) -> None:
    """What is left has the commas, colons and brackets of the value."""
    body = json.dumps(value, separators=(",", ":")).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weights, "_PIECE_BYTES", size)
        left = b"".join(weights._outside_of_strings(body))

    def count(part: Any) -> int:
        if isinstance(part, dict):
            return 1 + sum(map(count, part.values()))
        return 1 + sum(map(count, part)) if isinstance(part, list) else 0

    assert left.count(b"{") + left.count(b"[") == count(value)
    assert b'"' not in left


async def test_a_body_of_too_many_values_is_refused() -> None:
    """413; what Kubernetes cannot store either."""
    body = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"x":[%b{}]}'
    async with open_api() as server, server.connect() as client:
        answer = await client.request(
            "POST",
            "/api/v1/namespaces/default/configmaps",
            headers={"Content-Type": JSON},
            body=body % (b"{}," * 450_000),
        )
    assert answer.status == 413
    assert answer.json()["message"] == "Request entity too large: too many values"


def test_nodes_of_yaml_are_counted() -> None:
    """Also where it is read as JSON first."""
    with pytest.raises(yamlwire.YamlError, match="too many nodes"):
        yamlwire.decode(b"a:\n" + b"- \n" * (yamlwire.MAX_NODES + 1))
    with pytest.raises(yamlwire.YamlError, match="too many nodes"):
        yamlwire.decode(b'{"a":[' + b"{}," * yamlwire.MAX_NODES + b"{}]}")
