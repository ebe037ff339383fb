"""Objects every cluster has from its start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubetrio.bootstrap.objects import NAMESPACES, PRIORITY_CLASSES, Bootstrap, service_ip
from kubetrio.config import Config, Serving
from kubetrio.testing.client import Client
from kubetrio.testing.server import ADDRESS, PORT, InProcess, open_api

CORE = "/api/v1"
LOCAL = "127.0.0.1"  # advertised when nothing else is said
SERVICE = CORE + "/namespaces/default/services/kubernetes"


@pytest.mark.parametrize(
    ("cidr", "address"),
    [
        ("10.0.0.0/24", "10.0.0.1"),
        ("10.96.0.0/12", "10.96.0.1"),
        ("fd00::/108", "fd00::1"),
        ("10.0.0.7/24", "10.0.0.1"),
    ],
)
def test_the_first_address_is_that_of_the_api(cidr: str, address: str) -> None:
    """Of each range (docs: "Service" and kube-apiserver's reference)."""
    assert service_ip(cidr) == address


async def get(client: Client, path: str) -> Any:
    answer = await client.request("GET", path)
    assert answer.status == 200, path
    return answer.json()


async def test_system_namespaces_exist(client: Client) -> None:
    """Active, with the label that selectors of namespaces use."""
    for name in NAMESPACES:
        found = await get(client, f"{CORE}/namespaces/{name}")
        assert found["status"]["phase"] == "Active"
        assert found["metadata"]["labels"] == {"kubernetes.io/metadata.name": name}


async def test_the_api_is_a_service(client: Client) -> None:
    """With endpoints that lead to this server."""
    spec = (await get(client, SERVICE))["spec"]
    assert spec["clusterIP"] == "10.0.0.1"
    subset = (await get(client, CORE + "/namespaces/default/endpoints/kubernetes"))["subsets"][0]
    assert (subset["addresses"][0]["ip"], subset["ports"][0]["port"]) == (LOCAL, PORT)
    path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"
    sliced = await get(client, path)
    assert sliced["endpoints"][0]["addresses"] == [LOCAL]
    assert sliced["ports"][0]["port"] == PORT


async def test_system_priorities_exist(client: Client) -> None:
    """Described, for ``kubectl describe`` shows it."""
    for name, description in PRIORITY_CLASSES.items():
        found = await get(client, f"/apis/scheduling.k8s.io/v1/priorityclasses/{name}")
        assert found["value"] >= 2_000_000_000
        assert found["description"] == description


async def test_an_apiservice_for_each_group_and_version(server: InProcess, client: Client) -> None:
    """What the aggregator of kube-apiserver would list."""
    found = await get(client, "/apis/apiregistration.k8s.io/v1/apiservices")
    names = {item["metadata"]["name"] for item in found["items"]}
    assert {"v1.", "v1.apps", "v1.batch", "v2.autoscaling"} <= names


LABEL = "f:kubernetes.io/metadata.name"
SELECTED = "f:kubernetes.io/service-name"


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        (f"{CORE}/namespaces/kube-system", {"f:metadata": {"f:labels": {".": {}, LABEL: {}}}}),
        (
            SERVICE,
            {
                "f:metadata": {"f:labels": {".": {}, "f:component": {}, "f:provider": {}}},
                "f:spec": {
                    "f:clusterIP": {},
                    "f:internalTrafficPolicy": {},
                    "f:ipFamilyPolicy": {},
                    "f:ports": {
                        ".": {},
                        'k:{"port":443,"protocol":"TCP"}': {
                            ".": {}, "f:name": {}, "f:port": {}, "f:protocol": {},
                            "f:targetPort": {},
                        },
                    },
                    "f:sessionAffinity": {},
                    "f:type": {},
                },
            },
        ),
        (
            "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical",
            {"f:description": {}, "f:preemptionPolicy": {}, "f:value": {}},
        ),
    ],
)  # fmt: skip
async def test_they_are_the_servers(client: Client, path: str, fields: Any) -> None:
    """What it sent, as of any client; what is filled in behind that is nobody's."""
    (entry,) = (await get(client, path))["metadata"]["managedFields"]
    assert entry["fieldsV1"] == fields
    assert (entry["manager"], entry["operation"]) == ("kube-apiserver", "Update")


