"""The ConfigMap that tells extension servers whom to believe."""

from __future__ import annotations

import datetime as dt
from typing import Any

import orjson
import pytest
import trio
import trio.testing

from kubetrio.bootstrap.authorities import (
    INTERVAL_S,
    Proxies,
    PublishedAuthorities,
    Trusted,
    combined,
)
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess
from kubetrio.tls import pki

PATH = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
MERGE = {"Content-Type": "application/merge-patch+json"}
DAMAGED = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
HEADERS = Proxies("", ("X-Remote-User",), (), ("X-Remote-Group",), ("X-Remote-Extra-",), ("proxy",))


def keeper(server: InProcess, trusted: Trusted) -> PublishedAuthorities:
    """What keeps it."""
    api = server.api
    return PublishedAuthorities(
        api.storage.registry,
        api.writes.operations,
        api.storage.informers.dispatcher,
        api.edge.env,
        trusted,
    )


async def data(client: Client) -> Any:
    """What it holds."""
    answer = await client.request("GET", PATH)
    assert answer.status == 200
    return answer.json().get("data")


def test_headers_are_lists_in_json(certificates: pki.Pki) -> None:
    """Under the keys that extension servers read; the uid's only if there are some."""
    ca = certificates.ca.cert.read_text()
    found = combined({}, Trusted("", HEADERS._replace(ca=ca)), 0)
    assert found == {
        "requestheader-client-ca-file": ca,
        "requestheader-username-headers": '["X-Remote-User"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        "requestheader-allowed-names": '["proxy"]',
    }
    uids = Proxies(ca, uids=("X-Remote-Uid",))
    assert combined({}, Trusted("", uids), 0)["requestheader-uid-headers"] == '["X-Remote-Uid"]'
    assert combined({}, Trusted("", uids), 0)["requestheader-allowed-names"] == "[]"


def test_headers_without_an_authority_are_not_told(certificates: pki.Pki) -> None:
    """Nobody could be believed."""
    ca = certificates.ca.cert.read_text()
    assert combined({}, Trusted(ca, HEADERS), 0) == {"client-ca-file": ca}


def test_what_other_servers_say_stays_in_front(certificates: pki.Pki) -> None:
    """Each text once; a member that nobody knows goes."""
    ca, other = certificates.ca.cert.read_text(), certificates.serving.cert.read_text()
    names = "requestheader-allowed-names"
    there = {"client-ca-file": other, names: '["first","proxy"]', "nonsense": "x"}
    found = combined(there, Trusted(ca, HEADERS._replace(ca=ca)), 0)
    assert found["client-ca-file"] == other + ca
    assert orjson.loads(found[names]) == ["first", "proxy"]
    assert "nonsense" not in found


def test_the_authority_of_clients_is_none_of_proxies(certificates: pki.Pki) -> None:
    """An earlier release said it was; another server's authority of proxies stays."""
    clients, proxies = (
        pair.cert.read_text() for pair in (certificates.ca, certificates.front_proxy_ca)
    )
    other = certificates.serving.cert.read_text()
    there = {"requestheader-client-ca-file": clients + other}
    found = combined(there, Trusted(clients, HEADERS._replace(ca=proxies)), 0)
    assert found["requestheader-client-ca-file"] == other + proxies
    named = combined(there, Trusted(clients, HEADERS._replace(ca=clients)), 0)
    assert clients in named["requestheader-client-ca-file"]


def test_authorities_that_have_ended_go(certificates: pki.Pki) -> None:
    """Five minutes later than they say, as upstream."""
    ca = certificates.ca.cert.read_text()
    late = dt.datetime.now(dt.UTC).timestamp() + 11 * 365 * 86400
    assert combined({"client-ca-file": ca}, Trusted(), late) == {}


@pytest.mark.parametrize(
    "there",
    [
        {"requestheader-allowed-names": "x"},
        {"requestheader-allowed-names": "{}"},
        {"requestheader-allowed-names": "[1]"},
        {"client-ca-file": "x"},
        {"client-ca-file": DAMAGED},
    ],
)
def test_what_cannot_be_read_is_an_error(there: dict[str, str]) -> None:
    """It is not thrown away: another server may know what it means."""
    with pytest.raises(ValueError, match=r"."):
        combined(there, Trusted(), 0)


async def test_extension_servers_find_the_authorities(
    server: InProcess, client: Client, certificates: pki.Pki
) -> None:
    """Of client certificates, in the ConfigMap that they read; none is made for none."""
    assert (await client.request("GET", PATH)).status == 404
    ours = certificates.ca.cert.read_text()
    await keeper(server, Trusted(ours)).publish()
    answer = await client.request("GET", PATH)
    assert answer.json()["data"] == {"client-ca-file": ours}
    (entry,) = answer.json()["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:client-ca-file": {}}}
    revision = server.api.storage.store.revision
    await keeper(server, Trusted(ours)).publish()
    assert server.api.storage.store.revision == revision


async def test_damaged_authorities_are_not_published(
    server: InProcess, client: Client, certificates: pki.Pki, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the server's nor somebody else's; what is there stays, and the log says so."""
    ours = certificates.ca.cert.read_text()
    await keeper(server, Trusted(ours + DAMAGED)).publish()
    assert (await client.request("GET", PATH)).status == 404
    assert "authorities not published" in caplog.text
    await keeper(server, Trusted(ours)).publish()
    body = {"data": {"client-ca-file": DAMAGED}}
    assert (await client.request("PATCH", PATH, MERGE, json=body)).status == 200
    await keeper(server, Trusted(ours)).publish()
    assert await data(client) == body["data"]


async def test_it_is_kept_while_the_server_runs(
    server: InProcess,
    client: Client,
    certificates: pki.Pki,
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Made again at once when deleted, right again after a minute, new with a new authority."""
    ours, other = certificates.ca.cert.read_text(), certificates.serving.cert.read_text()
    trusted = Trusted(ours)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(keeper(server, trusted).run)
        await trio.sleep(1)
        assert (await client.request("DELETE", PATH)).status == 200
        await trio.sleep(1)
        assert await data(client) == {"client-ca-file": ours}
        body = {"data": {"client-ca-file": None, "mine": "x"}}
        assert (await client.request("PATCH", PATH, MERGE, json=body)).status == 200
        await trio.sleep(INTERVAL_S)
        assert await data(client) == {"client-ca-file": ours}
        trusted.set(ours + other, Proxies())
        await trio.sleep(1)
        assert await data(client) == {"client-ca-file": ours + other}
        nursery.cancel_scope.cancel()


async def test_one_that_got_too_large_is_begun_anew(
    server: InProcess, client: Client, certificates: pki.Pki
) -> None:
    """It is deleted, and made again with what is right."""
    ours = certificates.ca.cert.read_text()
    await keeper(server, Trusted(ours)).publish()
    huge = Trusted(ours, HEADERS._replace(ca=ours, allowed=("x" * 1024 * 1024,)))
    await keeper(server, huge).publish()
    assert (await client.request("GET", PATH)).status == 404
    await keeper(server, Trusted(ours)).publish()
    assert await data(client) == {"client-ca-file": ours}
