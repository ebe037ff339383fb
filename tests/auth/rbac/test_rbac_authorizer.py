"""RBAC of a whole server against a small evaluator that was written from the documentation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from random import Random  # noqa: TID251  (seeded)
from typing import Any

import pytest

from kubetrio.machinery.identity import ANONYMOUS, Attributes, Decision, UserInfo, Verdict
from kubetrio.machinery.status import ApiError
from kubetrio.testing.server import InProcess

Object = dict[str, Any]
RBAC = "rbac.authorization.k8s.io/v1"
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "bind")
NAMESPACES = ("", "kube-system")


# ---------------------------------------------------------------- the evaluator


def star(values: list[str] | None, asked: str) -> bool:
    """Whether a list has a value or a star."""
    return asked in (values or []) or "*" in (values or [])


def rule_allows(rule: Object, asked: Attributes) -> bool:
    """One rule, by the words of the documentation."""
    if not star(rule.get("verbs"), asked.verb):
        return False
    if not asked.resource_request:
        return any(
            url == asked.path or (url[-1] == "*" and asked.path.startswith(url.rstrip("*")))
            for url in rule.get("nonResourceURLs") or []
        )
    full = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    resources = list(rule.get("resources") or [])
    return (
        star(rule.get("apiGroups"), asked.api_group)
        and (star(resources, full) or f"*/{asked.subresource}" in resources)
        and (not rule.get("resourceNames") or asked.name in rule["resourceNames"])
    )


def subject_is(subject: Object, user: UserInfo, namespace: str) -> bool:
    """One subject of a binding."""
    if subject["kind"] == "ServiceAccount":
        home = subject.get("namespace", namespace)
        return user.name == f"system:serviceaccount:{home}:{subject['name']}"
    who = [user.name] if subject["kind"] == "User" else user.groups
    return subject["name"] in who


class Evaluator:
    """Roles and bindings, by the words of the documentation."""

    def __init__(self, objects: list[Object]) -> None:
        self._bindings = [one for one in objects if "roleRef" in one]
        self._roles = {
            (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]): one
            for one in objects
        }

    def rules_of(self, user: UserInfo) -> list[tuple[str, Object]]:
        """Rules of all bindings that name a user, each with the namespace of its binding."""
        rules: list[tuple[str, Object]] = []
        for binding in self._bindings:
            namespace = binding["metadata"].get("namespace", "")
            if not any(subject_is(s, user, namespace) for s in binding.get("subjects") or []):
                continue
            ref = binding["roleRef"]
            place = namespace if ref["kind"] == "Role" else ""
            role = self._roles.get((ref["kind"], place, ref["name"])) or {}
            rules += [(namespace, rule) for rule in role.get("rules") or []]
        return rules


def evaluate(rules: list[tuple[str, Object]], asked: Attributes) -> bool:
    """Whether any of a user's rules allows something."""
    return any(
        (not namespace or (asked.resource_request and namespace == asked.namespace))
        and rule_allows(rule, asked)
        for namespace, rule in rules
    )


# ---------------------------------------------------------------- questions


def users_of(objects: list[Object]) -> list[UserInfo]:
    """Everybody that a binding names, and some that none does."""
    users = {
        "nobody": UserInfo("nobody", groups=("system:authenticated",)),
        "system:anonymous": ANONYMOUS,
    }
    for binding in objects:
        for subject in binding.get("subjects") or []:
            name = subject["name"]
            if subject["kind"] == "Group":
                users[f"of {name}"] = UserInfo(f"of {name}", groups=(name,))
            elif subject["kind"] == "User":
                users[name] = UserInfo(name)
            else:
                home = subject.get("namespace") or binding["metadata"].get("namespace", "")
                full = f"system:serviceaccount:{home}:{name}"
                users[full] = UserInfo(full)
    return [user for user in users.values() if "system:masters" not in user.groups]


