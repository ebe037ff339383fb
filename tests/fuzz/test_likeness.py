"""Answers of two servers are alike where only what a server draws differs."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from fuzz.comparing import Known, on_the_wire
from fuzz.likeness import Likeness, decoded
from fuzz.options import PROTOBUF
from fuzz.steps import Reply, Step
from kubetrio.env import Env, seeded

NOW = 1_760_000_000.0
LIKENESS = Likeness(replace(seeded(1), now=lambda: NOW))
ONE, TWO = "11111111-2222-3333-4444-555555555555", "99999999-2222-3333-4444-555555555555"


def places(theirs: Any, ours: Any) -> list[str]:
    return [at for at, _, _ in LIKENESS.values(theirs, ours)]


def token(**claims: Any) -> str:
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"eyJhbGciOiJSUzI1NiJ9.{payload}.c2lnbmF0dXJlLW9mLWE"


@pytest.mark.parametrize(
    ("theirs", "ours", "differ"),
    [
        ({"uid": ONE}, {"uid": TWO}, []),
        ({"uid": ONE}, {"uid": ""}, [".uid"]),
        ({"t": "2025-10-09T08:53:00Z"}, {"t": "2025-10-09T08:53:09Z"}, []),
        ({"t": "2025-01-09T08:53:00Z"}, {"t": "2025-01-09T08:53:09Z"}, [".t"]),
        ({"resourceVersion": "5"}, {"resourceVersion": "17"}, []),
        ({"resourceVersion": "5"}, {}, [".resourceVersion"]),
        ({"generateName": "a-", "name": "a-x2x2x"}, {"generateName": "a-", "name": "a-zzzzz"}, []),
        ({"nodePort": 30001}, {"nodePort": 32000}, []),
        ({"nodePort": 30001}, {"nodePort": 80}, [".nodePort"]),
        ({"message": "[a: b, c: d]"}, {"message": "[c: d, a: b]"}, []),
        ({"message": "a: b"}, {"message": "a: c"}, [".message"]),
        ({"a": 1}, {"a": 1.0}, [".a"]),
        ({"a": [1]}, {"a": [1, 2]}, [".a[#]"]),
        ({"a": None}, {}, [".a"]),
    ],
)
def test_what_differs(theirs: Any, ours: Any, differ: list[str]) -> None:
    assert places(theirs, ours) == differ


def test_tokens_are_compared_by_their_claims() -> None:
    one, same, other = token(sub="a", exp=1), token(sub="a", exp=2), token(sub="b", exp=1)
    assert places({"token": one}, {"token": same}) == []
    assert places({"token": one}, {"token": other}) == [".token"]


def test_objects_that_the_run_did_not_make_are_left_out_of_lists() -> None:
    mine = {"metadata": {"name": "fuzz-a"}}
    assert places({"items": [mine, {"metadata": {"name": "x"}}]}, {"items": [mine]}) == []
    assert places({"items": [mine]}, {"items": []}) == [".items[#]"]


def test_requests_are_about_the_objects_of_the_other_server() -> None:
    known = Known()
    known.learn(
        {"metadata": {"uid": ONE, "resourceVersion": "3"}, "spec": {"clusterIP": "10.0.0.4"}},
        {"metadata": {"uid": TWO, "resourceVersion": "8"}, "spec": {"clusterIP": "10.0.0.9"}},
    )
    body = json.dumps({"uid": ONE, "resourceVersion": "3", "ip": "10.0.0.4", "n": "3"}).encode()
    step = known.translated(Step("PUT", "/", {}, body))
    assert json.loads(step.body or b"") == {
        "uid": TWO, "resourceVersion": "8", "ip": "10.0.0.9", "n": "3",
    }  # fmt: skip


def test_objects_go_out_in_protobuf_and_are_read_back() -> None:
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
    name = "io.k8s.api.core.v1.ConfigMap"
    step = on_the_wire(Step("POST", "/", {}, json.dumps(made).encode(), encode=name))
    assert step.headers["Content-Type"] == PROTOBUF
    assert decoded(Reply(200, step.body or b"")) == made


def test_what_a_type_cannot_say_goes_out_as_json() -> None:
    step = Step("POST", "/", {}, b'{"data": [1]}', encode="io.k8s.api.core.v1.ConfigMap")
    assert on_the_wire(step) == step


def test_the_clock_is_that_of_the_environment() -> None:
    later = Likeness(replace(Env(), now=lambda: NOW + 10**7))
    assert list(later.values("2025-10-09T08:53:00Z", "2025-10-09T08:53:09Z")) != []
