"""Which address a request about a pod, a service or a node leads to."""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.api.proxy.locations import (
    Location,
    behind_proxy,
    clean_path,
    node_address,
    split_target,
)
from kubetrio.backend.backends import PeerVerification
from kubetrio.backend.dial import dial
from kubetrio.backend.guard import Guard
from kubetrio.config.kinds import ADDRESS_TYPES
from kubetrio.machinery.status import ApiError
from kubetrio.testing.backend import ReceivedRequest, open_backend, tls_of
from kubetrio.testing.client import Client
from kubetrio.tls.pki import Pki

from .cluster import MERGE, POD, PODS, Cluster, create, pod


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a", ("", "a", "")),
        ("a:80", ("", "a", "80")),
        ("https:a:", ("https", "a", "")),
        ("ftp:a:80", None),
        ("a:b:c:d", None),
    ],
)
def test_proxy_targets(text: str, found: tuple[str, str, str] | None) -> None:
    """Name, port and scheme in one path element."""
    assert split_target(text) == found


@pytest.mark.parametrize(
    ("path", "cleaned"),
    [("", ""), ("/", "/"), ("/a//b", "/a/b"), ("/a/../../b/", "/b/"), ("/..", "/"), ("/a/.", "/a")],
)
def test_paths_are_cleaned(path: str, cleaned: str) -> None:
    """Nothing above the root can be asked for; a last slash means something."""
    assert clean_path(path) == cleaned


def test_a_url() -> None:
    """Addresses of version 6 in brackets, paths escaped as by Go, ports only where given."""
    location = Location("fd00::1", "8080", PeerVerification.ANY)
    parts = ["pods", "p", "proxy", "a b", "c!"]
    location = behind_proxy(
        location, "/api/v1/namespaces/default/pods/p/proxy/a b/c!", parts, "x=1"
    )
    assert location.url == "https://[fd00::1]:8080/a%20b/c%21?x=1"
    plain = Location("10.0.0.1", "", PeerVerification.PLAIN)
    assert (plain.url, plain.dial_port) == ("http://10.0.0.1/", "80")


def node(*addresses: tuple[str, str], hostname: str = "") -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": hostname} if hostname else {}
    listed = [{"type": kind, "address": address} for kind, address in addresses]
    return {"metadata": {"name": "n", "labels": labels}, "status": {"addresses": listed}}


@pytest.mark.parametrize(
    ("given", "preferred", "address"),
    [
        (node(("InternalIP", "10.0.0.1"), ("Hostname", "n")), ADDRESS_TYPES, "n"),
        (node(("InternalIP", "10.0.0.1"), hostname="h"), ADDRESS_TYPES, "10.0.0.1"),
        (node(("ExternalIP", "1.2.3.4"), ("InternalIP", "10.0.0.1")), ADDRESS_TYPES, "10.0.0.1"),
        (node(("InternalIP", "10.0.0.1"), hostname="h"), ("InternalIP",), "10.0.0.1"),
    ],
)
def test_the_address_of_a_node(given: Any, preferred: tuple[str, ...], address: str) -> None:
    """The first of the preferred types; a label says nothing, as since Kubernetes 1.36."""
    assert node_address(given, preferred) == address


def test_a_node_without_a_fitting_address() -> None:
    """The message lists what there is."""
    with pytest.raises(ApiError) as caught:
        node_address(node(("InternalIP", "10.0.0.1"), ("InternalDNS", "n.x")), ("ExternalIP",))
    assert caught.value.message == (
        "no preferred addresses found; known addresses: [{InternalIP 10.0.0.1} {InternalDNS n.x}]"
    )


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (PODS + "/ftp:p:80/proxy/", 'invalid pod request "ftp:p:80"'),
        (PODS + "/q/proxy/", "address not allowed"),
        ("/api/v1/nodes/n/proxy/", "address not allowed"),
        ("/api/v1/nodes/a:b:c:d/proxy/", 'invalid node request "a:b:c:d"'),
        (PODS + "/p/exec?command=ls", "Upgrade request required"),
        (PODS + "/p/portforward", "Upgrade request required"),
    ],
)
async def test_refusals(cluster: Cluster, path: str, message: str) -> None:
    """400, before anybody is connected to."""
    await create(cluster.client, PODS, pod("q"))
    looped = {"status": {"podIPs": [{"ip": "127.0.0.1"}]}}
    await cluster.client.request("PATCH", PODS + "/q/status", headers=MERGE, json=looped)
    got = await cluster.client.request("GET", path)
    assert (got.status, got.json()["message"]) == (400, message)
    assert not cluster.dialled