async def test_conflicts_name_the_server(client: Client) -> None:
    """And not somebody before the first apply."""
    name = "system-node-critical"
    applied = {
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": name}, "value": 2_000_001_000, "description": "mine",
    }  # fmt: skip
    answer = await client.request(
        "PATCH",
        f"/apis/scheduling.k8s.io/v1/priorityclasses/{name}?fieldManager=me",
        {"Content-Type": "application/apply-patch+yaml"},
        json=applied,
    )
    assert answer.status == 409
    assert 'conflict with "kube-apiserver" using scheduling' in answer.json()["message"]


async def test_a_second_start_writes_nothing(tmp_path: Path) -> None:
    """What exists is left alone."""
    config = Config(data_dir=tmp_path, serving=Serving(secure_port=PORT, advertise_address=ADDRESS))
    async with open_api(config=config) as first:
        revision = first.api.storage.store.revision
    async with open_api(config=config) as second:
        assert second.api.storage.store.revision == revision


async def test_apiservices_of_this_server_are_kept(tmp_path: Path) -> None:
    """A deleted one comes back at the next start, a changed one gets its spec back; one without the
    label is somebody's own."""
    path = "/apis/apiregistration.k8s.io/v1/apiservices"
    config = Config(data_dir=tmp_path, serving=Serving(secure_port=PORT))
    merge = {"Content-Type": "application/merge-patch+json"}
    changed = b'{"spec":{"versionPriority":7}}'
    own = b'{"metadata":{"labels":null},"spec":{"versionPriority":7}}'
    async with open_api(config=config) as server, server.connect() as client:
        await client.request("DELETE", f"{path}/v1.apps")
        await client.request("PATCH", f"{path}/v1.batch", merge, changed)
        await client.request("PATCH", f"{path}/v1.policy", merge, own)
    async with open_api(config=config) as server, server.connect() as client:
        for name, priority in (("v1.apps", 15), ("v1.batch", 15), ("v1.policy", 7)):
            found = await get(client, f"{path}/{name}")
            assert found["spec"]["versionPriority"] == priority
            assert found["status"]["conditions"][0]["reason"] == "Local"


async def test_another_address_is_corrected(tmp_path: Path) -> None:
    """A server that moved must be found; changes of others are kept."""
    config = Config(data_dir=tmp_path, serving=Serving(secure_port=PORT, advertise_address=ADDRESS))
    namespace = CORE + "/namespaces/kube-public"
    async with open_api(config=config) as server, server.connect() as client:
        patch = b'{"metadata":{"labels":{"mine":"yes"}}}'
        media = {"Content-Type": "application/merge-patch+json"}
        assert (await client.request("PATCH", namespace, media, patch)).status == 200
    moved = Config(
        data_dir=tmp_path, serving=Serving(secure_port=PORT, advertise_address="192.0.2.77")
    )
    async with open_api(config=moved) as server, server.connect() as client:
        path = CORE + "/namespaces/default/endpoints/kubernetes"
        subset = (await get(client, path))["subsets"][0]
        assert subset["addresses"] == [{"ip": "192.0.2.77"}]
        assert (await get(client, namespace))["metadata"]["labels"]["mine"] == "yes"
        (entry,) = (await get(client, path))["metadata"]["managedFields"]
        assert (entry["manager"], entry["fieldsV1"].keys()) == (
            "kube-apiserver",
            {"f:metadata", "f:subsets"},
        )


SYSTEM = CORE + "/namespaces/kube-system/configmaps"
TRACKING = SYSTEM + "/kube-apiserver-legacy-service-account-token-tracking"
MERGE = {"Content-Type": "application/merge-patch+json"}


async def again(server: InProcess, **changed: Any) -> None:
    """Make the objects once more, as another start does."""
    api = server.api
    asked = {
        "address": ADDRESS, "port": PORT, "service_ip": "10.0.0.1",
        "now": server.env.now(), **changed,
    }  # fmt: skip
    await Bootstrap(api.storage.registry, api.writes.operations, api.storage.store, **asked).run()


async def test_tracking_of_legacy_tokens_has_a_date(client: Client) -> None:
    """The day of the first start, as kube-apiserver notes it."""
    assert (await get(client, TRACKING))["data"] == {"since": "2023-11-14"}


