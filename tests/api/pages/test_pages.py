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


async def test_health_as_metrics(client: Client) -> None:
    """One sample a check (KEP-3466)."""
    body = (await client.request("GET", "/metrics/slis")).body
    assert b'kubernetes_healthcheck{name="' in body


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/openid/v1/jwks"])
async def test_issuer_discovery_ends_without_a_newline(client: Client, path: str) -> None:
    """Go marshals it; it does not print it line by line."""
    assert (await client.request("GET", path)).body.endswith(b"}")
