"""Validating webhooks over TLS: refusals, failures, and what a webhook is told."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from hook_objects import CONFIGS, RULE, VALIDATING, configured, created, failed, webhook

from kubetrio.testing.client import Client
from kubetrio.testing.hooks import Called, HookServer
from kubetrio.testing.server import InProcess

Object = dict[str, Any]


async def refuse(called: Called) -> None:
    status = {"message": "no way", "code": 418, "reason": "Teapot"}
    await called.reply({"allowed": False, "status": status})


async def hang(_: Called) -> None:
    await trio.sleep_forever()


async def leave(_: Called) -> None:
    raise EOFError


async def test_a_webhook_that_allows(asking: Client, hook: HookServer) -> None:
    """The write goes through, and the webhook was told of it."""
    await configured(asking, VALIDATING, webhook(hook))
    assert (await created(asking, query="?fieldManager=me", data={"a": "b"})).status == 201
    (called,) = hook.calls
    request = called.request
    assert called.review["apiVersion"] == "admission.k8s.io/v1"
    assert request["operation"] == "CREATE"
    assert request["object"]["data"] == {"a": "b"}
    assert request["object"]["metadata"]["uid"]
    assert request["oldObject"] is None
    assert request["options"] == {
        "kind": "CreateOptions",
        "apiVersion": "meta.k8s.io/v1",
        "fieldManager": "me",
    }
    assert called.asked.target == "/allow?timeout=10s"


async def test_a_refusal(asking: Client, hook: HookServer) -> None:
    """The client is told the webhook's words, code and reason; nothing is stored."""
    hook.hooks["/x"] = refuse
    await configured(asking, VALIDATING, webhook(hook, "/x"))
    answer = await created(asking)
    assert answer.status == 418
    text = 'admission webhook "h.example.com" denied the request: no way'
    assert answer.json()["message"] == text
    assert answer.json()["reason"] == "Teapot"
    assert (await asking.request("GET", f"{CONFIGS}/c")).status == 404


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
async def test_a_refusal_is_no_failure(asking: Client, hook: HookServer, policy: str) -> None:
    """``failurePolicy`` says nothing about refusals."""
    hook.hooks["/x"] = refuse
    await configured(asking, VALIDATING, webhook(hook, "/x", failurePolicy=policy))
    assert (await created(asking)).status == 418


async def garbage(called: Called) -> None:
    await called.send(b"{nope")


async def lie(called: Called) -> None:
    await called.reply({"uid": "another"})


async def sick(called: Called) -> None:
    await called.send(b"sorry", 500, "text/plain")


async def moved(called: Called) -> None:
    await called.send(b"", 307, "text/plain", Location="/allow")


async def huge(called: Called) -> None:
    size = 64 << 20
    await called.asked.head(200, {"Content-Length": str(size), "Content-Type": "application/json"})
    for _ in range(64):
        await called.asked.send(b" " * (1 << 20))


async def half(called: Called) -> None:
    await called.asked.head(200, {"Content-Length": "500", "Content-Type": "application/json"})
    await called.asked.send(b'{"kind"')
    raise EOFError


BAD = {
    "garbage": (garbage, "failed to call webhook: couldn't get version/kind; json parse error: "),
    "lie": (lie, "received invalid webhook response: expected response.uid="),
    "sick": (sick, 'failed to call webhook: an error on the server ("sorry") has prevented'),
    "moved": (moved, "failed to call webhook: the server responded with the status code 307 but"),
    "huge": (huge, "failed to call webhook: Post "),
    "half": (half, "failed to call webhook: unexpected error when reading response body. Please"),
    "leave": (leave, "failed to call webhook: Post "),
    "hang": (hang, "failed to call webhook: Post "),
}


@pytest.mark.parametrize("kind", BAD)
async def test_failures_close(asking: Client, hook: HookServer, kind: str) -> None:
    """With ``Fail``, a webhook that cannot be asked is a refusal with 500."""
    answer_with, words = BAD[kind]
    hook.hooks["/x"] = answer_with
    await configured(asking, VALIDATING, webhook(hook, "/x", timeoutSeconds=1))
    answer = await created(asking)
    assert answer.status == 500
    assert answer.json()["reason"] == "InternalError"
    assert answer.json()["message"].startswith(failed(words))
    assert (await asking.request("GET", f"{CONFIGS}/c")).status == 404


