"""Users with few rights, for tests of who may do what."""

from __future__ import annotations

from typing import Any

from kubetrio.machinery.identity import UserInfo
from kubetrio.testing.server import InProcess

RBAC = "/apis/rbac.authorization.k8s.io/v1"


def rule(
    *verbs: str,
    groups: tuple[str, ...] = ("*",),
    resources: tuple[str, ...] = ("*",),
    names: tuple[str, ...] = (),
) -> dict[str, Any]:
    """A rule of a role; on all resources unless it names some."""
    fields: dict[str, Any] = {
        "apiGroups": list(groups), "resources": list(resources), "verbs": list(verbs),
    }  # fmt: skip
    if names:
        fields["resourceNames"] = list(names)
    return fields


async def grant(server: InProcess, user: UserInfo, *rules: dict[str, Any]) -> None:
    """Give a user these rights in the whole cluster, beside those of its groups.

    Args:
        server: a server.
        user: who gets them; once for each user.
        rules: of a ClusterRole with the user's name.
    """
    name = user.name
    role = {"metadata": {"name": name}, "rules": list(rules)}
    binding = {
        "metadata": {"name": name},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name,
        },
        "subjects": [{"kind": "User", "name": name}],
    }  # fmt: skip
    async with server.connect() as admin:
        for collection, obj in (("clusterroles", role), ("clusterrolebindings", binding)):
            answer = await admin.request("POST", f"{RBAC}/{collection}", json=obj)
            if answer.status != 201:
                raise AssertionError(answer.json())
