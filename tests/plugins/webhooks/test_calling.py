"""Where a Service of a webhook is."""

from __future__ import annotations

from typing import Any

import pytest
from hook_objects import VALIDATING, configured, created, failed, webhook

from kubetrio.admission.objectcache import ObjectCache
from kubetrio.aggregation.servicelookup import Services, Unresolved
from kubetrio.env import Env
from kubetrio.server.parts import Parts
from kubetrio.testing.client import Client
from kubetrio.testing.hooks import open_hook
from kubetrio.testing.server import InProcess, open_api
from kubetrio.tls import pki

Object = dict[str, Any]
SPACE = "/api/v1/namespaces/default"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


@pytest.fixture
def services(server: InProcess) -> Services:
    api = server.api
    return Services(ObjectCache(api.storage.informers.dispatcher), api.storage.registry, server.env)


async def service(client: Client, **spec: Any) -> Object:
    body = {
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": {"name": "s"},
        "spec": {"ports": [{"name": "web", "port": 443}], **spec},
    }
    answer = await client.request("POST", f"{SPACE}/services", json=body)
    assert answer.status == 201, answer.json()
    found: Object = answer.json()
    return found


async def endpoints(client: Client, *, ready: bool = True, port: str = "web") -> None:
    body = {
        "kind": "EndpointSlice",
        "apiVersion": "discovery.k8s.io/v1",
        "metadata": {"name": "s-1", "labels": {"kubernetes.io/service-name": "s"}},
        "addressType": "IPv4",
        "ports": [{"name": port, "port": 8443}],
        "endpoints": [{"addresses": ["192.0.2.7"], "conditions": {"ready": ready}}],
    }
    answer = await client.request("POST", SLICES, json=body)
    assert answer.status == 201, answer.json()


async def test_a_ready_endpoint(client: Client, services: Services) -> None:
    """It is dialled at the port of the slice."""
    await service(client)
    await endpoints(client)
    assert await services.resolve("default", "s", 443) == ("192.0.2.7", 8443)


@pytest.mark.parametrize("slice_", [{"ready": False}, {"port": "other"}])
async def test_the_cluster_address(
    client: Client, services: Services, slice_: dict[str, Any]
) -> None:
    """Without an endpoint that is ready and has the port, the cluster IP is dialled."""
    made = await service(client)
    await endpoints(client, **slice_)
    assert await services.resolve("default", "s", 443) == (made["spec"]["clusterIP"], 443)


async def test_an_outside_name(client: Client, services: Services) -> None:
    """The name stands for the Service."""
    await service(client, type="ExternalName", externalName="example.com")
    assert await services.resolve("default", "s", 443) == ("example.com", 443)


async def test_what_is_not_there(client: Client, services: Services) -> None:
    """No Service, no such port, no address at all: each is told."""
    with pytest.raises(Unresolved, match=r'^service "s" not found$'):
        await services.resolve("default", "s", 443)
    await service(client, clusterIP="None")
    with pytest.raises(Unresolved, match=r'^no service port 80 found for service "s"$'):
        await services.resolve("default", "s", 80)
    with pytest.raises(Unresolved, match=r'^cannot route to service with ClusterIP "None"$'):
        await services.resolve("default", "s", 443)


async def test_endpoints_only(client: Client, server: InProcess) -> None:
    """With the flag there is no way but to an endpoint."""
    objects = ObjectCache(server.api.storage.informers.dispatcher)
    services = Services(objects, server.api.storage.registry, server.env, endpoints_only=True)
    await service(client)
    with pytest.raises(Unresolved, match=r'^no endpoints available for service "s"$'):
        await services.resolve("default", "s", 443)
    await endpoints(client)
    assert await services.resolve("default", "s", 443) == ("192.0.2.7", 8443)
    await client.request("DELETE", f"{SPACE}/services/s")
    await service(client, type="ExternalName", externalName="example.com")
    with pytest.raises(Unresolved, match=r'^unsupported service type "ExternalName"$'):
        await services.resolve("default", "s", 443)


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> pki.Pki:
    """Certificates for a Service."""
    import datetime as dt

    directory = tmp_path_factory.mktemp("named")
    return pki.ensure(directory, now=dt.datetime.now(dt.UTC), hosts=["hook.default.svc"])


@pytest.mark.parametrize(("name", "status"), [("hook", 201), ("other", 500)])
async def test_a_resolver_of_an_embedder(named: pki.Pki, name: str, status: int) -> None:
    """It says where every Service is; the certificate must still be for the Service's name."""
    async with open_hook(named) as hook:

        async def resolve(namespace: str, service: str, port: int) -> tuple[str, int]:
            assert (namespace, service, port) == ("default", name, 443)
            return "127.0.0.1", hook.port

        config = {
            "service": {"namespace": "default", "name": name, "path": "/a/b"},
            "caBundle": hook.client()["caBundle"],
        }
        parts = Parts(resolve_service=resolve)
        async with open_api(env=Env(), parts=parts) as server, server.connect() as client:
            await configured(client, VALIDATING, webhook(hook, clientConfig=config))
            answer = await created(client)
        assert answer.status == status, answer.json()
        assert [called.asked.path for called in hook.calls] == ["/a/b"] * (status == 201)
        if status == 201:
            assert hook.calls[0].asked.get("host") == "hook.default.svc:443"


async def test_a_service_that_is_not_there(asking: Client, certificates: pki.Pki) -> None:
    """The failure names the Service, in kube-apiserver's words."""
    async with open_hook(certificates) as hook:
        config = {"service": {"namespace": "default", "name": "nope"}}
        await configured(asking, VALIDATING, webhook(hook, clientConfig=config, timeoutSeconds=2))
        why = (
            'failed to call webhook: Post "https://nope.default.svc:443/?timeout=2s": '
            'service "nope" not found'
        )
        assert (await created(asking)).json()["message"] == failed(why)