async def test_a_date_that_is_none_is_replaced(server: InProcess, client: Client) -> None:
    """Any other day stays, and so does what else is there."""
    for since, expected in (("2020-02-02", "2020-02-02"), ("lately", "2023-11-14")):
        await client.request("PATCH", TRACKING, MERGE, json={"data": {"since": since, "a": "b"}})
        await again(server)
        assert (await get(client, TRACKING))["data"] == {"a": "b", "since": expected}


async def test_the_service_is_its_users(server: InProcess, client: Client) -> None:
    """kube-apiserver writes it once; what changes are its endpoints."""
    annotated = {"metadata": {"annotations": {"a": "b"}}}
    assert (await client.request("PATCH", SERVICE, MERGE, json=annotated)).status == 200
    before = await get(client, SERVICE)
    await again(server, port=PORT + 1, service_ip="10.0.0.9")
    assert await get(client, SERVICE) == before


async def test_an_object_that_is_refused_is_left_out(server: InProcess, client: Client) -> None:
    """Somebody took the address of the Service: the server is of use all the same."""
    assert (await client.request("DELETE", SERVICE)).status == 200
    taker = {
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "taker"},
        "spec": {"clusterIP": "10.0.0.1", "ports": [{"port": 1}]},
    }  # fmt: skip
    services = CORE + "/namespaces/default/services"
    assert (await client.request("POST", services, json=taker)).status == 201
    await again(server, address="192.0.2.77")
    assert (await client.request("GET", SERVICE)).status == 404
    endpoints = await get(client, CORE + "/namespaces/default/endpoints/kubernetes")
    assert endpoints["subsets"][0]["addresses"] == [{"ip": "192.0.2.77"}]


async def test_a_quota_does_not_stop_a_start(server: InProcess, client: Client) -> None:
    """Nor does it keep what the server needs from being made."""
    quota = {
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"},
        "spec": {"hard": {"configmaps": "0"}},
    }  # fmt: skip
    path = CORE + "/namespaces/kube-system/resourcequotas"
    assert (await client.request("POST", path, json=quota)).status == 201
    assert (await client.request("DELETE", TRACKING)).status == 200
    await again(server)
    assert (await client.request("GET", TRACKING)).status == 200


GROUP = "admissionregistration.k8s.io/v1"
EVERYTHING = {
    "resourceRules": [
        {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}
    ]
}


async def test_no_policy_stops_a_start(tmp_path: Path) -> None:
    """Not one that refuses everything, and not where none can be evaluated."""
    config = Config(data_dir=tmp_path, serving=Serving(secure_port=PORT, advertise_address=ADDRESS))
    denies = {
        "matchConstraints": EVERYTHING,
        "validations": [{"expression": "false"}],
        "failurePolicy": "Fail",
    }
    binds = {"policyName": "no", "validationActions": ["Deny"]}
    async with open_api(config=config) as server, server.connect() as client:
        for plural, kind, spec in (
            ("validatingadmissionpolicies", "ValidatingAdmissionPolicy", denies),
            ("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", binds),
        ):
            body = {"apiVersion": GROUP, "kind": kind, "metadata": {"name": "no"}, "spec": spec}
            answer = await client.request("POST", f"/apis/{GROUP}/{plural}", json=body)
            assert answer.status == 201
        refused = await client.request("DELETE", TRACKING)
        assert refused.status in (422, 500)  # 500 without an engine
        schema = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/probes"
        target = server.api.storage.registry.resources[
            "flowcontrol.apiserver.k8s.io", "v1", "flowschemas"
        ]
        found = await server.api.storage.store.get(target.key("", "probes"))
        assert found is not None
        await server.api.storage.store.delete(found.key, expected=found.revision)
        assert (await client.request("GET", schema)).status == 404
    moved = Config(
        data_dir=tmp_path, serving=Serving(secure_port=PORT, advertise_address="192.0.2.77")
    )
    async with open_api(config=moved) as server, server.connect() as client:
        endpoints = await get(client, CORE + "/namespaces/default/endpoints/kubernetes")
        assert endpoints["subsets"][0]["addresses"] == [{"ip": "192.0.2.77"}]
        assert (await client.request("GET", schema)).status == 200
