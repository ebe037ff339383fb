"""The OpenAPI documents pass a validator that is not ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
import yaml
from openapi_spec_validator import OpenAPIV2SpecValidator, OpenAPIV30SpecValidator

from kubetrio.testing.client import Client
from kubetrio.testing.server import open_api

Json = dict[str, Any]
CUSTOM = Path(__file__).parents[2] / "fuzz" / "custom.yaml"
ZERO: tuple[Any, ...] = ({}, "", 0, False, None)


def without_zeros(value: Any, key: str = "") -> Any:
    """A document without the defaults that are the zero values of Go's types.

    kube-apiserver's documents give members that are never null such a default, whether it has what
    the type requires or not; validators apply schemas to defaults, and so refuse its documents too.
    """
    if isinstance(value, dict):
        members = value.items()
        if key != "properties":
            members = [(k, v) for k, v in members if not (k == "default" and v in ZERO)]
        return {k: without_zeros(v, k) for k, v in members}
    if isinstance(value, list):
        return [without_zeros(one) for one in value]
    return value


def problems(validator: type[Any], document: Json) -> Iterator[str]:
    for error in validator(without_zeros(document)).iter_errors():
        yield f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"


async def define(client: Client) -> set[str]:
    """Definitions whose schemas say all that one may; returns their groups."""
    groups = set()
    for body in yaml.safe_load_all(CUSTOM.read_text()):
        groups.add(body["spec"]["group"])
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        made = await client.request(
            "POST",
            path,
            {"Content-Type": "application/yaml"},
            yaml.safe_dump(body).encode(),
        )
        assert made.status == 201, made.body
    return groups


async def test_every_document_is_openapi() -> None:
    """Version 3 of all groups and versions, built in and custom, and the one of version 2."""
    async with open_api(seed=1, kept=True) as server, server.connect() as client:
        groups = await define(client)
        with trio.fail_after(20):
            while True:
                index = (await client.request("GET", "/openapi/v3")).json()["paths"]
                if groups <= {path.split("/")[1] for path in index if path.count("/") == 2}:
                    break
                await trio.sleep(0.05)
        for path in index:
            document = (await client.request("GET", f"/openapi/v3/{path}")).json()
            assert document["openapi"] == "3.0.0"
            assert list(problems(OpenAPIV30SpecValidator, document)) == [], path
        swagger = (await client.request("GET", "/openapi/v2")).json()
        assert list(problems(OpenAPIV2SpecValidator, swagger)) == []
        assert any(
            ".".join(reversed(group.split("."))) in name
            for group in groups
            for name in swagger["definitions"]
        )


@pytest.mark.parametrize(
    "broken",
    [
        {"openapi": "3.0.0", "info": {"title": "t"}, "paths": {}},
        {
            "openapi": "3.0.0",
            "info": {"title": "t", "version": "1"},
            "paths": {"/x": {"get": {"responses": {"200": {}}}}},
        },
    ],
)
def test_the_validator_finds_what_is_wrong(broken: Json) -> None:
    """Else the test above would show nothing."""
    assert list(problems(OpenAPIV30SpecValidator, broken))
