"""What is refused is changed at the fields that are named, until it is taken."""

from __future__ import annotations

import random  # noqa: TID251  (seeded)
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kubetrio.harness.operators.mending import Mender, spare_places
from kubetrio.harness.operators.sampling import Sampler

Object = dict[str, Any]
TEXT = {"type": "string"}
SCHEMA: Object = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"enum": ["bad", "good"]},
                "one": TEXT,
                "other": TEXT,
                "rows": {
                    "type": "array",
                    "minItems": 1,
                    "items": {"type": "object", "properties": {"a": TEXT, "b": TEXT}},
                },
            },
        }
    },
}


def mended(body: Object, wrong: Callable[[Object], str | None]) -> Object | None:
    """A body after it was mended.

    Args:
        body: before.
        wrong: says which field of a spec is wrong, None where none is.
    """

    def judge(bodies: Sequence[Object]) -> list[list[str] | None]:
        told = [wrong(one["spec"]) for one in bodies]
        return [None if field is None else [field] for field in told]

    [done] = Mender(Sampler(random.Random(0)), SCHEMA, judge).mended([body], 30)
    return done


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({"name": "bad"}, lambda spec: "spec.name" if spec["name"] == "bad" else None),
        (
            {"name": "good", "one": "x", "other": "y"},
            lambda spec: "spec" if len(spec) != 2 else None,
        ),
        ({"name": "good"}, lambda spec: "spec.one" if "one" not in spec else None),
        (
            {"name": "good", "rows": [{"a": "x", "b": "y"}]},
            lambda spec: (
                "spec.rows[0].b" if any("b" in row for row in spec.get("rows", ())) else None
            ),
        ),
        ({"name": "good", "one": "x"}, lambda spec: "" if "one" in spec else None),
    ],
    ids=["another value", "one too many", "one that is missing", "in a list", "no field"],
)
def test_a_body_is_changed_until_it_is_taken(
    spec: Object, wrong: Callable[[Object], str | None]
) -> None:
    """What it was made of stays as it was."""
    body = {"spec": dict(spec)}
    done = mended(body, wrong)
    assert done is not None
    assert wrong(done["spec"]) is None
    assert "name" in done["spec"]
    assert body == {"spec": spec}


def test_what_is_never_taken() -> None:
    """Is none."""
    assert mended({"spec": {"name": "good"}}, lambda _: "spec.name") is None


def test_places_that_may_be_left_out() -> None:
    """All but what is required, and the last items that a list has to have."""
    body = {"spec": {"name": "good", "one": "x", "rows": [{"a": "x"}]}}
    keys = [place.key for place in spare_places(body, SCHEMA)]
    assert keys == ["one", "rows", "a"]
