"""What happened to objects, for those who may see it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from kubetrio.machinery.identity import UserInfo
from kubetrio.testing.client import Client
from kubetrio.testing.server import InProcess

MAPS = "/api/v1/namespaces/default/configmaps"
PAST = f"/ui/history{MAPS}/a"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
READER = UserInfo("reader")


async def ask(client: Client, method: str, path: str, body: Any = None, status: int = 200) -> Any:
    sent = None if body is None else orjson.dumps(body)
    answer = await client.request(method, path, {"Content-Type": "application/json"}, sent)
    assert answer.status == status, answer.body
    return answer.json()


async def a_life(client: Client) -> list[int]:
    """Create, update twice by two managers, delete; the revisions."""
    made = await ask(
        client, "POST", f"{MAPS}?fieldManager=one", {"metadata": {"name": "a"}, "data": {"k": "1"}},
        201,
    )  # fmt: skip
    second = await ask(
        client, "PUT", f"{MAPS}/a?fieldManager=two", {"metadata": {"name": "a"}, "data": {"k": "2"}}
    )
    await ask(client, "DELETE", f"{MAPS}/a")
    return [int(one["metadata"]["resourceVersion"]) for one in (made, second)]


async def test_the_life_of_an_object(client: Client) -> None:
    """The newest first: verbs, managers and times; and what each revision brought."""
    created, changed = await a_life(client)
    told = await ask(client, "GET", PAST)
    deleted, update, create = told["items"]
    assert [one["verb"] for one in told["items"]] == ["delete", "update", "create"]
    assert (create["revision"], create["manager"]) == (created, "one")
    assert (update["revision"], update["manager"]) == (changed, "two")
    assert (deleted["manager"], deleted["user"]) == ("", "")
    assert all(one["time"].endswith("Z") for one in told["items"])
    state = await ask(client, "GET", f"{PAST}?revision={created}")
    assert state["object"]["data"] == {"k": "1"}
    gone = await ask(client, "GET", f"{PAST}?revision={deleted['revision']}")
    assert gone["object"] is None


async def test_changes_of_a_namespace(client: Client) -> None:
    """Those of its objects alone, and page by page of all of them."""
    await a_life(client)
    told = await ask(client, "GET", "/ui/history/namespaces/default")
    assert [one["verb"] for one in told["items"] if one["name"] == "a"] == [
        "delete", "update", "create",
    ]  # fmt: skip
    assert {one["namespace"] for one in told["items"]} == {"default"}
    assert told["items"][0]["resource"] == "configmaps"
    every = await ask(client, "GET", "/ui/history/")
    assert {"", "default"} <= {one["namespace"] for one in every["items"]}
    older = await ask(client, "GET", "/ui/history/?before=5")
    assert max(one["revision"] for one in older["items"]) < 5
    assert every["refused"] == []


async def test_changes_after_a_revision(client: Client) -> None:
    """Those that a page does not show yet, and the revision up to which there is nothing more."""
    created, changed = await a_life(client)
    told = await ask(client, "GET", f"/ui/history/namespaces/default?after={created}")
    assert [one["verb"] for one in told["items"] if one["name"] == "a"] == ["delete", "update"]
    assert told["after"] == created
    assert told["revision"] > changed
    later = await ask(client, "GET", f"/ui/history/?after={told['revision']}")
    assert later["items"] == []
    assert later["revision"] >= told["revision"]
    beyond = await ask(client, "GET", "/ui/history/?after=99999999")
    assert beyond["items"] == []
    assert beyond["revision"] < 99999999


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/ui/history{MAPS}", 404),
        ("/ui/history/api/v1", 404),
        ("/ui/history/apis/no.such/v1/things/x", 404),
        (f"/ui/history{MAPS}/a/status", 404),
        (f"{PAST}?revision=-1", 400),
        (f"{PAST}?revision=x", 400),
        (f"{PAST}?revision=99999999", 400),
        ("/ui/history/?before=1e9", 400),
        ("/ui/history/?after=-1", 400),
    ],
)
async def test_mistakes_are_said(client: Client, path: str, status: int) -> None:
    """As a Status."""
    assert (await client.request("GET", path)).status == status


async def test_who_may_not_see_an_object_does_not_see_its_past(
    server: InProcess, client: Client
) -> None:
    """The right to get it is needed, and lists leave out and name what may not be listed."""
    created, _ = await a_life(client)
    rules = [
        {"nonResourceURLs": ["/ui/*"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list"]},
    ]
    await ask(
        client, "POST", f"{RBAC}/clusterroles", {"metadata": {"name": "r"}, "rules": rules}, 201
    )
    binding = {
        "metadata": {"name": "r"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "reader"}],
    }
    await ask(client, "POST", f"{RBAC}/clusterrolebindings", binding, 201)
    async with server.connect(certificate=READER) as reader:
        for path in (PAST, f"{PAST}?revision={created}"):
            assert (await reader.request("GET", path)).status == 403
        told = (await reader.request("GET", "/ui/history/")).json()
    assert {one["resource"] for one in told["items"]} == {"namespaces"}
    assert "configmaps" in told["refused"]
    assert "namespaces" not in told["refused"]


async def test_what_is_compacted_is_gone(server: InProcess, client: Client) -> None:
    """410 for a state; the time line begins at the floor."""
    created, changed = await a_life(client)
    store = server.api.storage.store
    await store.compact(store.revision)
    answer = await client.request("GET", f"{PAST}?revision={created}")
    assert answer.status == 410
    told = await ask(client, "GET", "/ui/history/namespaces/default")
    assert told["items"] == []
    assert told["before"] == 0
    del changed


async def test_rights_in_a_namespace_are_none_to_what_is_in_none(
    server: InProcess, client: Client
) -> None:
    """A path that puts an object of the cluster into a namespace leads nowhere."""
    await ask(client, "POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}}, 201)
    everything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    role = {"metadata": {"name": "all"}, "rules": everything}
    await ask(client, "POST", f"{RBAC}/namespaces/shop/roles", role, 201)
    binding = {
        "metadata": {"name": "all"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "all"},
        "subjects": [{"kind": "User", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    await ask(client, "POST", f"{RBAC}/namespaces/shop/rolebindings", binding, 201)
    pages = {
        "metadata": {"name": "pages"},
        "rules": [{"nonResourceURLs": ["/ui/*"], "verbs": ["get"]}],
    }
    await ask(client, "POST", f"{RBAC}/clusterroles", pages, 201)
    binding["roleRef"] = {
        "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "pages",
    }  # fmt: skip
    await ask(client, "POST", f"{RBAC}/clusterrolebindings", binding, 201)
    below = RBAC.removeprefix("/")
    async with server.connect(certificate=READER) as reader:
        await ask(reader, "GET", f"/ui/history/{below}/namespaces/shop/roles/all")
        await ask(reader, "GET", "/ui/history/api/v1/namespaces/shop")
        for path in (
            f"{below}/namespaces/shop/clusterroles/cluster-admin",
            "api/v1/namespaces/shop/namespaces/kube-system",
            "api/v1/namespaces/shop/nodes/x",
            "api/v1/configmaps/a",
        ):
            await ask(reader, "GET", f"/ui/history/{path}", status=404)
