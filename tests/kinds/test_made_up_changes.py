"""A kind that is not built in comes and goes while the server runs, and all parts follow."""

from __future__ import annotations

import gc
import weakref

import pytest
import trio
import trio.testing
from made_up import (
    AGGREGATED,
    MERGE,
    OLDER,
    PARTIAL,
    PROTOBUF,
    TABLE,
    V1,
    VERSIONS,
    WIDGETS,
    apply,
    events,
    post,
    watching,
)

from kubetrio.api.flowcontrol import PriorityAndFairness
from kubetrio.controllers.resourcequota import ResourceQuotaController
from kubetrio.machinery.identity import Attributes, Decision, Verdict
from kubetrio.testing.client import Client
from kubetrio.testing.controllers import context_of
from kubetrio.testing.server import InProcess, open_api
from kubetrio.testing.widgets import widget, widgets

# ---------------------------------------------------------------- watching


async def test_watched_in_both_versions(server: InProcess, made: Client) -> None:
    """Each watcher sees the names of its version."""
    async with server.connect() as one, server.connect() as other:
        await watching(one, f"{WIDGETS}?watch=1")
        await watching(other, f"{OLDER}?watch=1")
        await post(made, "a", size=1)
        await made.request("DELETE", f"{WIDGETS}/a")
        seen = [(each["type"], each["object"]["spec"]) for each in await events(one, 2)]
        assert seen == [("ADDED", {"size": 1}), ("DELETED", {"size": 1})]
        seen = [(each["type"], each["object"]["spec"]) for each in await events(other, 2)]
        assert seen == [("ADDED", {"extent": 1}), ("DELETED", {"extent": 1})]


async def test_watches_end_when_it_goes(server: InProcess, made: Client) -> None:
    """Cleanly; watches of other kinds go on."""
    kinds = [
        server.api.storage.registry.resources["example.com", name, "widgets"] for name in VERSIONS
    ]
    async with server.connect() as one, server.connect() as other:
        await watching(one, f"{WIDGETS}?watch=1")
        await watching(other, "/api/v1/namespaces/default/configmaps?watch=1")
        await trio.testing.wait_all_tasks_blocked()
        server.api.storage.registry.remove(kinds)
        with trio.fail_after(5):
            assert await one.chunk() == b""
        assert len(server.api.edge.streams) == 1


# ---------------------------------------------------------------- coming and going


async def test_gone_and_back(server: InProcess, made: Client) -> None:
    """Removed it is not found, nor discovered; what was stored is there when it comes back."""
    await post(made, "a", size=1)
    registry = server.api.storage.registry
    kinds = [registry.resources["example.com", name, "widgets"] for name in VERSIONS]
    registry.remove(kinds)
    answer = await made.request("GET", f"{WIDGETS}/a")
    assert (answer.status, answer.body) == (404, b"404 page not found\n")
    groups = (await made.request("GET", "/apis")).json()["groups"]
    assert "example.com" not in [group["name"] for group in groups]
    assert "apis/example.com/v1" not in (await made.request("GET", "/openapi/v3")).json()["paths"]
    registry.add(widgets())
    assert (await made.request("GET", f"{WIDGETS}/a")).json()["spec"] == {"size": 1}


async def test_one_version_gone(server: InProcess, made: Client) -> None:
    """The other goes on."""
    await post(made, "a", size=1)
    registry = server.api.storage.registry
    registry.remove([registry.resources["example.com", "v1beta1", "widgets"]])
    assert (await made.request("GET", OLDER)).status == 404
    assert (await made.request("GET", f"{WIDGETS}/a")).status == 200


async def test_nothing_of_it_stays(server: InProcess) -> None:
    """Its value is freed when it was removed, whatever was done with it."""
    registry = server.api.storage.registry
    registry.add(widgets())
    async with server.connect() as client:
        await post(client, "a", size=1)
        await apply(client, "b", "one", {"size": 1})
        await client.request("PATCH", f"{OLDER}/a", MERGE, b'{"spec":{"extent":2}}')
        binary = PARTIAL.replace("application/json", PROTOBUF).replace("Metadata", "MetadataList")
        for accept in ("application/json", "application/yaml", TABLE, PARTIAL, binary):
            await client.request("GET", OLDER, {"Accept": accept})
        await client.request("GET", "/openapi/v3/apis/example.com/v1")
        await client.request("GET", "/apis", {"Accept": AGGREGATED})
        async with server.connect() as other:
            await watching(other, f"{OLDER}?watch=1")
            await events(other, 2)
            await post(client, "c", size=1)
            await client.request("DELETE", f"{WIDGETS}/c")
            await events(other, 2)
            registry_kinds = [registry.resources["example.com", v, "widgets"] for v in VERSIONS]
            registry.remove(registry_kinds)
            with trio.fail_after(5):
                assert await other.chunk() == b""
        left = [weakref.ref(kind) for kind in registry_kinds]
        registry_kinds.clear()
        await client.request("GET", "/apis")
        gc.collect()
        assert [ref() for ref in left] == [None, None]


# ---------------------------------------------------------------- what follows the registry


async def test_its_objects_are_counted(server: InProcess, made: Client) -> None:
    """By flow control, also those that were there before it came back."""
    flow = server.api.edge.flow
    assert isinstance(flow, PriorityAndFairness)

    def count() -> int:
        found = {f"{one.resource}.{one.group}": one.objects for one in flow.stored_objects()}
        return found["widgets.example.com"]

    await post(made, "a")
    await post(made, "b")
    assert count() == 2
    registry = server.api.storage.registry
    registry.remove([registry.resources["example.com", name, "widgets"] for name in VERSIONS])
    registry.add(widgets())
    await trio.testing.wait_all_tasks_blocked()
    assert count() == 2


