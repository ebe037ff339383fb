"""Long paths and queries are read when their request has a seat."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from kubetrio.api import outlines
from kubetrio.api.request import Request, parse_query, resolve
from kubetrio.machinery.identity import AUTHENTICATED, UserInfo
from kubetrio.testing.server import InProcess

LONG = "a" * outlines.SHORT_CHARS
STRANGER = UserInfo("stranger", groups=(AUTHENTICATED,))
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def request_of(path: str, query: str = "", method: str = "GET") -> Request:
    return Request(method, path, query, {}, [])


NAMES = st.sampled_from(["watch", "%77atch", "w%61tch", "Watch", "wat", "watch2", "limit", "a"])
VALUES = st.sampled_from(
    ["", "0", "1", "false", "%46alse", "true", "%30", "%3", "a;b", "+", "fal%73e", "x" * 40]
)
PAIRS = st.lists(st.tuples(NAMES, st.booleans(), VALUES), max_size=6)


@given(PAIRS, st.integers(0, 5))
def test_the_outline_of_a_query_tells_watches_from_lists(
    pairs: list[tuple[str, bool, str]], at: int
) -> None:
    texts = [f"{name}={value}" if equals else name for name, equals, value in pairs]
    texts.insert(at, f"labelSelector={LONG}")
    query = "&".join(texts)
    request = request_of(CONFIG_MAPS, query)
    assert outlines.is_long(request)
    outlined, _ = outlines.outline(request)
    whole = resolve("GET", CONFIG_MAPS, parse_query(query))
    assert outlined.verb == whole.verb


@pytest.mark.parametrize(
    "path",
    [
        f"/api/v1/namespaces/default/services/a/proxy/{LONG}",
        f"/api/v1/namespaces/default/configmaps/{LONG}",
        f"/apis/apps/v1/namespaces/default/deployments/a/status/{LONG}",
        f"/nowhere/{LONG}",
    ],
)
def test_the_outline_of_a_path_has_what_flow_control_looks_at(path: str) -> None:
    outlined, _ = outlines.outline(request_of(path))
    whole = resolve("GET", path, {})
    for name in ("is_resource", "verb", "group", "version", "namespace", "resource", "subresource"):
        assert getattr(outlined, name) == getattr(whole, name)


async def test_a_long_query_means_what_it_says(server: InProcess) -> None:
    values = ",".join(f"x{n}" for n in range(500))
    async with server.connect() as client:
        for name, value in (("one", "x7"), ("two", "y")):
            body = {"metadata": {"name": name, "labels": {"a": value}}}
            assert (await client.request("POST", CONFIG_MAPS, json=body)).status == 201
        listed = await client.request("GET", f"{CONFIG_MAPS}?labelSelector=a+in+({values})")
        assert [item["metadata"]["name"] for item in listed.json()["items"]] == ["one"]
        for query, message in (
            (f"labelSelector={LONG}!!", "unable to parse requirement"),
            (f"timeout=1&labelSelector={LONG}", "invalid timeout specified in the request URL"),
        ):
            answer = await client.request("GET", f"{CONFIG_MAPS}?{query}")
            assert answer.status == 400
            assert message in answer.json()["message"]
        assert (await client.request("GET", f"/nowhere/{LONG}%4")).status == 400
        assert (await client.request("GET", f"/nowhere/{LONG}%40")).status == 404


async def test_what_a_stranger_may_not_see_is_not_parsed_for_them(server: InProcess) -> None:
    async with server.connect(certificate=STRANGER) as client:
        answer = await client.request("GET", f"{CONFIG_MAPS}?labelSelector={LONG}!!")
    assert answer.status == 403


RBAC = "/apis/rbac.authorization.k8s.io/v1"
PROXY = UserInfo("proxy", groups=(AUTHENTICATED,))
POD = "/api/v1/namespaces/default/pods/a"
FAR = f"api/v1/namespaces/{'n' * 63}/pods/{'a' * 253}"
ENCODED = "/" + "".join(f"%{ord(char):02x}" for char in FAR)
"""The outline ends where a subresource may begin."""
RULES = [
    {
        "apiGroups": ["authentication.k8s.io"],
        "resources": ["users"],
        "verbs": ["impersonate:user-info"],
    },
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["impersonate-on:user-info:list"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["impersonate-on:user-info:get"]},
    {
        "apiGroups": [""],
        "resources": ["secrets"],
        "resourceNames": ["one"],
        "verbs": ["impersonate-on:user-info:list"],
    },
]  # fmt: skip


async def grant(server: InProcess) -> None:
    """Alice may do everything, and the proxy be her for a few things."""
    every = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    async with server.connect() as client:
        for user, rules in (("proxy", RULES), ("alice", every)):
            role = {"metadata": {"name": user}, "rules": rules}
            binding = {
                "metadata": {"name": user},
                "subjects": [{"kind": "User", "name": user}],
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": user,
                },
            }
            for kind, body in (("clusterroles", role), ("clusterrolebindings", binding)):
                answer = await client.request("POST", f"{RBAC}/{kind}", json=body)
                assert answer.status == 201


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        (CONFIG_MAPS, "", 200),
        (CONFIG_MAPS, "limit=1", 200),
        (CONFIG_MAPS, "watch=1&timeoutSeconds=1", 403),
        (f"{CONFIG_MAPS}/one", "", 403),
        (POD, "", 404),
        (f"{POD}/log", "", 403),
        (ENCODED, "", 404),
        (f"{ENCODED}%2f%6c%6f%67", "", 403),
        ("/api/v1/namespaces/default/secrets", "", 403),
        ("/api/v1/namespaces/default/secrets", "fieldSelector=metadata.name%3Done", 200),
        ("/api/v1/namespaces/default/secrets", "fieldSelector=metadata.name%3Dtwo", 403),
        ("/version", "", 403),
        ("/api/v1/watch", "", 500),
    ],
)
async def test_who_may_be_somebody_else_for_what_is_asked_about_all_of_a_request(
    server: InProcess, path: str, query: str, status: int, autojump_clock: MockClock
) -> None:
    """A long query or path makes no other request of it."""
    await grant(server)
    async with server.connect(certificate=PROXY) as client:
        for more in (query, f"{query}&unknown={LONG}", f"unknown={LONG}&{query}"):
            answer = await client.request("GET", f"{path}?{more}", {"Impersonate-User": "alice"})
            assert answer.status == status
