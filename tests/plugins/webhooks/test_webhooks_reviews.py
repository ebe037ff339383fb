"""Reviews of what is written below objects: scales, bindings, evictions, tokens and questions.

What a kube-apiserver 1.36 sends to webhooks that ask for everything.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubetrio.testing.client import Client
from kubetrio.testing.hooks import HookServer
from tests.plugins.webhooks.hook_objects import (
    MUTATING,
    VALIDATING,
    configured,
    webhook,
)

Object = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
ANY = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}
AGENT = "?fieldManager=me"


@pytest.fixture
async def everything(asking: Client, hook: HookServer) -> Client:
    """A client whose every write both webhooks are asked about; there is a pod."""
    pod = {"containers": [{"name": "c", "image": "i"}]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": pod}
    assert (await asking.request("POST", PODS, json=body)).status == 201
    # The second configuration is written past the webhook of the first.
    await configured(asking, MUTATING, webhook(hook, "/mutate", rules=[ANY]), name="one")
    await configured(asking, VALIDATING, webhook(hook, "/validate", rules=[ANY]), name="two")
    hook.calls.clear()
    return asking


def asked(hook: HookServer) -> list[tuple[str, Object]]:
    """Which webhooks were asked, and what."""
    return [(called.asked.path.partition("?")[0], called.request) for called in hook.calls]


def owned(entry: Object) -> tuple[Any, ...]:
    """Who owns what."""
    names = ("manager", "operation", "apiVersion", "subresource", "fieldsV1")
    return tuple(entry.get(name) for name in names)


async def test_a_binding(everything: Client, hook: HookServer) -> None:
    """It is created as any object is: with an owner, and by options."""
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p"},
        "target": {"kind": "Node", "name": "n"},
    }
    answer = await everything.request("POST", f"{PODS}/p/binding{AGENT}&dryRun=All", json=body)
    assert answer.status == 201
    [(_, mutated), (_, validated)] = asked(hook)
    assert mutated["object"] == validated["object"]
    [entry] = mutated["object"]["metadata"]["managedFields"]
    assert owned(entry) == ("me", "Update", "v1", "binding", {"f:target": {}})
    assert (mutated["dryRun"], mutated["options"]) == (
        True,
        {
            "kind": "CreateOptions",
            "apiVersion": "meta.k8s.io/v1",
            "fieldManager": "me",
            "dryRun": ["All"],
        },
    )


async def test_an_eviction(everything: Client, hook: HookServer) -> None:
    """A dry run that the body asks for is none of the request's options."""
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "p"},
        "deleteOptions": {"dryRun": ["All"]},
    }
    assert (await everything.request("POST", f"{PODS}/p/eviction{AGENT}", json=body)).status == 201
    [(_, mutated), (_, validated)] = asked(hook)
    assert mutated["object"] == validated["object"]
    [entry] = mutated["object"]["metadata"]["managedFields"]
    fields = {"f:deleteOptions": {".": {}, "f:dryRun": {}}}
    assert owned(entry) == ("me", "Update", "policy/v1", "eviction", fields)
    assert (mutated["dryRun"], mutated["options"]["fieldManager"]) == (False, "me")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"{PODS}/p/binding", {"apiVersion": "v1", "kind": "Binding"}),
        (f"{PODS}/p/eviction", {"apiVersion": "policy/v1", "kind": "Eviction"}),
    ],
)
async def test_a_bad_body_is_seen_by_who_may_change_it(
    everything: Client, hook: HookServer, path: str, body: Object
) -> None:
    """And refused before admission that changes nothing."""
    wrong = {**body, "metadata": {"name": "other"}, "target": {"name": "n"}}
    answer = await everything.request("POST", path, json=wrong)
    assert answer.status == 400
    assert [path for path, _ in asked(hook)] == ["/mutate"]


async def test_a_bad_question(everything: Client, hook: HookServer) -> None:
    """The same of access reviews."""
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "metadata": {"labels": {"a": "b"}},
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
    }
    path = f"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews{AGENT}"
    assert (await everything.request("POST", path, json=body)).status == 422
    [(path, request)] = asked(hook)
    assert (path, request["options"]["fieldManager"]) == ("/mutate", "me")


async def test_a_token_request(everything: Client, hook: HookServer) -> None:
    """What it leaves open is filled in between."""
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}
    assert (await everything.request("POST", accounts, json=account)).status == 201
    hook.calls.clear()
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    assert (await everything.request("POST", f"{accounts}/a/token", json=body)).status == 201
    [(_, mutated), (_, validated)] = asked(hook)
    empty = {"token": "", "expirationTimestamp": None}
    assert mutated["object"]["status"] == validated["object"]["status"] == empty
    assert "name" not in mutated["object"]["metadata"]
    assert not mutated["object"]["spec"].get("audiences")
    assert validated["object"]["metadata"]["name"] == "a"
    assert validated["object"]["spec"]["audiences"]


async def test_a_scale(everything: Client, hook: HookServer) -> None:
    """Who may change it sees what was sent and its owners, who validates what is stored of it."""
    labels = {"app": "d"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    path = "/apis/apps/v1/namespaces/default/deployments"
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": labels}, "template": pod, "replicas": 1},
    }
    made = await everything.request("POST", f"{path}?fieldManager=maker", json=body)
    assert made.status == 201
    hook.calls.clear()
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "d", "labels": {"x": "y"}},
        "spec": {"replicas": 3},
        "status": {"replicas": 9},
    }
    answer = await everything.request("PUT", f"{path}/d/scale{AGENT}", json=scale)
    assert answer.status == 200
    [(_, mutated), (_, validated)] = asked(hook)
    assert mutated["object"]["metadata"]["labels"] == {"x": "y"}
    assert mutated["object"]["status"] == {"replicas": 9}
    fields = {"f:spec": {"f:replicas": {}}}
    [before] = mutated["oldObject"]["metadata"]["managedFields"]
    assert owned(before) == ("maker", "Update", "autoscaling/v1", None, fields)
    entries = mutated["object"]["metadata"]["managedFields"]
    assert ("me", "scale") in [(one["manager"], one.get("subresource")) for one in entries]
    assert "labels" not in validated["object"]["metadata"]
    assert "managedFields" not in validated["object"]["metadata"]
    assert "managedFields" not in validated["oldObject"]["metadata"]
    assert (validated["object"]["spec"], validated["oldObject"]["spec"]) == (
        {"replicas": 3},
        {"replicas": 1},
    )