async def test_flow_control_forgets_what_it_was(server: InProcess, client: Client) -> None:
    """A list of what was no kind is as wide as any when it has become one."""
    flow = server.api.edge.flow
    assert isinstance(flow, PriorityAndFairness)
    await client.request("GET", WIDGETS)
    server.api.storage.registry.add(widgets())
    assert not flow.gate.entries
    await client.request("GET", WIDGETS)
    abouts = [entry.about for entry in flow.gate.entries.values()]
    assert all(about is not None for about in abouts)


async def test_a_quota_on_its_number(server: InProcess, client: Client) -> None:
    """A quota made before the kind came holds; deleting makes room."""
    api = server.api
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few"},
        "spec": {"hard": {"count/widgets.example.com": "1"}},
    }
    keeper = ResourceQuotaController(context_of(server))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(keeper.run)
        await client.request("POST", "/api/v1/namespaces/default/resourcequotas", json=quota)
        await trio.testing.wait_all_tasks_blocked()
        api.storage.registry.add(widgets())
        await trio.testing.wait_all_tasks_blocked()
        await post(client, "a")
        refused = await client.request("POST", WIDGETS, json=widget("b"))
        assert refused.status == 403
        assert refused.json()["message"] == (
            'widgets.example.com "b" is forbidden: exceeded quota: few, requested: '
            "count/widgets.example.com=1, used: count/widgets.example.com=1, "
            "limited: count/widgets.example.com=1"
        )
        await client.request("DELETE", f"{WIDGETS}/a")
        await trio.testing.wait_all_tasks_blocked()
        await post(client, "b")
        nursery.cancel_scope.cancel()


async def test_an_admission_policy_on_it(server: InProcess, client: Client) -> None:
    """Matches it in the version it names, whichever is written."""
    pytest.importorskip("cel_expr_python", reason="the extra cel is not installed")
    group = "admissionregistration.k8s.io"
    policy = {
        "apiVersion": f"{group}/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "small"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": ["example.com"],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["widgets"],
                    }
                ]
            },
            "validations": [{"expression": "object.spec.size < 10", "message": "too large"}],
        },
    }
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "small"},
        "spec": {"policyName": "small", "validationActions": ["Deny"]},
    }
    base = f"/apis/{group}/v1/validatingadmissionpolic"
    assert (await client.request("POST", f"{base}ies", json=policy)).status == 201
    assert (await client.request("POST", f"{base}ybindings", json=binding)).status == 201
    server.api.storage.registry.add(widgets())
    await post(client, "a", size=9)
    refused = await client.request("POST", OLDER, json=widget("b", "v1beta1", extent=10))
    assert refused.status == 422
    assert "too large" in refused.json()["message"]


async def test_others_do_not_see_it(server: InProcess, made: Client) -> None:
    """A second server in the process serves what its own registry says."""
    await post(made, "a")
    async with open_api(seed=1) as second, second.connect() as client:
        assert (await client.request("GET", WIDGETS)).status == 404
        second.api.storage.registry.add(widgets(resource="gadgets", kind="Gadget"))
        path = f"{V1}/namespaces/default/gadgets"
        assert (await client.request("GET", path)).status == 200
        assert (await made.request("GET", path)).status == 404
    assert (await made.request("GET", f"{WIDGETS}/a")).status == 200


async def test_whoever_may_not_is_refused(server: InProcess, made: Client) -> None:
    """Authorizers are asked about it by its names."""
    async with server.connect(certificate=None) as nobody:
        answer = await nobody.request("GET", WIDGETS)
    assert answer.status == 403
    assert 'cannot list resource "widgets" in API group "example.com"' in answer.json()["message"]


class Everybody:
    """An authorizer that lets everybody do everything."""

    def authorize(self, _: Attributes) -> Verdict:
        return Verdict(Decision.ALLOW, "")


async def test_an_authorizer_of_one_server(server: InProcess, made: Client) -> None:
    """Another in the same process goes on refusing."""
    chain = server.api.security.authorizer
    chain.authorizers = (Everybody(), *chain.authorizers)
    async with open_api(seed=1) as second:
        second.api.storage.registry.add(widgets())
        answers = []
        for one in (server, second):
            async with one.connect(certificate=None) as nobody:
                answers.append((await nobody.request("GET", WIDGETS)).status)
    assert answers == [200, 403]


async def test_parameters_of_a_policy(server: InProcess, client: Client) -> None:
    """Of a kind that came after the policy was in use are found; while it is gone, that is told."""
    pytest.importorskip("cel_expr_python", reason="the extra cel is not installed")
    group = "admissionregistration.k8s.io"
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }
    policy = {
        "apiVersion": f"{group}/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "few"},
        "spec": {
            "paramKind": {"apiVersion": "example.com/v1", "kind": "Widget"},
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "params.spec.size > 2"}],
        },
    }
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "few"},
        "spec": {
            "policyName": "few",
            "validationActions": ["Deny"],
            "paramRef": {
                "name": "a",
                "namespace": "default",
                "parameterNotFoundAction": "Deny",
            },
        },
    }
    base = f"/apis/{group}/v1/validatingadmissionpolic"
    assert (await client.request("POST", f"{base}ies", json=policy)).status == 201
    assert (await client.request("POST", f"{base}ybindings", json=binding)).status == 201
    path = "/api/v1/namespaces/default/configmaps?dryRun=All"
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    refused = await client.request("POST", path, json=obj)
    assert "failed to configure policy" in refused.json()["message"]
    kinds = widgets()
    server.api.storage.registry.add(kinds)
    await post(client, "a", size=3)
    assert (await client.request("POST", path, json=obj)).status == 201
    server.api.storage.registry.remove(kinds)
    again = await client.request("POST", path, json=obj)
    assert "failed to configure policy" in again.json()["message"]