LEADING_HOME = ("127.0.0.1", "::ffff:127.0.0.1", "localhost", "64:ff9b::127.0.0.1")


@pytest.mark.parametrize("address", LEADING_HOME)
@pytest.mark.parametrize(
    "path",
    [
        POD + "/log",
        POD + "/exec?command=ls",
        POD + "/attach",
        POD + "/portforward",
        "/api/v1/nodes/n/proxy/",
        "/api/v1/nodes/https:n:6443/proxy/",
    ],
)
async def test_the_server_is_no_kubelet(cluster: Cluster, path: str, address: str) -> None:
    """A node whose kubelet would be this server is refused, before anything is sent."""
    cluster.server.api.edge.backends.guard = Guard(port=6443)
    status = {
        "addresses": [{"type": "InternalIP", "address": address}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 6443}},
    }
    where = "/api/v1/nodes/n/status"
    await cluster.client.request("PATCH", where, headers=MERGE, json={"status": status})
    got = await cluster.client.request("GET", path)
    assert (got.status, got.json()["message"]) == (400, "address not allowed")
    assert not cluster.dialled


@pytest.mark.parametrize("address", ["10.0.0.9", "64:ff9b::7f00:1", "2002:7f00:1::1"])
async def test_the_server_is_no_pod(cluster: Cluster, address: str) -> None:
    """Its own address, and what is another spelling of the loopback."""
    cluster.server.api.edge.backends.guard = Guard(port=6443, local=lambda each: each == "10.0.0.9")
    await create(cluster.client, PODS, pod("q"))
    looped = {"status": {"podIPs": [{"ip": address}]}}
    done = await cluster.client.request("PATCH", PODS + "/q/status", headers=MERGE, json=looped)
    assert done.status == 200, done.body
    got = await cluster.client.request("GET", PODS + "/https:q:6443/proxy/")
    assert (got.status, got.json()["message"]) == (400, "address not allowed")
    assert not cluster.dialled


