"""kubectl deletes namespaces and owners, and waits for the end of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from kubectl_runner import Kubectl, needs_kubectl

from kubetrio.testing.process import ServerProcess

pytestmark = [pytest.mark.e2e, needs_kubectl]
Start = Callable[..., ServerProcess]


def test_a_namespace_ends(start_server: Start, tmp_path: Path) -> None:
    """With what is in it, while kubectl waits."""
    kubectl = Kubectl(start_server(tmp_path / "data"), tmp_path)
    kubectl("create", "namespace", "shop")
    kubectl("-n", "shop", "create", "deployment", "web", "--image=i")
    kubectl("-n", "shop", "create", "configmap", "c", "--from-literal=a=b")
    assert "deleted" in kubectl("delete", "namespace", "shop", "--timeout=10s")
    assert kubectl("get", "namespace", "shop", "--ignore-not-found") == ""
    kubectl("create", "namespace", "shop")
    left = kubectl("-n", "shop", "get", "deployments,configmaps", "-o", "name")
    assert set(left.split()) <= {"configmap/kube-root-ca.crt"}


@pytest.mark.parametrize("mode", ["background", "foreground", "orphan"])
def test_owners_go_in_every_mode(start_server: Start, tmp_path: Path, mode: str) -> None:
    """Also when the server is killed right after it was asked."""
    data = tmp_path / "data"
    server = start_server(data)
    kubectl = Kubectl(server, tmp_path)
    kubectl("create", "configmap", "owner")
    uid = kubectl("get", "configmap", "owner", "-o", "jsonpath={.metadata.uid}")
    owner = f"apiVersion: v1, kind: ConfigMap, name: owner, uid: {uid}, blockOwnerDeletion: true"
    for number in range(50):
        text = (
            f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: owned-{number}, "
            f"labels: {{owned: here}}, ownerReferences: [{{{owner}}}]}}\n"
        )
        (tmp_path / f"{number}.yaml").write_text(text)
    kubectl("create", "-f", str(tmp_path))
    kubectl("delete", "configmap", "owner", f"--cascade={mode}", "--wait=false")
    server.kill()
    kubectl = Kubectl(start_server(data), tmp_path)
    gone = ["wait", "--for=delete", "--timeout=20s"]
    kubectl(*gone, "configmap/owner")
    if mode == "orphan":
        path = "jsonpath={.items[*].metadata.ownerReferences}"
        assert kubectl("get", "configmaps", "-l", "owned=here", "-o", path) == ""
        names = kubectl("get", "configmaps", "-l", "owned=here", "-o", "name")
        assert len(names.split()) == 50
    else:
        kubectl(*gone, "configmap", "-l", "owned=here")
        assert kubectl("get", "configmaps", "-l", "owned=here", "-o", "name") == ""