def questions(server: InProcess, user: UserInfo) -> Iterator[Attributes]:
    """Every verb on every resource and subresource, and some paths."""
    for kind in server.api.storage.registry.resources.values():
        for below in ("", *kind.subresources):
            for verb, namespace in itertools.product(VERBS, NAMESPACES):
                yield Attributes(
                    user=user, verb=verb, namespace=namespace, api_group=kind.group,
                    resource=kind.resource, subresource=below,
                )  # fmt: skip
    for verb, path in itertools.product(
        ("get", "post"), ("/healthz", "/version", "/api", "/apis/apps", "/metrics", "/logs/x")
    ):
        yield Attributes(user=user, verb=verb, resource_request=False, path=path)


def allowed(server: InProcess, asked: Attributes) -> bool:
    """What the server says."""
    verdict = server.api.security.rbac.authorize(asked)
    assert isinstance(verdict, Verdict)
    return verdict.decision is Decision.ALLOW


async def stored(server: InProcess) -> list[Object]:
    """All roles and bindings."""
    client = server.client()
    found: list[Object] = []
    for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"):
        listed = await client.list(client.kind(RBAC, kind))
        found += [{"kind": kind, **item} for item in listed.items]
    return found


# ---------------------------------------------------------------- properties


async def test_default_roles_allow_what_they_say(server: InProcess) -> None:
    """Everybody named by a default binding, every verb, resource, subresource and path."""
    objects = await stored(server)
    evaluator = Evaluator(objects)
    for user in users_of(objects):
        rules = evaluator.rules_of(user)
        for asked in questions(server, user):
            assert allowed(server, asked) == evaluate(rules, asked), asked


def a_rule(draw: Random, *, cluster: bool) -> Object:
    """Any rule."""
    verbs = draw.sample([*VERBS, "*"], draw.randint(1, 3))
    if cluster and draw.random() < 0.2:
        urls = draw.sample(["/healthz", "/api*", "/logs/*", "*", "/metrics"], 2)
        return {"verbs": verbs, "nonResourceURLs": urls}
    rule = {
        "verbs": verbs,
        "apiGroups": draw.sample(["", "apps", "batch", "*"], draw.randint(1, 2)),
        "resources": draw.sample(
            ["pods", "pods/log", "*/status", "deployments", "secrets", "*", "jobs"],
            draw.randint(1, 3),
        ),
    }
    if draw.random() < 0.3:
        rule["resourceNames"] = draw.sample(["a", "b"], draw.randint(1, 2))
    return rule


async def test_generated_roles_allow_what_they_say(server: InProcess) -> None:
    """Three hundred roles, bindings and users; questions with and without names."""
    draw = Random(7)
    client = server.client()
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    await client.create(namespace)
    for number in range(300):
        cluster = draw.random() < 0.4
        kind, meta = ("ClusterRole", {}) if cluster else ("Role", {"namespace": "team"})
        role = {
            "apiVersion": RBAC,
            "kind": kind,
            "metadata": {"name": f"r{number}", **meta},
            "rules": [a_rule(draw, cluster=cluster) for _ in range(draw.randint(0, 2))],
        }
        await client.create(role)
        missing = draw.random() < 0.05
        binding_kind = "ClusterRoleBinding" if cluster and draw.random() < 0.3 else "RoleBinding"
        place = {} if binding_kind == "ClusterRoleBinding" else {"namespace": "team"}
        subjects = [
            {"kind": "User", "name": f"u{draw.randint(0, 20)}",
             "apiGroup": "rbac.authorization.k8s.io"},
            {"kind": "Group", "name": f"g{draw.randint(0, 20)}",
             "apiGroup": "rbac.authorization.k8s.io"},
            {"kind": "ServiceAccount", "name": f"s{draw.randint(0, 5)}", "namespace": "team"},
        ]  # fmt: skip
        binding = {
            "apiVersion": RBAC,
            "kind": binding_kind,
            "metadata": {"name": f"b{number}", **place},
            "subjects": draw.choices(subjects, k=draw.randint(0, 4)),
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": kind,
                "name": "gone" if missing else f"r{number}",
            },
        }
        await client.create(binding)
    evaluator = Evaluator(await stored(server))
    users = [
        UserInfo(
            draw.choice(
                [f"u{draw.randint(0, 20)}", f"system:serviceaccount:team:s{draw.randint(0, 5)}"]
            ),
            groups=tuple(f"g{draw.randint(0, 20)}" for _ in range(draw.randint(0, 3))),
        )
        for _ in range(300)
    ]
    known = [(user, evaluator.rules_of(user)) for user in users]
    for _ in range(6000):
        user, rules = draw.choice(known)
        if draw.random() < 0.2:
            path = draw.choice(["/healthz", "/api", "/apis/x", "/logs/a", "/metrics"])
            verb = draw.choice(VERBS)
            asked = Attributes(user=user, verb=verb, resource_request=False, path=path)
        else:
            asked = Attributes(
                user=user, verb=draw.choice(VERBS),
                namespace=draw.choice(["", "kube-system", "team"]),
                api_group=draw.choice(["", "apps", "batch"]),
                resource=draw.choice(["pods", "deployments", "secrets", "jobs"]),
                subresource=draw.choice(["", "", "log", "status"]),
                name=draw.choice(["", "a", "b", "c"]),
            )  # fmt: skip
        assert allowed(server, asked) == evaluate(rules, asked), asked