@pytest.mark.parametrize("kind", BAD)
async def test_failures_open(real: InProcess, asking: Client, hook: HookServer, kind: str) -> None:
    """With ``Ignore``, the write goes on, and it is counted."""
    hook.hooks["/x"] = BAD[kind][0]
    await configured(
        asking, VALIDATING, webhook(hook, "/x", timeoutSeconds=1, failurePolicy="Ignore")
    )
    assert (await created(asking)).status == 201
    text = (await asking.request("GET", "/metrics")).body.decode()
    labels = 'name="h.example.com",type="validating"'
    assert f"apiserver_admission_webhook_fail_open_count{{{labels}}} 1.0" in text


async def test_hidden_certificates(asking: Client, hook: HookServer) -> None:
    """A certificate that no named authority signed is not trusted."""
    config = hook.client()
    del config["caBundle"]
    await configured(asking, VALIDATING, webhook(hook, clientConfig=config))
    answer = await created(asking)
    why = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    assert answer.json()["message"].endswith(why)
    assert hook.calls == []


async def test_nobody_listens(asking: Client, hook: HookServer) -> None:
    """A refused connection is told in Go's words."""
    config = {**hook.client(), "url": "https://127.0.0.1:1/x"}
    await configured(asking, VALIDATING, webhook(hook, clientConfig=config, timeoutSeconds=2))
    why = (
        'failed to call webhook: Post "https://127.0.0.1:1/x?timeout=2s": '
        "dial tcp 127.0.0.1:1: connect: connection refused"
    )
    assert (await created(asking)).json()["message"] == failed(why)


async def test_all_are_asked_at_once(asking: Client, hook: HookServer) -> None:
    """Two webhooks that wait for each other both answer."""
    arrived, both = [], trio.Event()

    async def meet(called: Called) -> None:
        arrived.append(called)
        if len(arrived) == 2:
            both.set()
        with trio.fail_after(5):
            await both.wait()
        await called.reply()

    hook.hooks["/x"] = meet
    two = [webhook(hook, "/x", name=f"{name}.example.com") for name in "ab"]
    await configured(asking, VALIDATING, *two)
    assert (await created(asking)).status == 201


async def test_a_webhook_that_calls_back(real: InProcess, asking: Client, hook: HookServer) -> None:
    """It may write through the server that asks it, the same kind of object too."""
    service = {"kind": "Service", "apiVersion": "v1", "spec": {"ports": [{"port": 80}]}}
    path = "/api/v1/namespaces/default/services"

    async def call_back(called: Called) -> None:
        if called.request["name"] != "back":
            async with real.connect() as other:
                body = {**service, "metadata": {"name": "back"}}
                answer = await other.request("POST", path, json=body)
                assert answer.status == 201, answer.json()
        await called.reply()

    hook.hooks["/x"] = call_back
    await configured(asking, VALIDATING, webhook(hook, "/x", rules=[{**RULE, "resources": ["*"]}]))
    with trio.fail_after(20):
        answer = await asking.request("POST", path, json={**service, "metadata": {"name": "s"}})
    assert answer.status == 201
    assert (await asking.request("GET", f"{path}/back")).status == 200


async def test_connections_are_kept(asking: Client, hook: HookServer) -> None:
    """One call after the other uses one connection."""
    await configured(asking, VALIDATING, webhook(hook))
    for number in range(5):
        assert (await created(asking, f"c{number}")).status == 201
    assert (len(hook.calls), hook.connections) == (5, 1)


async def test_warnings_and_notes(asking: Client, hook: HookServer) -> None:
    """Warnings reach the client, also of a write that is refused."""

    async def warn(called: Called) -> None:
        await called.reply({"allowed": False, "warnings": ["w1", "w2"]})

    hook.hooks["/x"] = warn
    await configured(asking, VALIDATING, webhook(hook, "/x"))
    answer = await created(asking)
    assert answer.status == 400
    assert answer.head.get(b"warning") == b'299 - "w1", 299 - "w2"'


