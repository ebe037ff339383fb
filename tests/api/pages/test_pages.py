"""Pages around the API."""

from __future__ import annotations

import pytest

from kubetrio.api.pages.pages import duration
from kubetrio.testing.client import Client


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (59.9, "59s"), (61, "1m1s"), (3600, "1h0m0s")]
)
def test_durations_as_go_prints_them(seconds: float, text: str) -> None:
    """Whole seconds."""
    assert duration(seconds) == text


async def test_a_server_without_a_key_has_an_empty_set(client: Client) -> None:
    """It signs no tokens."""
    assert (await client.request("GET", "/openid/v1/jwks")).json() == {"keys": []}


async def test_issuer_discovery_leads_to_the_keys(client: Client) -> None:
    """OpenID Connect discovery of service account tokens."""
    found = (await client.request("GET", "/.well-known/openid-configuration")).json()
    assert found["jwks_uri"].endswith("/openid/v1/jwks")
    answer = await client.request("GET", "/openid/v1/jwks")
    assert answer.head.get(b"content-type") == b"application/jwk-set+json"
    assert answer.head.get(b"cache-control") == b"public, max-age=3600"
    assert "keys" in answer.json()


@pytest.mark.parametrize("path", ["/statusz", "/flagz"])
async def test_pages_for_people(client: Client, path: str) -> None:
    """They say that they are not for machines."""
    answer = await client.request("GET", path)
    assert b"not meant to be machine parseable" in answer.body


@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("/openid/v1/jwks", "application/jwk-set+json"),
        ("/.well-known/openid-configuration", "application/json"),
    ],
)
async def test_issuer_discovery_has_one_media_type(client: Client, path: str, own: str) -> None:
    for header, status in ((own, 200), ("*/*", 200), ("text/plain", 406), ("application/*", 406)):
        answer = await client.request("GET", path, {"accept": header})
        assert answer.status == status
    assert answer.json()["message"].endswith(f"Available representations: {own}")


@pytest.mark.parametrize("path", ["/api/v1/watch", "/apis/apps/v1/proxy?a=<"])
async def test_a_path_that_ends_where_a_resource_should_be(client: Client, path: str) -> None:
    """Before anybody is asked who they are, as in kube-apiserver."""
    answer = await client.request("GET", path)
    assert answer.status == 500
    shown = path.replace("<", "&lt;")
    assert answer.body.decode() == (
        f'Internal Server Error: "{shown}": failed to create RequestInfo: unable to determine kind '
        f"and namespace from url, {path}\n"
    )


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/openid/v1/jwks"])
async def test_issuer_discovery_ends_without_a_newline(client: Client, path: str) -> None:
    """Go marshals it; it does not print it line by line."""
    assert (await client.request("GET", path)).body.endswith(b"}")
