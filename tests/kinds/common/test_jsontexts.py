"""JSON in annotations."""

from __future__ import annotations

import pytest
from checks.helpers import Json, pod, refused, resource

from kubetrio.kinds.common.jsontexts import TOLERATION, read_structs

NODES = resource("nodes")
PODS = resource("pods")
ALPHA = "scheduler.alpha.kubernetes.io"
VALUE = "json: cannot unmarshal"


def test_members_are_found_in_any_case() -> None:
    """And others are skipped; null is nothing."""
    text = '[{"KEY": "k", "tolerationseconds": 5, "more": 1, "value": null}, null]'
    assert read_structs(text, TOLERATION) == [{"key": "k", "tolerationSeconds": 5}, {}]
    assert read_structs("null", TOLERATION) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", "unexpected end of JSON input"),
        ("x", "invalid character 'x' looking for beginning of value"),
        ("{}", f"{VALUE} object into Go value of type []core.Toleration"),
        ("[1]", f"{VALUE} number into Go value of type core.Toleration"),
        (
            '[{"operator": 5, "key": 5}]',
            (
                f"{VALUE} number into Go struct field Toleration.Operator of type "
                "core.TolerationOperator"
            ),
        ),
        (
            '[{"tolerationSeconds": 1.5}]',
            f"{VALUE} number 1.5 into Go struct field Toleration.TolerationSeconds of type int64",
        ),
        (
            '[{"tolerationSeconds": "1"}]',
            f"{VALUE} string into Go struct field Toleration.TolerationSeconds of type int64",
        ),
    ],
)
def test_tolerations_that_cannot_be_read(text: str, words: str) -> None:
    """One cause, in Go's words."""
    body = {**pod(), "metadata": {"annotations": {f"{ALPHA}/tolerations": text}}}
    assert refused(PODS, body) == [
        f'metadata.annotations: Invalid value: "{ALPHA}/tolerations": {words}'
    ]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "taints",
            "x",
            (
                f'metadata.annotations: Invalid value: "{ALPHA}/taints": invalid character '
                "'x' looking for beginning of value"
            ),
        ),
        (
            "taints",
            '"a"',
            (
                f'metadata.annotations: Invalid value: "{ALPHA}/taints": {VALUE} string into Go '
                "value of type []core.Taint"
            ),
        ),
        (
            "taints",
            '[{"key": "k"}]',
            f"metadata.annotations.{ALPHA}/taints[0].effect: Required value",
        ),
    ],
)
def test_taints_of_nodes(name: str, text: str, expected: str) -> None:
    """They are checked as those of the spec when they can be read."""
    assert refused(NODES, noted(f"{ALPHA}/{name}", text)) == [expected]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x", "invalid character 'x' looking for beginning of value"),
        ("[]", f"{VALUE} array into Go value of type v1.AvoidPods"),
    ],
)
def test_pods_that_a_node_avoids(text: str, words: str) -> None:
    """An object."""
    key = f"{ALPHA}/preferAvoidPods"
    assert refused(NODES, noted(key, text)) == [
        f'metadata.annotations.AvoidPods: Invalid value: "{key}": {words}'
    ]


def noted(key: str, text: str) -> Json:
    return {"metadata": {"annotations": {key: text}}}