async def test_dry_runs(asking: Client, hook: HookServer) -> None:
    """A webhook without side effects is asked about a dry run, and told that it is one."""
    await configured(asking, VALIDATING, webhook(hook))
    assert (await created(asking, query="?dryRun=All")).status == 201
    request = hook.calls[0].request
    assert request["dryRun"] is True
    assert request["options"]["dryRun"] == ["All"]


async def test_deletions(asking: Client, hook: HookServer) -> None:
    """What goes is the old object; the name of one of a collection is not told."""
    for name in ("a", "b"):
        await created(asking, name)
    await configured(asking, VALIDATING, webhook(hook))
    await asking.request("DELETE", f"{CONFIGS}/a?gracePeriodSeconds=0")
    await asking.request("DELETE", CONFIGS)
    first, second = (called.request for called in hook.calls)
    assert (first["operation"], first["name"], first["object"]) == ("DELETE", "a", None)
    assert first["oldObject"]["metadata"]["name"] == "a"
    assert first["options"]["gracePeriodSeconds"] == 0
    assert "name" not in second
    assert second["oldObject"]["metadata"]["name"] == "b"


async def test_connections_to_pods(asking: Client, hook: HookServer) -> None:
    """What is to be run is told as ``PodExecOptions``."""
    rule = {**RULE, "operations": ["CONNECT"], "resources": ["pods/exec"]}
    hook.hooks["/x"] = refuse
    await configured(asking, VALIDATING, webhook(hook, "/x", rules=[rule]))
    path = "/api/v1/namespaces/default/pods/p/exec?command=ls&command=-l&stdin=true&container=a"
    assert (await asking.request("POST", path)).status == 418
    request = hook.calls[0].request
    assert request["object"] == {
        "kind": "PodExecOptions",
        "apiVersion": "v1",
        "stdin": True,
        "container": "a",
        "command": ["ls", "-l"],
    }
    assert (request["subResource"], request["options"]) == ("exec", None)


async def test_configurations_are_exempt(asking: Client, hook: HookServer) -> None:
    """A webhook that refuses everything can be taken away."""
    hook.hooks["/x"] = refuse
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}
    await configured(asking, VALIDATING, webhook(hook, "/x", rules=[rule]))
    assert (await created(asking)).status == 418
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hooks"
    assert (await asking.request("DELETE", path)).status == 200
    assert (await created(asking)).status == 201


async def test_selectors(asking: Client, hook: HookServer) -> None:
    """Objects and namespaces that are not selected are left alone."""
    by_label = {"objectSelector": {"matchLabels": {"ask": "yes"}}}
    by_space = {"namespaceSelector": {"matchLabels": {"ask": "yes"}}}
    await configured(
        asking,
        VALIDATING,
        webhook(hook, "/label", name="a.example.com", **by_label),
        webhook(hook, "/space", name="b.example.com", **by_space),
    )
    await created(asking)
    await created(asking, "d", labels={"ask": "yes"})
    assert [called.asked.path for called in hook.calls] == ["/label"]


async def test_reviews_of_v1beta1(asking: Client, hook: HookServer) -> None:
    """The first version that is known is sent; of answers in v1beta1 the uid does not count."""
    hook.hooks["/x"] = lie
    versions = ["v9", "v1beta1", "v1"]
    await configured(asking, VALIDATING, webhook(hook, "/x", admissionReviewVersions=versions))
    assert (await created(asking)).status == 201
    assert hook.calls[0].review["apiVersion"] == "admission.k8s.io/v1beta1"


async def test_a_request_ends_its_calls(asking: Client, hook: HookServer) -> None:
    """The time that a client allows bounds the call, and the webhook is told."""
    hook.hooks["/x"] = hang
    await configured(asking, VALIDATING, webhook(hook, "/x", failurePolicy="Ignore"))
    answer = await created(asking, query="?timeout=1s")
    assert answer.status == 504
    assert hook.calls[0].asked.target == "/x?timeout=1s"
