"""Who may do what with kubectl: narrow roles, questions about rights, acting as others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from kubectl_runner import Kubectl, needs_kubectl

from kubetrio.testing.process import ServerProcess

Start = Callable[..., ServerProcess]
pytestmark = [pytest.mark.e2e, needs_kubectl]
RECONCILED = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: default}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get]}
"""


@pytest.fixture
def admin(start_server: Start, tmp_path: Path) -> Kubectl:
    """The administrator."""
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('jane-token,jane,1,"devs"\n')
    server = start_server(tmp_path / "data", "--token-auth-file", str(tokens))
    return Kubectl(server, tmp_path)


def with_token(admin: Kubectl, token: str) -> Kubectl:
    """Somebody with a token and nothing else."""
    config = yaml.safe_load(admin.server.kubeconfig.read_text())
    config["users"] = [{"name": "bearer", "user": {"token": token.strip()}}]
    cluster = config["clusters"][0]["name"]
    config["contexts"] = [{"name": "c", "context": {"cluster": cluster, "user": "bearer"}}]
    config["current-context"] = "c"
    file = admin.home / f"{token[:4]}.yaml"
    file.write_text(yaml.safe_dump(config))
    return admin.using("--kubeconfig", str(file))


def test_a_user_with_a_narrow_role(admin: Kubectl) -> None:
    """May do that, is told what, and no more."""
    jane = with_token(admin, "jane-token")
    assert "forbidden" in jane.try_("get", "pods").err
    admin("create", "role", "reader", "--verb=get,list,watch", "--resource=pods,configmaps")
    admin("create", "rolebinding", "jane-reads", "--role=reader", "--user=jane")
    assert jane.try_("get", "pods").code == 0
    assert jane("auth", "can-i", "list", "pods") == "yes\n"
    assert jane.try_("auth", "can-i", "list", "pods", "-n", "kube-system").out == "no\n"
    assert jane.try_("auth", "can-i", "delete", "pods").out == "no\n"
    listed = jane("auth", "can-i", "--list")
    assert "pods" in listed
    assert "[get list watch]" in listed
    assert "selfsubjectaccessreviews.authorization.k8s.io" in listed
    said = jane.try_("create", "configmap", "c").err
    assert 'User "jane" cannot create resource "configmaps" in API group ""' in said
    assert "jane" in jane("auth", "whoami")
    admin("delete", "rolebinding", "jane-reads")
    assert "forbidden" in jane.try_("get", "pods").err


def test_nobody_grants_what_they_lack(admin: Kubectl) -> None:
    """An editor of roles cannot make himself an administrator."""
    jane = with_token(admin, "jane-token")
    resources = "--resource=roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io"
    verbs = "--verb=get,list,create,update,patch,delete"  # a star would mean escalate and bind too
    admin("create", "role", "roles", verbs, resources)
    admin("create", "rolebinding", "jane-roles", "--role=roles", "--user=jane")
    said = jane.try_("create", "role", "secrets", "--verb=get", "--resource=secrets").err
    assert "is attempting to grant RBAC permissions not currently held" in said
    bind = ("create", "rolebinding", "b", "--clusterrole=cluster-admin", "--user=jane")
    assert "not currently held" in jane.try_(*bind).err
    admin("create", "rolebinding", "jane-edits", "--clusterrole=admin", "--user=jane")
    jane("create", "role", "secrets", "--verb=get", "--resource=secrets")


def test_acting_as_others(admin: Kubectl) -> None:
    """With the rights of whom one acts as, and only who may."""
    admin("create", "role", "reader", "--verb=list", "--resource=pods")
    admin("create", "rolebinding", "devs", "--role=reader", "--group=devs")
    assert admin.try_("get", "pods", "--as=bob").code == 1
    assert admin.try_("get", "pods", "--as=bob", "--as-group=devs").code == 0
    account = "--as=system:serviceaccount:default:robot"
    assert "cannot list resource" in admin.try_("get", "pods", account).err
    admin("create", "rolebinding", "robot", "--role=reader", "--serviceaccount=default:robot")
    assert admin.try_("get", "pods", account).code == 0
    jane = with_token(admin, "jane-token")
    assert "forbidden" in jane.try_("get", "pods", "--as=bob").err
    admin("create", "clusterrole", "as-bob", "--verb=impersonate", "--resource=users",
          "--resource-name=bob")  # fmt: skip
    admin("create", "clusterrolebinding", "as-bob", "--clusterrole=as-bob", "--user=jane")
    assert 'User "bob" cannot list' in jane.try_("get", "pods", "--as=bob").err
    assert "forbidden" in jane.try_("get", "pods", "--as=bob", "--as-group=devs").err


def test_roles_are_reconciled(admin: Kubectl) -> None:
    """`kubectl auth reconcile` adds what is missing and keeps what is extra."""
    admin("create", "role", "reader", "--verb=list", "--resource=pods")
    admin("auth", "reconcile", "-f", "-", stdin=RECONCILED)
    rules = admin.json("get", "role", "reader")["rules"]
    assert [rule["resources"] for rule in rules] == [["pods"], ["configmaps"]]


def test_default_roles_come_back(start_server: Start, tmp_path: Path) -> None:
    """With the next start, but for what was protected."""
    server = start_server(tmp_path / "data")
    kubectl = Kubectl(server, tmp_path)
    kubectl("delete", "clusterrole", "system:discovery")
    protect = "rbac.authorization.kubernetes.io/autoupdate=false"
    kubectl("annotate", "--overwrite", "clusterrole", "system:basic-user", protect)
    for role in ("system:basic-user", "system:public-info-viewer"):
        kubectl("patch", "clusterrole", role, "--type=merge", "-p", '{"rules":[]}')
    assert server.stop() == 0
    kubectl = Kubectl(start_server(tmp_path / "data"), tmp_path)
    assert kubectl.json("get", "clusterrole", "system:discovery")["rules"]
    assert kubectl.json("get", "clusterrole", "system:public-info-viewer")["rules"]
    assert not kubectl.json("get", "clusterrole", "system:basic-user")["rules"]
