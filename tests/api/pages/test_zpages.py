"""Pages of status and flags, as text and as objects."""

from __future__ import annotations

import pytest

from kubetrio.testing.client import Client

_STATUS = "application/json;g=config.k8s.io;v=v1beta1;as=Statusz"

_PAGE_TYPES = "application/json, application/yaml, text/plain"


async def test_status_as_an_object(client: Client) -> None:
    """Whoever names group, version and kind gets it."""
    answer = await client.request("GET", "/statusz", {"accept": _STATUS})
    assert answer.head.get(b"content-type") == _STATUS.encode()
    found = answer.json()
    assert (found["kind"], found["apiVersion"]) == ("Statusz", "config.k8s.io/v1beta1")
    assert found["metadata"] == {"name": "apiserver"}
    assert found["emulationVersion"] == "1.36"
    assert "/statusz" in found["paths"]


async def test_flags_as_an_object(client: Client) -> None:
    header = "application/yaml;g=config.k8s.io;v=v1beta1;as=Flagz"
    answer = await client.request("GET", "/flagz", {"accept": header})
    assert answer.head.get(b"content-type") == header.encode()
    assert b"kind: Flagz\n" in answer.body
    assert b"  anonymous-auth: " in answer.body


async def test_an_older_version_is_warned_of(client: Client) -> None:
    header = _STATUS.replace("v1beta1", "v1alpha1")
    answer = await client.request("GET", "/statusz", {"accept": header})
    assert b"This version of the statusz endpoint is deprecated" in (
        answer.head.get(b"warning") or b""
    )


@pytest.mark.parametrize("header", ["*/*", "text/*", "text/plain;charset=utf-8", "a/b, text/plain"])
async def test_text_for_people(client: Client, header: str) -> None:
    answer = await client.request("GET", "/statusz", {"accept": header})
    assert answer.head.get(b"content-type") == b"text/plain; charset=utf-8"


@pytest.mark.parametrize(
    "header",
    [
        "application/json",
        "application/*",
        "application/json;as=Statusz",
        _STATUS.replace("v1beta1", "v1"),
        _STATUS.replace("Statusz", "Flagz"),
        _STATUS.replace("application/json", "text/plain"),
    ],
)
async def test_what_a_page_cannot_be(client: Client, header: str) -> None:
    answer = await client.request("GET", "/statusz", {"accept": header})
    assert (answer.status, answer.json()["message"]) == (
        406,
        f"only the following media types are accepted: {_PAGE_TYPES}",
    )
