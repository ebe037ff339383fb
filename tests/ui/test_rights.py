"""What a user may not list is told in one answer, in the server's words."""

from __future__ import annotations

import orjson

from kubetrio.auth.authorize import ALLOWED, NO_OPINION
from kubetrio.machinery.identity import MASTERS, Attributes, UserInfo, Verdict
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess
from kubetrio.ui.rights import Lists

READER = UserInfo("reader")
RBAC = "/apis/rbac.authorization.k8s.io/v1"
GROUP = "rbac.authorization.k8s.io"


async def bind(client: Client, role: str, rules: list[object], namespace: str = "") -> None:
    """Give the reader rights, in a namespace or everywhere."""
    below = f"/namespaces/{namespace}" if namespace else ""
    word = "" if namespace else "Cluster"
    binding = {
        "metadata": {"name": role},
        "roleRef": {"apiGroup": GROUP, "kind": f"{word}Role", "name": role},
        "subjects": [{"apiGroup": GROUP, "kind": "User", "name": "reader"}],
    }
    made = {"metadata": {"name": role}, "rules": rules}
    for what, body in (("roles", made), ("rolebindings", binding)):
        path = f"{RBAC}{below}/{word.lower()}{what}"
        assert (await client.request("POST", path, {}, orjson.dumps(body))).status == 201


async def test_what_a_user_may_not_list(server: InProcess, client: Client) -> None:
    """By namespace, as the server says it to who asks for the list."""
    await bind(client, "page", [{"nonResourceURLs": ["/ui/*"], "verbs": ["get"]}])
    await bind(
        client, "maps", [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}],
        "default",
    )  # fmt: skip
    async with server.connect(certificate=READER) as reader:
        here = (await reader.request("GET", "/ui/refused?namespace=default")).json()["items"]
        assert "/configmaps" not in here
        assert {"/secrets", "/nodes", "apps/deployments"} <= set(here)
        said = await reader.request("GET", "/api/v1/namespaces/default/secrets")
        assert said.status == 403
        assert here["/secrets"] == said.json()["message"]
        there = (await reader.request("GET", "/ui/refused")).json()["items"]
        assert "at the cluster scope" in there["/configmaps"]
        assert "at the cluster scope" in here["/nodes"]


async def test_an_administrator_may_list_all(client: Client) -> None:
    """Nothing is refused."""
    assert (await client.request("GET", "/ui/refused")).json() == {"items": {}}


async def test_each_kind_is_asked_for_once(server: InProcess) -> None:
    """Also of authorizers that answer later; members of system:masters are not asked for."""
    asked: list[str] = []

    async def later(attributes: Attributes) -> Verdict:
        asked.append(attributes.resource)
        return ALLOWED if attributes.resource == "pods" else NO_OPINION

    kinds = {k.resource: k for k in server.api.storage.registry.current.preferred("list")}
    lists = Lists(READER, later)
    for _ in range(2):
        assert await lists.allows(kinds["pods"], "a")
        assert not await lists.allows(kinds["secrets"], "a")
    assert asked == ["pods", "secrets"]
    assert lists.refused == {"secrets"}
    assert await Lists(UserInfo("x", groups=(MASTERS,)), later).allows(kinds["secrets"], "")
    assert asked == ["pods", "secrets"]
