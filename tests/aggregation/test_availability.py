"""The condition of APIServices."""

from __future__ import annotations

import pytest
import trio
from registered import SERVICES, condition, post, register, until

from kubetrio.aggregation import availability
from kubetrio.testing.aggregated import NAME, PATH, SERVICE, OtherServer, api_service
from kubetrio.testing.backend import ReceivedRequest
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess

SPACE = "/api/v1/namespaces/default"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


async def test_a_server_that_answers(admin: Client, other: OtherServer) -> None:
    """It is available, and was asked by whom upstream asks."""
    await register(admin, other)
    found = await condition(admin)
    assert (found["status"], found["message"]) == ("True", "all checks passed")
    users = {(one.get("x-remote-user"), one.get("x-remote-group")) for one in other.asked(PATH)}
    assert ("system:kube-aggregator", "system:masters") in users


async def test_no_service(admin: Client, other: OtherServer) -> None:
    """There is no Service of that name, until there is."""
    await post(admin, SERVICES, api_service(other.port, other.ca))
    found = await until(admin, "ServiceNotFound")
    assert found["status"] == "False"
    assert found["message"] == 'service/be in "default" is not present'
    await post(admin, f"{SPACE}/services", SERVICE)
    await until(admin, "Passed")


async def test_ports_and_endpoints(admin: Client, other: OtherServer) -> None:
    """What a Service of type ClusterIP lacks is said, one thing after the other."""
    spec = {"ports": [{"name": "api", "port": 443}]}
    await post(admin, f"{SPACE}/services", {**SERVICE, "spec": spec})
    await post(admin, SERVICES, api_service(444, other.ca))
    found = await until(admin, "ServicePortError")
    assert found["message"] == 'service/be in "default" is not listening on port 444'
    patch = [{"op": "replace", "path": "/spec/service/port", "value": 443}]
    answer = await admin.request(
        "PATCH",
        f"{SERVICES}/{NAME}",
        json=patch,
        headers={"Content-Type": "application/json-patch+json"},
    )
    assert answer.status == 200, answer.json()
    found = await until(admin, "EndpointsNotFound")
    assert found["message"] == 'cannot find endpointslices for service/be in "default"'
    labels = {"kubernetes.io/service-name": "be"}
    body = {
        "kind": "EndpointSlice",
        "apiVersion": "discovery.k8s.io/v1",
        "metadata": {"name": "be-1", "labels": labels},
        "addressType": "IPv4",
        "ports": [{"name": "api", "port": 8443}],
        "endpoints": [{"addresses": ["192.0.2.7"], "conditions": {"ready": False}}],
    }
    await post(admin, SLICES, body)
    found = await until(admin, "MissingEndpoints")
    wanted = 'endpointslices for service/be in "default" have no addresses with port name "api"'
    assert found["message"] == wanted


async def test_a_server_that_refuses(admin: Client, other: OtherServer) -> None:
    """The status is told, and it is asked again until it is well."""

    async def refuse(asked: ReceivedRequest) -> None:
        await asked.reply(403, b"no\n", {})

    other.answers[PATH] = refuse
    await post(admin, f"{SPACE}/services", SERVICE)
    await post(admin, SERVICES, api_service(other.port, other.ca))
    found = await until(admin, "FailedDiscoveryCheck")
    url = f"https://localhost:{other.port}{PATH}"
    assert found["message"] == (
        f"failing or missing response from {url}: bad status from {url}: 403"
    )
    del other.answers[PATH]
    await until(admin, "Passed")


async def test_nobody_there(admin: Client, other: OtherServer) -> None:
    """A refused connection is told in Go's words."""
    await post(admin, f"{SPACE}/services", SERVICE)
    await post(admin, SERVICES, api_service(1, other.ca))
    found = await until(admin, "FailedDiscoveryCheck")
    url = f"https://localhost:1{PATH}"
    assert found["message"].startswith(f'failing or missing response from {url}: Get "{url}": dial')
    assert found["message"].endswith("connect: connection refused")


async def test_a_server_of_another_authority(
    admin: Client, front: InProcess, other: OtherServer
) -> None:
    """Its certificate is not believed."""
    ca = (front.config.pki_dir / "ca.crt").read_bytes()
    await post(admin, f"{SPACE}/services", SERVICE)
    await post(admin, SERVICES, api_service(other.port, ca))
    found = await until(admin, "FailedDiscoveryCheck")
    assert "x509: certificate signed by unknown authority" in found["message"]


async def test_insecure(admin: Client, other: OtherServer) -> None:
    """Without a look at certificates it is well."""
    await post(admin, f"{SPACE}/services", SERVICE)
    body = api_service(other.port, None, insecureSkipTLSVerify=True)
    await post(admin, SERVICES, body)
    await until(admin, "Passed")


async def test_a_hanging_server(
    admin: Client, other: OtherServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is given up."""

    async def hang(asked: ReceivedRequest) -> None:
        del asked
        await trio.sleep_forever()

    monkeypatch.setattr(availability, "ASK_S", 0.2)
    other.answers[PATH] = hang
    await post(admin, f"{SPACE}/services", SERVICE)
    await post(admin, SERVICES, api_service(other.port, other.ca))
    found = await until(admin, "FailedDiscoveryCheck")
    assert found["message"].endswith("(Client.Timeout exceeded while awaiting headers)")


async def test_metrics(admin: Client, other: OtherServer) -> None:
    """Servers that are gone are counted, with the reason."""
    await register(admin, other)
    text = (await admin.request("GET", "/metrics")).body.decode()
    assert f'aggregator_unavailable_apiservice{{name="{NAME}"}} 0' in text
    assert 'aggregator_unavailable_apiservice{name="v1.apps"} 0' in text
    await admin.request("DELETE", f"{SPACE}/services/be")
    await until(admin, "ServiceNotFound")
    text = (await admin.request("GET", "/metrics")).body.decode()
    assert f'aggregator_unavailable_apiservice{{name="{NAME}"}} 1' in text
    counted = f'aggregator_unavailable_apiservice_total{{name="{NAME}",reason="ServiceNotFound"}} 1'
    assert counted in text
    await admin.request("DELETE", f"{SERVICES}/{NAME}")
    await post(admin, f"{SPACE}/services", SERVICE)
    text = (await admin.request("GET", "/metrics")).body.decode()
    assert f'unavailable_apiservice{{name="{NAME}"}}' not in text


async def test_one_of_this_server(admin: Client) -> None:
    """What names no Service any more is local."""
    body = api_service(443, None)
    await post(admin, SERVICES, body)
    await until(admin, "ServiceNotFound")
    patch = [{"op": "remove", "path": "/spec/service"}]
    headers = {"Content-Type": "application/json-patch+json"}
    await admin.request("PATCH", f"{SERVICES}/{NAME}", json=patch, headers=headers)
    found = await until(admin, "Local")
    assert (found["status"], found["message"]) == ("True", availability.LOCAL[2])