async def test_a_change_is_in_force_with_the_next_request(server: InProcess) -> None:
    """A binding opens a door, its deletion and that of its role shut it."""
    client, jane = server.client(), server.client(UserInfo("jane"))
    pods, roles = client.kind("v1", "Pod"), client.kind(RBAC, "Role")
    bindings = client.kind(RBAC, "RoleBinding")
    rule = {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}
    role = {
        "apiVersion": RBAC,
        "kind": "Role",
        "metadata": {"name": "r", "namespace": "default"},
        "rules": [rule],
    }
    binding = {
        "apiVersion": RBAC, "kind": "RoleBinding",
        "metadata": {"name": "b", "namespace": "default"},
        "subjects": [{"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
    }  # fmt: skip
    for _ in range(3):
        with pytest.raises(ApiError, match=r'User "jane" cannot list resource "pods"'):
            await jane.list(pods, namespace="default")
        await client.create(binding)
        with pytest.raises(ApiError, match=r'role.rbac.authorization.k8s.io "r" not found'):
            await jane.list(pods, namespace="default")
        await client.create(role)
        assert (await jane.list(pods, namespace="default")).items == []
        await client.delete(roles, "r", namespace="default")
        with pytest.raises(ApiError, match="forbidden"):
            await jane.list(pods, namespace="default")
        await client.delete(bindings, "b", namespace="default")


async def test_reasons_are_those_of_kube_apiserver(server: InProcess) -> None:
    """Which binding of which role to whom."""
    asked = Attributes(user=UserInfo("system:kube-scheduler"), verb="list", resource="nodes")
    verdict = server.api.security.rbac.authorize(asked)
    assert verdict.reason == (
        'RBAC: allowed by ClusterRoleBinding "system:kube-scheduler" of ClusterRole '
        '"system:kube-scheduler" to User "system:kube-scheduler"'
    )


async def test_a_binding_may_name_a_subject_twice(server: InProcess) -> None:
    """It holds as if it were named once, changes, and goes without harm to others."""
    client, jane = server.client(), server.client(UserInfo("jane"))
    bindings, maps = client.kind(RBAC, "RoleBinding"), client.kind("v1", "ConfigMap")
    subject = {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}
    for name in ("a", "b"):
        await client.create({
            "apiVersion": RBAC, "kind": "RoleBinding",
            "metadata": {"name": name, "namespace": "default"},
            "subjects": [subject, {**subject, "name": "joe"}, subject],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                        "name": "system:aggregate-to-view"},
        })  # fmt: skip
        await jane.list(maps, namespace="default")
    await client.patch(bindings, "a", {"subjects": [subject]}, "default")
    await jane.list(maps, namespace="default")
    for name in ("a", "b"):
        await client.delete(bindings, name, namespace="default")
        for user in ("jane", "joe"):
            if name == "b":
                with pytest.raises(ApiError, match="forbidden"):
                    await server.client(UserInfo(user)).list(maps, namespace="default")
            else:
                await server.client(UserInfo(user)).list(maps, namespace="default")
