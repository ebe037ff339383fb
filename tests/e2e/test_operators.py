"""Operators with a service account's token and no more rights than they need."""

from __future__ import annotations

import subprocess
import sys
import threading  # noqa: TID251  (the client under test blocks)
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubetrio.testing.process import ServerProcess

kubernetes: Any = pytest.importorskip("kubernetes", reason="the kubernetes client is not installed")
pytest.importorskip("kopf", reason="kopf is not installed")

Start = Callable[..., ServerProcess]
pytestmark = pytest.mark.e2e
RBAC = "rbac.authorization.k8s.io"
LIMIT_S = 30
OPERATOR = """\
import kopf

@kopf.on.create("configmaps", labels={"watched": "yes"})
def created(patch, **_):
    patch.setdefault("data", {})["seen"] = "by kopf"
"""


class Account:
    """A service account in ``default``, its rights, and clients of it."""

    def __init__(self, server: ServerProcess, folder: Path) -> None:
        self._config = yaml.safe_load(server.kubeconfig.read_text())
        self.folder = folder
        self.admin = kubernetes.config.new_client_from_config(str(server.kubeconfig))
        self.core = kubernetes.client.CoreV1Api(self.admin)
        self.core.create_namespaced_service_account("default", {"metadata": {"name": "robot"}})

    def grant(self, *rules: dict[str, list[str]]) -> None:
        """Let it do something in ``default``."""
        api = kubernetes.client.RbacAuthorizationV1Api(self.admin)
        api.create_namespaced_role("default", {"metadata": {"name": "robot"}, "rules": list(rules)})
        api.create_namespaced_role_binding(
            "default",
            {
                "metadata": {"name": "robot"},
                "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "default"}],
                "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "robot"},
            },
        )

    def grant_everywhere(self, *rules: dict[str, list[str]]) -> None:
        """Let it do something in the whole cluster."""
        api = kubernetes.client.RbacAuthorizationV1Api(self.admin)
        api.create_cluster_role({"metadata": {"name": "robot"}, "rules": list(rules)})
        api.create_cluster_role_binding(
            {
                "metadata": {"name": "robot"},
                "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "default"}],
                "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "robot"},
            }
        )

    def kubeconfig(self) -> Path:
        """A kubeconfig with a token of it."""
        token = self.core.create_namespaced_service_account_token(
            "robot", "default", {"spec": {"audiences": []}}
        ).status.token
        cluster = self._config["clusters"][0]["name"]
        context = {"cluster": cluster, "user": "robot", "namespace": "default"}
        config = {
            **self._config,
            "users": [{"name": "robot", "user": {"token": token}}],
            "contexts": [{"name": "robot", "context": context}],
            "current-context": "robot",
        }
        file = self.folder / "robot.yaml"
        file.write_text(yaml.safe_dump(config))
        return file


@pytest.fixture
def account(start_server: Start, tmp_path: Path) -> Iterator[Account]:
    """An account without any right."""
    made = Account(start_server(tmp_path / "data", "--durability", "normal"), tmp_path)
    with made.admin:
        yield made
        made.admin.rest_client.pool_manager.clear()


def rule(group: str, resource: str, *verbs: str) -> dict[str, list[str]]:
    """A rule of a role."""
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


def test_the_official_client_leads(account: Account) -> None:
    """Leader election on a Lease, with the three verbs that it takes."""
    election = pytest.importorskip("kubernetes.leaderelection.leaderelection")
    settings = pytest.importorskip("kubernetes.leaderelection.electionconfig")
    locks = pytest.importorskip("kubernetes.leaderelection.resourcelock.leaselock")
    account.grant(rule("coordination.k8s.io", "leases", "get", "create", "update"))
    kubernetes.config.load_kube_config(str(account.kubeconfig()))
    led = threading.Event()
    config = settings.Config(
        locks.LeaseLock("robot", "default", "one"),
        lease_duration=3,
        renew_deadline=2,
        retry_period=1,
        onstarted_leading=led.set,
        onstopped_leading=None,
    )
    runs = threading.Thread(target=election.LeaderElection(config).run, daemon=True)
    runs.start()
    assert led.wait(LIMIT_S)
    leases = kubernetes.client.CoordinationV1Api(account.admin)
    assert leases.read_namespaced_lease("robot", "default").spec.holder_identity == "one"
    mine = kubernetes.client.CoreV1Api()
    with pytest.raises(kubernetes.client.ApiException) as refused:
        mine.list_namespaced_secret("default")
    assert refused.value.status == 403
    # Without its account the token is worth nothing, and the lease is lost.
    account.core.delete_namespaced_service_account("robot", "default")
    runs.join(LIMIT_S)
    assert not runs.is_alive()


def test_a_kopf_operator_works(account: Account) -> None:
    """Watches, patches and records events in one namespace, with the rights that kopf asks for."""
    account.grant(
        rule("", "configmaps", "get", "list", "watch", "patch"), rule("", "events", "create")
    )
    # What kopf looks at to learn which kinds and namespaces there are (its docs, "RBAC").
    account.grant_everywhere(
        rule("apiextensions.k8s.io", "customresourcedefinitions", "list", "watch"),
        rule("", "namespaces", "list", "watch"),
    )
    handler = account.folder / "operator.py"
    handler.write_text(OPERATOR)
    log = account.folder / "kopf.log"
    command = [sys.executable, "-m", "kopf", "run", "--standalone", "-n", "default", str(handler)]
    environment = {"KUBECONFIG": str(account.kubeconfig()), "HOME": str(account.folder)}
    with log.open("w") as out, subprocess.Popen(command, env=environment, stderr=out) as kopf:
        try:
            meta = {"name": "one", "labels": {"watched": "yes"}}
            account.core.create_namespaced_config_map("default", {"metadata": meta})
            events = kubernetes.watch.Watch().stream(
                account.core.list_namespaced_config_map,
                "default",
                field_selector="metadata.name=one",
                timeout_seconds=LIMIT_S,
            )
            seen = any((event["object"].data or {}).get("seen") == "by kopf" for event in events)
        finally:
            kopf.terminate()
    assert seen, log.read_text()
