"""Questions of access reviews that cannot be asked, and of whom a token is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubetrio.api.sub_reviews import spec_causes
from kubetrio.config import Config
from kubetrio.testing.server import open_api

FIELDS = "spec.resourceAttributes.fieldSelector"
LABELS = "spec.resourceAttributes.labelSelector"


def told(**attributes: Any) -> list[str]:
    spec = {"resourceAttributes": {"verb": "list", "resource": "pods", **attributes}}
    return [f"{cause.field}: {cause.message}" for cause in spec_causes(spec, subject=False)]


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ({"key": "spec.nodeName", "operator": "In", "values": ["n"]}, []),
        ({"key": "spec.nodeName", "operator": "Near"}, []),
        (
            {"operator": "In"},
            [
                f"{FIELDS}.requirements[0].key: Required value: must be specified",
                (
                    f"{FIELDS}.requirements[0].values: Required value: must be specified when "
                    "`operator` is 'In' or 'NotIn'"
                ),
            ],
        ),
        (
            {"key": "a", "operator": "Exists", "values": ["b"]},
            [
                (
                    f"{FIELDS}.requirements[0].values: Forbidden: may not be specified when "
                    "`operator` is 'Exists' or 'DoesNotExist'"
                )
            ],
        ),
    ],
)
def test_requirements_on_fields(requirement: dict[str, Any], expected: list[str]) -> None:
    """A requirement has a key, and values where its operator wants some."""
    assert told(fieldSelector={"requirements": [requirement]}) == expected


def test_requirements_on_labels() -> None:
    """Keys and values are those of labels; operators may be newer than this server."""
    requirement = {"key": "a b", "operator": "Near", "values": ["c d"]}
    fields = [
        line.partition(": ")[0] for line in told(labelSelector={"requirements": [requirement]})
    ]
    assert fields == [
        f"{LABELS}.requirements[0].key",
        f"{LABELS}.requirements[0].values[0]",
    ]


def test_a_selector_is_written_in_one_way() -> None:
    """Either as text or as requirements, which are checked in any case."""
    assert told(fieldSelector={}) == [
        (
            f"{FIELDS}.requirements: Required value: when {FIELDS} is specified, requirements or "
            "rawSelector is required"
        )
    ]
    assert told(fieldSelector={"rawSelector": "a=b"}) == []
    both = {"rawSelector": "a=b", "requirements": [{"operator": "Exists"}]}
    assert told(fieldSelector=both) == [
        (
            f'{FIELDS}.rawSelector: Invalid value: "a=b": may not specified at the same time as '
            "requirements"
        ),
        f"{FIELDS}.requirements[0].key: Required value: must be specified",
    ]


@pytest.mark.parametrize(
    ("token", "user"), [("secret", "alice"), (" secret", ""), ("secret x", ""), ("wrong", "")]
)
async def test_whose_token_this_is(tmp_path: Path, token: str, user: str) -> None:
    """Blanks are part of it."""
    file = tmp_path / "tokens.csv"
    file.write_text("secret,alice,1\n")
    config = Config(data_dir=tmp_path / "data", durability="normal", token_auth_file=file)
    review = {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1"}
    async with open_api(config=config) as server, server.connect() as client:
        path = "/apis/authentication.k8s.io/v1/tokenreviews"
        answer = await client.request("POST", path, json={**review, "spec": {"token": token}})
        status = answer.json()["status"]
        assert status.get("authenticated", False) is bool(user)
        assert status["user"].get("username", "") == user
