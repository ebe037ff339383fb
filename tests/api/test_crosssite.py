"""Pages of other sites change nothing, whatever credentials a browser adds."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from kubetrio.api.crosssite import REFUSED, refuse_cross_site
from kubetrio.api.request import Request
from kubetrio.machinery.status import ApiError
from kubetrio.testing.client import ADMIN, Client

MAPS = "/api/v1/namespaces/default/configmaps"
TOKEN = "base64url.bearer.authorization.k8s.io.YQ"
PROTOCOLS = f"{TOKEN}, base64.binary.k8s.io"
BODY = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"a"}}'


@pytest.mark.parametrize(
    ("site", "status"),
    [
        ("", 201),
        ("same-origin", 201),
        ("none", 201),
        ("same-site", 403),
        ("cross-site", 403),
        ("unheard-of", 403),
    ],
)
async def test_a_post_of_another_sites_page_is_refused(
    client: Client, site: str, status: int
) -> None:
    """Browsers send it without asking first, and say where it comes from."""
    headers = {"Sec-Fetch-Site": site} if site else {}
    answer = await client.request("POST", MAPS, headers, BODY)
    assert answer.status == status, answer.body


async def test_reading_is_not_refused(client: Client) -> None:
    """A link leads to a page; what a script of another site may read is the browser's to say."""
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert (await client.request("GET", MAPS, headers)).status == 200


async def test_a_long_request_is_looked_at_too(client: Client) -> None:
    """One that is read only when it has a seat."""
    query = "?fieldManager=" + "a" * 2000
    headers = {"Sec-Fetch-Site": "cross-site"}
    answer = await client.request("POST", MAPS + query, headers, BODY)
    assert answer.status == 403
    assert answer.json()["message"].startswith("requests of other sites' pages")


@pytest.mark.parametrize(
    ("headers", "refused"),
    [
        ({}, False),
        ({"Origin": "https://evil.example"}, True),
        ({"Origin": "null"}, True),
        ({"Origin": "https://[evil"}, True),
        ({"Origin": "http://localhost:8001"}, False),
        ({"Origin": "http://127.0.0.1:8001"}, False),
        ({"Origin": "https://kubetrio:1"}, False),
        ({"Sec-Fetch-Site": "cross-site"}, True),
        ({"Origin": "https://evil.example", "Sec-WebSocket-Protocol": PROTOCOLS}, False),
    ],
)
def test_a_web_socket_of_another_sites_page_is_refused(
    headers: dict[str, str], refused: bool
) -> None:
    """A page reads what comes, whatever its origin, with the credentials that a browser adds."""
    handshake = {"host": "kubetrio:6443", "sec-websocket-key": "dGhlIHNhbXBsZQ==", **headers}
    lines = {name.lower().encode(): value.encode() for name, value in handshake.items()}
    request = Request("GET", MAPS, "watch=1", lines, [])
    with pytest.raises(ApiError, match=REFUSED) if refused else nullcontext():
        refuse_cross_site(request)


@pytest.mark.parametrize("added", ["certificate", "header"])
def test_a_token_that_a_page_makes_up_lends_it_nothing(added: str) -> None:
    """What a browser or a proxy adds would say who asks."""
    lines = {
        b"host": b"kubetrio:6443",
        b"sec-websocket-key": b"dGhlIHNhbXBsZQ==",
        b"sec-websocket-protocol": PROTOCOLS.encode(),
        b"origin": b"https://evil.example",
    }
    if added == "header":
        lines[b"authorization"] = b"Bearer of-a-proxy"
    request = Request("GET", MAPS, "watch=1", lines, [])
    if added == "certificate":
        request.certificate = ADMIN
    with pytest.raises(ApiError, match=REFUSED):
        refuse_cross_site(request)
