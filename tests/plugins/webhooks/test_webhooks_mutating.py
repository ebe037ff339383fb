"""Mutating webhooks over TLS: patches, their refusal, order and reinvocation."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from hook_objects import CONFIGS, MUTATING, RULE, config_map, configured, created, failed, webhook

from kubetrio.testing.client import Client
from kubetrio.testing.hooks import Called, Hook, HookServer

Object = dict[str, Any]


def add(path: str, value: Any) -> Object:
    return {"op": "add", "path": path, "value": value}


def patching(*operations: Object) -> Hook:
    async def patch(called: Called) -> None:
        await called.patch(*operations)

    return patch


def raw(patch: bytes, kind: str = "JSONPatch") -> Hook:
    async def answer(called: Called) -> None:
        await called.reply({"patchType": kind, "patch": b64encode(patch).decode()})

    return answer


async def count(called: Called) -> None:
    """Adds one to a number."""
    number = int(called.request["object"]["data"]["n"]) + 1
    await called.patch(add("/data/n", str(number)))


async def test_a_patch(asking: Client, hook: HookServer) -> None:
    """It changes what is stored; nobody owns what it sets, and the webhook saw no uid yet."""
    hook.hooks["/x"] = patching(add("/data", {"by": "hook"}))
    await configured(asking, MUTATING, webhook(hook, "/x"))
    answer = await created(asking, labels={"own": "1"})
    assert answer.status == 201
    stored = (await asking.request("GET", f"{CONFIGS}/c")).json()
    assert stored["data"] == {"by": "hook"}
    owned = stored["metadata"]["managedFields"][0]["fieldsV1"]
    assert "f:data" not in owned
    assert "uid" not in hook.calls[0].request["object"]["metadata"]
    update = config_map(data={"by": "me"})
    changed = await asking.request("PUT", f"{CONFIGS}/c", json=update)
    assert changed.json()["data"] == {"by": "hook"}


async def test_generated_names(asking: Client, hook: HookServer) -> None:
    """A name is made after webhooks saw the object, so that they are asked once."""
    await configured(asking, MUTATING, webhook(hook))
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "gen-"}}
    answer = await asking.request("POST", CONFIGS, json=body)
    assert answer.json()["metadata"]["name"].startswith("gen-")
    (called,) = hook.calls
    assert "name" not in called.request
    assert "name" not in called.request["object"]["metadata"]


REFUSED = {
    "missing": (
        add("/nope/x/y", 1),
        'add operation does not apply: doc is missing path: "/nope/x/y": missing value',
    ),
    "remove": (
        {"op": "remove", "path": "/nope"},
        "error in remove for path: '/nope': Unable to remove nonexistent key: nope: missing value",
    ),
    "test": (
        {"op": "test", "path": "/metadata/name", "value": "z"},
        "testing value /metadata/name failed: test failed",
    ),
    "operation": ({"op": "frob", "path": "/data"}, "Unexpected kind: frob"),
    "type": (
        add("/data", {"a": 5}),
        "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
async def test_patches_that_do_not_apply(
    asking: Client, hook: HookServer, kind: str, policy: str
) -> None:
    """They are errors whatever ``failurePolicy`` says."""
    operation, words = REFUSED[kind]
    hook.hooks["/x"] = patching(operation)
    await configured(asking, MUTATING, webhook(hook, "/x", failurePolicy=policy))
    answer = await created(asking)
    assert answer.status == 500
    assert answer.json()["message"] == f"Internal error occurred: {words}"


UNREAD = {
    "bad": (
        raw(b"nope"),
        (
            "received undecodable patch in webhook response: invalid character 'o' in literal null "
            "(expecting 'u')"
        ),
    ),
    "object": (
        raw(b"{}"),
        (
            "received undecodable patch in webhook response: json: cannot unmarshal object into Go "
            "value of type jsonpatch.Patch"
        ),
    ),
    "kind": (raw(b'[{"op":"add"}]', "Merge"), 'unsupported patch type "Merge"'),
    "no patch": (
        raw(b""),
        (
            "received invalid webhook response: webhook returned response.patchType but not "
            "response.patch"
        ),
    ),
}


@pytest.mark.parametrize("kind", UNREAD)
async def test_patches_that_are_none(asking: Client, hook: HookServer, kind: str) -> None:
    """They are failures of the webhook, in kube-apiserver's words."""
    hook.hooks["/x"], words = UNREAD[kind]
    await configured(asking, MUTATING, webhook(hook, "/x"))
    assert (await created(asking)).json()["message"] == failed(words)