async def test_a_port_of_a_pod(cluster: Cluster) -> None:
    """By number; a scheme may stand in front."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.reply(200, b"there")

    cluster.web.answer = answer
    assert (await cluster.client.request("GET", PODS + "/http:p:99/proxy/")).body == b"there"
    assert (await cluster.client.request("GET", PODS + "/p:98/proxy/")).body == b"there"
    assert cluster.dialled == ["10.1.0.7:99", "10.1.0.7:98"]


async def test_a_pod_with_tls(cluster: Cluster, certificates: Pki) -> None:
    """Whatever its certificate is, and without showing one."""

    async def answer(asked: ReceivedRequest) -> None:
        await asked.reply(200, asked.certificate.encode())

    async with open_backend(answer, tls_of(certificates, ask=False)) as secure:

        async def there(host: str, port: str, tls: Any, timeout_s: float) -> Any:
            return await dial("127.0.0.1", str(secure.port), tls, timeout_s)

        cluster.server.api.edge.backends.dial = there
        got = await cluster.client.request("GET", PODS + "/https:p:443/proxy/")
    assert (got.status, got.body) == (200, b"None/None")


async def test_a_node(cluster: Cluster) -> None:
    """A kubelet is met as one; another port of its machine is not."""
    address = {"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.9"}]}}
    await cluster.client.request("PATCH", "/api/v1/nodes/n/status", headers=MERGE, json=address)

    async def stats(asked: ReceivedRequest) -> None:
        await asked.reply(200, asked.certificate.encode() + asked.target.encode())

    async def there(host: str, port: str, tls: Any, timeout_s: float) -> Any:
        cluster.dialled.append(f"{host}:{port}")
        kubelet = str(cluster.kubelet.port)
        port = kubelet if port == kubelet else str(cluster.web.port)
        tls = tls and tls._replace(name="127.0.0.1")
        return await dial("127.0.0.1", port, tls, timeout_s)

    cluster.kubelet.answer = cluster.web.answer = stats
    cluster.server.api.edge.backends.dial = there
    got = await cluster.client.request("GET", "/api/v1/nodes/n/proxy/stats/summary")
    assert got.body == b"system:masters/kubernetes-admin/stats/summary"
    got = await cluster.client.request("GET", "/api/v1/nodes/n:9100/proxy/metrics")
    assert got.body == b"/metrics"
    assert cluster.dialled == [f"10.0.0.9:{cluster.kubelet.port}", "10.0.0.9:9100"]


SERVICE = "/api/v1/namespaces/default/services/s"


REFERENCE = {"kind": "Pod", "namespace": "default", "name": "p"}


async def service(client: Client) -> None:
    ports = [{"name": "web", "port": 80, "targetPort": 8080}, {"name": "other", "port": 81}]
    await create(
        client,
        "/api/v1/namespaces/default/services",
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "s"},
            "spec": {"ports": ports, "selector": {"a": "b"}},
        },
    )


def endpoints(*addresses: dict[str, Any]) -> dict[str, Any]:
    subset = {"addresses": list(addresses), "ports": [{"name": "web", "port": 8080}]}
    meta = {"name": "s"}
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": meta, "subsets": [subset]}


async def answer_there(asked: ReceivedRequest) -> None:
    await asked.reply(200, asked.target.encode())


@pytest.mark.parametrize("port", ["s:web", "s:80", "http:s:web"])
async def test_a_service(cluster: Cluster, port: str) -> None:
    """Its port by name or number; only endpoints that are pods count."""
    await service(cluster.client)
    stray = {"ip": "10.9.9.9"}
    foreign = {"ip": "10.9.9.8", "targetRef": REFERENCE}
    ready = {"ip": "10.1.0.7", "targetRef": REFERENCE}
    path = "/api/v1/namespaces/default/endpoints"
    await create(cluster.client, path, endpoints(stray, foreign, ready))
    cluster.web.answer = answer_there
    for _ in range(4):
        got = await cluster.client.request("GET", f"{SERVICE[:-1]}{port}/proxy/x")
        assert got.body == b"/x"
    assert set(cluster.dialled) == {"10.1.0.7:8080"}


async def test_a_service_with_slices_only(cluster: Cluster) -> None:
    """Where nobody makes Endpoints, EndpointSlices say who is ready."""
    await service(cluster.client)
    await create(
        cluster.client,
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": "s-1", "labels": {"kubernetes.io/service-name": "s"}},
            "addressType": "IPv4",
            "ports": [{"name": "web", "port": 8080}],
            "endpoints": [
                {"addresses": ["10.1.0.8"], "conditions": {"ready": False}},
                {"addresses": ["10.1.0.7"], "targetRef": REFERENCE},
            ],
        },
    )
    cluster.web.answer = answer_there
    got = await cluster.client.request("GET", f"{SERVICE}:web/proxy/x")
    assert got.body == b"/x"
    assert cluster.dialled == ["10.1.0.7:8080"]


@pytest.mark.parametrize(
    ("subsets", "name", "status", "message"),
    [
        (None, "s:web", 404, 'services "s" not found'),
        (None, "s:99999999999999999999", 404, 'services "s" not found'),
        ([], "s:-82", 503, 'no service port -82 found for service "s"'),
        ([], "s:web", 503, 'no endpoints available for service "s"'),
        (endpoints({"ip": "10.1.0.7"})["subsets"], "s:web", 503,
         'no endpoints available for service "s:web"'),
        (endpoints({"ip": "10.1.0.7", "targetRef": REFERENCE})["subsets"], "s", 503,
         'no endpoints available for service "s"'),
        ([], "s:82", 503, 'no service port 82 found for service "s"'),
        ([], "x:s:80", 400, 'invalid service request "x:s:80"'),
    ],
)  # fmt: skip
async def test_a_service_without_endpoints(
    cluster: Cluster, subsets: Any, name: str, status: int, message: str
) -> None:
    """What is missing is named."""
    await service(cluster.client)
    if subsets is not None:
        path = "/api/v1/namespaces/default/endpoints"
        await create(cluster.client, path, {**endpoints(), "subsets": subsets})
    got = await cluster.client.request("GET", f"{SERVICE[:-1]}{name}/proxy/")
    assert (got.status, got.json()["message"]) == (status, message)
    assert not cluster.dialled
