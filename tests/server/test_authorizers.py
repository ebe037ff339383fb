"""Whole servers with the authorizers that flags and files ask for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from kubetrio.auth.settings.live import LiveChain, reloading
from kubetrio.config import Admission, Authorization, Config, Serving, Storage
from kubetrio.machinery.identity import UserInfo
from kubetrio.server.files import StartError
from kubetrio.testing.reviewhook import Object, Said, kubeconfig, review, webhook
from kubetrio.testing.server import ACCOUNTS, PORT, InProcess, open_api
from kubetrio.tls import pki

ALICE = UserInfo("alice", groups=("devs",))
KUBELET = UserInfo("system:node:n1", groups=("system:nodes",))
PODS = "/api/v1/namespaces/default/pods"
SECRET = "/api/v1/namespaces/default/secrets/s"
HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\n"


def config(directory: Path, **flags: Any) -> Config:
    """A server in a directory, with flags of authorization."""
    return Config(
        data_dir=directory,
        serving=Serving(secure_port=PORT),
        storage=Storage(durability="normal"),
        authorization=Authorization(**flags),
        admission=Admission(disable_plugins=ACCOUNTS),
    )


async def ask(server: InProcess, user: UserInfo, path: str, body: Any = None) -> tuple[int, Any]:
    """What a user is answered: the code, and the message of an error or else the object."""
    async with server.connect(certificate=user) as client:
        method = "GET" if body is None else "POST"
        answer = await client.request(method, path, json=body)
        try:
            said = answer.json()
        except ValueError:
            return answer.status, answer.body.decode()
        return answer.status, said.get("message", said) if answer.status >= 400 else said


def a_pod() -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {
            "nodeName": "n1",
            "containers": [{"name": "c", "image": "i"}],
            "imagePullSecrets": [{"name": "s"}],
        },
    }


async def test_a_kubelet_reads_what_its_pods_use(tmp_path: Path) -> None:
    """From the next request after the pod is bound, and no longer when it is gone."""
    async with open_api(config=config(tmp_path)) as server, server.connect() as admin:
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
        await admin.request("POST", "/api/v1/namespaces/default/secrets", json=secret)
        refused = (
            403,
            (
                'secrets "s" is forbidden: User "system:node:n1" cannot get resource "secrets" in API '  # noqa: E501
                'group "" in the namespace "default": no relationship found between node \'n1\' and '  # noqa: E501
                "this object"
            ),
        )
        assert await ask(server, KUBELET, SECRET) == refused
        answer = await admin.request("POST", PODS, json=a_pod())
        assert answer.status == 201, answer.json()
        assert (await ask(server, KUBELET, SECRET))[0] == 200
        other = UserInfo("system:node:n2", groups=("system:nodes",))
        assert (await ask(server, other, SECRET))[0] == 403
        listing = "/api/v1/pods?fieldSelector=spec.nodeName%3Dn"
        assert (await ask(server, KUBELET, f"{listing}1"))[0] == 200
        assert (await ask(server, KUBELET, f"{listing}2"))[0] == 403
        assert (await ask(server, KUBELET, f"{listing}1&fieldSelector=x"))[0] == 200
        await admin.request("DELETE", f"{PODS}/p?gracePeriodSeconds=0")
        assert await ask(server, KUBELET, SECRET) == refused


async def test_what_is_stored_at_the_start_counts(tmp_path: Path) -> None:
    """A restarted server knows the pods that there are."""
    async with open_api(config=config(tmp_path)) as server, server.connect() as admin:
        await admin.request("POST", PODS, json=a_pod())
    async with open_api(config=config(tmp_path)) as server:
        assert (await ask(server, KUBELET, f"{PODS}/p"))[0] == 200


async def test_without_mode_node_kubelets_are_nobody(tmp_path: Path) -> None:
    """Only what is bound to them counts."""
    async with open_api(config=config(tmp_path, modes=("RBAC",))) as server:
        status, message = await ask(server, KUBELET, SECRET)
        assert status == 403
        assert "no relationship" not in message


async def test_always_allow(tmp_path: Path) -> None:
    """Everybody may do everything, and is told so."""
    async with open_api(config=config(tmp_path, modes=("AlwaysAllow",))) as server:
        assert (await ask(server, ALICE, "/api/v1/nodes"))[0] == 200
        path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": "x"},
        }
        _, said = await ask(server, ALICE, path, body)
        assert said["status"]["nonResourceRules"] == [{"verbs": ["*"], "nonResourceURLs": ["*"]}]


async def test_always_deny_lets_others_allow(tmp_path: Path) -> None:
    """And gives its reason where nobody does."""
    modes = ("AlwaysDeny", "RBAC")
    async with open_api(config=config(tmp_path, modes=modes)) as server:
        assert (await ask(server, ALICE, "/version"))[0] == 200
        _, message = await ask(server, ALICE, "/api/v1/nodes")
        assert message.endswith("at the cluster scope: Everything is forbidden.")


async def test_policies_of_a_file(tmp_path: Path) -> None:
    """One line for one user."""
    file = tmp_path / "p.jsonl"
    file.write_text('{"user":"alice","resource":"nodes","readonly":true}\n')
    chosen = config(tmp_path, modes=("ABAC",), policy_file=file)
    async with open_api(config=chosen) as server:
        assert (await ask(server, ALICE, "/api/v1/nodes"))[0] == 200
        _, message = await ask(server, ALICE, PODS)
        assert message.endswith('in the namespace "default": No policy matched.')


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            {"modes": ("ABAC",), "policy_file": Path("/nonexistent")},
            (
                "--authorization-policy-file: invalid authorization config: "
                "open /nonexistent: no such file or directory"
            ),
        ),
        (
            {"modes": ("Webhook",), "webhook_config_file": Path("/nonexistent")},
            (
                "--authorization-webhook-config-file: invalid authorization config: "
                "stat /nonexistent: no such file or directory"
            ),
        ),
        (
            {"config_file": Path("/nonexistent")},
            "--authorization-config: open /nonexistent: no such file or directory",
        ),
    ],
)
async def test_files_that_are_not_there(flags: dict[str, Any], said: str, tmp_path: Path) -> None:
    """The server does not start."""
    with pytest.raises(StartError) as caught:
        async with open_api(config=config(tmp_path, **flags)):
            pass
    assert str(caught.value) == said


Answer = Callable[[Object], Awaitable[Said]]


def hooked(tmp_path: Path, url: str, made: pki.Pki, *modes: str, **flags: Any) -> Config:
    file = kubeconfig(tmp_path / "k", url, made)
    how = {"modes": modes, "webhook_config_file": file, "webhook_version": "v1", **flags}
    return config(tmp_path, **how)


async def test_a_webhook_that_calls_back(tmp_path: Path, certificates: pki.Pki) -> None:
    """Does so while its answer is waited for, also for the same question."""
    servers: list[InProcess] = []

    async def answer(body: Object) -> Said:
        user = body["spec"]["user"]
        if user == "alice":
            status, _ = await ask(servers[0], UserInfo("bob"), "/api/v1/nodes")
            return review(allowed=status == 200)
        return review(allowed=True)

    async with webhook(certificates, answer) as url:
        chosen = hooked(tmp_path, url, certificates, "Webhook")
        async with open_api(config=chosen) as server:
            servers.append(server)
            assert (await ask(server, ALICE, "/api/v1/nodes"))[0] == 200


async def test_a_slow_webhook_holds_nobody_else(tmp_path: Path, certificates: pki.Pki) -> None:
    """Requests wait for it, and the server answers others meanwhile."""
    waiting = 0
    all_wait, release = trio.Event(), trio.Event()

    async def answer(_: Object) -> Said:
        nonlocal waiting
        waiting += 1
        if waiting == 50:
            all_wait.set()
        await release.wait()
        return review(allowed=True)

    async with webhook(certificates, answer) as url:
        chosen = hooked(tmp_path, url, certificates, "RBAC", "Webhook")
        async with open_api(config=chosen) as server, trio.open_nursery() as nursery:
            for number in range(50):
                nursery.start_soon(ask, server, UserInfo(f"u{number}"), "/api/v1/nodes")
            await all_wait.wait()
            assert (await ask(server, ALICE, "/readyz"))[0] == 200
            async with server.connect() as admin:
                assert (await admin.request("GET", "/api/v1/nodes")).status == 200
            release.set()


async def test_errors_of_a_webhook_are_told(tmp_path: Path, certificates: pki.Pki) -> None:
    """As 500 where nobody allows a request, and in reviews; others may allow it all the same."""

    async def answer(_: Object) -> Said:
        return 400, b"<boom>"

    async with webhook(certificates, answer) as url:
        chosen = hooked(tmp_path, url, certificates, "Webhook", "RBAC")
        async with open_api(config=chosen) as server:
            why = "the server rejected our request for an unknown reason"
            assert await ask(server, ALICE, "/api/v1/nodes?a=%22<") == (
                500,
                f'Internal Server Error: "/api/v1/nodes?a=%22&lt;": {why}\n',
            )
            assert (await ask(server, ALICE, "/version"))[0] == 200
            spec = {"user": "bob", "resourceAttributes": {"verb": "get", "resource": "pods"}}
            body = {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SubjectAccessReview",
                "spec": spec,
            }
            async with server.connect() as admin:
                path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
                said = (await admin.request("POST", path, json=body)).json()
                assert said["status"] == {"allowed": False, "evaluationError": why}
                metrics = (await admin.request("GET", "/metrics")).body.decode()
            sample = 'webhook_evaluations_total{name="default",result="error"}'
            assert f"apiserver_authorization_{sample}" in metrics
            assert "apiserver_authorization_webhook_evaluations_fail_open_total" in metrics
            decided = 'decisions_total{decision="allowed",name="rbac",type="RBAC"}'
            assert f"apiserver_authorization_{decided}" in metrics


async def test_a_changed_file_is_taken_over(tmp_path: Path, certificates: pki.Pki) -> None:
    """Where it keeps what was there, and not where it is bad: then what was stays."""

    async def answer(_: Object) -> Said:
        return review(allowed=True)

    file = tmp_path / "authz.yaml"
    rbac = "- {type: RBAC, name: rbac}\n"
    async with webhook(certificates, answer) as url:
        where = kubeconfig(tmp_path / "k", url, certificates)
        hook = (
            "- type: Webhook\n  name: w\n  webhook: {timeout: 1s, subjectAccessReviewVersion: v1, "
            "failurePolicy: Deny, connectionInfo: "
            f"{{type: KubeConfigFile, kubeConfigFile: {where}}}}}\n"
        )
        file.write_text(f"{HEAD}authorizers:\n{rbac}")
        async with open_api(config=config(tmp_path, config_file=file)) as server:
            chain = server.api.security.authorizer
            assert isinstance(chain, LiveChain)
            load = reloading(chain, file, server.env.now)
            assert (await ask(server, ALICE, "/api/v1/nodes"))[0] == 403
            file.write_text(f"{HEAD}authorizers:\n{rbac}{hook}")
            load()
            assert (await ask(server, ALICE, "/api/v1/nodes"))[0] == 200
            for bad, why in (
                (f"{HEAD}authorizers:\n{hook}", "missing required types"),
                (f"{HEAD}authorizers:\n{rbac}- {{type: Node, name: node}}\n", "type Node is not"),
                ("{", "failed to load"),
            ):
                file.write_text(bad)
                with pytest.raises(ValueError, match=why):
                    load()
                assert (await ask(server, ALICE, "/api/v1/nodes"))[0] == 200
            async with server.connect() as admin:
                metrics = (await admin.request("GET", "/metrics")).body.decode()
            name = "apiserver_authorization_config_controller_automatic_reloads_total"
            counted = [line for line in metrics.splitlines() if line.startswith(name)]
            assert sorted(line.rpartition(" ")[2] for line in counted) == ["1.0", "3.0"]
            assert "config_controller_last_config_info{" in metrics
