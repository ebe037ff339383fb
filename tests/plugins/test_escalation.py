"""Nobody gains a right by what they may write."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import trio
from examples import shortened
from hypothesis import given
from hypothesis import strategies as st

from kubetrio.client.client import Client
from kubetrio.machinery.identity import Attributes, Decision, UserInfo
from kubetrio.machinery.status import ApiError
from kubetrio.plugins.escalation import compacted
from kubetrio.testing.rights import grant, rule
from kubetrio.testing.server import InProcess, open_api

Object = dict[str, Any]
GROUP = "rbac.authorization.k8s.io"
RBAC = f"{GROUP}/v1"
EVE = UserInfo("eve", groups=("devs", "system:authenticated"))
WRITER = {
    "verbs": ["get", "create", "update", "patch", "delete"],
    "apiGroups": [GROUP],
    "resources": ["roles", "rolebindings", "clusterroles", "clusterrolebindings"],
}


def role(name: str, *rules: Object, namespace: str = "", **more: Any) -> Object:
    """A Role in a namespace, else a ClusterRole."""
    meta = {"name": name, **({"namespace": namespace} if namespace else {}), **more.pop("meta", {})}
    kind = "Role" if namespace else "ClusterRole"
    return {"apiVersion": RBAC, "kind": kind, "metadata": meta, "rules": list(rules), **more}


def binding(name: str, to: str, user: str = "eve", namespace: str = "") -> Object:
    """A binding of a ClusterRole, or with a slash before the name of a Role."""
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    local = to.startswith("/")
    return {
        "apiVersion": RBAC,
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": meta,
        "subjects": [{"kind": "User", "name": user, "apiGroup": GROUP}],
        "roleRef": {
            "apiGroup": GROUP, "kind": "Role" if local else "ClusterRole", "name": to.lstrip("/"),
        },
    }  # fmt: skip


async def prepare(client: Client, *rules: Object) -> None:
    """Let eve write roles and bindings, and what else is said."""
    await client.create(role("writer", WRITER, *rules))
    await client.create(binding("writer", "writer"))


def pods(*verbs: str, **more: Any) -> Object:
    """A rule about pods."""
    return {"verbs": list(verbs), "apiGroups": [""], "resources": ["pods"], **more}


# ---------------------------------------------------------------- words


async def test_words_of_a_refusal(server: InProcess) -> None:
    """What is missing, with verbs joined, and of whom."""
    await prepare(server.client(), pods("get"))
    wanted = role("r", pods("get", "list"), {"verbs": ["get"], "nonResourceURLs": ["/x"]})
    with pytest.raises(ApiError) as caught:
        await server.client(EVE).create(wanted)
    assert caught.value.code == 403
    assert caught.value.message == (
        'clusterroles.rbac.authorization.k8s.io "r" is forbidden: user "eve" (groups=["devs" '
        '"system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n'
        '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}\n'
        '{NonResourceURLs:["/x"], Verbs:["get"]}'
    )


async def test_a_binding_of_nothing(server: InProcess) -> None:
    """Whoever may not bind is told that the role is missing; whoever may, binds in advance."""
    client, eve = server.client(), server.client(EVE)
    await prepare(client)
    with pytest.raises(ApiError) as caught:
        await eve.create(binding("b", "none"))
    assert caught.value.code == 404
    rule = {
        "verbs": ["bind"], "apiGroups": [GROUP], "resources": ["clusterroles"],
        "resourceNames": ["none"],
    }  # fmt: skip
    await client.create(role("binder", rule))
    await client.create(binding("binder", "binder"))
    await eve.create(binding("b", "none"))
    with pytest.raises(ApiError):
        await eve.create(binding("c", "cluster-admin"))


async def test_a_binding_of_what_is_no_role(server: InProcess) -> None:
    """Is an error of the server without a reason, before validation says what is wrong."""
    await prepare(server.client())
    made = binding("b", "view")
    made["roleRef"]["kind"] = "Foo"
    with pytest.raises(ApiError) as caught:
        await server.client(EVE).create(made)
    assert caught.value.code == 500
    assert caught.value.reason == ""
    assert caught.value.message == 'unsupported role reference kind: "Foo"'


@pytest.mark.parametrize(
    ("kind", "name", "namespace", "message"),
    [
        ("Role", "view", "", "Namespace parameter required."),
        ("ClusterRole", "", "default", "Name parameter required."),
        ("Role", "", "default", "Name parameter required."),
    ],
)
async def test_a_binding_of_what_cannot_be_read(
    server: InProcess, kind: str, name: str, namespace: str, message: str
) -> None:
    """The role is looked for in its store before validation refuses the reference."""
    await prepare(server.client())
    made = binding("b", "view", namespace=namespace)
    made["roleRef"] |= {"kind": kind, "name": name}
    with pytest.raises(ApiError) as caught:
        await server.client(EVE).create(made)
    assert (caught.value.code, caught.value.message) == (400, message)


async def test_the_right_to_escalate(server: InProcess) -> None:
    """Lets one write any rule."""
    client, eve = server.client(), server.client(EVE)
    rule = {"verbs": ["escalate"], "apiGroups": [GROUP], "resources": ["roles"]}
    await prepare(client, rule)
    await eve.create(role("r", pods("*"), namespace="default"))
    with pytest.raises(ApiError, match="not currently held"):
        await eve.create(role("r", pods("*")))


async def test_aggregation_takes_everything(server: InProcess) -> None:
    """Since it may gather anything."""
    client, eve = server.client(), server.client(EVE)
    await prepare(client)
    rule = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    with pytest.raises(ApiError, match="must have cluster-admin privileges to use the aggregation"):
        await eve.create(role("r", aggregationRule=rule))
    await client.create(role("r", aggregationRule=rule))
    taken = role("r")
    with pytest.raises(ApiError, match="must have cluster-admin privileges"):
        await eve.update(taken)


async def test_apply_and_patch_are_no_way_around(server: InProcess) -> None:
    """Whatever the verb of the write."""
    client, eve = server.client(), server.client(EVE)
    await prepare(client)
    await eve.create(role("r", namespace="default"))
    kind = client.kind(RBAC, "Role")
    with pytest.raises(ApiError, match="not currently held"):
        await eve.apply(
            role("r", pods("get"), namespace="default"), field_manager="eve", force=True
        )
    with pytest.raises(ApiError, match="not currently held"):
        await eve.patch(kind, "r", {"rules": [pods("get")]}, namespace="default")


async def test_metadata_of_strong_roles_may_be_collected(server: InProcess) -> None:
    """What a garbage collector writes gives nobody anything; labels may."""
    client, eve = server.client(), server.client(EVE)
    await prepare(client)
    await client.create(role("strong", pods("*")))
    kind = client.kind(RBAC, "ClusterRole")
    change = {"metadata": {"finalizers": ["example.test/x"]}}
    await eve.patch(kind, "strong", change)
    with pytest.raises(ApiError, match="not currently held"):
        await eve.patch(kind, "strong", {"metadata": {"labels": {"a": "b"}}})


def test_verbs_are_joined_by_resource() -> None:
    """Names keep them apart."""
    one = {"apiGroups": [""], "resources": ["pods"]}
    rules = [
        {**one, "verbs": ["get"]},
        {**one, "verbs": ["list"]},
        {**one, "verbs": ["get"], "resourceNames": ["a"]},
    ]
    assert compacted(rules) == [
        {**one, "verbs": ["get", "list"]},
        {**one, "verbs": ["get"], "resourceNames": ["a"]},
    ]


# ---------------------------------------------------------------- any sequence of writes

VERBS, THINGS = ("get", "list", "*"), ("pods", "secrets", "*")
some_rule = st.fixed_dictionaries(
    {
        "verbs": st.lists(st.sampled_from(VERBS), min_size=1, max_size=2, unique=True),
        "apiGroups": st.just([""]),
        "resources": st.lists(st.sampled_from(THINGS), min_size=1, max_size=2, unique=True),
    },
    optional={"resourceNames": st.just(["n"])},
)
places = st.sampled_from(["", "default", "kube-system"])
targets = st.sampled_from(["strong", "r0", "r1", "/r0", "/r1", "gathered", "cluster-admin"])
step = st.one_of(
    st.builds(
        lambda verb, name, rules, place: (verb, role(name, *rules, namespace=place)),
        st.sampled_from(["create", "update", "apply"]),
        st.sampled_from(["r0", "r1", "strong"]),
        st.lists(some_rule, max_size=2),
        places,
    ),
    st.builds(
        lambda verb, name, to, place: (verb, binding(name, to, namespace=place)),
        st.sampled_from(["create", "update", "apply"]),
        st.sampled_from(["b0", "b1"]),
        targets,
        places,
    ),
    st.builds(
        lambda name, label: (
            "apply",
            role(name, meta={"labels": {"gather": label}}),
        ),
        st.sampled_from(["r0", "strong"]),
        st.sampled_from(["here", "there"]),
    ),
)


def rights(server: InProcess) -> set[tuple[str, str, str, str]]:
    """What eve may do of a small world."""
    found = set()
    for verb, thing, place, name in itertools.product(
        ("get", "list", "delete"), ("pods", "secrets", "nodes"),
        ("", "default", "kube-system"), ("", "n"),
    ):  # fmt: skip
        asked = Attributes(user=EVE, verb=verb, resource=thing, namespace=place, name=name)
        if server.api.security.rbac.authorize(asked).decision is Decision.ALLOW:
            found.add((verb, thing, place, name))
    return found


@shortened(25)
@given(st.lists(some_rule, max_size=2), st.lists(step, min_size=1, max_size=12))
def test_no_sequence_of_writes_gains_a_right(
    held: list[Object], writes: list[tuple[str, Object]]
) -> None:
    """Roles, bindings, labels that gather: eve ends with what she had, or less."""

    async def main() -> None:
        async with open_api(seed=0) as server:
            client, eve = server.client(), server.client(EVE)
            await prepare(client, *held)
            await client.create(role("strong", {**pods("*"), "resources": ["*"]}))
            gathers = {"clusterRoleSelectors": [{"matchLabels": {"gather": "here"}}]}
            await client.create(role("gathered", aggregationRule=gathers))
            had = rights(server)
            for verb, obj in writes:
                try:
                    if verb == "apply":
                        await eve.apply(obj, field_manager="eve", force=True)
                    elif verb == "create":
                        await eve.create(obj)
                    else:
                        await eve.update(obj)
                except ApiError as error:
                    if error.code not in (400, 403, 404, 409, 422):
                        raise
            assert rights(server) <= had

    trio.run(main)


async def test_roles_that_are_not_there_are_told(server: InProcess) -> None:
    """Each once, and as one of what is written: so upstream tells them."""
    alice = UserInfo("alice")
    writes = rule("create", groups=("rbac.authorization.k8s.io",))
    await grant(server, alice, writes)
    api = "/apis/rbac.authorization.k8s.io/v1"
    here = f"{api}/namespaces/default"
    subjects = [{"kind": "User", "name": "alice"}]
    async with server.connect() as admin, server.connect(certificate=alice) as client:

        async def refer(path: str, name: str, kind: str, missing: str) -> None:
            reference = {"apiGroup": GROUP, "kind": kind, "name": missing}
            made = {"metadata": {"name": name}, "roleRef": reference, "subjects": subjects}
            assert (await admin.request("POST", path, json=made)).status == 201

        def told(*missing: str) -> str:
            texts = [f'roles.{GROUP} "{one}" not found' for one in missing]
            shown = ", ".join(texts)
            return f"; resolution errors: [{shown if len(missing) == 1 else f'[{shown}]'}]"

        body = role("r", rule("get", groups=("",)), namespace="default")
        answer = await client.request("POST", f"{here}/roles", json=body)
        assert "resolution errors" not in answer.json()["message"]
        await refer(f"{api}/clusterrolebindings", "a", "ClusterRole", "one")
        answer = await client.request("POST", f"{here}/roles", json=body)
        assert answer.json()["message"].endswith(told("one"))
        await refer(f"{here}/rolebindings", "b", "Role", "two")
        await refer(f"{here}/rolebindings", "c", "ClusterRole", "one")
        answer = await client.request("POST", f"{here}/roles", json=body)
        assert answer.json()["message"].endswith(told("one", "two"))