async def test_order_and_reinvocation(asking: Client, hook: HookServer) -> None:
    """By name of the configuration, then as written; asked again is who wants and was early."""
    hook.hooks["/count"] = count
    rule = {**RULE, "operations": ["CREATE"]}

    def one(name: str, **more: Any) -> Object:
        return webhook(hook, "/count", name=f"{name}.example.com", rules=[rule], **more)

    again = {"reinvocationPolicy": "IfNeeded"}
    await configured(asking, MUTATING, one("z"), name="second")
    await configured(asking, MUTATING, one("a", **again), one("b"), one("c", **again), name="first")
    answer = await created(asking, data={"n": "0"})
    assert answer.json()["data"] == {"n": "6"}
    seen = [called.request["object"]["data"]["n"] for called in hook.calls]
    assert seen == ["0", "1", "2", "3", "4", "5"]


async def test_no_change_no_second_time(asking: Client, hook: HookServer) -> None:
    """Nobody is asked again where nothing changed."""
    await configured(asking, MUTATING, webhook(hook, reinvocationPolicy="IfNeeded"))
    await created(asking)
    assert len(hook.calls) == 1


async def test_another_version(asking: Client, hook: HookServer) -> None:
    """``Equivalent`` asks in the version of the rule, and the patch is of that version."""
    hook.hooks["/x"] = patching(add("/spec/maxReplicas", 9))
    rule = {
        "apiGroups": ["autoscaling"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["horizontalpodautoscalers"],
    }
    await configured(asking, MUTATING, webhook(hook, "/x", rules=[rule]))
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    body = {
        "kind": "HorizontalPodAutoscaler",
        "apiVersion": "autoscaling/v2",
        "metadata": {"name": "h"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": target},
    }
    answer = await asking.request("POST", path, json=body)
    assert answer.json()["spec"]["maxReplicas"] == 9
    request = hook.calls[0].request
    assert request["object"]["apiVersion"] == "autoscaling/v1"
    assert (request["kind"]["version"], request["requestKind"]["version"]) == ("v1", "v2")


async def test_scales(asking: Client, hook: HookServer) -> None:
    """A webhook sees the scale, and what it makes of it is written to the workload."""
    labels = {"app": "d"}
    pod = {"containers": [{"name": "main", "image": "i"}]}
    path = "/apis/apps/v1/namespaces/default/deployments"
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    assert (await asking.request("POST", path, json=body)).status == 201
    hook.hooks["/x"] = patching(add("/spec/replicas", 7))
    rule = {**RULE, "apiGroups": ["apps"], "resources": ["deployments/scale"]}
    await configured(asking, MUTATING, webhook(hook, "/x", rules=[rule]))
    scale = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "d"}}
    answer = await asking.request("PUT", f"{path}/d/scale", json={**scale, "spec": {"replicas": 3}})
    assert answer.json()["spec"]["replicas"] == 7
    request = hook.calls[0].request
    assert (request["object"]["kind"], request["object"]["spec"]) == ("Scale", {"replicas": 3})
    assert request["oldObject"]["spec"] == {"replicas": 1}
    stored = (await asking.request("GET", f"{path}/d")).json()
    assert stored["spec"]["replicas"] == 7


async def test_deletions_cannot_be_changed(asking: Client, hook: HookServer) -> None:
    """There is no object that a patch could be for."""
    hook.hooks["/x"] = patching(add("/data", {}))
    await created(asking)
    rule = {**RULE, "operations": ["DELETE"]}
    await configured(asking, MUTATING, webhook(hook, "/x", rules=[rule]))
    answer = await asking.request("DELETE", f"{CONFIGS}/c")
    assert answer.json()["message"] == (
        'Internal error occurred: admission webhook "h.example.com" attempted to modify the '
        "object, which is not supported for this operation"
    )


async def test_unreadable_owners(asking: Client, hook: HookServer) -> None:
    """What a webhook breaks of managed fields is taken back, with a warning."""
    broken = [{"manager": "x", "operation": "Foo"}]
    hook.hooks["/x"] = patching(add("/metadata/managedFields", broken))
    await configured(asking, MUTATING, webhook(hook, "/x"))
    answer = await created(asking, labels={"a": "b"})
    assert answer.status == 201
    assert b".metadata.managedFields was in an invalid state" in answer.head.get(b"warning")
    assert answer.json()["metadata"]["managedFields"][0]["operation"] == "Update"


async def test_other_namespaces(asking: Client, hook: HookServer) -> None:
    """A webhook cannot move an object."""
    hook.hooks["/x"] = patching(add("/metadata/namespace", "kube-system"))
    await configured(asking, MUTATING, webhook(hook, "/x"))
    assert (await created(asking)).status == 400


async def test_large_objects(asking: Client, hook: HookServer) -> None:
    """A patch of a large object, read beside the event loop, is the same."""
    large = {"k": "x" * 600_000}
    hook.hooks["/x"] = patching(add("/data/more", "y"))
    await configured(asking, MUTATING, webhook(hook, "/x"))
    answer = await created(asking, data=large)
    assert answer.json()["data"] == {**large, "more": "y"}
